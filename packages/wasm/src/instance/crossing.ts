import { WasmError } from '../error.ts';
import {
  type CallState,
  CROSSINGS_PER_CLOCK_READ,
  charge,
  endCall,
  readClock,
  reentered,
  usageOf,
} from './call-state.ts';
import type { Guest } from './guest.ts';
import type { HostRow } from './host.ts';
import { type GuestValue, isNumberType, JS_TYPES, settleNaN, type ValueName } from './value.ts';

type Results = GuestValue | readonly GuestValue[] | undefined;

/** What V8 calls when the guest calls an import. */
export type Crossing = (...values: GuestValue[]) => Results;

/** One row of the host table as seen by one guest. */
type Gate = {
  readonly row: HostRow;
  readonly run: HostRow['run'];
  readonly state: CallState;
  /** How many plain crossings it counts as towards the next read of the clock. */
  readonly weight: number;
  /** Fuel that the meter leaves to the crossing. */
  readonly fuel: number;
  readonly blocks: boolean;
  /** A float is a number whose NaNs lose their bits. */
  readonly yields: 'nothing' | 'number' | 'float' | 'other';
  readonly isDeterministic: boolean;
};

/** Fuel that takes about as long as one plain crossing. */
const FUEL_PER_CROSSING = 64;

export type CrossingTerms = {
  readonly state: CallState;
  readonly isCharged: boolean;
  readonly isDeterministic: boolean;
};

/** A function that lets a guest reach one row of the table, and lets nothing but numbers back. */
export function crossingOf(row: HostRow, { state, isCharged, isDeterministic }: CrossingTerms): Crossing {
  const weight = row.blocks
    ? CROSSINGS_PER_CLOCK_READ
    : Math.min(CROSSINGS_PER_CLOCK_READ, 1 + Math.floor(row.fuel / FUEL_PER_CROSSING));
  const fuel = isCharged ? row.fuel : 0;
  const gate: Gate = {
    row,
    run: row.run,
    state,
    weight,
    fuel,
    blocks: row.blocks,
    yields: yieldOf(row, isDeterministic),
    isDeterministic,
  };
  const open = BY_ARITY[row.params.length] ?? openToMany;
  return open(gate);
}

/**
 * Fixed parameters where they are few: gathering and spreading them costs a third more on each crossing. `run` is read
 * from the gate first, since called as `gate.run` it would get the gate as its `this`.
 */
const BY_ARITY: readonly ((gate: Gate) => Crossing)[] = [
  (gate, { run } = gate) =>
    () => {
      try {
        return leave(gate, run(enter(gate)));
      } catch (thrown) {
        throw fail(gate, thrown);
      }
    },
  (gate, { run } = gate) =>
    (a) => {
      try {
        return leave(gate, run(enter(gate), a as GuestValue));
      } catch (thrown) {
        throw fail(gate, thrown);
      }
    },
  (gate, { run } = gate) =>
    (a, b) => {
      try {
        return leave(gate, run(enter(gate), a as GuestValue, b as GuestValue));
      } catch (thrown) {
        throw fail(gate, thrown);
      }
    },
  (gate, { run } = gate) =>
    (a, b, c) => {
      try {
        return leave(gate, run(enter(gate), a as GuestValue, b as GuestValue, c as GuestValue));
      } catch (thrown) {
        throw fail(gate, thrown);
      }
    },
  (gate, { run } = gate) =>
    (a, b, c, d) => {
      try {
        return leave(
          gate,
          run(enter(gate), a as GuestValue, b as GuestValue, c as GuestValue, d as GuestValue),
        );
      } catch (thrown) {
        throw fail(gate, thrown);
      }
    },
];

function openToMany(gate: Gate): Crossing {
  const { run } = gate;
  return (...values) => {
    try {
      return leave(gate, run(enter(gate), ...values));
    } catch (thrown) {
      throw fail(gate, thrown);
    }
  };
}

function yieldOf({ results }: HostRow, isDeterministic: boolean): Gate['yields'] {
  if (results.length === 0) return 'nothing';
  if (results.length > 1 || results[0] === 'i64') return 'other';
  return isDeterministic && results[0] !== 'i32' ? 'float' : 'number';
}

/** Checks whether the guest may cross, and returns what the host function sees of it. */
function enter({ state, weight, fuel }: Gate): Guest {
  state.crossingsLeft -= weight;
  if (state.crossingsLeft <= 0) readClock(state);
  if (fuel > 0) charge(state, fuel);
  // Boundary: a guest that a host function calls cannot enter a host function again.
  if (state.guest === undefined) throw endCall(state, reentered(state));
  return state.guest;
}

function leave(gate: Gate, result: unknown): Results {
  if (gate.blocks) readClock(gate.state);
  if (gate.yields === 'number' && typeof result === 'number') return result;
  if (gate.yields === 'nothing' && result === undefined) return result;
  if (gate.yields === 'float' && typeof result === 'number') return settleNaN(result);
  return checkResult(gate, result);
}

// Boundary: only numbers cross. An object would let V8 run its `valueOf` or iterate it; a promise would be a 0.
function checkResult({ row: { results }, isDeterministic }: Gate, result: unknown): Results {
  const [first] = results;
  if (results.length === 1 && first !== undefined) {
    if (isJsTypeOf(first, result)) return result;
    throw new TypeError(`The result is ${nameOf(result)}, expected ${expectation(first)}`);
  }
  if (results.length === 0) throw new TypeError(`The result is ${nameOf(result)}, expected nothing`);
  if (!Array.isArray(result) || result.length !== results.length) {
    throw new TypeError(`The result is ${nameOf(result)}, expected an array of ${results.length}`);
  }
  return results.map((type, index) => {
    const value: unknown = result[index];
    if (isJsTypeOf(type, value)) return isDeterministic ? settleNaN(value) : value;
    throw new TypeError(`Result ${index} is ${nameOf(value)}, expected ${expectation(type)}`);
  });
}

function isJsTypeOf(type: ValueName, value: unknown): value is GuestValue {
  return isNumberType(type) && typeof value === JS_TYPES[type];
}

function expectation(type: ValueName): string {
  return `a ${isNumberType(type) ? JS_TYPES[type] : type} for ${type}`;
}

function nameOf(value: unknown): string {
  if (value instanceof Promise) return 'a promise (host functions are synchronous)';
  return value === null
    ? 'null'
    : Array.isArray(value)
      ? `an array of ${value.length}`
      : `of type ${typeof value}`;
}

/** What ends the call: what ended it before, what the guest view raised, or a fault of the host function. */
function fail({ row, state }: Gate, thrown: unknown): WasmError {
  if (state.ended !== undefined) return state.ended;
  // Boundary: compared by identity. What a host function throws may be a proxy, and any access to it may run code.
  if (state.raised !== undefined && thrown === state.raised) return endCall(state, state.raised);
  // What it threw may contain anything, secrets too: it is in `cause`, never in the message.
  const message = `Cannot finish call: host function ${row.module}.${row.name} failed`;
  return endCall(state, new WasmError('host', message, { cause: thrown, usage: usageOf(state) }));
}
