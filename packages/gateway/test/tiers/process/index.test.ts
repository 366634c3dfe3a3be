import { chmodSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { CheckedCall } from '../../../src/core/checked-call.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { DEFAULT_LIMITS } from '../../../src/core/limits.ts';
import { authorize } from '../../../src/policy/authorize.ts';
import { LaunchQueue } from '../../../src/tiers/child/queue.ts';
import { commandTiers } from '../../../src/tiers/process/index.ts';
import { Cleanup, WarmSandboxes } from '../../../src/tiers/process/warm-sandboxes.ts';
import { Baselines } from '../../../src/tiers/workspace/overlaps.ts';
import { COUNT, checkedCall, engineWith, FACTS, PERMIT_ALL } from '../../policy/sample.ts';
import { NO_NETWORKS } from '../sample-networks.ts';
import { sampleTerms } from '../terms.ts';
import { fakeBwrap, machine, openDirectory, trialKit } from './machine-sample.ts';

const SECOND_MS = 1_000;

function commandCall(workspace: string): CheckedCall {
  const executable = realpathSync('/bin/sh');
  const terms = sampleTerms({ workspace, executable, argv: ['sh', '-c', 'exit 0'], env: {} });
  const facts = {
    kind: 'shell',
    tier: 'c',
    guard: null,
    root: '/',
    paths: [],
    pathsTruncated: false,
    hosts: [],
  } as const;
  const process = { terms, facts, stillHolds: () => null, pathsStillHold: () => null };
  return { ...checkedCall(COUNT, { text: '' }), tier: 'c', process };
}

function kitWith(clock: Clock) {
  return {
    ...trialKit({ readSetting: () => null }),
    clock,
    queue: new LaunchQueue({ width: 1, clock }),
    runs: new LaunchQueue({ width: 1, clock }),
    warm: new WarmSandboxes({ size: 0, idleMs: 1 }),
    closing: new Cleanup(64),
    networks: NO_NETWORKS,
    baselines: new Baselines(),
    leftRuns: null,
    starterOf: () => '',
    quarantine: join(openDirectory(), 'quarantine'),
  };
}

test('a tier whose sandbox breaks while the gateway runs is refused with the step, until it is mended', async () => {
  const time = { addedMs: 0 };
  const clock = { nowMs: () => 0, monotonicMs: () => performance.now() + time.addedMs };
  const broken = join(openDirectory(), 'broken');
  const bwrap = fakeBwrap('bubblewrap 0.8.0', [
    `[ -e ${broken} ] && echo "bwrap: No permissions to create new namespace" >&2 && exit 1`,
    'exec /usr/bin/bwrap "$@"',
  ]);
  const kit = kitWith(clock);
  const { c } = commandTiers(kit, machine({ clock, bwraps: [bwrap] }));
  const call = commandCall(openDirectory());
  const engine = engineWith(PERMIT_ALL);
  const run = () => {
    const decision = authorize(engine, call, FACTS);
    if (decision.verdict !== 'allow') throw new Error(decision.verdict);
    return c.run(decision.grant, DEFAULT_LIMITS, {
      signal: new AbortController().signal,
      stillPermitted: () => true,
    });
  };

  expect(await c.refusal?.(call)).toBeNull();
  expect((await run()).ending).toMatchObject({ status: 'ok' });

  writeFileSync(broken, '');
  expect(await c.refusal?.(call)).toBeNull();
  expect((await run()).ending).toMatchObject({ status: 'failed', code: 'tier/not-started' });
  expect(await c.refusal?.(call)).toMatchObject({
    code: 'tier/unenforceable',
    message: expect.stringContaining('it failed at "sandbox" with bwrap: No permissions'),
    remedy: expect.stringContaining('seccomp=seccomp.json'),
  });

  rmSync(broken);
  time.addedMs += 10 * SECOND_MS;
  expect(await c.refusal?.(call)).toBeNull();
  expect((await run()).ending).toMatchObject({ status: 'ok' });
});

test('a floor that the machine cannot reach refuses with its place in the configuration, and runs nothing weaker', async () => {
  const clock = { nowMs: () => 0, monotonicMs: () => performance.now() };
  const lacking = machine({ clock, bwraps: ['/nonexistent/bwrap'] });
  const call = commandCall(openDirectory());
  const floor = { tier: 'c', where: async () => 'palisade.toml:2:14' } as const;
  const { c } = commandTiers({ ...kitWith(clock), floor }, lacking);
  expect(await c.refusal?.(call)).toMatchObject({
    code: 'tier/unenforceable',
    message: expect.stringMatching(
      /^palisade\.toml:2:14: Cannot run .* in tier c: .*, and process\.tier_floor = "c" permits no weaker tier$/,
    ),
    remedy: expect.stringMatching(
      / Or set process\.tier_floor = "b" and ask for tier "b", which does not confine/,
    ),
  });
  const without = commandTiers(kitWith(clock), lacking);
  const refused = await without.c.refusal?.(call);
  expect(refused).toMatchObject({ code: 'tier/unenforceable' });
  expect(refused?.message).not.toContain('tier_floor');
});

test('a long run is refused for what the machine lacks, and fails alone where its sandbox fails once', async () => {
  const time = { addedMs: 0 };
  const clock = { nowMs: () => 0, monotonicMs: () => performance.now() + time.addedMs };
  const [once, broken] = ['once', 'broken'].map((name) => join(openDirectory(), name)) as [string, string];
  const failure = 'echo "bwrap: No permissions to create new namespace" >&2; exit 1';
  const bwrap = fakeBwrap('bubblewrap 0.8.0', [
    `if [ -e ${once} ]; then /bin/rm ${once}; ${failure}; fi`,
    `if [ -e ${broken} ]; then ${failure}; fi`,
    'exec /usr/bin/bwrap "$@"',
  ]);
  const terms = { workspace: openDirectory(), executable: realpathSync('/bin/sh'), env: {} };
  const { c } = commandTiers(kitWith(clock), machine({ clock, bwraps: [bwrap] }));
  const hold = () => c.hold('engine', sampleTerms({ ...terms, argv: ['sh', '-c', 'exit 0'] }));
  await (await hold()).ended;
  // Sandboxes of a gateway that is root are made by another user.
  chmodSync(dirname(once), 0o777);
  writeFileSync(once, '');
  await expect(hold()).rejects.toMatchObject({ code: 'tier/not-started' });
  await (await hold()).ended;

  writeFileSync(broken, '');
  time.addedMs += 6 * SECOND_MS;
  await expect(hold()).rejects.toMatchObject({
    code: 'tier/unenforceable',
    message: expect.stringContaining('it failed at "sandbox" with bwrap: No permissions'),
    remedy: expect.stringContaining('seccomp=seccomp.json'),
  });
});
