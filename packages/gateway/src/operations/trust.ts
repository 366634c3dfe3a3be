import * as z from 'zod';
import { isoTime } from '../core/clock.ts';
import { CodedError, wrongUsage } from '../core/coded-error.ts';
import { pick } from '../core/pick.ts';
import { type Adding, addTrust, revokeTrust, rotateTrust } from '../invoke/skills/trust.ts';
import { keyAt, keysOf, type TrustedKey } from '../skills/trust.ts';
import { actingOf, type Reading, requireHome } from './access.ts';
import { type Operation, operation, READS_GATEWAY } from './operation.ts';
import { isoTimeText, keyId, reasonText, trustOrigin } from './schema-parts.ts';

/* The keys of publishers: whose signatures count is decided once for the whole gateway. */

/** The most that a public key document may have. */
const MAX_KEY_CHARS = 64 * 1024;

const publisher = z
  .string()
  .max(32)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
  .describe('The name of a publisher, as in skill.toml.');

const trustedKey = z
  .object({
    publisher: z.string(),
    keyId,
    state: z.enum(['trusted', 'retired', 'expired', 'revoked']),
    origin: trustOrigin,
    addedBy: z.string(),
    reason: z.string().nullable().describe('Why it was revoked.'),
    addedAt: isoTimeText,
    expiresAt: isoTimeText.nullable(),
    retiredAt: isoTimeText.nullable(),
    revokedAt: isoTimeText.nullable(),
  })
  .meta({ id: 'TrustedKey' });

const offer = z.strictObject({
  publisher,
  key: z
    .string()
    .min(1)
    .max(MAX_KEY_CHARS)
    .describe('The text of the public key document that `palisade skill sign --new-key` writes.'),
  expiresAt: isoTimeText.optional().describe('When it ends; left out: never.'),
});

const facts = {
  noun: 'trust',
  scope: 'skills',
  action: 'administer',
  access: requireHome,
  opens: 'gateway',
} as const;

export const operations: readonly Operation[] = [
  operation({
    ...READS_GATEWAY,
    name: 'listTrustedKeys',
    noun: 'trust',
    sentence: 'Lists the keys of publishers.',
    opens: 'records',
    http: { method: 'GET', path: '/v1/trust' },
    input: z.strictObject({ publisher: publisher.optional() }),
    output: { schema: z.object({ keys: z.array(trustedKey) }), sentence: 'The keys.' },
    handle: ({ gateway: { store, clock } }, input) => {
      const nowMs = clock.nowMs();
      return { keys: keysOf(store, input.publisher).map((key) => trustedKeyDocument(key, nowMs)) };
    },
  }),
  operation({
    ...facts,
    name: 'trustKey',
    sentence: 'Trusts a key to sign for a publisher.',
    http: { method: 'POST', path: '/v1/trust' },
    input: offer,
    output: { schema: trustedKey, sentence: 'The key.', created: true },
    handle: async (context, input) => {
      const key = await addTrust(context.gateway, addingOf(context, input));
      return trustedKeyDocument(key, context.gateway.clock.nowMs());
    },
  }),
  operation({
    ...facts,
    name: 'rotateTrustedKey',
    sentence:
      'Trusts a new key of a publisher; the ones before sign nothing new, and what they signed goes on.',
    http: { method: 'POST', path: '/v1/trust/{publisher}/rotate' },
    input: offer,
    output: {
      schema: z.object({ added: trustedKey, retired: z.array(keyId) }),
      sentence: 'The new key, and those that it replaces.',
    },
    handle: async (context, input) => {
      const { gateway } = context;
      const { added, retired } = await rotateTrust(gateway, addingOf(context, input));
      return { added: trustedKeyDocument(added, gateway.clock.nowMs()), retired };
    },
  }),
  operation({
    ...facts,
    name: 'revokeTrustedKey',
    sentence: 'Takes all trust from a key, for good; what it signed goes into quarantine.',
    http: { method: 'POST', path: '/v1/trust/{publisher}/revoke' },
    input: z.strictObject({ publisher, keyId, reason: reasonText.min(1) }),
    output: {
      schema: z.object({
        key: trustedKey,
        quarantined: z.array(z.string()).describe('Skills that it signed, as ID@VERSION.'),
      }),
      sentence: 'The key, and what went into quarantine.',
    },
    handle: async (context, input) => {
      const { gateway } = context;
      // Boundary: the key of one publisher is not revoked by a request about another.
      if (keyAt(gateway.store, input.keyId)?.publisher !== input.publisher)
        throw new CodedError(
          'skill/untrusted',
          `Cannot revoke the key: "${input.publisher}" has no such key, expected one of its own`,
          { remedy: 'See the keys with `palisade trust list` or `GET /v1/trust`.' },
        );
      const revoking = { ...actingOf(context), keyId: input.keyId, reason: input.reason };
      const { key, quarantined } = await revokeTrust(gateway, revoking);
      return { key: trustedKeyDocument(key, gateway.clock.nowMs()), quarantined };
    },
  }),
];

function addingOf(context: Reading, { publisher: name, key, expiresAt }: z.output<typeof offer>): Adding {
  const expiresAtMs = expiresAt === undefined ? null : Date.parse(expiresAt);
  if (expiresAtMs !== null && expiresAtMs <= context.gateway.clock.nowMs())
    throw wrongUsage('Cannot trust the key: expiresAt is past, expected a time to come');
  return { ...actingOf(context), publisher: name, document: key, expiresAtMs };
}

/** What a key is valid for at this moment; the most severe state wins. */
export function keyState({ revokedAtMs, expiresAtMs, retiredAtMs }: TrustedKey, nowMs: number) {
  if (revokedAtMs !== null) return 'revoked';
  if (expiresAtMs !== null && nowMs >= expiresAtMs) return 'expired';
  return retiredAtMs === null ? 'trusted' : 'retired';
}

function trustedKeyDocument(key: TrustedKey, nowMs: number) {
  const timeOf = (ms: number | null) => (ms === null ? null : isoTime(ms));
  return {
    ...pick(key, ['publisher', 'keyId']),
    state: keyState(key, nowMs),
    ...pick(key, ['origin', 'addedBy', 'reason']),
    addedAt: isoTime(key.addedAtMs),
    expiresAt: timeOf(key.expiresAtMs),
    retiredAt: timeOf(key.retiredAtMs),
    revokedAt: timeOf(key.revokedAtMs),
  };
}
