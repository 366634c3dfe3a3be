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
import { type AnswerHead, LOG_LINE_BYTES, MOST_ASK_BYTES } from '../engine-words.ts';
import { type CallContext, randomOf } from './call-context.ts';
import type { Channel } from './channel.ts';

const BYTES_PER_FUEL = 8;
const NO_BYTES = new Uint8Array(0);
const KINDS = Object.entries(CAPABILITY_KINDS) as readonly [
  CapabilityKind,
  (typeof CAPABILITY_KINDS)[CapabilityKind],
][];

type Run = (guest: Guest, context: CallContext, values: readonly number[]) => number | undefined;

/** The table of the functions that a call was granted; one that was not is not in it. */
export function hostTableOf(names: readonly AbiName[], channel: Channel): HostTable {
  const granted = ABI_FUNCTIONS.filter(({ name }) => names.includes(name));
  return hostTable(granted.map((row) => rowOf(row, runOf(row, channel))));
}

function runOf(row: AbiFunction, channel: Channel): Run {
  if (row.asksGateway) return asking(row, channel);
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

/** Sends what the guest says to the gateway and waits for the answer. */
function asking({ name, params }: AbiFunction, channel: Channel): Run {
  const shape = params.map(([param], index) => ({
    isBytes: params[index + 1]?.[0] === `${param}Length`,
    isLength: params[index - 1] !== undefined && `${params[index - 1]?.[0]}Length` === param,
  }));
  return (guest, context, values) => {
    const askedBytes = shape.reduce(
      (sum, { isLength }, at) => sum + (isLength ? (values[at] ?? 0) >>> 0 : 0),
      0,
    );
    // Boundary: the gateway answers everybody, and what it would refuse by its length is not carried to it.
    if (askedBytes > MOST_ASK_BYTES) return ABI_ERRORS.tooLarge.code;
    const numbers: number[] = [];
    const texts: Uint8Array[] = [];
    shape.forEach(({ isBytes, isLength }, index) => {
      if (isLength) return;
      if (isBytes) texts.push(take(guest, values[index] ?? 0, values[index + 1] ?? 0));
      else numbers.push(values[index] ?? 0);
    });
    const lengths = texts.map((text) => text.length);
    channel.say('ask', { name, numbers, lengths }, Buffer.concat(texts));
    const answer = channel.next();
    // Boundary: without the gateway there is nobody to do anything for.
    if (answer?.kind !== 'answer') throw new Error('Cannot go on: the gateway has gone');
    context.result = answer.bytes.length === 0 ? NO_BYTES : answer.bytes;
    guest.charge(Math.ceil(answer.bytes.length / BYTES_PER_FUEL));
    return (answer.head as AnswerHead).result;
  };
}

/** A copy of the guest's bytes, paid for before it is made. */
function take(guest: Guest, place: number, length: number): Uint8Array {
  guest.charge(Math.ceil((length >>> 0) / BYTES_PER_FUEL));
  return guest.read(place, length);
}

const LOCAL: Readonly<Record<string, Run>> = {
  capability_count: (_guest, { head }, [kind = 0]) => {
    const found = KINDS.find(([, { number }]) => number === kind);
    return found === undefined ? ABI_ERRORS.invalid.code : head.counts[found[0]];
  },
  capability_handle: (_guest, { head }, [kind = 0, index = -1]) => {
    const found = KINDS.find(([, { number }]) => number === kind);
    if (found === undefined) return ABI_ERRORS.invalid.code;
    const [name, { firstHandle }] = found;
    return index >= 0 && index < head.counts[name] ? firstHandle + index : ABI_ERRORS.missing.code;
  },
  result_read: (guest, context, [place = 0, length = 0]) => {
    const { result } = context;
    if (result.length > length >>> 0) return ABI_ERRORS.tooLarge.code;
    guest.charge(Math.ceil(result.length / BYTES_PER_FUEL));
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
    guest.charge(Math.ceil((length >>> 0) / BYTES_PER_FUEL));
    // The place is looked at first, so that no more is made than fits into a memory.
    guest.write(place, randomOf(context).update(guest.read(place, length).fill(0)));
    return undefined;
  },
  config_get: (guest, context, [place = 0, length = 0]) => {
    const { config } = context.head;
    const key = Buffer.from(take(guest, place, length)).toString('utf8');
    if (!Object.hasOwn(config, key)) return ABI_ERRORS.missing.code;
    context.result = Buffer.from(config[key] ?? '');
    return context.result.length;
  },
};

/** Lines go to the gateway as they come, as far as the quota of the call goes. */
function logging(channel: Channel): Run {
  return (guest, context, [level = 0, place = 0, length = 0]) => {
    const text = take(guest, place, length);
    const bytes = text.length + LOG_LINE_BYTES;
    // Boundary: a flood ends at the quota, one of empty lines as well, and the record says that it was cut.
    if (bytes > context.logBytesLeft) {
      context.isLogCut = true;
      return undefined;
    }
    context.logBytesLeft -= bytes;
    channel.say('log', { level }, text);
    return undefined;
  };
}
