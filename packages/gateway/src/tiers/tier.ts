import type { ToolCall } from '../core/call.ts';
import type { CallLog } from '../core/call-log.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { Limits, Usage } from '../core/limits.ts';
import type { FailedCode, Refused } from '../core/outcome.ts';
import type { ProcessLimits } from '../core/process.ts';
import type { TierName } from '../core/tool.ts';
import type { AllowList } from '../egress/allowlist.ts';
import type { Grant } from '../policy/authorize.ts';
import type { Written } from '../recordings/recordings.ts';
import type { StdinWriter } from './child/child.ts';

/** What was achieved, measured where it ran; it goes into the receipt unchanged. */
export type Execution = {
  readonly tier: string;
  readonly executor: string;
  readonly isolation: Readonly<Record<string, string | number | boolean>>;
};

export type RunEnding =
  /** `truncated`: it was allowed to write more than is kept. */
  | { readonly status: 'ok'; readonly output: Json; readonly truncated?: boolean }
  | {
      readonly status: 'failed';
      readonly code: FailedCode;
      readonly message: string;
      readonly output: Json;
      readonly truncated: boolean;
      /** Where a better one is known than that of the code. */
      readonly remedy?: string;
    };

export type RunResult = {
  readonly ending: RunEnding;
  readonly usage: Usage;
  readonly execution: Execution;
  /** What it did on the network, for the journal; left out where it had none. */
  readonly egress?: Json;
  /** What the guest of a module said and was denied, as it wrote it; left out where there is no guest. */
  readonly log?: CallLog;
  /** The guest trapped by itself: neither a limit nor its caller ended it. */
  readonly isTrap?: true;
  /** What is needed to replay it, if it can be; the receipt names it once it is saved. */
  readonly recorded?: Written;
};

/** The progress of a run, as an upstream server reports it. */
export type RunProgress = {
  readonly progress: number;
  readonly total: number | null;
  readonly message: string | null;
};

/** A message to the log of the caller, from an upstream server. */
export type RunLog = { readonly level: string; readonly logger: string; readonly data: Json };

/** A form that an upstream server wants the person at the caller to fill in; its text is the server's. */
export type RunQuestion = {
  /** Names it among those that are asked together. */
  readonly key: string;
  readonly upstream: string;
  readonly message: string;
  readonly schema: JsonObject;
};

/** What that person answered. */
export type RunAnswer = {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content: JsonObject | null;
};

/** Puts questions to the person at the caller; an answer for each, in their order. */
export type AskPerson = (questions: readonly RunQuestion[]) => Promise<readonly RunAnswer[]>;

/** What a caller passes with a call: a signal that ends it, and what it wants to hear of the run. */
export type CallContext = {
  readonly signal: AbortSignal;
  readonly onOutput?: ((stream: 'stdout' | 'stderr', chunk: Uint8Array) => void) | undefined;
  readonly onProgress?: ((progress: RunProgress) => void) | undefined;
  readonly onLog?: ((entry: RunLog) => void) | undefined;
  /** Left out: the caller shows no questions of upstream servers. */
  readonly onQuestions?: AskPerson | undefined;
  readonly dialogue?: Dialogue | undefined;
  /** The operator's allow-list for this command, in place of the one for all commands; no door offers this. */
  readonly hosts?: AllowList | undefined;
};

/** The same as `invoke` passes it to an executor, with what binds the run to the policies. */
export type RunContext = CallContext & {
  /** Whether the current policies would still let it run. */
  readonly stillPermitted: () => boolean;
};

/** For a command that lives longer than one request: a session with an upstream server, or a background run. */
export type Dialogue = {
  /** Receives its standard input once its isolation is proved; what it writes goes to `onOutput` and is not kept. */
  readonly onStdin: (stdin: StdinWriter) => void;
  /** An upstream server, which the operator chose; false: a command of a caller, to which the rules for all commands apply. */
  readonly isServer: boolean;
};

/** How a command would be started, for display; it joins control groups only when it runs. */
export type PlannedCommand = {
  readonly executor: string;
  /** What it may use, with every ceiling applied. */
  readonly limits: ProcessLimits;
  readonly words: readonly string[];
  /** Options of the sandbox; they are passed through a descriptor, where no other process can read them. */
  readonly args: readonly string[];
  /** The arguments of the launcher in the sandbox, about the command. */
  readonly told: readonly string[];
};

/** An executor: a place where calls run. It takes a grant, spends it, and enforces the limits or does not start. */
export type Tier = {
  /** Why a call cannot run here, checked before anything is recorded as begun; a tier without it accepts every call. */
  readonly refusal?: (checked: CheckedCall) => Promise<Refused | null>;
  /** What would be started for a call; nothing is started. Null where this tier starts nothing for it, or cannot. */
  readonly describe?: (checked: CheckedCall) => Promise<PlannedCommand | null>;
  readonly run: (grant: Grant, limits: Limits, context: RunContext) => Promise<RunResult>;
};

/** The tiers that are available on this machine. */
export type Tiers = Readonly<Partial<Record<TierName, Tier>>>;

/** Everything that can run a grant: the tiers, and the MCP servers behind this gateway. */
export type Executors = Tiers & { readonly upstream?: DiscoveringTier };

/** An executor that learns its tools from its servers. */
export type DiscoveringTier = Tier & {
  /** Connects to a server for a call of an unknown tool; the registry shows whether it is known afterwards. */
  readonly discover: (upstream: string, call: ToolCall) => Promise<void>;
};

/** A tier that failed after its call had begun, with what the call had used and done by then. */
export class TierFault extends Error {
  override readonly name = 'TierFault';
  readonly soFar: Omit<RunResult, 'ending'>;

  constructor(cause: unknown, soFar: Omit<RunResult, 'ending'>) {
    super('Cannot finish call: the tier broke', { cause });
    this.soFar = soFar;
  }
}
