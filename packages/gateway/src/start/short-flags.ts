import { setFlagsFromString } from 'node:v8';

/**
 * How V8 runs a command that makes one call. Nearly all of its code runs for less than the time that compiling it for
 * speed takes, so it is interpreted; what runs twenty times as long as V8 would wait for, as the relay of much output,
 * is still optimised. Set before code is taken from the code cache, which V8 only accepts under the flags that it was
 * made under.
 */
export function setShortFlags(): void {
  setFlagsFromString('--interrupt-budget=1500000');
  setFlagsFromString('--no-sparkplug');
}
