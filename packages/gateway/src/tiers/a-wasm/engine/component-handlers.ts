import { type Guest, type HostFunction, type HostTable, hostTable, loweredHost } from '@palisade/wasm';
import { ABI_FUNCTIONS, type AbiName, type CapabilityKind } from './abi.table.ts';
import {
  type Answer,
  addLine,
  askGateway,
  type CallContext,
  configOf,
  countOf,
  handleOf,
  payFor,
  randomize,
} from './handlers.ts';
import type { Channel } from './pipe.ts';
import { WASI_ACTS } from './wasi-handlers.ts';
import { ERROR_NAMES, LEVEL_NAMES, SKILL_PACKAGE, type WorldRow } from './world.table.ts';
import { moduleOf, WORLD_FUNCTIONS } from './world.ts';

/** What the functions of the world `skill` do, by interface and name: what is asked in types is asked of the gateway as the ABI does. */

/** One crossing: who asks, for which call, and the way to the gateway. */
export type Crossing = { readonly guest: Guest; readonly context: CallContext; readonly channel: Channel };

/** Takes the values that the type of its function says, and gives one of its result. */
export type Act = (crossing: Crossing, ...values: never[]) => unknown;

type Failed = { readonly tag: 'error'; readonly value: string };

type Request = {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  readonly secret: { readonly handle: number; readonly header: string; readonly format: string } | null;
};

type Condition = { readonly tag: 'always' | 'absent' } | { readonly tag: 'version'; readonly value: bigint };

const HEAD_LENGTH_BYTES = 4;
const VERSION_BYTES = 8;
/** What the ABI says for: whatever is there, and only where nothing is. */
const [ANY, ABSENT] = [-1, 0];

/** By `interface.name`. */
export const SKILL_ACTS: Readonly<Record<string, Act>> = Object.fromEntries(
  Object.entries<Act>({
    'capabilities.count': ({ context }, kind: CapabilityKind) => countOf(context, kind),
    'capabilities.handle': ({ context }, kind: CapabilityKind, index: number) => {
      const handle = handleOf(context, kind, index);
      return handle === null ? failed('missing') : ok(handle);
    },
    'http.send': (crossing, handle: number, { body, ...head }: Request) => {
      const { method, url, headers, secret } = head;
      const asked = Buffer.from(JSON.stringify({ method, url, headers, secret }));
      return ask(crossing, ['http_request', handle], [asked, body], (bytes) => {
        const answer = behindHead(bytes);
        const { status, url: last, headers: given } = JSON.parse(answer.head);
        return { status, url: last, headers: given, body: answer.body };
      });
    },
    'secrets.read': (crossing, handle: number) =>
      ask(crossing, ['secret_read', handle], [], (bytes) => bytes),
    'storage.get': (crossing, handle: number, key: string) =>
      ask(crossing, ['storage_get', handle], [Buffer.from(key)], (bytes) => ({
        version: BigInt(Buffer.from(bytes.buffer, bytes.byteOffset, VERSION_BYTES).readDoubleLE(0)),
        value: bytes.subarray(VERSION_BYTES),
      })),
    'storage.put': (
      crossing,
      handle: number,
      ...[key, value, condition]: [string, Uint8Array, Condition]
    ) => {
      const version = condition.tag === 'version' ? versionOf(condition.value) : OF_CONDITION[condition.tag];
      if (version === null) return failed('invalid');
      return ask(crossing, ['storage_put', handle, version], [Buffer.from(key), value]);
    },
    'storage.delete': (crossing, handle: number, key: string, wanted: bigint | null) => {
      const version = wanted === null ? ANY : versionOf(wanted);
      if (version === null) return failed('invalid');
      return ask(crossing, ['storage_delete', handle, version], [Buffer.from(key)]);
    },
    'storage.keys': (crossing, handle: number, ...[prefix, after, limit]: [string, string, number]) =>
      ask(crossing, ['storage_list', handle, limit], [Buffer.from(prefix), Buffer.from(after)], (bytes) =>
        JSON.parse(textOf(bytes)),
      ),
    'channels.publish': (crossing, handle: number, message: Uint8Array) =>
      ask(crossing, ['channel_publish', handle], [message]),
    'channels.receive': (crossing, handle: number, waitMs: number) =>
      ask(crossing, ['channel_receive', handle, waitMs], [], (bytes) => {
        const { head, body } = behindHead(bytes);
        return { sender: head, body };
      }),
    'log.write': ({ context, channel }, level: (typeof LEVEL_NAMES)[number], text: string) =>
      addLine(context, channel, LEVEL_NAMES.indexOf(level), Buffer.from(text)),
    'clock.now-ms': ({ context }) => context.head.startedMs,
    'random.bytes': (crossing, length: number) => randomBytes(crossing, length),
    'config.get': ({ context }, key: string) => configOf(context, key),
  }).map(([place, act]) => [`${SKILL_PACKAGE}/${place}`, act]),
);

const OF_CONDITION = { always: ANY, absent: ABSENT } as const;

/** So many random bytes of the call; more than its memory could hold are not made. */
export function randomBytes({ guest, context }: Crossing, length: number | bigint): Uint8Array {
  const { memoryBytes } = context.head.limits;
  // Boundary: the length is the guest's, and they would be made outside of its memory.
  if (length > memoryBytes)
    throw new Error(`Cannot make ${length} random bytes, expected at most ${memoryBytes}`);
  payFor(guest, Number(length));
  return randomize(context, new Uint8Array(Number(length)));
}

/** Asks the gateway; an answer that is no error is made into the value of an `ok`. */
function ask(
  { guest, context, channel }: Crossing,
  [name, ...numbers]: readonly [AbiName, ...number[]],
  texts: readonly Uint8Array[],
  read: (bytes: Uint8Array) => unknown = () => null,
) {
  const { result, bytes }: Answer = askGateway(guest, channel, { name, numbers, texts });
  context.result = NO_BYTES;
  return result < 0 ? failed(ERROR_NAMES[-result - 1] ?? 'unavailable') : ok(read(bytes));
}

const NO_BYTES = new Uint8Array(0);

export function ok(value: unknown = null) {
  return { tag: 'ok', value } as const;
}

function failed(error: (typeof ERROR_NAMES)[number]): Failed {
  return { tag: 'error', value: error };
}

/** A version as the ABI takes it; null where no version was ever that. */
function versionOf(version: bigint): number | null {
  const number = Number(version);
  return Number.isSafeInteger(number) && number > 0 ? number : null;
}

function behindHead(bytes: Uint8Array): { readonly head: string; readonly body: Uint8Array } {
  const length = Buffer.from(bytes.buffer, bytes.byteOffset, HEAD_LENGTH_BYTES).readUInt32LE(0);
  const end = HEAD_LENGTH_BYTES + length;
  return { head: textOf(bytes.subarray(HEAD_LENGTH_BYTES, end)), body: bytes.subarray(end) };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

/** The functions of the world, as an engine gives them to a linked component. */

/** Of functions that are those of no row of the ABI. */
const LOCAL_FUEL = 20;

type LiftedRun = (crossing: Crossing, ...values: unknown[]) => unknown;

/** The table of what a call was granted; a function that was not is not in it. */
export function worldHosts(functions: readonly AbiName[], channel: Channel): HostTable {
  const granted = WORLD_FUNCTIONS.filter(({ does }) => does === null || functions.includes(does));
  return hostTable(granted.map((row) => hostOf(row, channel)));
}

function hostOf(row: WorldRow, channel: Channel): HostFunction {
  const same = ABI_FUNCTIONS.find(({ name }) => name === row.does);
  const run = actOf(row) as LiftedRun;
  return loweredHost({
    module: moduleOf(row),
    name: row.name,
    type: row.type,
    fuel: same?.fuel ?? LOCAL_FUEL,
    blocks: same?.asksGateway ?? false,
    run: (guest: Guest, ...values: unknown[]) =>
      run({ guest, context: guest.context as CallContext, channel }, ...values),
  });
}

function actOf({ interface: place, name }: WorldRow): Act {
  const key = `${place}.${name}`;
  const act = SKILL_ACTS[key] ?? WASI_ACTS[key];
  if (act === undefined) throw new TypeError(`Cannot give ${key}: nobody does it`);
  return act;
}
