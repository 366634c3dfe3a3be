import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckedCall } from '../packages/gateway/src/core/checked-call.ts';
import { LIMIT_CEILINGS } from '../packages/gateway/src/core/limits.ts';
import type { ProcessTerms } from '../packages/gateway/src/core/process.ts';
import { NOWHERE, parseAllowList } from '../packages/gateway/src/egress/allowlist.ts';
import type { ChildEnd } from '../packages/gateway/src/tiers/child/child.ts';
import { LaunchQueue } from '../packages/gateway/src/tiers/child/queue.ts';
import { Starter } from '../packages/gateway/src/tiers/child/starter.ts';
import { openNetworks } from '../packages/gateway/src/tiers/network/networks.ts';
import { SAMPLE_PASS } from '../packages/gateway/src/tiers/network/plan.ts';
import type { CommandTier } from '../packages/gateway/src/tiers/process/plan.ts';
import { type CommandKit, runCommand } from '../packages/gateway/src/tiers/process/run.ts';
import { openSandbox, runInSandbox } from '../packages/gateway/src/tiers/process/sandbox.ts';
import { PROCESS_TIERS } from '../packages/gateway/src/tiers/process/tiers.table.ts';
import { Cleanup, WarmSandboxes } from '../packages/gateway/src/tiers/process/warm-sandboxes.ts';
import type { RunResult } from '../packages/gateway/src/tiers/tier.ts';
import { holdWorkspace } from '../packages/gateway/src/tiers/workspace/held-directory.ts';
import { Baselines } from '../packages/gateway/src/tiers/workspace/overlaps.ts';

/* What the benches of commands share: both tiers of this machine, a gateway's kit without its store, and bare spawns. */

export const TRUE = '/usr/bin/true';
export const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
export const runAs = process.getuid?.() === 0 ? { uid: 61_000, gid: 61_000 } : null;
export const never = () => new AbortController().signal;

export type Bed = {
  readonly workspace: string;
  readonly tiers: { readonly b: CommandTier; readonly c: CommandTier };
  /** Each command waits for its sandbox. */
  readonly cold: CommandKit;
  /** Sandboxes stand ready, as in a gateway that serves. */
  readonly warm: CommandKit;
  readonly close: () => Promise<void>;
};

const AT_ONCE = 64;
const READY = 2;
/** By then what a run took from the pool stands there again. */
const REFILL_MS = 40;

export async function makeBed(workspace: string, launcher: string): Promise<Bed> {
  const options = { clock, launchers: [launcher], runAs };
  const [b, c] = await Promise.all([PROCESS_TIERS.b.probe(options), PROCESS_TIERS.c.probe(options)]);
  if (!b.ok) throw new Error(`Cannot measure commands: ${b.problem.why}`);
  if (!c.ok) throw new Error(`Cannot measure commands: ${c.problem.why}`);
  const starter = new Starter();
  const queue = () => new LaunchQueue({ width: AT_ONCE, clock });
  const kit = {
    ...{ clock, launcher: b.value.launcher, runAs, queue: queue(), runs: queue(), makeGroup: () => null },
    start: starter.start.bind(starter),
    closing: new Cleanup(AT_ONCE),
    networks: networks(),
    baselines: new Baselines(),
    leftRuns: null,
    starterOf: () => '',
    quarantine: join(workspace, '../quarantine'),
  };
  const cold = { ...kit, warm: new WarmSandboxes({ size: 0, idleMs: 1 }) };
  const warm = { ...kit, warm: new WarmSandboxes({ size: READY, idleMs: 600_000 }) };
  const close = async () => {
    await Promise.all([warm.warm.close(), kit.closing.finish()]);
    starter.close();
  };
  return { workspace, tiers: { b: b.value.tier, c: c.value.tier }, cold, warm, close };
}

/** Proxies for runs that may reach something; nothing is looked up, for nobody connects. */
function networks(): CommandKit['networks'] {
  const hosts = parseAllowList(['*.example.com', 'example.com']);
  const list = hosts.ok ? hosts.value : NOWHERE;
  return openNetworks({
    ...{
      clock,
      random: { bytes: randomBytes },
      newLookup: () => async () => [],
      systemCertificates: () => '',
    },
    own: () => ({ addresses: [], ports: new Set() }),
    hosts: () => list,
    refresh: async () => undefined,
    isIntercepted: () => false,
    secrets: new Map(),
    vaultSecret: async () => null,
    lookEveryMs: 1_000,
  });
}

/** Lets the pool be filled again. */
export function refilled(): Promise<void> {
  return sleep(REFILL_MS);
}

export type Command = {
  readonly file: string;
  readonly args?: readonly string[];
  readonly quota?: number;
  /** What it may reach. */
  readonly hosts?: readonly string[];
};
const DO_NOTHING: Command = { file: TRUE };

/** As the gateway judges a program that only root can change. */
function judgedAs(path: string): ProcessTerms['files'][number] {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  const times = [mtimeNs, ctimeNs].flatMap((time) => [time / 1_000_000_000n, time % 1_000_000_000n]);
  const sha256 = '0'.repeat(64) as ProcessTerms['executableSha256'];
  const identity = [dev, ino, size, ...times].join(':');
  return { path, sha256, sizeBytes: Number(size), interpreter: [], identity, isPinned: false };
}

export function termsOf(
  { workspace }: Bed,
  { file: named, args = [], quota = 2 ** 32, hosts = [] }: Command,
): ProcessTerms {
  const file = realpathSync.native(named);
  return {
    executable: file,
    executableSha256: '0'.repeat(64) as ProcessTerms['executableSha256'],
    files: [judgedAs(file)],
    argv: [named, ...args],
    ...{ workspace, cwd: workspace, env: {}, stdin: null },
    directories: null,
    limits: {
      ...{ wallMs: 60_000, cpuMs: 60_000, memoryBytes: 2 ** 30, outputBytes: quota },
      ...{ fileBytes: 2 ** 28, processes: 128, openFiles: 1024, egressBytes: 2 ** 30 },
    },
    ...{
      outputOverflow: 'kill',
      egress: 'strict',
      egressHosts: hosts,
      secrets: [],
      readOnly: [],
      gitIdentity: null,
      protectedPaths: [],
      allowedWrites: [],
      ports: [],
    },
  };
}

/** One command from its terms to its result, as a call of the gateway runs it. */
export async function runOnce(
  bed: Bed,
  kit: CommandKit,
  tier: CommandTier,
  command = DO_NOTHING,
): Promise<RunResult> {
  const facts = { kind: 'plain', tier: tier.name, root: bed.workspace, paths: [], hosts: [] } as const;
  const checked = {
    call: { id: 'bench', tenant: 'default', principal: { kind: 'user', name: 'bench' } },
    tool: { id: 'bench' },
    process: { terms: termsOf(bed, command), facts, stillHolds: () => null },
  } as unknown as CheckedCall;
  const limits = { ...LIMIT_CEILINGS, outputBytes: 2 ** 32 };
  const result = await runCommand(
    kit,
    tier,
    { checked, limits },
    { signal: never(), stillPermitted: () => true },
  );
  if (result.ending.status === 'ok' || command.quota !== undefined) return result;
  throw new Error(
    `Cannot measure commands: ${result.ending.message} ${JSON.stringify(result.ending.output)}`,
  );
}

/** One command with nothing made of its output but bytes. */
export async function capture(bed: Bed, tier: CommandTier, command: Command): Promise<ChildEnd> {
  const terms = termsOf(bed, command);
  const held = holdWorkspace(bed.workspace);
  const { sandbox, plan } = await openSandbox(bed.cold, tier, {
    id: 'bench',
    terms,
    held,
    pass: SAMPLE_PASS,
  });
  try {
    return await runInSandbox(
      sandbox,
      { plan, terms, serve: async () => undefined },
      { signal: never(), clock },
    );
  } finally {
    held.close();
    await sandbox.close();
  }
}

export function bareSpawn(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(TRUE, [], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.resume();
    child.stderr.resume();
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}
