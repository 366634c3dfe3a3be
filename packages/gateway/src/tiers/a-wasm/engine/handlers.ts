/**
 * The host functions as an engine provides them to its guests. A function that the engine handles has a handler here,
 * in the form of core modules and in that of components; one that the gateway handles becomes a request to the gateway,
 * and the guest waits for the answer. Nothing here has any authority.
 */
import { type Cipher, createCipheriv } from 'node:crypto';
import { type Guest, type HostFunction, type HostTable, hostTable } from '@palisade/wasm';
import { CAPABILITY_KINDS, type CapabilityKind } from '../../../core/wasm.ts';
import {
  ABI_ERRORS,
  ABI_FUNCTIONS,
  ABI_MODULE,
  type AbiFunction,
  type AbiName,
  type EngineFunctionName,
  ERROR_NAMES,
  LOG_LEVELS,
  type RequestParts,
} from './abi.table.ts';
import type { GatewayPipe } from './pipe.ts';
import { type AnswerHead, type CallHead, LOG_LINE_BYTES, MOST_REQUEST_BYTES } from './protocol.ts';
import type { PrintedLines } from './wasi-handlers.ts';

/** The state of one call beside its guest. */
export type CallContext = {
  readonly head: CallHead;
  readonly pipe: GatewayPipe;
  /** The bytes of an answer that the guest has yet to fetch. */
  result: Uint8Array;
  failure: Uint8Array | null;
  logBytesLeft: number;
  isLogCut: boolean;
  /** Created on first use: most calls need none. */
  random: Cipher | null;
  /** What a component prints, by stream; created on first use. */
  readonly printed: { stdout?: PrintedLines; stderr?: PrintedLines };
};

export type Crossing = { readonly guest: Guest; readonly context: CallContext };

/** Takes values of the parameter types of its function, and returns one of its result type. */
export type ComponentHandler = (crossing: Crossing, ...values: never[]) => unknown;

/** Takes and returns the numbers of the core form. */
type CoreHandler = (guest: Guest, context: CallContext, values: readonly number[]) => number | undefined;

const BYTES_PER_FUEL = 8;
const NO_BYTES = new Uint8Array(0);
const KINDS: ReadonlyMap<number, CapabilityKind> = new Map(
  Object.entries(CAPABILITY_KINDS).map(([name, { number }]) => [number, name as CapabilityKind]),
);

export function newCallContext(head: CallHead, pipe: GatewayPipe): CallContext {
  return {
    head,
    pipe,
    result: NO_BYTES,
    failure: null,
    logBytesLeft: head.limits.logBytes,
    isLogCut: false,
    random: null,
    printed: {},
  };
}

/** The table of the functions that were granted to a call. */
export function hostTableOf(names: readonly AbiName[]): HostTable {
  const granted = ABI_FUNCTIONS.filter(({ name }) => names.includes(name));
  return hostTable(
    granted.map((row) => {
      const run = row.handledBy === 'gateway' ? requesting(row, row.name) : ENGINE_HANDLERS[row.name].core;
      return hostFunctionOf(row, run);
    }),
  );
}

function hostFunctionOf(row: AbiFunction, run: CoreHandler): HostFunction {
  const { name, params, result, fuel, handledBy } = row;
  return {
    module: ABI_MODULE,
    name,
    params: params.map(([, type]) => type),
    results: result === null ? [] : [result],
    fuel,
    blocks: handledBy === 'gateway',
    run: (guest: Guest, ...values: number[]) => run(guest, guest.context as CallContext, values),
  } as HostFunction;
}

/** Sends the request of a core module, and keeps the bytes of the answer until the guest fetches them. */
function requesting({ params }: AbiFunction, name: AbiName): CoreHandler {
  const shape = params.map(([param], index) => ({
    isBytes: params[index + 1]?.[0] === `${param}Length`,
    isLength: params[index - 1] !== undefined && `${params[index - 1]?.[0]}Length` === param,
  }));
  return (guest, context, values) => {
    const requestBytes = shape.reduce(
      (sum, { isLength }, at) => sum + (isLength ? (values[at] ?? 0) >>> 0 : 0),
      0,
    );
    // Boundary: a request that is too long is not copied out of the guest.
    if (requestBytes > MOST_REQUEST_BYTES) return ABI_ERRORS.tooLarge.code;
    const numbers: number[] = [];
    const texts: Uint8Array[] = [];
    shape.forEach(({ isBytes, isLength }, index) => {
      if (isLength) return;
      if (isBytes) texts.push(copyOut(guest, values[index] ?? 0, values[index + 1] ?? 0));
      else numbers.push(values[index] ?? 0);
    });
    const { result, bytes } = requestGateway({ guest, context }, name, { numbers, texts });
    context.result = bytes;
    return result;
  };
}

/** Sends a request to the gateway and waits for the answer, which is charged by its length. */
export function requestGateway(
  { guest, context: { pipe } }: Crossing,
  name: AbiName,
  { numbers, texts }: RequestParts,
): { readonly result: number; readonly bytes: Uint8Array } {
  const lengths = texts.map((text) => text.length);
  // Boundary: the gateway serves all tenants, so what it would refuse for its length is not sent to it.
  if (lengths.reduce((sum, length) => sum + length, 0) > MOST_REQUEST_BYTES)
    return { result: ABI_ERRORS.tooLarge.code, bytes: NO_BYTES };
  pipe.send('ask', { name, numbers, lengths }, Buffer.concat(texts));
  const answer = pipe.next();
  // Boundary: without the gateway no request can be served.
  if (answer?.kind !== 'answer') throw new Error('Cannot go on: the gateway has gone');
  const bytes = answer.bytes.length === 0 ? NO_BYTES : answer.bytes;
  payFor(guest, bytes.length);
  return { result: (answer.head as AnswerHead).result, bytes };
}

/** The functions that the engine handles, in the form of core modules and in that of components. */
export const ENGINE_HANDLERS: Readonly<
  Record<EngineFunctionName, { readonly core: CoreHandler; readonly component?: ComponentHandler }>
> = {
  capability_count: {
    core: (_guest, { head }, [kind = 0]) => {
      const found = KINDS.get(kind);
      return found === undefined ? ABI_ERRORS.invalid.code : head.counts[found];
    },
    component: ({ context }, kind: CapabilityKind) => context.head.counts[kind],
  },
  capability_handle: {
    core: (_guest, context, [kind = 0, index = -1]) => {
      const found = KINDS.get(kind);
      if (found === undefined) return ABI_ERRORS.invalid.code;
      return handleOf(context, found, index) ?? ABI_ERRORS.missing.code;
    },
    component: ({ context }, kind: CapabilityKind, index: number) => {
      const handle = handleOf(context, kind, index);
      return handle === null ? failedWith(ABI_ERRORS.missing.code) : ok(handle);
    },
  },
  result_read: {
    core: (guest, context, [address = 0, length = 0]) => {
      const { result } = context;
      if (result.length > length >>> 0) return ABI_ERRORS.tooLarge.code;
      payFor(guest, result.length);
      guest.write(address, result);
      context.result = NO_BYTES;
      return result.length;
    },
  },
  fail: {
    core: (guest, context, [address = 0, length = 0]) => {
      // A report that exceeds the output limit counts as one without a reason.
      const isTooLong = length >>> 0 > context.head.limits.outputBytes;
      context.failure = isTooLong ? NO_BYTES : copyOut(guest, address, length);
      return undefined;
    },
  },
  log: {
    core: (guest, context, [level = 0, address = 0, length = 0]) => {
      addLine(context, level, copyOut(guest, address, length));
      return undefined;
    },
    component: ({ context }, level: (typeof LOG_LEVELS)[number], text: string) =>
      addLine(context, LOG_LEVELS.indexOf(level), Buffer.from(text)),
  },
  clock_ms: {
    core: (_guest, { head }) => head.startedMs,
    component: ({ context }) => context.head.startedMs,
  },
  random: {
    core: (guest, context, [address = 0, length = 0]) => {
      payFor(guest, length >>> 0);
      // The memory is read first, so that no more bytes are generated than fit into it.
      guest.write(address, randomize(context, guest.read(address, length)));
      return undefined;
    },
    component: (crossing, length: number) => randomBytes(crossing, length),
  },
  config_get: {
    core: (guest, context, [address = 0, length = 0]) => {
      const value = configOf(context, Buffer.from(copyOut(guest, address, length)).toString('utf8'));
      if (value === null) return ABI_ERRORS.missing.code;
      context.result = Buffer.from(value);
      return context.result.length;
    },
    component: ({ context }, key: string) => configOf(context, key),
  },
};

export function ok(value: unknown = null) {
  return { tag: 'ok', value } as const;
}

/** An error of the ABI by its number, in the form for components. */
export function failedWith(code: number) {
  return { tag: 'error', value: ERROR_NAMES[-code - 1] ?? 'unavailable' } as const;
}

/** Forwards a line at once, within the quota of the call. */
export function addLine(context: CallContext, level: number, text: Uint8Array): void {
  const bytes = text.length + LOG_LINE_BYTES;
  // Boundary: a flood, even of empty lines, ends at the quota, and the record says that it was cut.
  if (bytes > context.logBytesLeft) {
    context.isLogCut = true;
    return;
  }
  context.logBytesLeft -= bytes;
  context.pipe.send('log', { level }, text);
}

/** Random bytes of the call; no more than its memory could hold. */
export function randomBytes({ guest, context }: Crossing, length: number | bigint): Uint8Array {
  const { memoryBytes } = context.head.limits;
  // Boundary: the guest chooses the length, and the bytes are generated outside of its memory.
  if (length > memoryBytes)
    throw new Error(`Cannot make ${length} random bytes, expected at most ${memoryBytes}`);
  payFor(guest, Number(length));
  return randomize(context, new Uint8Array(Number(length)));
}

/** Replaces these bytes with the call's next random ones: the same for the same seed. */
function randomize(context: CallContext, bytes: Uint8Array): Uint8Array {
  const { head, random } = context;
  const source = random ?? createCipheriv('aes-256-ctr', Buffer.from(head.seed, 'hex'), Buffer.alloc(16));
  context.random = source;
  return source.update(bytes.fill(0));
}

/** Charges for bytes before they are made or copied. */
function payFor(guest: Guest, bytes: number): void {
  guest.charge(Math.ceil(bytes / BYTES_PER_FUEL));
}

/** A copy of the guest's bytes, charged before it is made. */
function copyOut(guest: Guest, address: number, length: number): Uint8Array {
  payFor(guest, length >>> 0);
  return guest.read(address, length);
}

/** A value of the tool's configuration; null where the key does not exist. */
function configOf({ head: { config } }: CallContext, key: string): string | null {
  return Object.hasOwn(config, key) ? (config[key] ?? '') : null;
}

/** The handle of a capability by its position in the grant; null where there is none. */
function handleOf({ head }: CallContext, kind: CapabilityKind, index: number): number | null {
  const exists = index >= 0 && index < head.counts[kind];
  return exists ? CAPABILITY_KINDS[kind].firstHandle + index : null;
}
