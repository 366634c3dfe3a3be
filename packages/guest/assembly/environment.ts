import { fetchAnswer } from './answer';
import * as host from './beside/palisade_v1';
import { bytesOf, textOf } from './bytes';

export const DEBUG: i32 = 0;
export const INFO: i32 = 1;
export const WARNING: i32 = 2;
export const ERROR: i32 = 3;

/** A line for the log of the call. */
export function log(level: i32, text: string): void {
  const line = bytesOf(text);
  host.log(level, line.dataStart, line.length);
}

/** When the call began, in milliseconds since 1970. It does not advance during the call. */
export function nowMs(): f64 {
  return host.clock_ms();
}

/** So many random bytes. */
export function randomBytes(length: i32): Uint8Array {
  const bytes = new Uint8Array(length);
  host.random(bytes.dataStart, length);
  return bytes;
}

/** A value of the tool's configuration; null if there is no such key. */
export function config(key: string): string | null {
  const name = bytesOf(key);
  const length = host.config_get(name.dataStart, name.length);
  return length < 0 ? null : textOf(fetchAnswer(length));
}
