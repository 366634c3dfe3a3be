/** Writes the instructions that the meter puts in. The counter is a local here; `write` is where they go. */
import { NOTHING, OP } from './op.ts';
import { FUEL_UNIT, STOPPED_BIT } from './plan.ts';
import type { Sink } from './sink.ts';

/** Pushes the counter less an amount of fuel, and less raw units of its lower bits. */
export function pushPaid(write: Sink, counter: number, fuel: number, units = 0): void {
  write.byte(OP.localGet);
  write.index(counter);
  const amount = fuel * FUEL_UNIT + units;
  if (amount === 0) return;
  write.byte(OP.i64Const);
  write.signed(amount);
  write.byte(OP.i64Subtract);
}

/** Takes an amount of fuel from the counter. */
export function pay(write: Sink, counter: number, fuel: number): void {
  if (fuel === 0) return;
  pushPaid(write, counter, fuel);
  write.byte(OP.localSet);
  write.index(counter);
}

/** Takes an amount of fuel from the counter and stops the guest when it is below zero. `home` is the counter's global. */
export function payAndCheck(write: Sink, counter: number, fuel: number, home: number): void {
  pushPaid(write, counter, fuel);
  if (fuel !== 0) {
    write.byte(OP.localTee);
    write.index(counter);
  }
  stopIfNegative(write, counter, home);
}

/**
 * Stops the guest when the value on the stack is below zero: by a trap, which no guest can catch, with the marked counter
 * in its global to tell it from other traps. A call here would keep V8 from unrolling the loop around it.
 */
export function stopIfNegative(write: Sink, counter: number, home: number): void {
  write.byte(OP.i64Const);
  write.byte(0);
  write.byte(OP.i64LessSigned);
  write.byte(OP.if);
  write.byte(NOTHING);
  write.byte(OP.localGet);
  write.index(counter);
  write.byte(OP.i64Const);
  write.signed(STOPPED_BIT);
  write.byte(OP.i64Or);
  write.byte(OP.globalSet);
  write.index(home);
  write.byte(OP.unreachable);
  write.byte(OP.end);
}
