import { describe, expect, test } from 'vitest';
import { digestBytes } from '../../src/core/digest.ts';
import { isCertain, type JudgedFile } from '../../src/core/process.ts';
import { authorize, type CallFacts } from '../../src/policy/authorize.ts';
import { readsDigests } from '../../src/policy/schema.ts';
import { STARTER_POLICIES } from '../../src/policy/starter.table.ts';
import { APPROVED, checkedCall, DANGER, engineWith, FACTS, PERMIT_ALL, preparedProcess } from './sample.ts';

const BY_DIGEST = '@id("all") permit(principal, action == Action::"call", resource) when';

const file = (path: string, changes: Partial<JudgedFile> = {}): JudgedFile => ({
  ...{ path, sha256: digestBytes(path), sizeBytes: 1, interpreter: [], identity: null, isPinned: false },
  ...changes,
});
const SCRIPT = file('/w/script', { interpreter: ['/w/tool'] });
const TOOL = file('/w/tool', { isPinned: true });
const SHELL = file('/usr/bin/sh', { identity: '1:2:3:4:5:6:7' });

function grantedUnder(policies: string, facts: CallFacts) {
  const files = [SCRIPT, TOOL, SHELL];
  const artifacts = files.map(({ path, sha256 }) => ({ name: path, sha256 }));
  const checked = { ...checkedCall(DANGER, { text: '' }), process: preparedProcess({ files }), artifacts };
  const decision = authorize(engineWith(policies), checked, facts);
  if (decision.verdict !== 'allow') throw new Error(decision.verdict);
  const { process, artifacts: named } = decision.grant.call;
  return { names: named.map(({ name }) => name), files: process?.terms.files ?? [] };
}

describe('a grant', () => {
  test('names only files that are certain to run where no digest decided', () => {
    const { names, files } = grantedUnder(PERMIT_ALL, FACTS);
    expect(names).toEqual(['/w/tool', '/usr/bin/sh']);
    expect(files.map(isCertain)).toEqual([false, true, true]);
  });

  test.each([
    ['an approval', PERMIT_ALL, APPROVED],
    [
      'a policy that reads digests',
      `${BY_DIGEST} { context.process.executableSha256 == "${digestBytes('git')}" };`,
      FACTS,
    ],
  ])('by %s has every file held to its digest, and names all', (_, policies, facts) => {
    const guarded = policies.replace('{ context.process', '{ context has process && context.process');
    const { names, files } = grantedUnder(guarded, facts);
    expect(names).toEqual(['/w/script', '/w/tool', '/usr/bin/sh']);
    expect(files.every(isCertain)).toBe(true);
  });
});

describe('a decision on the paths of a command', () => {
  const BY_PATHS = `${PERMIT_ALL} @id("paths") forbid(principal, action == Action::"call", resource) when { context.paths.contains("/etc/x") };`;
  const BY_WHOLE_PATHS = BY_PATHS.replace('{ context.paths', '{ context.pathsTruncated || context.paths');

  function decide(policies: string, pathsTruncated: boolean) {
    const { facts, ...rest } = preparedProcess({});
    const moved = { ...rest, facts: { ...facts, pathsTruncated }, pathsStillHold: () => 'moved' };
    return authorize(engineWith(policies), { ...checkedCall(DANGER, { text: '' }), process: moved }, FACTS);
  }

  test.each([
    [PERMIT_ALL, null],
    [BY_PATHS, 'moved'],
  ])('is held to them where a policy reads them: %s', (policies, change) => {
    const decision = decide(policies, false);
    if (decision.verdict !== 'allow') throw new Error(decision.verdict);
    expect(decision.grant.call.process?.stillHolds(0)).toBe(change);
  });

  test.each([
    ['allows where no policy reads them', PERMIT_ALL, 'allow', null],
    ['denies where a policy takes them for all', BY_PATHS, 'deny', 'policy/evaluation-error'],
    ['leaves it to a policy that asks', BY_WHOLE_PATHS, 'deny', 'policy/denied'],
  ])('on some of them %s', (_, policies, verdict, code) => {
    const decision = decide(policies, true);
    expect([decision.verdict, decision.verdict === 'deny' ? decision.refused.code : null]).toEqual([
      verdict,
      code,
    ]);
    expect(decide(policies, false).verdict).toBe('allow');
  });
});

describe('readsDigests()', () => {
  test('is true of a text that names the attribute, however it is spelled', () => {
    expect(readsDigests(['when { context.process.executableSha256 == "" }'])).toBe(true);
    expect(readsDigests(['', 'when { context.process["executable\\u{53}ha256"] == "" }'])).toBe(true);
  });

  test('is false of the starter policies, and of patterns with an escaped star', () => {
    expect(readsDigests(Object.values(STARTER_POLICIES))).toBe(false);
    expect(readsDigests(['when { context.inputText like "a\\*b" }'])).toBe(false);
  });
});
