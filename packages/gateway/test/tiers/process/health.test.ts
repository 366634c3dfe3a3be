import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FileSystems, TierHealth } from '../../../src/tiers/process/index.ts';
import type { Found, Probed } from '../../../src/tiers/process/tier.ts';
import type { Trial } from '../../../src/tiers/process/trial.ts';

const FOUND = { ok: true, value: { launcher: '/launcher', tier: {} } as Found } as const;
const HELD: Trial = { ok: true, value: {} };
const BROKEN: Trial = { ok: false, problem: { why: 'it failed', fix: 'Mend it.' } };
const ABSENT = { ok: false, problem: { why: 'it is absent', fix: 'Install it.' } } as const;

/** A tier on a machine that a test changes, with a count of what was asked of it. */
function health() {
  const state = {
    nowMs: 0,
    probed: FOUND as Probed,
    trial: HELD,
    probes: 0,
    trials: 0,
    file: '1',
    forgotten: 0,
    memory: true,
  };
  const tier = new TierHealth({
    clock: { nowMs: () => 0, monotonicMs: () => state.nowMs },
    probe: async (isDoubted) => {
      state.probes += 1;
      state.memory &&= !isDoubted;
      return state.probed;
    },
    onDoubt: () => {
      state.forgotten += 1;
    },
    tryTier: async () => {
      state.trials += 1;
      return state.trial;
    },
    stateOf: () => state.file,
  });
  return { tier, state };
}

describe('a tier that holds', () => {
  test('is probed once and never tried, however many calls there are', async () => {
    const { tier, state } = health();
    await Promise.all([tier.look(), tier.look()]);
    state.nowMs = 1e9;
    expect(await tier.look()).toBe(FOUND);
    expect(tier.found).toBe(FOUND.value);
    expect(state).toMatchObject({ probes: 1, trials: 0 });
  });

  test('is probed again at once when its launcher was replaced, and refuses what is not its own', async () => {
    const { tier, state } = health();
    await tier.look();
    state.file = '2';
    state.probed = ABSENT;
    expect(await tier.look()).toBe(ABSENT);
    state.file = '3';
    state.probed = FOUND;
    state.nowMs += 5_000;
    expect(await tier.look()).toBe(FOUND);
    await tier.look();
    expect(state).toMatchObject({ probes: 3, trials: 0 });
  });

  test('is tried once after a run that could not be set up, and stays', async () => {
    const { tier, state } = health();
    await tier.look();
    tier.doubt();
    // The next process does not take it from memory either.
    expect(state).toMatchObject({ forgotten: 1, memory: true });
    expect(await tier.look()).toBe(FOUND);
    await tier.look();
    expect(state).toMatchObject({ trials: 1, memory: false });
  });

  test('is not tried with every call by commands that fail on purpose', async () => {
    const { tier, state } = health();
    for (let call = 0; call < 20; call += 1) {
      await tier.look();
      tier.doubt();
      state.nowMs += 10;
    }
    expect(state.trials).toBe(1);
    state.nowMs += 5_000;
    await tier.look();
    expect(state.trials).toBe(2);
  });
});

describe('a tier that no longer holds', () => {
  test('is refused with the words of the trial, until a fix is made', async () => {
    const { tier, state } = health();
    await tier.look();
    tier.doubt();
    state.trial = BROKEN;
    expect(await tier.look()).toEqual({ ok: false, problem: { why: 'it failed', fix: 'Mend it.' } });
    state.nowMs += 4_999;
    expect((await tier.look()).ok).toBe(false);
    expect(state.trials).toBe(1);
    state.trial = HELD;
    state.nowMs += 1;
    expect(await tier.look()).toBe(FOUND);
    expect(state.trials).toBe(2);
  });

  test('still serves the call that was admitted before', async () => {
    const { tier, state } = health();
    await tier.look();
    tier.doubt();
    state.trial = BROKEN;
    await tier.look();
    expect(tier.found).toBe(FOUND.value);
  });
});

test('a tier that is missing is found without a restart once it is there', async () => {
  const { tier, state } = health();
  state.probed = ABSENT;
  expect(await tier.look()).toEqual(ABSENT);
  expect(() => tier.found).toThrow(TypeError);
  state.probed = FOUND;
  expect(await tier.look()).toEqual(ABSENT);
  state.nowMs += 5_000;
  expect(await tier.look()).toBe(FOUND);
});

const HOLDS: Trial = { ok: true, value: {} };
const failsAt = (step: string): Trial => ({
  ok: false,
  problem: {
    why: `it failed at "${step}" with EINVAL`,
    fix: 'Move it.',
    fault: { step, said: 'EINVAL', errno: 'EINVAL' },
  },
});

/** In memory, where the number of the file system says nothing. */
function inMemory(): string {
  const directory = mkdtempSync('/dev/shm/palisade-test-');
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('FileSystems tries a file system once where it holds, and again and again where it does not', async () => {
  const directory = inMemory();
  mkdirSync(join(directory, 'other'));
  const time = { ms: 0 };
  const systems = new FileSystems({ nowMs: () => 0, monotonicMs: () => time.ms });
  const answers = [failsAt('workspace-idmap'), failsAt('workspace-idmap'), HOLDS];
  const requested: string[] = [];
  const lackOf = (workspace: string) =>
    systems.lackOf(workspace, async () => {
      requested.push(workspace);
      return answers.shift() ?? failsAt('workspace-idmap');
    });
  expect(await lackOf(directory)).toEqual({
    why: `"${directory}" cannot be given to another user: it failed at "workspace-idmap" with EINVAL`,
    fix: 'Move it.',
  });
  // Many at once, or soon after, are answered by one trial.
  for (const lack of await Promise.all([1, 2, 3].map(() => lackOf(directory)))) expect(lack).not.toBeNull();
  expect(requested).toHaveLength(1);
  time.ms += 5_000;
  expect(await lackOf(directory)).not.toBeNull();
  time.ms += 5_000;
  expect(await lackOf(directory)).toBeNull();
  time.ms += 500_000;
  expect(await lackOf(join(directory, 'other'))).toBeNull();
  expect(requested).toHaveLength(3);
});

test('FileSystems leaves other faults, and directories that are not there, to the run', async () => {
  const time = { ms: 0 };
  const systems = new FileSystems({ nowMs: () => 0, monotonicMs: () => time.ms });
  const directory = inMemory();
  expect(await systems.lackOf(directory, async () => failsAt('seccomp'))).toBeNull();
  // Such a trial has shown nothing of the file system: the next one is heard.
  time.ms += 5_000;
  expect(await systems.lackOf(directory, async () => failsAt('workspace-idmap'))).not.toBeNull();
  const none = join(tmpdir(), 'palisade-nowhere');
  expect(await systems.lackOf(none, () => Promise.reject(new Error('asked')))).toBeNull();
});
