import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Keys } from './attest/keys.ts';
import type { Config } from './config/config.ts';
import { secretsOf, stateFlag } from './config/environment.ts';
import { loadConfig } from './config/load.ts';
import type { CallWatch, Observer } from './core/call.ts';
import { type Clock, makeId, type Random } from './core/clock.ts';
import { NO_LOG } from './core/log.ts';
import { makeRedactor } from './core/redact.ts';
import type { RunCommand } from './executors/background/background-run.ts';
import { BackgroundRuns } from './executors/background/runs.ts';
import { upstreamExecutor } from './executors/upstream/index.ts';
import { finishRotation } from './invoke/administer.ts';
import type { Gateway, Line, Opened, Records } from './invoke/gateway.ts';
import { RunningCalls } from './invoke/invoke.ts';
import { MIGRATIONS } from './invoke/migrations.ts';
import { closeRecords, foundState, recover, releaseRecords, reportLeftRun } from './invoke/records.ts';
import { auditOnSchedule, openSkills } from './invoke/skills/audit.ts';
import { Journal, Roller } from './journal/journal.ts';
import { Segments } from './journal/segments.ts';
import { type Notifier, openNotifier } from './notify/notify.ts';
import {
  buildChannels,
  buildPolicy,
  buildRegistry,
  buildRules,
  buildUpstreams,
  type OpenOptions,
  outcomeOf,
  ownTools,
} from './open-parts.ts';
import { UpstreamTools } from './registry/upstream-tools.ts';
import { Presence } from './store/presence.ts';
import { prepareStateDir } from './store/state-dir.ts';
import { Store } from './store/store.ts';
import { openTiers } from './tiers/open.ts';
import { launchersOf } from './tiers/process/launcher.ts';
import { keyFileIn } from './vault/keys.ts';
import { Vault } from './vault/vault.ts';

/* Builds every module and hands each what it needs; nothing else makes a module, a clock or a source of randomness. */

/** Node loads much more for `performance.now()`, which is the same clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
};
export const systemRandom: Random = { bytes: (count) => randomBytes(count) };

const UNWATCHED: CallWatch = { step: () => undefined, ended: () => undefined };

export type { OpenOptions } from './open-parts.ts';

export const NO_OBSERVER: Observer = () => UNWATCHED;

/** Options of `openGateway` besides the configuration. */
export type OpenMore = Pick<
  OpenOptions,
  | 'tools'
  | 'upstreams'
  | 'workspaces'
  | 'readOnly'
  | 'toolHomes'
  | 'isLasting'
  | 'expects'
  | 'observer'
  | 'log'
  | 'ports'
>;

/** Opens what keeps the record: enough to read, verify, export and prove. */
export async function openRecords(options: OpenOptions): Promise<Opened<Records>> {
  prepareStateDir(options.stateDir);
  const config = await loadConfig(options);
  const { records, roller } = buildRecords(options, config);
  const close = () => closeRecords(records, roller);
  try {
    foundState(records);
    finishRotation(records);
  } catch (error) {
    await close();
    throw error;
  }
  return { ...records, config, close, release: () => releaseRecords(records) };
}

/** Opens the whole gateway and closes what dead processes have left open. */
export async function openGateway(options: OpenOptions): Promise<Opened<Gateway>> {
  const records = await openRecords(options);
  try {
    recover(records);
    return await buildGateway(records, options);
  } catch (error) {
    await records.close();
    throw error;
  }
}

function buildRecords(options: OpenOptions, config: Config): { records: Records; roller: Roller } {
  const { stateDir, version, clock = systemClock, random = systemRandom } = options;
  const store = new Store({
    directory: stateDir,
    migrations: MIGRATIONS,
    busyTimeoutMs: config.store.busyTimeoutMs,
    nowMs: clock.nowMs(),
    version,
  });
  const redact = makeRedactor(secretsOf(options.env, config.journal.redactEnv));
  const keys = new Keys(join(stateDir, 'keys'));
  const presence = new Presence(stateDir, makeId('p', clock.nowMs(), random));
  const segments = new Segments(store, presence.id);
  const roller = new Roller(segments, config.journal.segmentRecords);
  const journal = new Journal({
    signer: keys,
    nowMs: clock.nowMs,
    redact,
    checkpointEveryRecords: config.journal.checkpointEveryRecords,
    checkpointAfterMs: config.journal.checkpointAfterMs,
    maxBehindMs: config.clock.maxBehindMs,
    onGrown: (seq) => roller.note(seq),
  });
  const vault = new Vault({
    store,
    keys: keyFileIn(join(stateDir, 'keys')),
    settings: config.vault,
    clock,
    random,
    onEvent: (tx, event) => void journal.append(tx, event),
  });
  const common = { version, clock, random, redact, keep: config.runs };
  return { records: { ...common, store, presence, keys, journal, segments, vault }, roller };
}

/** Of a release, or beside this package where the set-up builds it. */
export const LAUNCHERS = launchersOf(import.meta.url, '../../launcher/dist/palisade-launcher');

/** The engine of tier A beside this file, or where the set-up builds it. */
const ENGINES = ['./guests.engine.js', '../dist/guests.engine.js'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/**
 * The gateway in two parts: first the line with the tiers, then the upstream servers, whose processes are calls of that
 * line, and the executor of their tools.
 */
async function buildGateway(records: Opened<Records>, options: OpenOptions): Promise<Opened<Gateway>> {
  const { config, clock } = records;
  const { stateDir, env, isLasting = false } = options;
  const { rules, runner } = buildRules(records, options);
  const upstreamTools = new UpstreamTools({ reader: records.store, rules });
  const { installed: skills, tools: skillTools } = openSkills(records, config, stateDir);
  // A background run is a call of the line, which is built below with these tools in its registry.
  const runCommand: RunCommand = (call, context) => outcomeOf(line, call, context);
  const background = new BackgroundRuns({ ...records, ...runner, isLasting, runCommand });
  const channels = buildChannels(records, stateDir);
  const opened = openTiers({
    ...options,
    ...records,
    channels,
    launchers: LAUNCHERS,
    engineFiles: ENGINES,
    realStateDir: realpathSync(stateDir),
    node: process.execPath,
    forbidden: runner.deps().forbidden,
    onLeft: (run) => reportLeftRun(records, run, options.log ?? NO_LOG),
  });
  const registry = buildRegistry(config, {
    skills: skillTools,
    ...(rules.length === 0 ? {} : { upstreams: upstreamTools }),
    tools: [...ownTools(runner, background), ...(options.tools ?? [])],
  });
  const policy = await orClose(buildPolicy(records, options, registry), opened.close);
  const notifier = await openNotifier(config.approval, { clock, ...options });
  // Before any run: none may take what was planted for the state before it.
  await opened.restoreLeft();
  const line: Line = {
    ...records,
    policy,
    budgets: config.budgets,
    sessionIdleMs: config.session.idleAfterMs,
    approvalExpiresAfterMs: config.approval.expiresAfterS * 1000,
    onAsked: (approval) => notifier.notify({ ...approval, approveWith: line.approveCommand(approval.id) }),
    approveCommand: (id) => `palisade approvals approve ${id}${stateFlag(stateDir, env)}`,
    registry,
    skills,
    executors: opened.tiers,
    running: new RunningCalls(),
    observer: options.observer ?? NO_OBSERVER,
  };
  const upstreams = buildUpstreams(line, {
    ...runner,
    rules,
    tools: upstreamTools,
    lifeMs: config.ceilings.wallMs,
    stateFlag: stateFlag(stateDir, env),
  });
  const upstream = upstreamExecutor(upstreams, opened.tiers, clock);
  const executors = rules.length === 0 ? opened.tiers : { ...opened.tiers, upstream };
  const { engines, ready, undos, inspect: inspectTiers } = opened;
  const rest = { upstreams, background, engines, ready, undos, inspectTiers, channels };
  const gateway: Gateway = { ...line, executors, ...rest, workspaces: runner.workspaces };
  const close = keepGoing(gateway, { ...options, records, notifier, closeTiers: opened.close });
  return { ...records, ...gateway, close };
}

async function orClose<T>(opening: Promise<T>, close: () => Promise<void>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    await close();
    throw error;
  }
}

type Closing = OpenOptions & {
  readonly records: Opened<Records>;
  readonly notifier: Notifier;
  readonly closeTiers: () => Promise<void>;
};

/** Starts the background work of a long-lived gateway; returns the function that ends it and everything else. */
function keepGoing(gateway: Gateway, closing: Closing): () => Promise<void> {
  const { isLasting, upstreams: named, records, notifier, closeTiers } = closing;
  const { upstreams, background, skills, channels } = gateway;
  // The caller who names a server connects to it; a second session would be ended when its first offer is held.
  if (isLasting === true && named === undefined) void upstreams.discoverAll(records.config.gateway.tenant);
  const stopAudits = isLasting === true ? auditOnSchedule(gateway) : async () => undefined;
  return async () => {
    await stopAudits();
    skills.running.close();
    await background.close();
    await upstreams.close();
    await notifier.close();
    await closeTiers();
    await channels.close();
    await records.close();
  };
}
