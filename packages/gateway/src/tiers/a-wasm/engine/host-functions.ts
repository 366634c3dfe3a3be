/** The host functions of the ABI, as an engine gives them to its guests: what asks the gateway, and what is done here. */
import { type Guest, type HostFunction, type HostTable, hostTable } from '@palisade/wasm';
import {
  ABI_ERRORS,
  ABI_FUNCTIONS,
  ABI_MODULE,
  type AbiFunction,
  type AbiName,
  CAPABILITY_KINDS,
  type CapabilityKind,
} from '../abi.table.ts';
import type { CallContext } from './call-context.ts';
import type { Channel } from './channel.ts';
import {
  addLine,
  askGateway,
  configOf,
  countOf,
  handleOf,
  isTooLong,
  payFor,
  randomize,
} from './host-acts.ts';

const NO_BYTES = new Uint8Array(0);
const KINDS: ReadonlyMap<number, CapabilityKind> = new Map(
  Object.entries(CAPABILITY_KINDS).map(([name, { number }]) => [number, name as CapabilityKind]),
);

type Run = (guest: Guest, context: CallContext, values: readonly number[]) => number | undefined;

/** The table of the functions that a call was granted; one that was not is not in it. */
export function hostTableOf(names: readonly AbiName[], channel: Channel): HostTable {
  const granted = ABI_FUNCTIONS.filter(({ name }) => names.includes(name));
  return hostTable(granted.map((row) => rowOf(row, runOf(row, channel))));
}

function runOf(row: (typeof ABI_FUNCTIONS)[number], channel: Channel): Run {
  if (row.asksGateway) return asking(row, row.name, channel);
  const run = row.name === 'log' ? logging(channel) : LOCAL[row.name];
  if (run === undefined) throw new TypeError(`Cannot give ${row.name}: nobody does it`);
  return run;
}

function rowOf({ name, params, result, fuel, asksGateway }: AbiFunction, run: Run): HostFunction {
  return {
    module: ABI_MODULE,
    name,
    params: params.map(([, type]) => type),
    results: result === null ? [] : [result],
    fuel,
    blocks: asksGateway,
    run: (guest: Guest, ...values: number[]) => run(guest, guest.context as CallContext, values),
  } as HostFunction;
}

/** Asks the gateway, and keeps the bytes of its answer until the guest fetches them. */
function asking({ params }: AbiFunction, name: AbiName, channel: Channel): Run {
  const shape = params.map(([param], index) => ({
    isBytes: params[index + 1]?.[0] === `${param}Length`,
    isLength: params[index - 1] !== undefined && `${params[index - 1]?.[0]}Length` === param,
  }));
  return (guest, context, values) => {
    const askedBytes = shape.reduce(
      (sum, { isLength }, at) => sum + (isLength ? (values[at] ?? 0) >>> 0 : 0),
      0,
    );
    // Boundary: nothing that is too long is copied out of the guest.
    if (isTooLong(askedBytes)) return ABI_ERRORS.tooLarge.code;
    const numbers: number[] = [];
    const texts: Uint8Array[] = [];
    shape.forEach(({ isBytes, isLength }, index) => {
      if (isLength) return;
      if (isBytes) texts.push(take(guest, values[index] ?? 0, values[index + 1] ?? 0));
      else numbers.push(values[index] ?? 0);
    });
    const { result, bytes } = askGateway(guest, channel, { name, numbers, texts });
    context.result = bytes;
    return result;
  };
}

/** A copy of the guest's bytes, paid for before it is made. */
function take(guest: Guest, place: number, length: number): Uint8Array {
  payFor(guest, length >>> 0);
  return guest.read(place, length);
}

const LOCAL: Readonly<Record<string, Run>> = {
  capability_count: (_guest, context, [kind = 0]) => {
    const found = KINDS.get(kind);
    return found === undefined ? ABI_ERRORS.invalid.code : countOf(context, found);
  },
  capability_handle: (_guest, context, [kind = 0, index = -1]) => {
    const found = KINDS.get(kind);
    if (found === undefined) return ABI_ERRORS.invalid.code;
    return handleOf(context, found, index) ?? ABI_ERRORS.missing.code;
  },
  result_read: (guest, context, [place = 0, length = 0]) => {
    const { result } = context;
    if (result.length > length >>> 0) return ABI_ERRORS.tooLarge.code;
    payFor(guest, result.length);
    guest.write(place, result);
    context.result = NO_BYTES;
    return result.length;
  },
  fail: (guest, context, [place = 0, length = 0]) => {
    // A report that is longer than an output may be is one without a reason.
    context.failure = length >>> 0 > context.head.limits.outputBytes ? NO_BYTES : take(guest, place, length);
    return undefined;
  },
  clock_ms: (_guest, { head }) => head.startedMs,
  random: (guest, context, [place = 0, length = 0]) => {
    payFor(guest, length >>> 0);
    // The place is looked at first, so that no more is made than fits into a memory.
    guest.write(place, randomize(context, guest.read(place, length)));
    return undefined;
  },
  config_get: (guest, context, [place = 0, length = 0]) => {
    const value = configOf(context, Buffer.from(take(guest, place, length)).toString('utf8'));
    if (value === null) return ABI_ERRORS.missing.code;
    context.result = Buffer.from(value);
    return context.result.length;
  },
};

function logging(channel: Channel): Run {
  return (guest, context, [level = 0, place = 0, length = 0]) => {
    addLine(context, channel, level, take(guest, place, length));
    return undefined;
  };
}
