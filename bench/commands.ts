import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckedCall } from '../packages/gateway/src/core/checked-call.ts';
import { LIMIT_CEILINGS } from '../packages/gateway/src/core/limits.ts';
import type { ProcessTerms } from '../packages/gateway/src/core/process.ts';
import { LaunchQueue } from '../packages/gateway/src/tiers/child/queue.ts';
import { runChild } from '../packages/gateway/src/tiers/child/start-child.ts';
import { Starter } from '../packages/gateway/src/tiers/child/starter.ts';
import { Closings } from '../packages/gateway/src/tiers/process/closings.ts';
import type { CommandPlan, CommandTier } from '../packages/gateway/src/tiers/process/command-plan.ts';
import { openDescriptors } from '../packages/gateway/src/tiers/process/descriptors.ts';
import { holdWorkspace } from '../packages/gateway/src/tiers/process/held-workspace.ts';
import { probeB, probeC } from '../packages/gateway/src/tiers/process/probe.ts';
import { type CommandKit, runCommand } from '../packages/gateway/src/tiers/process/run-command.ts';
import { WarmBoxes } from '../packages/gateway/src/tiers/process/warm-boxes.ts';
import type { RunResult } from '../packages/gateway/src/tiers/tier.ts';
import { type BenchOptions, compare, type Figure, spreadOf, timeOf } from './measure.ts';

/*
 * What a sandbox costs: a command that does nothing, in tier B against a bare spawn of the same file, and in tier C
 * against a bare bubblewrap with the same words and no launcher inside. Then how fast output is taken in.
 */

const TRUE = '/usr/bin/true';
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
const never = () => new AbortController().signal;
const runAs = process.getuid?.() === 0 ? { uid: 61_000, gid: 61_000 } : null;

type Bed = { readonly kit: CommandKit; readonly workspace: string };

export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  // The user of commands, another one where this runs as root, walks to it.
  const base = mkdtempSync('/var/tmp/palisade-bench-');
  chmodSync(base, 0o711);
  try {
    return await measure(join(base, 'work'), quick);
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

async function measure(workspace: string, quick: boolean): Promise<Figure[]> {
  const options = {
    clock,
    launchers: [join(process.cwd(), 'packages/launcher/dist/palisade-launcher')],
    runAs,
  };
  const [b, c] = await Promise.all([probeB(options), probeC(options)]);
  if (!b.ok || !c.ok) throw new Error(`Cannot measure commands: ${b.ok ? '' : b.why} ${c.ok ? '' : c.why}`);
  mkdirSync(workspace);
  const queue = new LaunchQueue({ width: 64, clock });
  const starter = new Starter();
  const kit: CommandKit = {
    clock,
    start: (launcher, plan) => starter.start(launcher, plan),
    warm: new WarmBoxes({ size: 0, idleMs: 1 }),
    closing: new Closings(64),
    queue,
    runs: new LaunchQueue({ width: 64, clock }),
    launcher: b.launcher,
    makeGroup: () => null,
    runAs,
  };
  const bed = { kit, workspace };
  const rounds = quick ? 30 : 150;
  const tierB = await compare(rounds, 1, () => runOnce(bed, b.tier, TRUE), bareSpawn);
  const tierC = await compare(
    rounds,
    1,
    () => runOnce(bed, c.tier, TRUE),
    () => bareJail(bed, c.tier),
  );
  const spawned = await compare(rounds, 1, () => runOnce(bed, c.tier, TRUE), bareSpawn);
  return [
    { name: 'tier B / bare spawn', unit: 'x', spread: tierB.ratio, goal: { atMost: 1.35 } },
    { name: 'tier B', unit: 'ms', spread: tierB.ours },
    { name: 'bare spawn', unit: 'ms', spread: tierB.bare },
    { name: 'tier C cold / bare bubblewrap', unit: 'x', spread: tierC.ratio, goal: { atMost: 1.15 } },
    { name: 'tier C cold', unit: 'ms', spread: tierC.ours },
    { name: 'bare bubblewrap, same words', unit: 'ms', spread: tierC.bare },
    { name: 'tier C cold / bare spawn', unit: 'x', spread: spawned.ratio },
    ...(await launchRates(bed, { b: b.tier, c: c.tier }, quick)),
    ...(await captureRates(bed, { b: b.tier, c: c.tier }, quick)),
  ];
}

function termsOf({ workspace }: Bed, executable: string, args: readonly string[] = []): ProcessTerms {
  return {
    executable,
    executableSha256: '0'.repeat(64) as ProcessTerms['executableSha256'],
    argv: [executable, ...args],
    workspace,
    cwd: workspace,
    env: {},
    stdin: null,
    limits: {
      wallMs: 60_000,
      cpuMs: 60_000,
      memoryBytes: 2 ** 30,
      outputBytes: 2 ** 32,
      fileBytes: 2 ** 28,
      processes: 128,
      openFiles: 1024,
    },
    egress: 'strict',
    readOnly: [],
    protectedPaths: [],
  };
}

async function runOnce(
  bed: Bed,
  tier: CommandTier,
  executable: string,
  args: readonly string[] = [],
): Promise<RunResult> {
  const terms = termsOf(bed, executable, args);
  const facts = { kind: 'plain', tier: tier.name, paths: [], hosts: [] } as const;
  const checked = {
    call: { id: 'bench' },
    process: { terms, facts, stillHolds: () => null },
  } as unknown as CheckedCall;
  const limits = { ...LIMIT_CEILINGS, outputBytes: 2 ** 32 };
  const result = await runCommand(bed.kit, tier, { checked, limits }, { signal: never() });
  if (result.ending.status === 'ok' || args.length > 0) return result;
  throw new Error(
    `Cannot measure commands: ${result.ending.message} ${JSON.stringify(result.ending.output)}`,
  );
}

function bareSpawn(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(TRUE, [], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.resume();
    child.stderr.resume();
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}

/** The same jail without our launcher as its first process. */
async function bareJail({ kit, workspace }: Bed, tier: CommandTier): Promise<void> {
  const held = holdWorkspace(workspace);
  const terms = termsOf({ kit, workspace }, TRUE);
  const asRoot = runAs === null ? null : { ...runAs, owner: held.owner };
  const plan = tier.plan(terms, { cgroups: 0, asRoot }) as CommandPlan;
  const sources = { args: plan.args, workspaceFd: held.fd, launcher: kit.launcher, cgroupFds: [] };
  const open = openDescriptors(plan.descriptors, sources);
  const outer = plan.words.slice(0, plan.words.lastIndexOf('--') + 1);
  // Node cannot hand over a namespace that maps the owner; the launcher makes one itself.
  const map = held.owner;
  const words = [
    ...outer.map((word) => (word.startsWith('map=') ? `owner=${map.uid}:${map.gid}` : word)),
    TRUE,
  ];
  // As the plan's launcher does it, but started by Node and without a launcher inside.
  const child = { file: kit.launcher, args: ['palisade-launcher', ...words], env: {}, cwd: '/' };
  const bounds = { stdin: null, outputBytes: 2 ** 20, wallMs: 60_000, graceMs: 500 };
  const end = await runChild(
    { ...child, descriptors: open.descriptors.filter(({ kind }) => kind !== 'map'), ...bounds },
    { signal: never(), clock },
  );
  open.close();
  held.close();
  if (end.exitCode !== 0) throw new Error(`Cannot measure a bare jail: ${Buffer.from(end.stderr)}`);
}

type Tiers = { readonly b: CommandTier; readonly c: CommandTier };

async function launchRates(bed: Bed, tiers: Tiers, quick: boolean): Promise<Figure[]> {
  const count = quick ? 60 : 300;
  const figures: Figure[] = [];
  for (const [name, start] of [
    ['bare spawn', bareSpawn],
    ['tier B', () => runOnce(bed, tiers.b, TRUE)],
    ['tier C', () => runOnce(bed, tiers.c, TRUE)],
  ] as const) {
    for (const width of [1, 4, 16]) {
      const rates: number[] = [];
      for (let round = 0; round < 3; round += 1) rates.push(await rateOf(count, width, start));
      figures.push({ name: `${name}, ${width} at once`, unit: 'per s', spread: spreadOf(rates) });
    }
  }
  return figures;
}

async function rateOf(count: number, width: number, start: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await start();
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return (count * 1000) / (performance.now() - startedMs);
}

const FLOOD_BYTES = 128 * 1024 * 1024;

async function captureRates(bed: Bed, tiers: Tiers, quick: boolean): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const tier of [tiers.b, tiers.c]) {
    const rates: number[] = [];
    for (let round = 0; round < (quick ? 2 : 5); round += 1) {
      const ms = await timeOf(1, () =>
        runOnce(bed, tier, '/usr/bin/head', ['-c', String(FLOOD_BYTES), '/dev/zero']),
      );
      rates.push(FLOOD_BYTES / 1e6 / (ms / 1000));
    }
    const name = `output of tier ${tier.name.toUpperCase()}`;
    figures.push({ name, unit: 'MB/s', spread: spreadOf(rates), goal: { atLeast: 1000 } });
  }
  return figures;
}
