import { z } from 'zod';
import { isoTimeText } from './parts.ts';
import { keyId, reasonText } from './skill.ts';

/** Of a public key document; a longer one is none. */
const MOST_KEY_CHARS = 64 * 1024;

export const publisherName = z
  .string()
  .max(32)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
  .describe('The name of a publisher, as in skill.toml.');

/** The document of a key in `palisade trust list --json`. */
export const trustedKey = z
  .object({
    publisher: z.string(),
    keyId,
    state: z.enum(['trusted', 'retired', 'expired', 'revoked']),
    origin: z.enum(['operator', 'first-use']),
    addedBy: z.string(),
    reason: z.string().nullable().describe('Why it was revoked.'),
    addedAt: isoTimeText,
    expiresAt: isoTimeText.nullable(),
    retiredAt: isoTimeText.nullable(),
    revokedAt: isoTimeText.nullable(),
  })
  .meta({ id: 'TrustedKey' });

const offered = {
  key: z
    .string()
    .min(1)
    .max(MOST_KEY_CHARS)
    .describe('The text of the public key document that `palisade skill sign --new-key` writes.'),
  expiresAt: isoTimeText.optional().describe('When it ends; left out: never.'),
};

export const trustList = z.object({ keys: z.array(trustedKey) });
export const trustQuery = z.object({ publisher: publisherName.optional() });
export const addKeyBody = z.strictObject({ publisher: publisherName, ...offered });
export const rotateKeyBody = z.strictObject(offered);
export const rotatedKey = z.object({ added: trustedKey, retired: z.array(keyId) });
export const revokeKeyBody = z.strictObject({ keyId, reason: reasonText.min(1) });
export const revokedKey = z.object({
  key: trustedKey,
  quarantined: z.array(z.string()).describe('Skills that it signed, as ID@VERSION.'),
});
