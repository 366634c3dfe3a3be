import { describe, expect, test } from 'vitest';
import { findSandboxExec, type SeatbeltFindings, seatbeltTier } from '../../../src/tiers/c-seatbelt/index.ts';
import { SAMPLE_PASS } from '../../../src/tiers/network/variables.ts';
import { script } from '../process/machine-sample.ts';
import { sampleTerms } from '../terms.ts';

const HERE = { cgroups: 0, asRoot: null, pass: SAMPLE_PASS };
const TERMS = sampleTerms({ workspace: '/Users/ada/project' });

function tier(changes: Partial<SeatbeltFindings> = {}) {
  return seatbeltTier({
    sandboxExec: '/usr/bin/sandbox-exec',
    sandboxExecSha256: '0'.repeat(64),
    temporary: '/private/tmp/run-1',
    mayGoUnheld: ['memory', 'processes'],
    ...changes,
  });
}

describe('findSandboxExec()', () => {
  test.each<NodeJS.Platform>(['linux', 'freebsd', 'win32'])(
    'refuses on %s, whatever is there',
    (platform) => {
      const planted = script(['exit 0']);
      expect(findSandboxExec(platform, [planted])).toMatchObject({ ok: false, fix: expect.any(String) });
      expect(findSandboxExec('darwin', [planted])).toMatchObject({ ok: true, path: planted });
    },
  );

  test('refuses a sandbox-exec that others can change, and a macOS without one', () => {
    expect(findSandboxExec('darwin', [script([], 0o777)])).toMatchObject({ ok: false });
    expect(findSandboxExec('darwin', ['/nowhere/sandbox-exec'])).toMatchObject({
      why: 'sandbox-exec is not there',
    });
  });
});

describe('seatbeltTier()', () => {
  test('refuses limits that macOS cannot hold, unless the operator has named each of them', () => {
    expect(tier({ mayGoUnheld: [] }).plan(TERMS, HERE)).toMatchObject({
      ok: false,
      code: 'tier/unenforceable',
      message: expect.stringContaining('memory, processes'),
    });
    expect(tier({ mayGoUnheld: ['memory'] }).plan(TERMS, HERE)).toMatchObject({
      message: expect.stringContaining('limits processes:'),
    });
    expect(tier().plan(TERMS, HERE)).toMatchObject({ ok: true, file: '/usr/bin/sandbox-exec' });
  });

  test('refuses a gateway that is root, and control groups', () => {
    const asRoot = { uid: 501, gid: 20, owner: { uid: 501, gid: 20 } };
    expect(tier().plan(TERMS, { ...HERE, asRoot })).toMatchObject({
      message: expect.stringContaining('another user'),
    });
    expect(tier().plan(TERMS, { ...HERE, cgroups: 2 })).toMatchObject({
      message: expect.stringContaining('2 control groups'),
    });
  });

  test('refuses what the profile cannot hold', () => {
    const terms = { ...TERMS, protectedPaths: ['a(b'] };
    expect(tier().plan(terms, HERE)).toMatchObject({ ok: false, message: expect.stringContaining('a(b') });
  });

  test('never calls a run proven, whatever is reported', () => {
    const plan = tier().plan(TERMS, HERE);
    if (!plan.ok) throw new Error(plan.message);
    expect(plan.missing({ nnp: '1', seccomp: '2' })).toContain('nobody reports');
  });
});
