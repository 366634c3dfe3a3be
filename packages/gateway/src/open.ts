import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Keys } from './attest/keys.ts';
import { type Config, groupsByPrincipal, type UpstreamRule } from './config/config.ts';
import { type Environment, secretsOf, stateFlag } from './config/environment.ts';
import { loadConfig } from './config/load.ts';
import type { CallWatch, Observer } from './core/call.ts';
import { type Clock, makeId, type Random } from './core/clock.ts';
import { type Log, NO_LOG } from './core/log.ts';
import { makeRedactor } from './core/redact.ts';
import type { Tool } from './core/tool.ts';
import type { Lookup } from './egress/resolve.ts';
import { upstreamExecutor } from './executors/upstream/index.ts';
import { packagedServers } from './executors/upstream/packaged-servers.ts';
import { UpstreamServers, type UpstreamServersOptions } from './executors/upstream/servers.ts';
import { finishRotation } from './invoke/administer.ts';
import type { Gateway, Line, Opened, Records } from './invoke/gateway.ts';
import { invoke, RunningCalls } from './invoke/invoke.ts';
import { MIGRATIONS } from './invoke/migrations.ts';
import { closeRecords, foundState, recover, releaseRecords, reportLeftRun } from './invoke/records.ts';
import { auditOnSchedule, openSkills } from './invoke/skills/audit.ts';
import { Journal, Roller } from './journal/journal.ts';
import { Segments } from './journal/segments.ts';
import { type Notifier, openNotifier } from './notify/notify.ts';
import type { PolicyEngine } from './policy/engine.ts';
import type { CheckedSets } from './policy/memory.ts';
import { BUILTIN_TOOLS } from './registry/builtin.table.ts';
import { processTool } from './registry/process-tool.ts';
import { Registry } from './registry/registry.ts';
import { UpstreamTools } from './registry/upstream-tools.ts';
import { openRunner } from './runner/settings.ts';
import { Presence } from './store/presence.ts';
import { prepareStateDir } from './store/state-dir.ts';
import { Store } from './store/store.ts';
import { openTiers } from './tiers/open.ts';
import { readGitIdentity } from './tiers/workspace/git-identity.ts';
import { keyFileIn } from './vault/keys.ts';
import { Vault } from './vault/vault.ts';

/* Builds every module and hands each what it needs; nothing else makes a module, a clock or a source of randomness. */

export const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
export const systemRandom: Random = { bytes: (count) => randomBytes(count) };

const UNWATCHED: CallWatch = { step: () => undefined, ended: () => undefined };

export const NO_OBSERVER: Observer = () => UNWATCHED;

export type OpenOptions = {
  readonly stateDir: string;
  readonly configPath?: string;
  readonly env: Environment;
  readonly version: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Where palisade was started: commands may work there if it is in a project and nothing else was granted. */
  readonly cwd?: string;
  /** Directories that the operator named on the command line; commands may work in and below these alone. */
  readonly workspaces?: readonly string[];
  /** Paths that commands may read and tool homes that they may use, besides those of the configuration. */
  readonly readOnly?: readonly string[];
  readonly toolHomes?: readonly string[];
  /** Tools besides those that every gateway has. */
  readonly tools?: readonly Tool[];
  /** The MCP servers behind it, in place of those of the configuration. */
  readonly upstreams?: readonly UpstreamRule[];
  /** Policy checks that need not be made again. */
  readonly checked?: CheckedSets;
  /** Another way to find the addresses of names, for tests. */
  readonly lookup?: Lookup;
  /** More authorities that targets are verified with, for tests. */
  readonly trustedCertificates?: string;
  /** It serves many calls, so sandboxes are kept ready. Such a gateway must be closed. */
  readonly isLasting?: boolean;
  /** Where it listens itself: what it runs cannot connect there. */
  readonly ports?: readonly number[];
  readonly observer?: Observer;
  /** Logs for operators what the journal records too. */
  readonly log?: Log;
};

/** Options of `openGateway` besides the configuration. */
export type OpenMore = Pick<
  OpenOptions,
  'tools' | 'upstreams' | 'workspaces' | 'readOnly' | 'toolHomes' | 'isLasting' | 'observer' | 'log' | 'ports'
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

/** The launcher beside this package, where the set-up builds it. */
const LAUNCHERS = [fileURLToPath(new URL('../../launcher/dist/palisade-launcher', import.meta.url))];

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
  const { stateDir, env } = options;
  const { rules, runner } = buildRules(records, options);
  const upstreamTools = new UpstreamTools({ reader: records.store, rules });
  const { installed: skills, tools: skillTools } = openSkills(records, config, stateDir);
  const registry = new Registry({
    skills: skillTools,
    ...(rules.length === 0 ? {} : { upstreams: upstreamTools }),
    tools: [...BUILTIN_TOOLS, processTool(runner.settings, runner.deps), ...(options.tools ?? [])],
    input: config.input,
    limits: config.limits,
    ceilings: config.ceilings,
    loadSchemas: async () => new (await import('./registry/schema.ts')).Schemas(),
  });
  const policy = await buildPolicy(records, options, registry);
  const notifier = await openNotifier(config.approval, { clock, ...options });
  const opened = openTiers({
    ...options,
    ...records,
    launchers: LAUNCHERS,
    engineFiles: ENGINES,
    realStateDir: realpathSync(stateDir),
    node: process.execPath,
    forbidden: runner.deps().forbidden,
    onLeft: (run) => reportLeftRun(records, run, options.log ?? NO_LOG),
  });
  // Before any run: none may take what was planted for the state before it.
  await opened.restoreLeft();
  const line: Line = {
    ...records,
    policy,
    budgets: config.budgets,
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
  const { engines, ready, inspect: inspectTiers } = opened;
  const rest = { upstreams, engines, ready, inspectTiers, workspaces: runner.workspaces };
  const gateway: Gateway = { ...line, executors, ...rest };
  return {
    ...records,
    ...gateway,
    close: keepGoing(gateway, { ...options, records, notifier, closeTiers: opened.close }),
  };
}

/** What is configured of upstream servers and commands, with what the command line and the machine add to it. */
function buildRules(records: Opened<Records>, options: OpenOptions) {
  const { config, clock } = records;
  const { env, cwd = null, workspaces: granted = [] } = options;
  const place = { ...records, ...options, node: process.execPath };
  const rules = packagedServers(options.upstreams ?? config.upstreams, place);
  const owner = { home: env.home, gitIdentity: readGitIdentity(env.home) };
  const runner = openRunner(config, { ...options, ...owner, cwd, granted, upstreams: rules }, clock);
  return { rules, runner };
}

type UpstreamParts = Pick<
  UpstreamServersOptions,
  'rules' | 'tools' | 'settings' | 'deps' | 'lifeMs' | 'stateFlag'
>;

/** The upstream servers; the process of one is a call of the line like any other. */
function buildUpstreams(line: Line, parts: UpstreamParts): UpstreamServers {
  return new UpstreamServers({
    ...line,
    ...parts,
    policySet: () => line.policy.setDigest,
    startServer: async (server, call, { signal, ...listeners }) => {
      const registry = line.registry.with([server]);
      return (await invoke({ ...line, registry }, call, signal, listeners)).outcome;
    },
  });
}

type Closing = OpenOptions & {
  readonly records: Opened<Records>;
  readonly notifier: Notifier;
  readonly closeTiers: () => Promise<void>;
};

/** Starts the background work of a long-lived gateway; returns the function that ends it and everything else. */
function keepGoing(gateway: Gateway, closing: Closing): () => Promise<void> {
  const { isLasting, upstreams: named, records, notifier, closeTiers } = closing;
  const { upstreams, skills } = gateway;
  // The caller who names a server connects to it; a second session would be ended when its first offer is held.
  if (isLasting === true && named === undefined) void upstreams.discoverAll(records.config.gateway.tenant);
  const stopAudits = isLasting === true ? auditOnSchedule(gateway) : async () => undefined;
  return async () => {
    await stopAudits();
    skills.running.close();
    await upstreams.close();
    await notifier.close();
    await closeTiers();
    await records.close();
  };
}

async function buildPolicy(
  { config, store, clock, journal }: Opened<Records>,
  { stateDir, checked, log = NO_LOG }: OpenOptions,
  registry: Registry,
): Promise<PolicyEngine> {
  const { PolicyEngine } = await import('./policy/engine.ts');
  return new PolicyEngine({
    directory: join(stateDir, 'policies'),
    store,
    tools: (named) => registry.named(named),
    groups: groupsByPrincipal(config),
    clock,
    reloadMs: config.policy.reloadMs,
    ...(checked && { checked }),
    onEvent: (event) => {
      const { kind, ...facts } = event;
      const body = JSON.parse(JSON.stringify(facts));
      log(kind === 'policy-loaded' ? 'info' : 'warn', kind, body);
      // Queued before what the decision at hand leads to, and so recorded before it or with it. Where nothing can be
      // written, that fails as well, and reports it.
      store.commit((tx) => journal.append(tx, { kind, body })).catch(() => undefined);
    },
  });
}
