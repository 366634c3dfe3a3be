import { describe, expect, test } from 'vitest';
import type { Found, Probed } from '../../../src/tiers/process/probe.ts';
import { Standing } from '../../../src/tiers/process/standing.ts';
import type { Trial } from '../../../src/tiers/process/trial.ts';

const FOUND = { ok: true, launcher: '/launcher', tier: {} } as Found;
const HELD: Trial = { ok: true, facts: {} };
const BROKEN: Trial = { ok: false, why: 'it failed', fix: 'Mend it.', fault: null, facts: null };
const ABSENT = { ok: false, why: 'it is absent', fix: 'Install it.' } as const;

/** A tier on a machine that a test changes, with a count of what was asked of it. */
function standing() {
  const state = { nowMs: 0, probed: FOUND as Probed, trial: HELD, probes: 0, trials: 0 };
  const tier = new Standing({
    clock: { nowMs: () => 0, monotonicMs: () => state.nowMs },
    probe: async () => {
      state.probes += 1;
      return state.probed;
    },
    tryTier: async () => {
      state.trials += 1;
      return state.trial;
    },
  });
  return { tier, state };
}

describe('a tier that holds', () => {
  test('is probed once and never tried, however many calls there are', async () => {
    const { tier, state } = standing();
    await Promise.all([tier.look(), tier.look()]);
    state.nowMs = 1e9;
    expect(await tier.look()).toBe(FOUND);
    expect(tier.found).toBe(FOUND);
    expect(state).toMatchObject({ probes: 1, trials: 0 });
  });

  test('is tried once after a run that could not be set up, and stays', async () => {
    const { tier, state } = standing();
    await tier.look();
    tier.doubt();
    expect(await tier.look()).toBe(FOUND);
    await tier.look();
    expect(state.trials).toBe(1);
  });

  test('is not tried with every call by commands that fail on purpose', async () => {
    const { tier, state } = standing();
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
    const { tier, state } = standing();
    await tier.look();
    tier.doubt();
    state.trial = BROKEN;
    expect(await tier.look()).toEqual({ ok: false, why: 'it failed', fix: 'Mend it.' });
    state.nowMs += 4_999;
    expect((await tier.look()).ok).toBe(false);
    expect(state.trials).toBe(1);
    state.trial = HELD;
    state.nowMs += 1;
    expect(await tier.look()).toBe(FOUND);
    expect(state.trials).toBe(2);
  });

  test('still serves the call that was admitted before', async () => {
    const { tier, state } = standing();
    await tier.look();
    tier.doubt();
    state.trial = BROKEN;
    await tier.look();
    expect(tier.found).toBe(FOUND);
  });
});

test('a tier that is missing is found without a restart once it is there', async () => {
  const { tier, state } = standing();
  state.probed = ABSENT;
  expect(await tier.look()).toEqual(ABSENT);
  expect(() => tier.found).toThrow(TypeError);
  state.probed = FOUND;
  expect(await tier.look()).toEqual(ABSENT);
  state.nowMs += 5_000;
  expect(await tier.look()).toBe(FOUND);
});
