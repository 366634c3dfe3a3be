import type { Usage } from './limits.ts';
import type { Outcome } from './outcome.ts';
import type { Principal } from './principal.ts';

/** A call as a door submits it: who, what, from where. The input is still bytes or text. */
export type ToolCall = {
  readonly id: string;
  readonly principal: Principal;
  readonly tenant: string;
  readonly run: string | null;
  readonly door: string;
  readonly tool: string;
  readonly rawInput: string | Uint8Array;
  /**
   * The wall-clock limit that the caller requests: lower than the configured one, or higher up to the tool's own limit
   * and the ceiling. Null requests none, and the configured one applies.
   */
  readonly timeoutMs: number | null;
  readonly receivedAtMs: number;
  /** Identifies repetitions of a call, so that it runs once; 1 to 255 visible characters. */
  readonly idempotencyKey?: string;
  /** The trace that the call is a part of, as a W3C `traceparent`. */
  readonly trace?: string;
};

export type LineStep = 'admit' | 'begin' | 'run' | 'finish';

/** Watches one call along the line. It sees no input and no output, and cannot change anything. */
export type CallWatch = {
  /** The step that begins now; the previous one has ended. */
  readonly step: (name: LineStep) => void;
  readonly ended: (outcome: Pick<Outcome, 'status' | 'code'>, usage: Usage) => void;
};

export type Observer = (call: ToolCall) => CallWatch;
