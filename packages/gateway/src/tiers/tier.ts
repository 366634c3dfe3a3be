import type { CheckedCall } from '../core/checked-call.ts';
import type { Json } from '../core/json.ts';
import type { Limits, Usage } from '../core/limits.ts';
import type { FailedCode, Refused } from '../core/outcome.ts';
import type { ProcessLimits } from '../core/process.ts';
import type { AllowList } from '../egress/allowlist.ts';
import type { Grant } from '../policy/grant.ts';
import type { Written } from '../recordings/recordings.ts';
import type { Feed } from './child/child.ts';

/** What was achieved, measured where it ran; it goes into the receipt as it is. */
export type Execution = {
  readonly tier: string;
  readonly executor: string;
  readonly isolation: Readonly<Record<string, string | number | boolean>>;
};

export type RunEnding =
  | { readonly status: 'ok'; readonly output: Json }
  | {
      readonly status: 'failed';
      readonly code: FailedCode;
      readonly message: string;
      readonly output: Json;
      readonly truncated: boolean;
    };

export type RunResult = {
  readonly ending: RunEnding;
  readonly usage: Usage;
  readonly execution: Execution;
  /** What it did on the network, for the journal; left out where it had none. */
  readonly egress?: Json;
  /** What it came from, where it can be run again; the receipt names it once it is saved. */
  readonly recorded?: Written;
};

/** What binds a run to its caller: a signal that ends it, and an ear for what it prints meanwhile. */
export type Ties = {
  readonly signal: AbortSignal;
  readonly onOutput?: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;
};

/** The same with what binds it to the policies: whether those of this moment would still let it run. */
export type RunTies = Ties & { readonly mayGoOn: () => boolean; readonly talk?: Talk };

/** Of a command that is talked to while it runs, which only rooms above can ask for. */
export type Talk = {
  /** Takes its standard input; what it writes is handed to `onOutput` and not kept. */
  readonly feed: (stdin: Feed) => void;
  /** The operator's list of hosts for this very command, in place of the one for all. */
  readonly hosts: AllowList;
};

/** How a command would be started, for people to read; groups of the kernel join it only when it runs. */
export type PlannedCommand = {
  readonly executor: string;
  /** What it may use, with every ceiling applied. */
  readonly limits: ProcessLimits;
  /** What the launcher is told. */
  readonly words: readonly string[];
  /** Options of the sandbox; they go through a descriptor, where no other process can read them. */
  readonly args: readonly string[];
  /** What the launcher in the sandbox is told of the command. */
  readonly told: readonly string[];
};

/** A place where calls run. It takes a grant, spends it, and holds the limits or does not start. */
export type Tier = {
  /** Why a call cannot run here, asked before anything is recorded as begun; a tier without it takes every call. */
  readonly refusal?: (checked: CheckedCall) => Promise<Refused | null>;
  /** What would be started for a call; nothing is. Null where this tier starts nothing for it, or cannot. */
  readonly describe?: (checked: CheckedCall) => Promise<PlannedCommand | null>;
  readonly run: (grant: Grant, limits: Limits, ties: RunTies) => Promise<RunResult>;
};
