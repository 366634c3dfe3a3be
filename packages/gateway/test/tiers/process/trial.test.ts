import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Found, Probed } from '../../../src/tiers/process/tier.ts';
import { PROCESS_TIERS } from '../../../src/tiers/process/tiers.table.ts';
import { tryTier } from '../../../src/tiers/process/trial.ts';
import {
  fakeBwrap,
  fakeLauncher,
  LAUNCHER,
  machine,
  openDirectory,
  script,
  setVariable,
  startHere,
  trialKit,
} from './machine-sample.ts';

const { probe: probeB } = PROCESS_TIERS.b;
const { probe: probeC } = PROCESS_TIERS.c;

async function found(probed: Promise<Probed>): Promise<Found> {
  const value = await probed;
  if (!value.ok) throw new Error(value.problem.why);
  return value.value;
}

describe('tryTier()', () => {
  test.each([
    ['b', probeB],
    ['c', probeC],
  ])('proves tier %s on this machine and leaves nothing behind', async (_, probe) => {
    const temporary = openDirectory();
    setVariable('TMPDIR', temporary);
    const trial = await tryTier(await found(probe(machine())), trialKit());
    expect(trial).toMatchObject({ ok: true, value: { seccomp: '2', nnp: '1' } });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('says so where no directory can be made for it', async () => {
    const b = await found(probeB(machine()));
    setVariable('TMPDIR', '/nowhere/at/all');
    expect(await tryTier(b, trialKit())).toMatchObject({
      ok: false,
      problem: {
        why: expect.stringContaining('"/nowhere/at/all" gives ENOENT'),
        fix: expect.stringContaining('TMPDIR'),
      },
    });
  });

  test('finds out a bubblewrap that builds no jail', async () => {
    const copy = join(openDirectory(), 'launcher');
    copyFileSync(LAUNCHER, copy);
    // Everything is as it should be, but the launcher runs on the host, where it does not find the jail's directories.
    const program = [
      'import os, sys',
      `words = open(int(sys.argv[-1].removeprefix("words=")), "rb").read()[4:].split(b"\\0")[:-1]`,
      `os.execv("${copy}", [b"launcher"] + [word for word in words if not word.startswith(b"cwd=")])`,
    ];
    const lines = [`exec /usr/bin/python3 -c '${program.join('; ')}' "$@"`];
    const c = await found(probeC(machine({ bwraps: [fakeBwrap('bubblewrap 0.12.0', lines)] })));
    const trial = await tryTier(c, trialKit());
    expect(trial).toMatchObject({
      ok: false,
      problem: { why: expect.stringContaining(', expected '), unproven: { facts: { seccomp: '0' } } },
    });
    expect(trial).not.toHaveProperty('problem.fault');
  });

  test.each([
    ['says why', 'echo "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted" >&2; exit 1', 'EPERM'],
    ['says nothing', 'exit 1', null],
    ['ends well at once', 'exit 0', null],
    ['is killed', 'kill -9 $$', null],
  ])('names the step of a bubblewrap that %s half-way', async (_, line, errno) => {
    const c = await found(probeC(machine({ bwraps: [fakeBwrap('bubblewrap 0.8.0', [line])] })));
    const trial = await tryTier(c, trialKit({ readSetting: () => null }));
    expect(trial).toMatchObject({ ok: false, problem: { fault: { step: 'sandbox', errno } } });
    expect(trial).not.toHaveProperty('problem.unproven');
    if (!trial.ok) expect(trial.problem.why).toContain('it failed at "sandbox" with ');
  });

  test('passes on what bubblewrap said, without signs that steer a terminal', async () => {
    const line = 'printf "bwrap: \\033[2Jgone\\n" >&2; exit 1';
    const c = await found(probeC(machine({ bwraps: [fakeBwrap('bubblewrap 0.8.0', [line])] })));
    const trial = await tryTier(c, trialKit());
    expect(trial).toMatchObject({ problem: { why: 'it failed at "sandbox" with bwrap: ?[2Jgone' } });
  });

  test('refuses an old bubblewrap without a start, by the option that it lacks', async () => {
    // Its help lists little, and whoever starts it as a jail is told so by the exit status.
    const old = script(['[ "$1" = --version ] && echo "bubblewrap 0.4.0" && exit 0', 'echo "    --args FD"']);
    const c = await found(probeC(machine({ bwraps: [old] })));
    expect(await tryTier(c, trialKit())).toMatchObject({
      ok: false,
      problem: {
        why: expect.stringMatching(/bubblewrap 0\.4\.0 lacks --/),
        fix: expect.stringContaining('Install bubblewrap'),
      },
    });
  });

  test.each([
    ['namespaces', 'EPERM', 'seccomp=seccomp.json'],
    ['workspace-idmap', 'EINVAL', 'idmapped mounts'],
    ['rlimit', 'EPERM', 'ulimit'],
    ['proc', 'EPERM', 'systempaths=unconfined'],
  ])('names the step %s and its errno as the launcher reports them', async (step, errno, fix) => {
    const launcher = fakeLauncher(['launcher=1', `failed=${step} errno=1 ${errno}`], 125);
    const b = await found(probeB(machine({ launchers: [launcher] })));
    const trial = await tryTier(b, trialKit({ readSetting: () => null, start: startHere }));
    expect(trial).toMatchObject({
      ok: false,
      problem: { why: `it failed at "${step}" with ${errno}`, fix: expect.stringContaining(fix) },
    });
  });

  test('does not take a report that makes no sense for a proof', async () => {
    const launcher = fakeLauncher(['launcher=1', 'fact.seccomp=2', 'fact.seccomp=2', 'exit=0', 'done=1'], 0);
    const b = await found(probeB(machine({ launchers: [launcher] })));
    const trial = await tryTier(b, trialKit({ start: startHere }));
    expect(trial).toMatchObject({ ok: false, problem: { fault: { step: 'report' } } });
  });
});
