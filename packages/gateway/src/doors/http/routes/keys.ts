import { z } from 'zod';
import { requireAdministrator, rotateKey } from '../../../invoke/administer.ts';
import { keyRows } from '../../documents/keys.ts';
import { requireHome } from '../may-see.ts';
import { type Route, route } from '../route.ts';
import { isoTimeText } from '../schemas/parts.ts';
import { document, json, whole } from './answer.ts';

/* The signing keys, as verifiers know them. A lost key is replaced by a person at the machine, and not from afar. */

const keyId = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const keyRow = z.object({
  keyId,
  isCurrent: z.boolean().describe('It signs now.'),
  createdAt: isoTimeText,
  retiredAt: isoTimeText.nullable(),
});

export const keysRoutes: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/keys', name: 'listKeys', tag: 'keys', scope: null },
    sentence: 'Lists the keys that receipts and checkpoints are signed with, the oldest first.',
    replies: {
      200: document(z.object({ keys: z.array(keyRow) }), 'Every key there ever was.'),
    },
    handle: async ({ gateway }) => {
      return json({ keys: keyRows(gateway.keys) });
    },
  }),
  route({
    ...{ method: 'GET', path: '/v1/keys/export', name: 'exportKeys', tag: 'keys', scope: null },
    sentence: 'Gives the public keys in the file that verifiers take, a document a line.',
    replies: { 200: { type: 'application/x-ndjson', sentence: 'The public keys.' } },
    handle: async ({ gateway }) => {
      return whole('application/x-ndjson', gateway.keys.export(), 'palisade-keys.jsonl');
    },
  }),
  route({
    ...{ method: 'POST', path: '/v1/keys/rotate', name: 'rotateKey', tag: 'keys', scope: 'admin' },
    sentence: 'Starts a new signing key. The old one goes on verifying what it signed.',
    replies: {
      200: document(
        z.object({ from: keyId.nullable(), to: keyId }),
        'The key that signed before, and the one that signs from now on.',
      ),
    },
    handle: async (asked) => {
      const { gateway, caller } = asked;
      requireHome(asked);
      requireAdministrator(gateway, caller.principal, caller.tenant);
      const { from, to } = rotateKey(gateway, caller.principal, false);
      return json({ from, to });
    },
  }),
];
