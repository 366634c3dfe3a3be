/** Writes the instructions that the meter inserts, to `write`. The counter is a local here. */
import { NOTHING, OP } from './op.ts';
import { FUEL_UNIT, STOPPED_BIT } from './plan.ts';
import type { Sink } from './sink.ts';

/** Pushes the counter minus an amount of fuel and minus raw units of its lower bits. */
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

/** Takes an amount of fuel from the counter and stops the guest if it is below zero. */
export function payAndCheck(write: Sink, counter: number, fuel: number, counterGlobal: number): void {
  pushPaid(write, counter, fuel);
  if (fuel !== 0) {
    write.byte(OP.localTee);
    write.index(counter);
  }
  stopIfNegative(write, counter, counterGlobal);
}

/**
 * Stops the guest if the value on the stack is below zero: by a trap, which no guest can catch. The marked counter in
 * its global distinguishes it from other traps. A call here would keep V8 from unrolling the loop around it.
 */
export function stopIfNegative(write: Sink, counter: number, counterGlobal: number): void {
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
  write.index(counterGlobal);
  write.byte(OP.unreachable);
  write.byte(OP.end);
}
