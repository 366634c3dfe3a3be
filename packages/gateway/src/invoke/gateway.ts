import type { Approval } from '../approval/approval.ts';
import type { Keys } from '../attest/keys.ts';
import type { Channels } from '../channels/channels.ts';
import type { BudgetRule, Config } from '../config/config.ts';
import type { Observer } from '../core/call.ts';
import type { Clock, Random } from '../core/clock.ts';
import type { Json } from '../core/json.ts';
import type { BackgroundRuns } from '../executors/background/runs.ts';
import type { UpstreamServers } from '../executors/upstream/servers.ts';
import type { Journal } from '../journal/journal.ts';
import type { Segments } from '../journal/segments.ts';
import type { PolicyEngine } from '../policy/engine.ts';
import type { Registry } from '../registry/registry.ts';
import type { ResultTerms } from '../results/results.ts';
import type { WorkspaceRoots } from '../runner/roots.ts';
import type { Advisory } from '../skills/advisories.ts';
import type { Artifacts } from '../skills/artifacts.ts';
import type { RunningSkills } from '../skills/running.ts';
import type { Presence } from '../store/presence.ts';
import type { Store } from '../store/store.ts';
import type { EnginePool } from '../tiers/a-wasm/engine-pool.ts';
import type { ReadyModules } from '../tiers/a-wasm/modules.ts';
import type { TierRow } from '../tiers/process/inspect.ts';
import type { Executors } from '../tiers/tier.ts';
import type { Undos } from '../tiers/undo/undo.ts';
import type { Vault } from '../vault/vault.ts';
import type { RunningCalls } from './invoke.ts';

/** What keeps the records; enough to read and prove them and to close what a crash left open. */
export type Records = {
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly presence: Presence;
  readonly keys: Keys;
  readonly journal: Journal;
  readonly segments: Segments;
  readonly vault: Vault;
  readonly redact: (value: Json) => Json;
  readonly keep: ResultTerms;
};

/** The installed skills, and those of them that run. */
export type InstalledSkills = {
  readonly artifacts: Artifacts;
  readonly running: RunningSkills;
  readonly terms: SkillTerms;
};

/** The operator's settings for skills; the advisories are read on demand. */
type SkillTerms = Omit<Config['skills'], 'advisories'> & { readonly advisories: () => readonly Advisory[] };

/** What a call needs along the line. */
export type Line = Records & {
  readonly policy: PolicyEngine;
  readonly budgets: readonly BudgetRule[];
  /** How long a session may be idle. */
  readonly sessionIdleMs: number;
  readonly approvalExpiresAfterMs: number;
  /** Hears of every new request for approval once it is recorded; returns at once. */
  readonly onAsked: (approval: Approval) => void;
  /** The command by which a user of this machine approves a request, to be copied. */
  readonly approveCommand: (id: string) => string;
  readonly registry: Registry;
  readonly skills: InstalledSkills;
  readonly executors: Executors;
  readonly running: RunningCalls;
  readonly observer: Observer;
};

/** The whole gateway, built by open.ts: the line, and what operators inspect and change beside it. */
export type Gateway = Line & {
  readonly upstreams: UpstreamServers;
  readonly background: BackgroundRuns;
  /** Where modules run, for replayed calls. */
  readonly engines: EnginePool;
  /** Modules in the form that engines run. */
  readonly ready: ReadyModules;
  /** Tries the tiers that run commands and reports what works on this machine. */
  readonly inspectTiers: () => Promise<readonly TierRow[]>;
  /** What commands changed, and how it is undone. */
  readonly undos: Undos;
  /** The directories that commands may work in, and what granted them. */
  readonly workspaces: WorkspaceRoots;
  /** How guests and operators of a tenant send messages to each other. */
  readonly channels: Channels;
};

/** Something that was opened on a state directory, with its configuration. */
export type Opened<T> = T & {
  readonly config: Config;
  /** Signs what is unsigned, seals what is full, and releases everything. */
  readonly close: () => Promise<void>;
  /** Only releases everything: nothing is signed on the way out. */
  readonly release: () => void;
};
