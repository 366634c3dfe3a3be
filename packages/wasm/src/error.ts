/** How a module or a call can fail. One code per thing a caller would do differently. */
export type WasmErrorCode =
  /** Bytes that are not a module. */
  | 'malformed'
  /** Well-formed, but it does not type-check. */
  | 'invalid'
  /** A feature outside the gate; `detail` is its name. */
  | 'feature'
  /** Past a limit; `detail` is its key. */
  | 'limit'
  /** An import is missing or has another type. */
  | 'link'
  /** No such export, or arguments that do not fit it. */
  | 'export'
  /** The fuel ran out. */
  | 'fuel'
  /** The calls nest too deep. */
  | 'stack'
  | 'unreachable'
  | 'out-of-bounds'
  /** A division by zero, or a conversion of a float that no integer represents. */
  | 'arithmetic'
  /** A table element that is empty or of another type was called. */
  | 'indirect-call'
  /** A trap of another kind. */
  | 'trap'
  /** No capacity: the instances or the bytes are used up, or the machine is out of memory. */
  | 'memory'
  /** A host function threw; `cause` is what it threw. */
  | 'host'
  /** The deadline passed. */
  | 'deadline'
  /** The instance has failed before or was released. */
  | 'retired';

/** What a call used, whether it succeeded or not. */
export type Usage = {
  readonly fuelUsed: number;
  /** False after a trap in the middle of work: then it is what was used when the guest last called or was called. */
  readonly isExact: boolean;
  /** All memories of the instance together, at their largest. */
  readonly peakMemoryBytes: number;
};

export type WasmErrorFacts = {
  readonly offset?: number;
  readonly detail?: string;
  readonly cause?: unknown;
  readonly usage?: Usage;
  readonly frames?: readonly number[];
  readonly places?: readonly number[];
};

/** The one error this package throws for what a guest is or does; anything else is our bug. */
export class WasmError extends Error {
  override readonly name = 'WasmError';
  readonly code: WasmErrorCode;
  /** The byte of the module where the error is. */
  readonly offset: number | undefined;
  readonly detail: string | undefined;
  /** What the call used; absent if nothing ran. */
  readonly usage: Usage | undefined;
  /** The functions that were running, the innermost first, by their indices in the module as it was submitted. */
  readonly frames: readonly number[];
  /** For each of them the offset in the metered module where it was, see `Engine.locate`. */
  readonly places: readonly number[];

  constructor(code: WasmErrorCode, message: string, facts: WasmErrorFacts = {}) {
    const where = facts.offset === undefined ? '' : ` (at byte ${facts.offset})`;
    super(message + where, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.offset = facts.offset;
    this.detail = facts.detail;
    this.usage = facts.usage;
    this.frames = facts.frames ?? [];
    this.places = facts.places ?? [];
  }
}
