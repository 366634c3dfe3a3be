import { type Cipher, createCipheriv } from 'node:crypto';
import { type Guest, type HostFunction, type HostTable, hostTable } from '@palisade/wasm';
import {
  ABI_ERRORS,
  ABI_FUNCTIONS,
  ABI_MODULE,
  type AbiFunction,
  type AbiName,
  CAPABILITY_KINDS,
  type CapabilityKind,
} from './abi.table.ts';
import type { Channel } from './pipe.ts';
import { type AnswerHead, type CallHead, LOG_LINE_BYTES, MOST_ASK_BYTES } from './protocol.ts';
import type { Printed } from './wasi-handlers.ts';

const NO_BYTES = new Uint8Array(0);

/** What one call keeps beside its guest. */
export type CallContext = {
  readonly head: CallHead;
  /** The answer of bytes that waits to be fetched. */
  result: Uint8Array;
  /** What the tool reported as its failure. */
  failure: Uint8Array | null;
  logBytesLeft: number;
  isLogCut: boolean;
  /** Made when the first bytes are asked for: most calls ask for none. */
  random: Cipher | null;
  /** What a component prints, by stream; made with the first bytes. */
  readonly printed: { stdout?: Printed; stderr?: Printed };
};

export function newCallContext(head: CallHead): CallContext {
  return {
    head,
    result: NO_BYTES,
    failure: null,
    logBytesLeft: head.limits.logBytes,
    isLogCut: false,
    random: null,
    printed: {},
  };
}

/** The source of a call's random bytes: the same bytes for the same seed. */
export function randomOf(context: CallContext): Cipher {
  context.random ??= createCipheriv('aes-256-ctr', Buffer.from(context.head.seed, 'hex'), Buffer.alloc(16));
  return context.random;
}

/** What host functions do, whichever way a guest asks: by the numbers of the ABI, or by the types of the world. */

const BYTES_PER_FUEL = 8;

/** A function of the gateway with its numbers and its texts, each in their order. */
export type Asked = {
  readonly name: AbiName;
  readonly numbers: readonly number[];
  readonly texts: readonly Uint8Array[];
};

/** A length, zero, or an error of the ABI; and the bytes that came with it. */
export type Answer = { readonly result: number; readonly bytes: Uint8Array };

/** Pays for bytes before they are made or copied. */
export function payFor(guest: Guest, bytes: number): void {
  guest.charge(Math.ceil(bytes / BYTES_PER_FUEL));
}

/** Whether a question is longer than any that the gateway would answer. */
export function isTooLong(bytes: number): boolean {
  return bytes > MOST_ASK_BYTES;
}

/** Sends what a guest says to the gateway and waits for the answer, which is paid by its length. */
export function askGateway(guest: Guest, channel: Channel, { name, numbers, texts }: Asked): Answer {
  const lengths = texts.map((text) => text.length);
  // Boundary: the gateway answers everybody, and what it would refuse by its length is not carried to it.
  if (isTooLong(lengths.reduce((sum, length) => sum + length, 0)))
    return { result: ABI_ERRORS.tooLarge.code, bytes: NO_BYTES };
  channel.say('ask', { name, numbers, lengths }, Buffer.concat(texts));
  const answer = channel.next();
  // Boundary: without the gateway there is nobody to do anything for.
  if (answer?.kind !== 'answer') throw new Error('Cannot go on: the gateway has gone');
  const bytes = answer.bytes.length === 0 ? NO_BYTES : answer.bytes;
  payFor(guest, bytes.length);
  return { result: (answer.head as AnswerHead).result, bytes };
}

/** Passes a line on as it comes, as far as the quota of the call goes. */
export function addLine(context: CallContext, channel: Channel, level: number, text: Uint8Array): void {
  const bytes = text.length + LOG_LINE_BYTES;
  // Boundary: a flood ends at the quota, one of empty lines as well, and the record says that it was cut.
  if (bytes > context.logBytesLeft) {
    context.isLogCut = true;
    return;
  }
  context.logBytesLeft -= bytes;
  channel.say('log', { level }, text);
}

/** Puts the next random bytes of the call in place of these. */
export function randomize(context: CallContext, bytes: Uint8Array): Uint8Array {
  return randomOf(context).update(bytes.fill(0));
}

/** A value of the tool's configuration; null where there is none. */
export function configOf({ head: { config } }: CallContext, key: string): string | null {
  return Object.hasOwn(config, key) ? (config[key] ?? '') : null;
}

export function countOf({ head }: CallContext, kind: CapabilityKind): number {
  return head.counts[kind];
}

/** The handle of a capability by its place in the grant; null where there is none. */
export function handleOf(context: CallContext, kind: CapabilityKind, index: number): number | null {
  const isThere = index >= 0 && index < countOf(context, kind);
  return isThere ? CAPABILITY_KINDS[kind].firstHandle + index : null;
}

/** The host functions of the ABI, as an engine gives them to its guests: what asks the gateway, and what is done here. */

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
