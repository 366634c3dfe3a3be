import type { Digest } from './digest.ts';

/** One question of a guest and its answer, in the order in which they were asked. */
export type Exchange = {
  readonly name: string;
  /** Of the numbers and the bytes that it was asked with. */
  readonly asked: Digest;
  readonly result: number;
  /** In base64. */
  readonly bytes: string;
};

/** What counts depend on, beside the module: fuel of two engines is compared only where all of it is equal. */
export type EngineFacts = {
  /** The version of the meter. */
  readonly meter: number;
  readonly form: string;
  readonly isDeterministic: boolean;
};

/** All that a call of a module came from, so that it can be run again and has to end in the same way. */
export type Recording = {
  readonly version: 1 | 2;
  /** Of the engine that ran it; version 1 does not say. */
  readonly engine?: EngineFacts;
  readonly module: Digest;
  readonly exportName: string;
  /** The canonical text. */
  readonly input: string;
  readonly functions: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly limits: Readonly<Record<string, number>>;
  readonly startedMs: number;
  readonly seed: string;
  readonly config: Readonly<Record<string, string>>;
  readonly exchanges: readonly Exchange[];
};
