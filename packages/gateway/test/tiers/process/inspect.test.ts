import { describe, expect, test } from 'vitest';
import { type Inspection, inspectTiers, type TierRow } from '../../../src/tiers/process/inspect.ts';
import {
  fakeBwrap,
  fakeLauncher,
  IS_ROOT,
  launcherWithoutNamespaces,
  machine,
  script,
  startHere,
  trialKit,
} from './machine-sample.ts';

const GROUPS = { ok: true, value: { kind: 'v2', controllers: ['memory', 'pids'] } } as const;

async function inspect(changes: Partial<Inspection> = {}): Promise<readonly TierRow[]> {
  return inspectTiers({ options: machine(), kit: trialKit(), probeCgroups: () => GROUPS, ...changes });
}

const lacks = (rows: readonly TierRow[]) =>
  rows.filter(({ holds }) => !holds).map(({ tier, name }) => `${tier ?? 'both'} ${name}`);
const rowOf = (rows: readonly TierRow[], tier: TierRow['tier'], name: string) =>
  rows.find((row) => row.tier === tier && row.name === name);

describe('inspectTiers()', () => {
  test('shows everything that this machine holds, and a fix for each thing that it does not', async () => {
    const rows = await inspect();
    expect(rowOf(rows, 'b', 'trial')).toMatchObject({ holds: true });
    expect(rowOf(rows, 'c', 'trial')).toMatchObject({ holds: true });
    const names = ['no_new_privs', 'system call filter', 'capabilities', 'network', 'limits of a process'];
    for (const name of [...names, 'namespaces', 'writable places']) {
      expect(rowOf(rows, 'c', name)).toMatchObject({ holds: true, fix: null });
    }
    expect(rowOf(rows, 'c', 'network')?.detail).toBe('is none: only lo');
    expect(rowOf(rows, 'c', 'writable places')?.detail).toContain('/dev/shm');
    expect(rowOf(rows, null, 'user namespaces')).toMatchObject({ holds: true });
    expect(rowOf(rows, null, 'idmapped workspaces')?.holds).toBe(IS_ROOT ? true : undefined);
    for (const { holds, fix } of rows) expect(fix === null).toBe(holds);
  });

  test('needs no more than a launcher for tier B, and says what a missing bubblewrap takes', async () => {
    const rows = await inspect({ options: machine({ bwraps: [] }) });
    expect(lacks(rows)).toEqual(['c trial']);
    expect(rowOf(rows, 'c', 'trial')).toMatchObject({
      detail: 'run failed: bubblewrap is not installed',
      fix: expect.stringContaining('apt-get install bubblewrap'),
    });
  });

  test('has no tier at all without a launcher, and says how it is built', async () => {
    const rows = await inspect({ options: machine({ launchers: [] }) });
    expect(lacks(rows)).toEqual(['both launcher', 'b trial', 'c trial']);
    expect(rowOf(rows, null, 'launcher')?.fix).toContain('needs a C compiler');
  });

  test('shows every option that an old bubblewrap lacks, and that it cannot protect paths', async () => {
    const old = script(['[ "$1" = --version ] && echo "bubblewrap 0.4.0" && exit 0', 'echo "    --args FD"']);
    const rows = await inspect({ options: machine({ bwraps: [old] }) });
    expect(lacks(rows)).toEqual(['c options of bubblewrap', 'c protected paths', 'c trial']);
    expect(rowOf(rows, 'c', 'options of bubblewrap')?.detail).toContain('--bind-fd');
    expect(rowOf(rows, 'c', 'options of bubblewrap')?.detail).not.toContain('--args,');
  });

  test('says that bubblewrap 0.12 can protect paths and 0.11 cannot', async () => {
    const [older, newer] = await Promise.all(
      ['0.11.9', '0.12.0'].map((version) =>
        inspect({ options: machine({ bwraps: [fakeBwrap(`bubblewrap ${version}`)] }) }),
      ),
    );
    expect(rowOf(older ?? [], 'c', 'protected paths')).toMatchObject({ holds: false });
    expect(rowOf(newer ?? [], 'c', 'protected paths')).toMatchObject({ holds: true });
  });

  test('names the step, the errno and the stand-in where user namespaces are really off', async () => {
    const options = machine({ launchers: [launcherWithoutNamespaces()], runAs: null, bwraps: [] });
    const rows = await inspect({ options, kit: trialKit({ runAs: null, start: startHere }) });
    expect(rowOf(rows, null, 'user namespaces')).toMatchObject({
      holds: false,
      detail: 'cannot be made: it failed at "namespaces" with ENOSPC',
      fix: expect.stringContaining('start palisade outside'),
    });
    expect(rowOf(rows, 'b', 'namespaces')?.detail).toContain('Landlock replaces them');
    expect(rowOf(rows, null, 'Landlock')).toMatchObject({ holds: true });
    expect(rowOf(rows, 'b', 'trial')).toMatchObject({ holds: true });
  });

  test('names the setting of the kernel that forbids user namespaces', async () => {
    const launcher = fakeLauncher(['launcher=1', 'failed=namespaces errno=1 EPERM'], 125);
    const readSetting = (path: string) => (path.includes('apparmor') ? '1\n' : null);
    const rows = await inspect({
      options: machine({ launchers: [launcher], bwraps: [] }),
      kit: trialKit({ readSetting }),
    });
    expect(rowOf(rows, null, 'user namespaces')).toMatchObject({
      detail: expect.stringContaining('AppArmor restricts user namespaces'),
      fix: expect.stringContaining('userns,'),
    });
  });

  test('shows which isolation fact was missing, and claims nothing of those after it', async () => {
    const facts = ['fact.uid=1000', 'fact.gid=1000', 'fact.nnp=1', 'fact.seccomp=0'];
    const launcher = fakeLauncher(['launcher=1', ...facts, 'pid=2', 'exit=0', 'done=1'], 0);
    const rows = await inspect({
      options: machine({ launchers: [launcher], bwraps: [], runAs: null }),
      kit: trialKit({ runAs: null, start: startHere }),
    });
    expect(rowOf(rows, 'b', 'no_new_privs')).toMatchObject({ holds: true });
    expect(rowOf(rows, 'b', 'system call filter')).toMatchObject({
      holds: false,
      detail: 'failed: seccomp is 0, expected 2',
    });
    expect(rowOf(rows, 'b', 'limits of a process')).toBeUndefined();
    expect(rowOf(rows, 'b', 'trial')).toMatchObject({ holds: false });
  });

  test('passes on why no control group can be made', async () => {
    const probeCgroups = () =>
      ({ ok: false, problem: { why: 'none is mounted', fix: 'Mount it.' } }) as const;
    const rows = await inspect({ probeCgroups, options: machine({ launchers: [] }) });
    expect(rowOf(rows, null, 'control groups')).toEqual({
      tier: null,
      name: 'control groups',
      holds: false,
      detail: 'cannot be made: none is mounted',
      fix: 'Mount it.',
    });
  });
});
