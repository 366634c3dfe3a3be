import * as host from './palisade_v1';

/** The kinds of capabilities by their numbers in the ABI. */
export const HTTP: i32 = 1;
export const SECRET: i32 = 2;
export const STORAGE: i32 = 3;
export const CHANNEL: i32 = 4;

/** How many capabilities of a kind the call has. */
export function countOf(kind: i32): i32 {
  return host.capability_count(kind);
}

/** The handle of a capability by its place in the grant; an error, which is below zero, where there is none. */
export function handleOf(kind: i32, index: i32): i32 {
  return host.capability_handle(kind, index);
}
