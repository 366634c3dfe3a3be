import type { Keys } from '../attest/keys.ts';
import type { BudgetRule } from '../budget/rule.ts';
import type { Config } from '../config/config.ts';
import type { Observer } from '../core/call.ts';
import type { Clock, Random } from '../core/clock.ts';
import type { Json } from '../core/json.ts';
import type { UpstreamServers } from '../executors/upstream/servers.ts';
import type { Journal } from '../journal/journal.ts';
import type { Segments } from '../journal/segments.ts';
import type { PolicyEngine } from '../policy/engine.ts';
import type { Registry } from '../registry/registry.ts';
import type { ResultTerms } from '../results/results.ts';
import type { Advisory } from '../skills/advisories.ts';
import type { Artifacts } from '../skills/artifacts.ts';
import type { RunningSkills } from '../skills/running.ts';
import type { Presence } from '../store/presence.ts';
import type { Store } from '../store/store.ts';
import type { EnginePool } from '../tiers/a-wasm/engine-pool.ts';
import type { ReadyModules } from '../tiers/a-wasm/modules.ts';
import type { TierRow } from '../tiers/process/inspect.ts';
import type { Executors } from '../tiers/tier.ts';
import type { Vault } from '../vault/vault.ts';
import type { RunningCalls } from './invoke.ts';

/** What keeps the record; enough to read it, prove it and close what a crash left open. */
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
  /** What is kept of calls that have ended. */
  readonly keep: ResultTerms;
};

/** What is installed, and what of it runs. */
export type InstalledSkills = {
  readonly artifacts: Artifacts;
  readonly running: RunningSkills;
  readonly terms: SkillTerms;
};

/** What the operator says about skills; the advisories are read when they are wanted. */
export type SkillTerms = {
  readonly firstUse: 'refuse' | 'trust';
  readonly reviewers: number;
  readonly reauditAfterMs: number;
  readonly advisories: () => readonly Advisory[];
};

/** What a call needs on its way along the line. */
export type Line = Records & {
  readonly policy: PolicyEngine;
  readonly budgets: readonly BudgetRule[];
  readonly approvalExpiresAfterMs: number;
  readonly registry: Registry;
  readonly skills: InstalledSkills;
  readonly executors: Executors;
  /** The calls on the line at this moment. */
  readonly running: RunningCalls;
  readonly observer: Observer;
};

/** The whole gateway, built by open.ts: the line, and what operators look at and change beside it. */
export type Gateway = Line & {
  /** The MCP servers behind this gateway. */
  readonly upstreams: UpstreamServers;
  /** Where modules run, for calls that are run again. */
  readonly engines: EnginePool;
  /** Modules in the form in which engines take them. */
  readonly ready: ReadyModules;
  /** Tries the tiers that run commands and says what holds on this machine. */
  readonly inspectTiers: () => Promise<readonly TierRow[]>;
};

/** Something that was opened on a state directory, with the configuration that it was opened with. */
export type Opened<T> = T & {
  readonly config: Config;
  /** Signs what is not signed yet, seals what is full, and lets go of everything. */
  readonly close: () => Promise<void>;
  /** Only lets go: nothing is signed on the way out. */
  readonly release: () => void;
};
