import { join } from 'node:path';
import * as z from 'zod';
import { placeOf } from '../core/caller.ts';
import { wrongUsage } from '../core/coded-error.ts';
import { formatPrincipal, parsePrincipal } from '../core/principal.ts';
import type { Gateway } from '../invoke/gateway.ts';
import { doorCall } from '../invoke/invoke.ts';
import { inItsSession } from '../invoke/join-session.ts';
import type { CheckResult } from '../policy/check.ts';
import { POLICY_LIMITS } from '../policy/limits.ts';
import { POLICY_FILE_NAME, readPolicyFiles } from '../policy/policy-files.ts';
import type { PolicyFile } from '../policy/policy-set.ts';
import { filesDigestOf } from '../policy/replace-files.ts';
import { actingOf, requireHome } from './access.ts';
import { checkCall, explainNow } from './explain-call.ts';
import {
  type Operation,
  type OperationContext,
  OperationProblem,
  operation,
  READS_GATEWAY,
} from './operation.ts';
import { anyJson, nameText, principalText, sha256 } from './schema-parts.ts';

/* The policies decide about every tenant, so callers of the gateway's own tenant see and replace them. */

const MAX_TIMEOUT_MS = 86_400_000;
const MAX_CASE_CHARS = 16 * 1024 * 1024;
/** A name as a call may have it; one that is not valid is refused as the call would be. */
const someName = z.string().max(1_024);

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

const policies = z
  .object({
    digest: sha256.nullable().describe('Of the set that decides; null: no set does, and all is denied.'),
    policies: z.array(policy).describe('The set that decides.'),
    problems: z.array(problem).describe('Why the files are not the set that decides; empty where they are.'),
    files: z.record(z.string(), z.string()).describe('The files as they are: name and text.'),
    filesDigest: sha256.describe('Of those files: what `ifDigest` has to be.'),
  })
  .meta({ id: 'Policies' });

const replaced = policies.extend({ warnings: z.array(problem) }).meta({ id: 'ReplacedPolicies' });

const checked = z
  .object({
    ok: z.boolean(),
    digest: sha256.nullable().describe('Of the set that these files are; null: they are not a valid set.'),
    problems: z.array(problem),
    warnings: z.array(problem),
  })
  .meta({ id: 'PolicyCheck' });

const part = z.object({
  kind: z.enum(['principal', 'action', 'resource', 'when', 'unless']),
  text: z.string(),
  state: z.enum(['holds', 'differs', 'fails']),
});

const explanation = z
  .object({
    principal: principalText,
    tool: z.string(),
    verdict: z.enum(['allow', 'ask', 'deny', 'error']),
    from: z
      .object({
        device: z.string().nullable(),
        channel: z.string().nullable(),
        session: z.string().nullable(),
      })
      .describe('Where the call was taken to come from.'),
    capabilities: z.array(z.string()).describe('What the policies are told that the call can do.'),
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

const answer = z.enum(['allow', 'deny', 'ask', 'error']);

const tested = z
  .object({
    passed: z.int(),
    failed: z.int(),
    cases: z.array(
      z.object({
        name: z.string(),
        line: z.int().describe('Where it begins in the file.'),
        passed: z.boolean(),
        expected: answer,
        actual: answer,
        decidedBy: z.array(z.string()),
        message: z.string().describe('Why it did not pass; empty where it did.'),
      }),
    ),
  })
  .meta({ id: 'PolicyTest' });

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

const facts = { ...READS_GATEWAY, noun: 'policies', opens: 'gateway' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'getPolicies',
    sentence: 'Shows the policies that decide, and the files as they are.',
    http: { method: 'GET', path: '/v1/policies' },
    input: z.strictObject({}),
    output: { schema: policies, sentence: 'The policies.' },
    handle: ({ gateway }) => policiesDocument(gateway),
  }),
  operation({
    ...facts,
    name: 'replacePolicies',
    sentence: 'Replaces all policy files at once, if they are valid and have not changed meanwhile.',
    scope: 'policy',
    action: 'administer',
    access: requireHome,
    http: { method: 'PUT', path: '/v1/policies' },
    input: z.strictObject({
      files: files.describe('All policy files; those that are not here are removed.'),
      ifDigest: sha256.describe('The `filesDigest` that the caller saw.'),
      force: z.boolean().default(false).describe('Also where the caller may not administer afterwards.'),
    }),
    output: {
      schema: replaced,
      sentence: 'The policies that decide from now on.',
      problem: checked.pick({ problems: true, warnings: true }).partial(),
    },
    handle: async (context, { files: texts, ifDigest, force }) => {
      const { gateway } = context;
      const { replacePolicies } = await import('../invoke/replace-policies.ts');
      const replacing = { ...actingOf(context), files: filesOf(texts), ifDigest, force };
      const result = replacePolicies(gateway, replacing);
      if (result.ok) return { ...policiesDocument(gateway), warnings: result.warnings };
      const { problems, warnings } = checkDocument(result);
      const [first] = problems;
      const position = first === undefined ? '' : ` (${first.file}:${first.line}:${first.column})`;
      throw new OperationProblem(
        'policy/invalid',
        `Cannot replace the policies: ${first?.message ?? 'the check found problems'}${position}`,
        { more: { problems, warnings } },
      );
    },
  }),
  operation({
    ...facts,
    name: 'checkPolicies',
    sentence: 'Checks policy files without using them.',
    http: { method: 'POST', path: '/v1/policies/check' },
    input: z.strictObject({
      files: files.optional().describe('What to check; left out: the files of the gateway.'),
    }),
    output: { schema: checked, sentence: 'What the check found; `ok` may be false.' },
    handle: async ({ gateway }, { files: texts }) => {
      if (texts !== undefined) {
        const { checkTexts } = await import('../invoke/replace-policies.ts');
        return checkDocument(checkTexts(gateway, filesOf(texts)));
      }
      const { checkDirectory } = await import('../policy/check.ts');
      const directory = join(gateway.store.directory, 'policies');
      return checkDocument(checkDirectory(directory, (named) => gateway.registry.named(named)));
    },
  }),
  operation({
    ...facts,
    name: 'explainCall',
    sentence: 'Explains why a call would be allowed or not, without running or recording anything.',
    http: { method: 'POST', path: '/v1/policies/explain' },
    input: z.strictObject({
      tool: someName,
      input: anyJson.optional().describe('What the tool would be given; left out: {}.'),
      principal: principalText.optional().describe('Who would call; left out: the caller.'),
      run: someName.optional(),
      device: nameText.optional().describe('On which device; left out: that of the caller, of others none.'),
      channel: nameText.optional().describe('By which client or way in; left out: as for the device.'),
      session: nameText
        .optional()
        .describe('In which session; left out: the one that such a call would be in.'),
      timeoutMs: z.int().min(1).max(MAX_TIMEOUT_MS).optional(),
    }),
    output: { schema: explanation, sentence: 'The verdict, and what it comes from.' },
    handle: async (context, { tool, input = {}, run = null, timeoutMs = null, session, ...as }) => {
      const { gateway, door } = context;
      const caller = explainedCaller(context, as);
      const rawInput = JSON.stringify(input);
      const made = doorCall(gateway, caller, { tool, rawInput, run, timeoutMs, door });
      const call = session === undefined ? inItsSession(gateway, made) : { ...made, session };
      const explained = explainNow(gateway, await checkCall(gateway, call), call.receivedAtMs);
      return { principal: formatPrincipal(caller.principal), tool, ...explained };
    },
  }),
  operation({
    ...facts,
    name: 'testPolicies',
    // Thousands of cases keep the gateway busy, so they are for who may change the policies.
    scope: 'policy',
    sentence: 'Runs test cases against the policies that decide; no call runs or is recorded.',
    http: { method: 'POST', path: '/v1/policies/test' },
    input: z.strictObject({
      cases: z.string().max(MAX_CASE_CHARS).describe('The text of a file of test cases: TOML.'),
      file: z.string().max(4_096).default('cases.toml').describe('What messages call that file.'),
    }),
    output: { schema: tested, sentence: 'How each case ended; `failed` may not be 0.' },
    handle: async ({ gateway, caller, door }, { cases: text, file }) => {
      const { parseCases, runPolicyTests } = await import('../policy/policy-test.ts');
      const cases = parseCases(text, file);
      if (cases.length === 0) throw wrongUsage(`Cannot test with "${file}": it has no [[case]]`);
      const { tenant } = caller;
      const check = (tool: string, rawInput: string) =>
        gateway.registry.check(doorCall(gateway, caller, { tool, rawInput, door }));
      const nowMs = gateway.clock.nowMs();
      const results = await runPolicyTests(gateway.policy, cases, { check, tenant, nowMs });
      const passed = results.filter((each) => each.passed).length;
      return { passed, failed: results.length - passed, cases: results };
    },
  }),
];

type ExplainedAs = { readonly [K in 'principal' | 'device' | 'channel']?: string | undefined };

/** The caller that a call is explained for: as named, and where no other principal is named as the one who asks. */
function explainedCaller(
  { caller }: Pick<OperationContext, 'caller'>,
  { principal = '', ...named }: ExplainedAs,
) {
  const { device, channel, ...rest } = caller;
  const other = parsePrincipal(principal);
  const place = other === null ? placeOf({ device, channel }) : {};
  return { ...rest, principal: other ?? caller.principal, ...place, ...placeOf(named) };
}

function filesOf(texts: Readonly<Record<string, string>>): readonly PolicyFile[] {
  return Object.entries(texts)
    .map(([name, text]) => ({ name, text }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The active set, and the files as they are now; the two differ while the files have problems. */
function policiesDocument({ policy: engine, store }: Pick<Gateway, 'policy' | 'store'>) {
  const { set, problems } = engine;
  const read = readPolicyFiles(join(store.directory, 'policies'));
  return {
    digest: set?.digest ?? null,
    policies: set?.policies ?? [],
    problems,
    files: Object.fromEntries(read.files.map(({ name, text }) => [name, text])),
    filesDigest: filesDigestOf(read),
  };
}

/** What a check of policy files found. */
export function checkDocument(result: CheckResult) {
  const digest = result.ok ? result.set.digest : null;
  return { ok: result.ok, digest, problems: result.ok ? [] : result.problems, warnings: result.warnings };
}
