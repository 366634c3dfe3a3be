import type { ToolCall } from './call.ts';
import type { Usage } from './limits.ts';
import type { Outcome } from './outcome.ts';

/** The steps of the line, as they are timed. */
export type LineStep = 'admit' | 'begin' | 'run' | 'finish';

/** Watches one call on its way along the line. It sees no input and no output, and can change nothing. */
export type CallWatch = {
  /** The step that begins now; the one before has ended. */
  readonly step: (name: LineStep) => void;
  readonly ended: (outcome: Pick<Outcome, 'status' | 'code'>, usage: Usage) => void;
};

/** Is told of every call of a gateway, for metrics and traces. */
export type Observer = (call: ToolCall) => CallWatch;

const UNWATCHED: CallWatch = { step: () => undefined, ended: () => undefined };

export const NO_OBSERVER: Observer = () => UNWATCHED;
