import type { ToolCall } from './call.ts';
import type { Digest } from './digest.ts';
import type { Json } from './json.ts';
import type { Limits, Usage } from './limits.ts';
import type { PreparedProcess } from './process.ts';
import type { TierName, Tool } from './tool.ts';

/** A call whose tool was found and whose input was parsed once, strictly. Policy and tool see this same value. */
export type CheckedCall = {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly toolDigest: Digest;
  readonly input: Json;
  /** The canonical encoding of the input and its digest. */
  readonly inputText: string;
  readonly inputDigest: Digest;
  /** Where it is to run: the tool's own tier, or a requested one that is acceptable. */
  readonly tier: TierName;
  /** For a tool that runs a command: the command, resolved once. */
  readonly process: PreparedProcess | null;
  /** The bytes that run: those of the tool and of the command. */
  readonly artifacts: Tool['artifacts'];
  /** The tool's limits, narrowed by the caller's and the configured ceilings. */
  readonly limits: Limits;
};

/** What is left of each unit, the least over all budgets that apply. */
export type BudgetLeft = Usage;

/** The decision of a person on one exact call, passed to Cedar as a fact. */
export type ApprovalFact = { readonly id: string; readonly by: string; readonly atMs: number };
