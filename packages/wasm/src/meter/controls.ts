/** The functions that the meter adds for the host. */

import { F64, I32 } from '../read/value-type.ts';
import { OP } from './op.ts';
import { codeOf, MISC_BASE, MISC_PREFIX } from './opcodes.ts';
import { FUEL_UNIT, MOST_STACK_UNITS, type Plan, PROTOCOLS, STOPPED_BIT } from './plan.ts';
import { Sink } from './sink.ts';

/** Names of added exports begin with this; a guest that exports such a name is refused. */
export const RESERVED = 'palisade:';

/** The control that sets every mutable global to its initial value. */
export const RENEW = `${RESERVED}renew`;

/** What `palisade:why` returns. */
export const REASONS = { none: 0, fuel: 1, stack: 2 } as const;

/** Export name and function index of each control. */
export type Controls = readonly { readonly name: string; readonly index: number }[];

const FUEL_SHIFT = 16;
const STACK_UNIT_SHIFT = 5;

/** Adds the controls; `palisade:renew` only where it resets everything except memories. */
export function addControls(plan: Plan, isRenewable: boolean): Controls {
  const renew = () => ({ name: RENEW, index: plan.add({ params: [], results: [] }, renewBody(plan)) });
  return [
    { name: `${RESERVED}set`, index: plan.add({ params: [F64, I32], results: [] }, setBody(plan)) },
    { name: `${RESERVED}charge`, index: plan.add({ params: [F64], results: [] }, chargeBody(plan)) },
    { name: `${RESERVED}left`, index: plan.add({ params: [], results: [F64] }, leftBody(plan)) },
    { name: `${RESERVED}why`, index: plan.add({ params: [], results: [I32] }, whyBody(plan)) },
    ...(isRenewable ? [renew()] : []),
  ];
}

/** Adds a wrapper of the original type, which the host can call, for a function that is passed the counter. */
export function addWrapper(plan: Plan, index: number): void {
  if (plan.protocol[index] !== PROTOCOLS.thread || plan.wrapperOf.has(index)) return;
  const type = plan.typeOf(plan.module.functions[index] ?? 0);
  const wrapper = body((write) => {
    type.params.forEach((_type, param) => {
      write.byte(OP.localGet);
      write.index(param);
    });
    getGlobal(write, plan.counter);
    write.byte(OP.call);
    write.index(index);
    setGlobal(write, plan.counter);
  });
  plan.wrapperOf.set(index, plan.add(type, wrapper));
}

/** The counter is not the guest's own global, and is set for each call. */
function renewBody({ module: { bytes, globals } }: Plan): Uint8Array {
  return body((write) => {
    globals.forEach(({ mutable, imported, start, end }, index) => {
      if (!mutable || imported) return;
      write.copy(bytes, start, end);
      setGlobal(write, index);
    });
  });
}

function setBody(plan: Plan): Uint8Array {
  return body((write) => {
    write.all([OP.localGet, 0, MISC_PREFIX, codeOf('i64.trunc_sat_f64_s') - MISC_BASE]);
    write.all([OP.i64Const, FUEL_SHIFT, OP.i64ShiftLeft]);
    write.all([OP.localGet, 1, OP.i32Const, STACK_UNIT_SHIFT, codeOf('i32.shr_u'), OP.i64FromUnsigned]);
    write.byte(OP.i64Const);
    write.signed(MOST_STACK_UNITS);
    write.all([OP.localGet, 1, OP.i32Const, STACK_UNIT_SHIFT, codeOf('i32.shr_u'), OP.i32Const]);
    write.signed(MOST_STACK_UNITS);
    write.all([codeOf('i32.lt_u'), OP.select, OP.i64Or]);
    setGlobal(write, plan.counter);
  });
}

function chargeBody(plan: Plan): Uint8Array {
  return body((write) => {
    getGlobal(write, plan.counter);
    write.all([OP.localGet, 0, MISC_PREFIX, codeOf('i64.trunc_sat_f64_s') - MISC_BASE]);
    write.all([OP.i64Const, FUEL_SHIFT, OP.i64ShiftLeft, OP.i64Subtract]);
    setGlobal(write, plan.counter);
  });
}

/** An overdraft of the stack has borrowed one unit of fuel: adding half a unit rounds it back. */
function leftBody(plan: Plan): Uint8Array {
  return body((write) => {
    getGlobal(write, plan.counter);
    write.byte(OP.i64Const);
    write.signed(STOPPED_BIT);
    write.all([OP.i64Const, 0]);
    getGlobal(write, plan.counter);
    write.all([OP.i64Const, 0, OP.i64GreaterEqual, OP.select]);
    write.all([OP.i64Add, OP.i64Const, FUEL_SHIFT, OP.i64ShiftRight, codeOf('f64.convert_i64_s')]);
  });
}

/** A marked counter means that the meter stopped the guest; it is below zero unless the stack ran out. */
function whyBody(plan: Plan): Uint8Array {
  return body((write) => {
    write.all([OP.i32Const, REASONS.fuel, OP.i32Const, REASONS.stack]);
    getGlobal(write, plan.counter);
    write.all([OP.i64Const, 0, OP.i64LessSigned, OP.select]);
    write.all([OP.i32Const, REASONS.none]);
    getGlobal(write, plan.counter);
    write.byte(OP.i64Const);
    write.signed(STOPPED_BIT);
    write.all([OP.i64And, codeOf('i32.wrap_i64'), OP.select]);
  });
}

/** The counter of a new instance. */
export function initialCounter(fuel: number, units: number): bigint {
  return BigInt(fuel) * BigInt(FUEL_UNIT) + BigInt(units);
}

function body(fill: (write: Sink) => void): Uint8Array {
  const write = new Sink(64);
  write.byte(0);
  fill(write);
  write.byte(OP.end);
  return write.taken();
}

function getGlobal(write: Sink, index: number): void {
  write.byte(OP.globalGet);
  write.index(index);
}

function setGlobal(write: Sink, index: number): void {
  write.byte(OP.globalSet);
  write.index(index);
}
