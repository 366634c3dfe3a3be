import * as z from 'zod';
import type { Keys } from '../attest/keys.ts';
import { administrator, rotateKey } from '../invoke/administer.ts';
import { actingOf, requireHome } from './access.ts';
import { ADMINISTERS, ByteStream, type Operation, operation } from './operation.ts';
import { isoTimeText, keyId } from './schema-parts.ts';

/* The signing keys, as published to verifiers. A lost key is replaced on the gateway's machine, never remotely. */

const keyRow = z.object({
  keyId,
  isCurrent: z.boolean().describe('It signs now.'),
  createdAt: isoTimeText,
  retiredAt: isoTimeText.nullable(),
});

const facts = { noun: 'keys', scope: null, opens: 'records' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listKeys',
    sentence: 'Lists the keys that receipts and checkpoints are signed with, the oldest first.',
    http: { method: 'GET', path: '/v1/keys' },
    input: z.strictObject({}),
    output: { schema: z.object({ keys: z.array(keyRow) }), sentence: 'Every key there ever was.' },
    handle: ({ gateway }) => ({ keys: keyRows(gateway.keys) }),
  }),
  operation({
    ...facts,
    name: 'exportKeys',
    sentence: 'Gives the public keys in the file that verifiers take, a document a line.',
    http: { method: 'GET', path: '/v1/keys/export' },
    input: z.strictObject({}),
    output: { type: 'application/x-ndjson', sentence: 'The public keys.' },
    handle: ({ gateway }) => ByteStream.of(gateway.keys.export(), 'palisade-keys.jsonl'),
  }),
  operation({
    ...ADMINISTERS,
    name: 'rotateKey',
    noun: 'keys',
    sentence: 'Starts a new signing key. The old one goes on verifying what it signed.',
    access: requireHome,
    http: { method: 'POST', path: '/v1/keys/rotate' },
    input: z.strictObject({}),
    output: {
      schema: z.object({ from: keyId.nullable(), to: keyId }),
      sentence: 'The key that signed before, and the one that signs from now on.',
    },
    handle: (context) => {
      const { gateway } = context;
      const { from, to } = rotateKey(gateway, administrator(gateway, actingOf(context)), false);
      return { from, to };
    },
  }),
];

type KeyFacts = { readonly createdAt: string; readonly retiredAt: string | null };

/** Every key that ever existed, oldest first, and since when which of them signs. */
function keyRows(keys: Pick<Keys, 'list'>) {
  return keys.list().map(({ keyId: id, isCurrent, document }) => {
    const { createdAt, retiredAt } = JSON.parse(document) as KeyFacts;
    return { keyId: id, isCurrent, createdAt, retiredAt };
  });
}
