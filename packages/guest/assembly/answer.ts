import * as host from './beside/palisade_v1';

/** The handle does not belong to this call, or does not allow this. */
export const DENIED: i32 = -1;
/** It does not exist, or not yet. */
export const MISSING: i32 = -2;
/** It is larger than allowed. */
export const TOO_LARGE: i32 = -3;
/** A quota is used up. */
export const FULL: i32 = -4;
/** It has changed meanwhile: its version is different. */
export const CONFLICT: i32 = -5;
/** An argument is not valid. */
export const INVALID: i32 = -6;
/** The other side cannot be reached, or broke off. */
export const UNAVAILABLE: i32 = -7;
/** The other side took too long. */
export const TOO_SLOW: i32 = -8;

/** What a host function returned: a value, or one of the errors above. */
export class Answer<T> {
  /** Zero if there is a value. */
  readonly error: i32;
  private readonly held: T | null;

  constructor(error: i32, held: T | null) {
    this.error = error;
    this.held = held;
  }

  get ok(): bool {
    return this.held !== null;
  }

  /** Traps if there is none. */
  get value(): T {
    return this.held as T;
  }
}

/** Fetches the bytes of the last host function, by the length that it returned. */
export function fetchAnswer(length: i32): Uint8Array {
  const bytes = new Uint8Array(length);
  host.result_read(bytes.dataStart, length);
  return bytes;
}

/** The bytes, or the error that the function returned instead of a length. */
export function answerOf(length: i32): Answer<Uint8Array> {
  return length < 0 ? new Answer<Uint8Array>(length, null) : new Answer(0, fetchAnswer(length));
}

/** The length of the head of an answer with two parts. */
export function headLengthOf(bytes: Uint8Array): i32 {
  return load<i32>(bytes.dataStart);
}
