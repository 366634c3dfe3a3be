import { join } from 'node:path';
import type { Principal } from '../../core/principal.ts';
import { formatPrincipal } from '../../core/principal.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import type { CheckResult } from '../../policy/check.ts';
import { readPolicyFiles } from '../../policy/policy-files.ts';
import { filesDigestOf } from '../../policy/replace-files.ts';
import type { Explained } from '../explained-call.ts';

/* What programs read of the policies. */

/** The set that decides, and the files as they are now; the two differ while the files have problems. */
export function policiesDocument({ policy, store }: Pick<Gateway, 'policy' | 'store'>) {
  const { set, problems } = policy;
  const read = readPolicyFiles(join(store.directory, 'policies'));
  return {
    ...{ digest: set?.digest ?? null, policies: set?.policies ?? [], problems },
    files: Object.fromEntries(read.files.map(({ name, text }) => [name, text])),
    filesDigest: filesDigestOf(read),
  };
}

/** What a check of policy files found. */
export function checkDocument(result: CheckResult) {
  const digest = result.ok ? result.set.digest : null;
  return { ok: result.ok, digest, problems: result.ok ? [] : result.problems, warnings: result.warnings };
}

/** Why a call is allowed or not. */
export function explanationDocument(
  principal: Principal,
  tool: string,
  { explanation, approval }: Explained,
) {
  return { principal: formatPrincipal(principal), tool, ...explanation, approval };
}
