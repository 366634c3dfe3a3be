/**
 * Replaces all policies. The new ones are checked like those that an operator writes by hand; then, under the write
 * lock of the store, the files must still be those that the caller saw, the record is written and the files are
 * replaced as a whole. A refusal changes nothing.
 */
import { join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { digestBytes } from '../core/digest.ts';
import { formatPrincipal } from '../core/principal.ts';
import { type CheckResult, checkPolicies } from '../policy/check.ts';
import { namedIn } from '../policy/parse.ts';
import { readPolicyFiles } from '../policy/policy-files.ts';
import type { PolicyFile, PolicySet } from '../policy/policy-set.ts';
import { filesDigestOf, replacePolicyFiles } from '../policy/replace-files.ts';
import { wouldPermit } from '../policy/trial.ts';
import { requireAdministrator } from './administer.ts';
import type { Gateway } from './gateway.ts';
import type { Acting } from './skills/skill-acts.ts';

type Replacing = Acting & {
  readonly files: readonly PolicyFile[];
  readonly ifDigest: string;
  /** The caller confirms the change, although it could not administer afterwards. */
  readonly force: boolean;
};

/** Checks policy texts against the tools of this gateway, like those in its folder. */
export function checkTexts({ policy, registry }: Gateway, files: readonly PolicyFile[]): CheckResult {
  const tools = registry.named(namedIn(files.map(({ text }) => text)));
  return checkPolicies(files, tools, policy.bench);
}

/** Replaces the policies; returns the result of the check whether it passed or not. */
export function replacePolicies(gateway: Gateway, replacing: Replacing): CheckResult {
  const { by, tenant, force } = replacing;
  requireAdministrator(gateway, by, tenant);
  const files = replacing.files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const result = checkTexts(gateway, files);
  if (!result.ok) return result;
  const facts = { act: 'administer', tenant, nowMs: gateway.clock.nowMs() } as const;
  const staysIn = wouldPermit(gateway.policy, result.set, by, facts);
  if (!staysIn && !force)
    throw new CodedError(
      'policy/locks-out',
      `Cannot replace the policies: under them ${formatPrincipal(by)} may not administer`,
    );
  write(gateway, { ...replacing, files, set: result.set, isForced: !staysIn });
  gateway.policy.reload();
  return result;
}

type Writing = Replacing & {
  readonly set: PolicySet;
  readonly isForced: boolean;
};

function write(gateway: Gateway, writing: Writing): void {
  const { store, journal } = gateway;
  const { files, ifDigest, by, tenant, set, isForced } = writing;
  const directory = join(store.directory, 'policies');
  store.transact((tx) => {
    // Boundary: the wait for the database may have been long.
    const decidedBy = requireAdministrator(gateway, by, tenant);
    // Boundary: no one overwrites what they have not seen. Edits by hand take no lock, and are noticed up to here.
    const before = filesDigestOf(readPolicyFiles(directory));
    if (before !== ifDigest)
      throw new CodedError(
        'policy/changed',
        `Cannot replace the policies: the files have the digest ${before}, expected "${ifDigest}"`,
      );
    journal.append(tx, {
      kind: 'policy-replaced',
      principal: formatPrincipal(by),
      tenant,
      body: {
        digest: set.digest,
        before,
        after: filesDigestOf({ files, problems: [] }),
        files: files.map(({ name, text }) => ({ name, sha256: digestBytes(text) })),
        decidedBy: [...decidedBy],
        isForced,
      },
    });
    replacePolicyFiles(directory, files);
  });
}
