import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../packages/gateway/src/tiers/child/run-child.ts';
import { SAMPLE_PASS } from '../packages/gateway/src/tiers/network/plan.ts';
import { openDescriptors } from '../packages/gateway/src/tiers/process/descriptors.ts';
import type { CommandTier } from '../packages/gateway/src/tiers/process/plan.ts';
import { demandPlan } from '../packages/gateway/src/tiers/process/sandbox.ts';
import { holdWorkspace } from '../packages/gateway/src/tiers/workspace/held-directory.ts';
import {
  type Bed,
  bareSpawn,
  capture,
  clock,
  makeBed,
  never,
  refilled,
  runAs,
  runOnce,
  TRUE,
  termsOf,
} from './command-bed.ts';
import { openPeer } from './command-peers.ts';
import {
  type BenchOptions,
  type Compared,
  compare,
  compareReady,
  type Figure,
  single,
  spreadOf,
  timeOf,
} from './measure.ts';

/*
 * What a sandbox costs: a command that does nothing, from its terms to its result with every fact and the list of
 * changes, against a bare spawn of the same file, a bare bubblewrap with the same words, and a library that does the
 * like. Then how many can be started, and how fast output is taken in.
 */

const MIB = 1024 * 1024;
/** A gateway that holds much. */
const BALLAST_BYTES = 1024 * MIB;

export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  // The user of commands, another one where this runs as root, walks to it.
  const base = mkdtempSync('/var/tmp/palisade-bench-');
  chmodSync(base, 0o711);
  const workspace = join(base, 'work');
  mkdirSync(workspace);
  const bed = await makeBed(workspace, join(process.cwd(), 'packages/launcher/dist/palisade-launcher'));
  try {
    return [
      ...(await latencies(bed, quick)),
      ...(await withNetwork(bed, base, quick)),
      ...(await againstPeer(bed, quick)),
      ...(await launchRates(bed, quick)),
      ...(await captureRates(bed, quick)),
      await readAtQuota(bed),
      ...(await withBallast(bed, quick)),
    ];
  } finally {
    await bed.close();
    rmSync(base, { recursive: true, force: true });
  }
}

async function latencies(bed: Bed, quick: boolean): Promise<Figure[]> {
  const { b, c } = bed.tiers;
  const rounds = quick ? 30 : 200;
  const warm = (tier: CommandTier) => ({
    prepare: refilled,
    ours: () => runOnce(bed, bed.warm, tier),
    bare: bareSpawn,
  });
  const warmB = await compareReady(rounds, warm(b));
  const warmC = await compareReady(rounds, warm(c));
  const coldB = await compare(rounds, 1, () => runOnce(bed, bed.cold, b), bareSpawn);
  const coldC = await compare(
    rounds,
    1,
    () => runOnce(bed, bed.cold, c),
    () => bareJail(bed),
  );
  return [
    ...threeOf(warmB, { name: 'tier B', against: 'bare spawn', atMost: 1.35 }),
    ...threeOf(warmC, { name: 'tier C, ready', against: 'bare spawn', atMost: 1.25 }),
    ...threeOf(coldC, { name: 'tier C, not ready', against: 'bare bubblewrap', atMost: 1.15 }),
    { name: 'tier B, not ready / bare spawn', unit: 'x', spread: coldB.ratio },
  ];
}

/** A run that may reach one host against the same one without a network; nothing is asked for in either. */
async function withNetwork(bed: Bed, base: string, quick: boolean): Promise<Figure[]> {
  const workspace = join(base, 'listed');
  mkdirSync(workspace);
  // Sandboxes stand ready by workspace, so each side has its own.
  const listed = await makeBed(workspace, bed.cold.launcher);
  const command = { file: TRUE, hosts: ['example.com'] };
  const rounds = quick ? 30 : 200;
  const { c } = bed.tiers;
  try {
    const ready = await compareReady(rounds, {
      prepare: refilled,
      ours: () => runOnce(listed, listed.warm, c, command),
      bare: () => runOnce(bed, bed.warm, c),
    });
    const cold = await compare(
      rounds,
      1,
      () => runOnce(listed, listed.cold, c, command),
      () => runOnce(bed, bed.cold, c),
    );
    return [
      ...threeOf(ready, { name: 'tier C, ready, one host', against: 'without a network', atMost: 1.25 }),
      {
        name: 'tier C, not ready, one host / without',
        unit: 'x',
        spread: cold.ratio,
        goal: { atMost: 1.25 },
      },
    ];
  } finally {
    await listed.close();
  }
}

function threeOf(
  { ours, bare, ratio }: Compared,
  { name, against, atMost }: { name: string; against: string; atMost: number },
): Figure[] {
  return [
    { name: `${name} / ${against}`, unit: 'x', spread: ratio, goal: { atMost } },
    { name, unit: 'ms', spread: ours },
    { name: against, unit: 'ms', spread: bare },
  ];
}

/** The same jail, started by Node and without our launcher as its first process. */
async function bareJail(bed: Bed): Promise<void> {
  const held = holdWorkspace(bed.workspace);
  const { launcher } = bed.cold;
  const wish = { terms: termsOf(bed, { file: TRUE }), held, pass: SAMPLE_PASS };
  const plan = demandPlan(bed.tiers.c, wish, { runAs, cgroups: 0, group: null });
  const sources = { args: plan.args, workspaceFd: held.fd, launcher, cgroupFds: [] };
  const open = openDescriptors(plan.descriptors, sources);
  const { uid, gid } = held.owner;
  // Node cannot hand over a namespace that maps the owner; the launcher makes one itself.
  const words = plan.words.map((word) => (word.startsWith('map=') ? `owner=${uid}:${gid}` : word));
  const child = {
    file: launcher,
    args: ['palisade-launcher', ...words.slice(0, -2), TRUE],
    env: {},
    cwd: '/',
  };
  const descriptors = open.descriptors.filter(({ role }) => role !== 'map');
  const bounds = { stdin: null, outputBytes: MIB, wallMs: 60_000, graceMs: 500 };
  const end = await runChild({ ...child, descriptors, ...bounds }, { signal: never(), clock });
  open.close();
  held.close();
  if (end.exitCode !== 0) throw new Error(`Cannot measure a bare jail: ${Buffer.from(end.stderr)}`);
}

async function againstPeer(bed: Bed, quick: boolean): Promise<Figure[]> {
  const peer = await openPeer(bed.workspace);
  try {
    const rounds = quick ? 10 : 50;
    const acts = { prepare: refilled, ours: peer.run, bare: () => runOnce(bed, bed.warm, bed.tiers.c) };
    const ready = await compareReady(rounds, acts);
    const cold = await compare(rounds, 1, peer.run, () => runOnce(bed, bed.cold, bed.tiers.c));
    return [
      {
        ...{ name: 'sandbox-runtime / tier C, ready', unit: 'x', spread: ready.ratio },
        goal: { atLeast: 4 },
      },
      { name: 'sandbox-runtime / tier C, not ready', unit: 'x', spread: cold.ratio },
      { name: 'sandbox-runtime', unit: 'ms', spread: ready.ours },
    ];
  } finally {
    await peer.close();
  }
}

async function launchRates(bed: Bed, quick: boolean): Promise<Figure[]> {
  const count = quick ? 60 : 300;
  const figures: Figure[] = [];
  for (const [name, start] of [
    ['bare spawn', bareSpawn],
    ['tier B', () => runOnce(bed, bed.warm, bed.tiers.b)],
    ['tier C', () => runOnce(bed, bed.warm, bed.tiers.c)],
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

const FLOOD_BYTES = 256 * MIB;
const FLOOD = { file: '/usr/bin/head', args: ['-c', String(FLOOD_BYTES), '/dev/zero'] };

async function captureRates(bed: Bed, quick: boolean): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const tier of [bed.tiers.b, bed.tiers.c]) {
    const name = `output of tier ${tier.name.toUpperCase()}`;
    const taken = await ratesOf(quick ? 3 : 8, () => capture(bed, tier, FLOOD));
    const whole = await ratesOf(quick ? 2 : 4, () => runOnce(bed, bed.cold, tier, FLOOD));
    figures.push({ name, unit: 'MB/s', spread: spreadOf(taken), goal: { atLeast: 1000 } });
    figures.push({ name: `${name}, as text in a result`, unit: 'MB/s', spread: spreadOf(whole) });
  }
  return figures;
}

async function ratesOf(rounds: number, act: () => Promise<unknown>): Promise<number[]> {
  const rates: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    rates.push(FLOOD_BYTES / 1e6 / ((await timeOf(1, act)) / 1000));
  }
  return rates;
}

/** How much a flood can write before it is ended at a quota of a MiB: what it wrote, it notes in a file. */
async function readAtQuota(bed: Bed): Promise<Figure> {
  const block = 4096;
  const script = `while head -c ${block} /dev/zero; do echo >>written; done`;
  const flood = { file: '/bin/sh', args: ['-c', script], quota: MIB };
  const end = await capture(bed, bed.tiers.c, flood);
  const written = (readFileSync(join(bed.workspace, 'written')).length + 1) * block;
  rmSync(join(bed.workspace, 'written'));
  return {
    name: 'written at a quota of 1 MiB',
    unit: 'bytes',
    spread: single(Math.max(written, end.outputBytes)),
    goal: { atMost: 1.3 * MIB },
    note: `${end.outputBytes} bytes were read`,
  };
}

async function withBallast(bed: Bed, quick: boolean): Promise<Figure[]> {
  const ballast = Buffer.alloc(BALLAST_BYTES, 1);
  const compared = await compareReady(quick ? 10 : 50, {
    prepare: refilled,
    ours: () => runOnce(bed, bed.warm, bed.tiers.c),
    bare: bareSpawn,
  });
  const name = `a process of ${ballast.length / MIB} MiB`;
  return threeOf(compared, {
    name: `tier C, ready, from ${name}`,
    against: `bare spawn from ${name}`,
    atMost: 1.25,
  });
}
