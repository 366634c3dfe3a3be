import type { ToolCall } from '../core/call.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import type { Json } from '../core/json.ts';
import type { Limits, Usage } from '../core/limits.ts';
import type { FailedCode, Refused } from '../core/outcome.ts';
import type { ProcessLimits } from '../core/process.ts';
import type { TierName } from '../core/tool.ts';
import type { AllowList } from '../egress/allowlist.ts';
import type { Grant } from '../policy/authorize.ts';
import type { Written } from '../recordings/recordings.ts';
import type { StdinWriter } from './child/child.ts';

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

/** The progress of a run, as an upstream server reports it. */
export type RunProgress = {
  readonly progress: number;
  readonly total: number | null;
  readonly message: string | null;
};

/** What a caller gives with a call: a signal that ends it, and listeners for what it does meanwhile. */
export type CallContext = {
  readonly signal: AbortSignal;
  /** Gets what the run prints, piece by piece. */
  readonly onOutput?: ((stream: 'stdout' | 'stderr', chunk: Uint8Array) => void) | undefined;
  /** Gets the progress of the run, where its executor reports any. */
  readonly onProgress?: ((progress: RunProgress) => void) | undefined;
  readonly dialogue?: Dialogue | undefined;
};

/** The same as `invoke` hands it to an executor, with what binds the run to the policies. */
export type RunContext = CallContext & {
  /** Whether the policies of this moment would still let it run. */
  readonly stillPermitted: () => boolean;
};

/** Of a command that is written to while it runs, as a session with an upstream server does; no door asks for one. */
export type Dialogue = {
  /** Gets its standard input once its walls are proved; what it writes goes to `onOutput` and is not kept. */
  readonly onStdin: (stdin: StdinWriter) => void;
  /** The operator's allow-list for this command, in place of the one for all commands. */
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

/** An executor: a place where calls run. It takes a grant, spends it, and holds the limits or does not start. */
export type Tier = {
  /** Why a call cannot run here, asked before anything is recorded as begun; a tier without it takes every call. */
  readonly refusal?: (checked: CheckedCall) => Promise<Refused | null>;
  /** What would be started for a call; nothing is. Null where this tier starts nothing for it, or cannot. */
  readonly describe?: (checked: CheckedCall) => Promise<PlannedCommand | null>;
  readonly run: (grant: Grant, limits: Limits, context: RunContext) => Promise<RunResult>;
};

/** The tiers that this machine has. */
export type Tiers = Readonly<Partial<Record<TierName, Tier>>>;

/** Everything that can run a grant: the tiers, and the MCP servers behind this gateway. */
export type Executors = Tiers & { readonly upstream?: DiscoveringTier };

/** An executor whose tools only its servers know. */
export type DiscoveringTier = Tier & {
  /** Connects to a server for a call of a tool that is not known yet; whether it is afterwards, the registry sees. */
  readonly discover: (upstream: string, call: ToolCall) => Promise<void>;
};

/** A tier that broke after its call had begun, with what the call had used and done by then. */
export class TierFault extends Error {
  override readonly name = 'TierFault';
  readonly soFar: Omit<RunResult, 'ending'>;

  constructor(cause: unknown, soFar: Omit<RunResult, 'ending'>) {
    super('Cannot finish call: the tier broke', { cause });
    this.soFar = soFar;
  }
}
