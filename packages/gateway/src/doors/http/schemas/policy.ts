import { z } from 'zod';
import { POLICY_LIMITS } from '../../../policy/limits.ts';
import { POLICY_FILE_NAME } from '../../../policy/policy-files.ts';
import { anyJson, nameText, principalText, sha256, toolName } from './parts.ts';

const LONGEST_TIMEOUT_MS = 86_400_000;

const policy = z.object({
  id: z.string(),
  file: z.string(),
  effect: z.enum(['permit', 'forbid']),
  text: z.string(),
});

const problem = z
  .object({
    file: z.string(),
    line: z.int(),
    column: z.int(),
    policy: z.string().nullable(),
    message: z.string(),
    hint: z.string().nullable(),
  })
  .meta({ id: 'PolicyProblem' });

export const policies = z
  .object({
    digest: sha256.nullable().describe('Of the set that decides; null: there is none, and all is denied.'),
    policies: z.array(policy).describe('The set that decides.'),
    problems: z.array(problem).describe('Why the files are not the set that decides; empty where they are.'),
    files: z.record(z.string(), z.string()).describe('The files as they are: name and text.'),
    filesDigest: sha256.describe('Of those files: what `ifDigest` has to be.'),
  })
  .meta({ id: 'Policies' });

const NUL = '\0';
/** Boundary: Cedar, people and the digest see the same text. */
const isWellFormed = (text: string) => !/\p{Surrogate}/u.test(text) && !text.includes(NUL);
const isShort = (text: string) => Buffer.byteLength(text) <= POLICY_LIMITS.fileBytes;

const files = z
  .record(
    z.string().max(POLICY_LIMITS.nameChars).regex(POLICY_FILE_NAME),
    z
      .string()
      .max(POLICY_LIMITS.fileBytes)
      .refine(isShort, `expected at most ${POLICY_LIMITS.fileBytes} bytes`)
      .refine(isWellFormed, 'expected text without NUL and lone surrogates'),
  )
  .refine((all) => Object.keys(all).length <= POLICY_LIMITS.files, `expected ${POLICY_LIMITS.files} at most`)
  .describe('Name (lower-case words joined by "-", and ".cedar") and text of every policy file.');

export const replaceBody = z.strictObject({
  files: files.describe('All policy files; those that are not here are removed.'),
  ifDigest: sha256.describe('The `filesDigest` that the caller saw.'),
  force: z.boolean().default(false).describe('Also where the caller may not administer afterwards.'),
});
export const replaced = policies.extend({ warnings: z.array(problem) }).meta({ id: 'ReplacedPolicies' });

export const checkBody = z.strictObject({
  files: files.optional().describe('What to check; left out: the files of the gateway.'),
});
export const checked = z
  .object({
    ok: z.boolean(),
    digest: sha256.nullable().describe('Of the set that these files are; null: they are none.'),
    problems: z.array(problem),
    warnings: z.array(problem),
  })
  .meta({ id: 'PolicyCheck' });

export const explainBody = z.strictObject({
  tool: toolName,
  input: anyJson.optional().describe('What the tool would be given; left out: {}.'),
  principal: principalText.optional().describe('Who would call; left out: the caller.'),
  run: nameText.optional(),
  timeoutMs: z.int().min(1).max(LONGEST_TIMEOUT_MS).optional(),
});

const part = z.object({
  kind: z.enum(['principal', 'action', 'resource', 'when', 'unless']),
  text: z.string(),
  state: z.enum(['holds', 'differs', 'fails']),
});

/** The document of `palisade policy explain --json`. */
export const explanation = z
  .object({
    principal: principalText,
    tool: z.string(),
    verdict: z.enum(['allow', 'ask', 'deny', 'error']),
    setDigest: sha256.nullable(),
    decidedBy: z.array(policy),
    errors: z.array(z.object({ policy: z.string().nullable(), message: z.string() })),
    policies: z.array(policy.extend({ matched: z.boolean(), parts: z.array(part) })),
    approvalWouldHelp: z.boolean(),
    differences: z.array(z.string()).describe('What would have to be different for the other answer.'),
    approval: z
      .object({ id: z.string(), state: z.enum(['pending', 'approved', 'denied', 'expired']) })
      .nullable(),
  })
  .meta({ id: 'Explanation' });
