import { quote } from '../../core/hostile-text.ts';
import type { ValuePath as Path } from '../../core/result.ts';
import { type ShapeProblem as Found, misfitAt } from '../../core/shape-problem.ts';
import { parsePrefix } from '../../core/storage-key.ts';
import { type Checked, flagIn, tableIn, tablesIn, textIn, textsIn } from './checked.ts';
import { isCovered, isWild, meaningOf, rulesOf } from './hosts.ts';

const MOST_SECRETS = 64;
const WILD_HINT = 'allow_wildcards = true under [capabilities] says that it is meant';

/** What capabilities must be to each other. What did not fit its own key is not asked about again. */
export function checkAsks(asks: Checked, found: Found[]): void {
  // One that is itself wrong is not held against the rest.
  const mayBeWild = flagIn(asks, 'allow_wildcards') ?? true;
  checkHosts(textsIn(asks, 'http_egress_allowlist') ?? [], mayBeWild, found);
  checkSecrets(asks, mayBeWild, found);
  for (const name of ['read_roots', 'write_roots']) {
    const roots = textsIn(tableIn(asks, 'filesystem'), name) ?? [];
    checkRoots(roots, ['capabilities', 'filesystem', name], mayBeWild, found);
  }
  for (const [i, channel] of tablesIn(asks, 'channels').entries()) {
    if (flagIn(channel, 'publish') !== false || flagIn(channel, 'receive') !== false) continue;
    const misfit = { is: 'it neither publishes nor receives', expected: 'publish or receive to be true' };
    found.push(misfitAt(['capabilities', 'channels', i], misfit));
  }
}

function checkHosts(entries: readonly (string | null)[], mayBeWild: boolean, found: Found[]): void {
  const seen = new Set<string>();
  for (const [i, entry] of entries.entries()) {
    const [rule] = rulesOf([entry]);
    if (rule === undefined) continue;
    const path = ['capabilities', 'http_egress_allowlist', i];
    if (isWild(rule) && !mayBeWild) found.push(wild(path, rule.entry));
    const meaning = meaningOf(rule);
    if (seen.has(meaning)) {
      const is = `${quote(rule.entry)} means the same as an entry before it`;
      found.push(misfitAt(path, { is, expected: 'each once' }));
    }
    seen.add(meaning);
  }
}

function wild(path: Path, entry: string): Found {
  const is = `${quote(entry)} means more than one host`;
  return misfitAt(path, { is, expected: 'each host by its name', hint: WILD_HINT });
}

function checkSecrets(asks: Checked, mayBeWild: boolean, found: Found[]): void {
  const seen = new Set<string>();
  for (const [i, secret] of tablesIn(asks, 'secrets').entries()) {
    const path = ['capabilities', 'secrets', i];
    for (const [j, name] of (textsIn(secret, 'keys') ?? []).entries()) {
      if (name === null) continue;
      if (seen.has(name)) {
        const misfit = { is: `${quote(name)} is asked for twice`, expected: 'each secret once' };
        found.push(misfitAt([...path, 'keys', j], misfit));
      }
      seen.add(name);
      if (seen.size === MOST_SECRETS + 1) {
        const expected = `at most ${MOST_SECRETS} in the whole manifest`;
        found.push(misfitAt([...path, 'keys', j], { is: 'it is one secret more', expected }));
      }
    }
    checkSecretHosts(secret, { path, asks, mayBeWild, found });
  }
}

type Place = {
  readonly path: Path;
  readonly asks: Checked;
  readonly mayBeWild: boolean;
  readonly found: Found[];
};

function checkSecretHosts(secret: Checked, { path, asks, mayBeWild, found }: Place): void {
  const hosts = textsIn(secret, 'hosts');
  if (hosts?.length === 0 && textIn(secret, 'use') === 'send') {
    const misfit = { is: 'it names no host', expected: 'hosts such as ["api.example.com"] for use = "send"' };
    found.push(misfitAt([...path, 'hosts'], misfit));
  }
  const allowed = textsIn(asks, 'http_egress_allowlist');
  for (const [i, entry] of (hosts ?? []).entries()) {
    const [rule] = rulesOf([entry]);
    if (rule === undefined) continue;
    if (isWild(rule) && !mayBeWild) found.push(wild([...path, 'hosts', i], rule.entry));
    // An entry of the list that cannot be read may be the one that is meant.
    if (allowed === null || allowed.includes(null)) continue;
    // Boundary: a secret never goes where the skill does not say that it goes.
    if (!isCovered(rule, rulesOf(allowed))) {
      const is = `no entry of http_egress_allowlist lets ${quote(rule.entry)} be reached`;
      found.push(
        misfitAt([...path, 'hosts', i], { is, expected: 'one that does; without a port that is 443' }),
      );
    }
  }
}

function checkRoots(roots: readonly (string | null)[], path: Path, mayBeWild: boolean, found: Found[]): void {
  const seen = new Set<string>();
  for (const [i, root] of roots.entries()) {
    const parsed = root === null ? null : parsePrefix(root === '' ? '/' : root);
    if (parsed === null || !parsed.ok) continue;
    if (parsed.prefix === '' && !mayBeWild) {
      const is = `${quote(root ?? '')} means the whole storage`;
      found.push(misfitAt([...path, i], { is, expected: 'the beginnings of keys', hint: WILD_HINT }));
    }
    if (seen.has(parsed.prefix)) {
      const is = `${quote(root ?? '')} means the same as one before it`;
      found.push(misfitAt([...path, i], { is, expected: 'each once' }));
    }
    seen.add(parsed.prefix);
  }
}
