import type { Digest } from './digest.ts';

/** One request of a guest and its answer, in their order. */
export type Exchange = {
  readonly name: string;
  /** Of the numbers and the bytes of the request. */
  readonly asked: Digest;
  readonly result: number;
  /** In base64. */
  readonly bytes: string;
};

/** What counts depend on, beside the module: the fuel of two engines is compared only where all of it is equal. */
export type EngineFacts = {
  readonly meter: number;
  readonly form: string;
  readonly isDeterministic: boolean;
};

/** Everything that a call of a module depended on, so that a replay must end in the same way. */
export type Recording = {
  readonly version: 1 | 2;
  /** Of the engine that ran it; version 1 does not include it. */
  readonly engine?: EngineFacts;
  readonly module: Digest;
  readonly exportName: string;
  /** The canonical text. */
  readonly input: string;
  readonly functions: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly limits: Readonly<Record<string, number>>;
  readonly startedMs: number;
  /** Of its random bytes, in hexadecimal. */
  readonly seed: string;
  readonly config: Readonly<Record<string, string>>;
  readonly exchanges: readonly Exchange[];
};
