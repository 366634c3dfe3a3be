import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pruneApprovals } from './approval/prune.ts';
import { Keys } from './attest/keys.ts';
import { prune } from './budget/prune.ts';
import { type Config, groupsByPrincipal, type UpstreamRule } from './config/config.ts';
import { type Environment, secretsOf } from './config/environment.ts';
import { loadConfig } from './config/load.ts';
import type { Clock, Random } from './core/clock.ts';
import { CodedError } from './core/coded-error.ts';
import { makeId } from './core/id.ts';
import { type Log, NO_LOG } from './core/log.ts';
import { NO_OBSERVER, type Observer } from './core/observer.ts';
import { makeRedactor } from './core/redact.ts';
import type { Tool } from './core/tool.ts';
import type { Lookup } from './egress/resolve.ts';
import { upstreamExecutor } from './executors/upstream/index.ts';
import { UpstreamServers } from './executors/upstream/servers.ts';
import { finishRotation } from './invoke/administer.ts';
import type { Gateway, Line, Records } from './invoke/gateway.ts';
import { invoke } from './invoke/invoke.ts';
import { MIGRATIONS } from './invoke/migrations.ts';
import { recover } from './invoke/recover.ts';
import { RunningCalls } from './invoke/running-calls.ts';
import { auditOnSchedule, openSkills } from './invoke/skills/audit.ts';
import { readHead } from './journal/head.ts';
import { Journal } from './journal/journal.ts';
import { Roller } from './journal/roller.ts';
import { recordAt } from './journal/search.ts';
import { Segments } from './journal/segments.ts';
import type { PolicyEngine } from './policy/engine.ts';
import { BUILTIN_TOOLS } from './registry/builtin.table.ts';
import { processTool } from './registry/process-tool.ts';
import { Registry } from './registry/registry.ts';
import { UpstreamTools } from './registry/upstream-tools.ts';
import { pruneResults } from './results/prune.ts';
import { openRunner } from './runner/settings.ts';
import { Presence } from './store/presence.ts';
import { prepareStateDir } from './store/state-dir.ts';
import { Store } from './store/store.ts';
import { openTiers } from './tiers/open.ts';
import { keyFileIn } from './vault/keys.ts';
import { Vault } from './vault/vault.ts';

/* Builds the rooms and hands each what it needs; nothing else in the program makes a room, a clock or chance. */

export const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
export const systemRandom: Random = { bytes: (count) => randomBytes(count) };

export type OpenOptions = {
  readonly stateDir: string;
  readonly configPath?: string;
  readonly env: Environment;
  readonly version: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Where palisade was started: the workspace of commands that name none. */
  readonly cwd?: string;
  /** Tools beside those that every gateway has. */
  readonly tools?: readonly Tool[];
  /** The MCP servers behind it, in place of those of the configuration. */
  readonly upstreams?: readonly UpstreamRule[];
  /** Another way to find the addresses of names, for tests. */
  readonly lookup?: Lookup;
  /** More authorities that targets are verified with, for tests. */
  readonly trustedCertificates?: string;
  /** It serves many calls, so that it is worth while to have sandboxes stand ready. Such a gateway must be closed. */
  readonly isLasting?: boolean;
  /** Where it listens itself, so that nothing that it runs can talk to it. */
  readonly ports?: readonly number[];
  /** Is told of every call, for metrics and traces. */
  readonly observer?: Observer;
  /** Tells operators what the record has too, while it serves. */
  readonly log?: Log;
};

export type Opened<T> = T & {
  readonly config: Config;
  /** Signs what is not signed yet, seals what is full, and lets go of everything. */
  readonly close: () => Promise<void>;
  /** Only lets go: what nobody has verified is not signed on the way out. */
  readonly release: () => void;
};

/** Opens the rooms that keep the record: enough to read, verify, export and prove. */
export async function openRecords(options: OpenOptions): Promise<Opened<Records>> {
  const { stateDir, version, clock = systemClock, random = systemRandom } = options;
  prepareStateDir(stateDir);
  const config = await loadConfig(options);
  const { busyTimeoutMs } = config.store;
  const store = new Store({
    directory: stateDir,
    migrations: MIGRATIONS,
    busyTimeoutMs,
    nowMs: clock.nowMs(),
  });
  const redact = makeRedactor(secretsOf(options.env, config.journal.redactEnv));
  const keys = new Keys(join(stateDir, 'keys'));
  const { checkpointEveryRecords, checkpointAfterMs, segmentRecords } = config.journal;
  const { maxBehindMs } = config.clock;
  const { nowMs } = clock;
  const presence = new Presence(stateDir, makeId('p', clock.nowMs(), random));
  const segments = new Segments(store, presence.id);
  const roller = new Roller(segments, segmentRecords);
  const journal = new Journal({
    signer: keys,
    nowMs,
    redact,
    checkpointEveryRecords,
    checkpointAfterMs,
    maxBehindMs,
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
  const rooms = { store, presence, keys, journal, segments, vault };
  const records: Records = { version, clock, random, redact, keep: config.runs, ...rooms };
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

/** Opens the whole gateway and closes what processes that are gone have left open. */
export async function openGateway(options: OpenOptions): Promise<Opened<Gateway>> {
  const records = await openRecords(options);
  try {
    return await addRooms(records, options);
  } catch (error) {
    await records.close();
    throw error;
  }
}

/** The launcher beside this package, where the set-up builds it. */
const LAUNCHERS = [fileURLToPath(new URL('../../launcher/dist/palisade-launcher', import.meta.url))];

/** The engine of tier A beside this file, or where the set-up builds it. */
const ENGINES = ['./guests.engine.js', '../dist/guests.engine.js'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

async function addRooms(records: Opened<Records>, options: OpenOptions): Promise<Opened<Gateway>> {
  const { config, clock } = records;
  recover(records);
  const { room: skills, tools: skillTools } = openSkills(records, config, options.stateDir);
  const { stateDir, env, cwd = null } = options;
  const runner = openRunner(config, { stateDir, home: env.home, cwd }, clock);
  const rules = options.upstreams ?? config.upstreams;
  const upstreamTools = new UpstreamTools({ reader: records.store, rules });
  const registry = new Registry({
    skills: skillTools,
    upstreams: upstreamTools,
    tools: [...BUILTIN_TOOLS, processTool(runner.settings, runner.deps), ...(options.tools ?? [])],
    input: config.input,
    limits: config.limits,
    ceilings: config.ceilings,
    loadSchemas: async () => new (await import('./registry/schema.ts')).Schemas(),
  });
  const policy = await policyOf(records, options, registry);
  const {
    tiers,
    engines,
    ready,
    inspect,
    close: closeTiers,
  } = openTiers({ ...options, ...records, launchers: LAUNCHERS, engineFiles: ENGINES, ...here(options) });
  const line: Line = {
    ...records,
    policy,
    budgets: config.budgets,
    approvalExpiresAfterMs: config.approval.expiresAfterS * 1000,
    registry,
    skills,
    executors: tiers,
    running: new RunningCalls(),
    observer: options.observer ?? NO_OBSERVER,
  };
  const upstreams = new UpstreamServers({
    ...records,
    ...runner,
    rules,
    tools: upstreamTools,
    lifeMs: config.ceilings.wallMs,
    policySet: () => policy.setDigest,
    startServer: async (server, call, { signal, ...listeners }) => {
      const { outcome } = await invoke(
        { ...line, registry: registry.with([server]) },
        call,
        signal,
        listeners,
      );
      return outcome;
    },
  });
  const executors =
    rules.length === 0 ? tiers : { ...tiers, upstream: upstreamExecutor(upstreams, tiers, clock) };
  const gateway: Gateway = { ...line, executors, upstreams, engines, ready, inspectTiers: inspect };
  if (options.isLasting === true) void upstreams.discoverAll(config.gateway.tenant);
  const stopAudits = options.isLasting === true ? auditOnSchedule(gateway) : async () => undefined;
  const close = async () => {
    await stopAudits();
    skills.running.close();
    await upstreams.close();
    await closeTiers();
    await records.close();
  };
  return { ...records, ...gateway, close };
}

function here({ stateDir }: OpenOptions): { readonly house: string; readonly node: string } {
  return { house: realpathSync(stateDir), node: process.execPath };
}

async function policyOf(
  { config, store, clock, journal }: Opened<Records>,
  { stateDir, log = NO_LOG }: OpenOptions,
  registry: Registry,
): Promise<PolicyEngine> {
  const { openPolicy } = await import('./policy/engine.ts');
  return openPolicy({
    directory: join(stateDir, 'policies'),
    store,
    tools: (named) => registry.named(named),
    groups: groupsByPrincipal(config),
    clock,
    reloadMs: config.policy.reloadMs,
    onEvent: (event) => {
      const { kind, ...facts } = event;
      const body = JSON.parse(JSON.stringify(facts));
      log(kind === 'policy-loaded' ? 'info' : 'warn', kind, body);
      const draft = { kind, call: null, principal: null, tool: null, tenant: null, body };
      // Queued before whatever the decision at hand leads to, and so recorded before it or with it. Where nothing can be
      // written, that fails as well, and says so.
      store.commit((tx) => journal.append(tx, draft)).catch(() => undefined);
    },
  });
}

/** The first key and the first record of a new state directory, made by exactly one process. */
function foundState({ store, keys, journal, segments, clock, random, version }: Records): void {
  if (readHead(store).seq > 0) return;
  store.transact((tx) => {
    if (readHead(tx).seq > 0) return;
    if (recordAt(segments, 1) !== undefined) {
      throw new CodedError('store/corrupt', 'Cannot go on with the journal: it has records but no head');
    }
    keys.createFirst(clock.nowMs());
    const nonce = Buffer.from(random.bytes(16)).toString('hex');
    const body = { nonce, key: keys.currentId, version };
    journal.append(tx, { kind: 'founded', call: null, principal: null, tool: null, tenant: null, body });
  });
}

async function closeRecords(records: Records, roller: Roller): Promise<void> {
  const { store, journal, segments, presence } = records;
  try {
    // Whoever is writing at this moment will sign in our place.
    if (journal.isUncovered(store)) {
      store.transactIfFree((tx) => {
        journal.checkpoint(tx);
        prune(tx, records.clock.nowMs());
        pruneApprovals(tx, records.clock.nowMs());
        pruneResults(tx, records.clock.nowMs() - records.keep.keepForMs);
      });
    }
    await roller.finish(readHead(store).seq);
    segments.tidy((owner) => presence.isGone(owner));
    presence.sweep(new Set(journal.openCalls(store).map(({ owner }) => owner)));
  } catch (error) {
    // What could not be signed or sealed now is signed or sealed by the next process.
    if (!(error instanceof CodedError)) throw error;
  } finally {
    await roller.idle();
    releaseRecords(records);
  }
}

function releaseRecords({ segments, presence, store }: Records): void {
  segments.close();
  presence.close();
  store.close();
}
