import { z } from 'zod';
import { isoTimeText } from './parts.ts';

const scopeText = z.string().describe('"global", "tenant:NAME", "principal:KIND:NAME" or "skill:ID".');

export const secretParams = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/)
    .describe('The name of the secret.'),
});
export const secretQuery = z.object({
  scope: z
    .string()
    .max(256)
    .regex(/^(?:global|(?:tenant|principal|skill):.+)$/)
    .default('global')
    .describe('Whose calls it is for: "global", "tenant:NAME", "principal:KIND:NAME" or "skill:ID".'),
});

const secret = z
  .object({
    name: z.string(),
    scope: scopeText,
    version: z.int().describe('One more with each new value.'),
    bytes: z.int(),
    createdAt: isoTimeText.describe('When this value was set.'),
    usedAt: isoTimeText.nullable(),
  })
  .meta({ id: 'Secret' });

export const secretList = z.object({
  lockedWith: z.enum(['file', 'passphrase']).nullable().describe('Null: nothing was ever put in.'),
  secrets: z.array(secret),
});
export const secretSet = z.object({
  name: z.string(),
  scope: scopeText,
  version: z.int(),
  bytes: z.int(),
});
export const secretRemoved = z.object({ name: z.string(), scope: scopeText, removed: z.literal(true) });
