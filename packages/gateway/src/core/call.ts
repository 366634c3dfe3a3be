import type { Usage } from './limits.ts';
import type { Outcome } from './outcome.ts';
import type { Principal } from './principal.ts';

/**
 * Where a call comes from: its credential, and what the operator said with it. `channel` is the client or the way in that
 * the credential names; it has nothing to do with the message channels of guests.
 */
export type CallSource = {
  readonly credential: string;
  readonly device?: string;
  readonly channel?: string;
};

/** A call as a door submits it: who, what, from where. The input is still bytes or text. */
export type ToolCall = {
  readonly id: string;
  readonly principal: Principal;
  readonly tenant: string;
  /** Null: the gateway makes it itself, so that it belongs to no session. */
  readonly source: CallSource | null;
  /** The session that the call belongs to; only the line sets it. */
  readonly session?: string;
  /** The connection that the call came by, where several calls share one: an approval for a run ends with it. */
  readonly connection?: string;
  /** What the caller names as the run: a label, or a session that it has begun. */
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
