/**
 * Version 1 of the interface between a guest and its host. A guest exports `memory`, `palisade_alloc` and one function
 * per tool; it imports what it was granted from the module below, and nothing else exists. Bytes are passed as an
 * address and a length; the host keeps an answer of bytes until the guest fetches it with `result_read`.
 *
 * Both sides derive a host function from its row alone: its form for core modules and its form for components, the
 * grant it needs, its fuel, and which side handles it. The types below hold the handlers to the rows: `ENGINE_HANDLERS`
 * (engine/handlers.ts) has one for each row handled by the engine, `GATEWAY_HANDLERS` (host-functions.ts) one for each
 * of the others, and neither side can import the other's.
 */
import type { WitFunction } from '@palisade/wasm';
import { CAPABILITY_KINDS, type GrantKind } from '../../../core/wasm.ts';
import { enumOf, func, list, option, record, result, tuple, variant } from './wit.ts';

/** The module that host functions are imported from. */
export const ABI_MODULE = 'palisade_v1';

/** The export that allocates memory for the input. */
export const ABI_ALLOC = 'palisade_alloc';

/** The export with which runtimes of languages are set up, where there is one; compilers call it so. */
export const ABI_BEGIN = '_initialize';

/** What a host function returns instead of a length or zero. */
export const ABI_ERRORS = {
  denied: { code: -1, sentence: 'The handle does not belong to this call, or does not allow this.' },
  missing: { code: -2, sentence: 'It does not exist, or does not exist yet.' },
  tooLarge: { code: -3, sentence: 'It is too large.' },
  full: { code: -4, sentence: 'A quota is used up.' },
  conflict: { code: -5, sentence: 'It has another version than the one that was given.' },
  invalid: { code: -6, sentence: 'An argument is not valid.' },
  unavailable: { code: -7, sentence: 'The other side cannot be reached, or closed the connection.' },
  tooSlow: { code: -8, sentence: 'The other side took too long.' },
} as const;

export type AbiError = keyof typeof ABI_ERRORS;

/** The log levels by number. */
export const LOG_LEVELS = ['debug', 'info', 'warning', 'error'] as const;

/** The errors as components know them, in the order of their numbers. */
export const ERROR_NAMES: readonly string[] = Object.keys(ABI_ERRORS).map((name) =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
);

type NumberType = 'i32' | 'f64';

/** The grant that makes a function available; null: it always is. */
export type GrantNeed = GrantKind | null;

/** The numbers and the byte strings of one request to the gateway, each in the order of the parameters. */
export type RequestParts = { readonly numbers: readonly number[]; readonly texts: readonly Uint8Array[] };

export type ComponentForm = {
  /** The interface in the package `palisade:skill` and the function, as `storage.get`. */
  readonly name: string;
  readonly type: WitFunction;
  /** For a function that the gateway handles: converts its typed values to the core form; null: they are invalid. */
  readonly request?: (...values: never[]) => RequestParts | null;
  /** Converts the bytes of an answer to the value of an `ok`; left out: it has none. */
  readonly answer?: (bytes: Uint8Array) => unknown;
};

export type AbiFunction = {
  readonly name: string;
  /** By name; `x` and `xLength` together are bytes. */
  readonly params: readonly (readonly [name: string, type: NumberType])[];
  readonly result: NumberType | null;
  readonly needs: GrantNeed;
  /** Per call; bytes that cross are charged separately. */
  readonly fuel: number;
  /** The gateway checks the grant again before it acts; the engine handles the others beside the guest. */
  readonly handledBy: 'engine' | 'gateway';
  readonly sentence: string;
  /** Null: a component does not need it. */
  readonly component: ComponentForm | null;
};

const ERROR = enumOf(...ERROR_NAMES);
const KIND = enumOf(...Object.keys(CAPABILITY_KINDS));
const BYTES = list('u8');
const HEADERS = list(tuple('string', 'string'));
const REQUEST = record({
  method: 'string',
  url: 'string',
  headers: HEADERS,
  body: BYTES,
  secret: option(record({ handle: 'u32', header: 'string', format: 'string' })),
});
const RESPONSE = record({ status: 'u16', url: 'string', headers: HEADERS, body: BYTES });
const ENTRY = record({ version: 'u64', value: BYTES });
const CONDITION = variant({ always: null, absent: null, version: 'u64' });
const MESSAGE = record({ sender: 'string', body: BYTES });

/** What a guest wants sent, and which secret is inserted where: it replaces `{}` in `format`. */
export type HttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  readonly secret: { readonly handle: number; readonly header: string; readonly format: string } | null;
};

type Condition = { readonly tag: 'always' | 'absent' } | { readonly tag: 'version'; readonly value: bigint };

const HEAD_LENGTH_BYTES = 4;
const VERSION_BYTES = 8;

/** The version that a write expects: any, none, or a specific one. */
export const VERSIONS = { any: -1, absent: 0 } as const;

const HANDLE = ['handle', 'i32'] as const;
const KIND_PARAM = ['kind', 'i32'] as const;
const bytes = (name: string) => [[name, 'i32'] as const, [`${name}Length`, 'i32'] as const];

type RowTerms = Omit<AbiFunction, 'fuel' | 'handledBy'>;
type GatewayTerms = Omit<RowTerms, 'result'>;

const inEngine = <const Terms extends RowTerms>(terms: Terms) =>
  ({ ...terms, fuel: 20, handledBy: 'engine' }) as const;

const inGateway = <const Terms extends GatewayTerms>(terms: Terms) =>
  ({ ...terms, result: 'i32', fuel: 2_000, handledBy: 'gateway' }) as const;

export const ABI_FUNCTIONS = [
  inEngine({
    name: 'capability_count',
    params: [KIND_PARAM],
    result: 'i32',
    needs: null,
    sentence: 'How many capabilities of a kind the call has.',
    component: { name: 'capabilities.count', type: func({ kind: KIND }, 'u32') },
  }),
  inEngine({
    name: 'capability_handle',
    params: [KIND_PARAM, ['index', 'i32']],
    result: 'i32',
    needs: null,
    sentence: 'The handle of a capability by its kind and its position in the grant.',
    component: {
      name: 'capabilities.handle',
      type: func({ kind: KIND, index: 'u32' }, result('u32', ERROR)),
    },
  }),
  inEngine({
    name: 'result_read',
    params: bytes('place'),
    result: 'i32',
    needs: null,
    sentence: 'Copies the last result to a place, gives its length, and discards it.',
    component: null,
  }),
  inEngine({
    name: 'fail',
    params: bytes('error'),
    result: null,
    needs: null,
    sentence:
      'Reports that the tool failed: JSON with a `code` and a `message`. What the tool returns is then ignored.',
    component: null,
  }),
  inEngine({
    name: 'log',
    params: [['level', 'i32'], ...bytes('text')],
    result: null,
    needs: 'log',
    sentence: 'A line for the log of the call: 0 debug, 1 info, 2 warning, 3 error.',
    component: { name: 'log.write', type: func({ level: enumOf(...LOG_LEVELS), text: 'string' }) },
  }),
  inEngine({
    name: 'clock_ms',
    params: [],
    result: 'f64',
    needs: 'clock',
    sentence: 'When the call began, in milliseconds since 1970. It does not advance while the call runs.',
    component: { name: 'clock.now-ms', type: func({}, 'f64') },
  }),
  inEngine({
    name: 'random',
    params: bytes('place'),
    result: null,
    needs: 'random',
    sentence: 'Fills a place with random bytes, from a seed that is recorded with the call.',
    component: { name: 'random.bytes', type: func({ length: 'u32' }, BYTES) },
  }),
  inEngine({
    name: 'config_get',
    params: bytes('key'),
    result: 'i32',
    needs: 'config',
    sentence: 'The length of a value of the tool’s configuration; `result_read` fetches it.',
    component: { name: 'config.get', type: func({ key: 'string' }, option('string')) },
  }),
  inGateway({
    name: 'http_request',
    params: [HANDLE, ...bytes('head'), ...bytes('body')],
    needs: 'http',
    sentence:
      'Makes a request. `head` is JSON: `method`, `url`, `headers` (a list of pairs) and, as `secret`, the handle of a secret and the header it goes into. Gives the length of the response: four bytes with the length of a JSON head (`status`, `headers`, `url`), the head, the body.',
    component: {
      name: 'http.send',
      type: func({ handle: 'u32', request: REQUEST }, result(RESPONSE, ERROR)),
      request: (handle: number, { body, method, url, headers, secret }: HttpRequest) => ({
        numbers: [handle],
        texts: [Buffer.from(JSON.stringify({ method, url, headers, secret })), body],
      }),
      answer: (bytes) => {
        const { head, body } = splitHead(bytes);
        const { status, url, headers } = JSON.parse(head);
        return { status, url, headers, body };
      },
    },
  }),
  inGateway({
    name: 'secret_read',
    params: [HANDLE],
    needs: 'secret',
    sentence: 'The length of a secret’s value, if its grant lets the guest see it.',
    component: {
      name: 'secrets.read',
      type: func({ handle: 'u32' }, result(BYTES, ERROR)),
      request: (handle: number) => ({ numbers: [handle], texts: [] }),
      answer: (bytes) => bytes,
    },
  }),
  inGateway({
    name: 'storage_get',
    params: [HANDLE, ...bytes('key')],
    needs: 'storage',
    sentence: 'The length of a stored entry: eight bytes with its version (a float), then the value.',
    component: {
      name: 'storage.get',
      type: func({ handle: 'u32', key: 'string' }, result(ENTRY, ERROR)),
      request: (handle: number, key: string) => ({ numbers: [handle], texts: [Buffer.from(key)] }),
      answer: (bytes) => ({
        version: BigInt(viewOf(bytes).readDoubleLE(0)),
        value: bytes.subarray(VERSION_BYTES),
      }),
    },
  }),
  inGateway({
    name: 'storage_put',
    params: [HANDLE, ...bytes('key'), ...bytes('value'), ['version', 'f64']],
    needs: 'storage',
    sentence: 'Stores a value: unconditionally (-1), only if there is none (0), or only over this version.',
    component: {
      name: 'storage.put',
      type: func({ handle: 'u32', key: 'string', value: BYTES, condition: CONDITION }, result(null, ERROR)),
      request: (handle: number, ...[key, value, condition]: [string, Uint8Array, Condition]) => {
        const version = versionOf(condition);
        return version === null ? null : { numbers: [handle, version], texts: [Buffer.from(key), value] };
      },
    },
  }),
  inGateway({
    name: 'storage_delete',
    params: [HANDLE, ...bytes('key'), ['version', 'f64']],
    needs: 'storage',
    sentence: 'Removes a value: unconditionally (-1), or only this version.',
    component: {
      name: 'storage.delete',
      type: func({ handle: 'u32', key: 'string', version: option('u64') }, result(null, ERROR)),
      request: (handle: number, key: string, wanted: bigint | null) => {
        const version = versionOf(wanted === null ? { tag: 'always' } : { tag: 'version', value: wanted });
        return version === null ? null : { numbers: [handle, version], texts: [Buffer.from(key)] };
      },
    },
  }),
  inGateway({
    name: 'storage_list',
    params: [HANDLE, ...bytes('prefix'), ...bytes('after'), ['limit', 'i32']],
    needs: 'storage',
    sentence: 'The length of a list of keys, as JSON, that are below a prefix and come after a key.',
    component: {
      name: 'storage.keys',
      type: func(
        { handle: 'u32', prefix: 'string', after: 'string', limit: 'u32' },
        result(list('string'), ERROR),
      ),
      request: (handle: number, ...[prefix, after, limit]: [string, string, number]) => ({
        numbers: [handle, limit],
        texts: [Buffer.from(prefix), Buffer.from(after)],
      }),
      answer: (bytes) => JSON.parse(textOf(bytes)),
    },
  }),
  inGateway({
    name: 'channel_publish',
    params: [HANDLE, ...bytes('message')],
    needs: 'channel',
    sentence: 'Puts a message on a channel.',
    component: {
      name: 'channels.publish',
      type: func({ handle: 'u32', message: BYTES }, result(null, ERROR)),
      request: (handle: number, message: Uint8Array) => ({ numbers: [handle], texts: [message] }),
    },
  }),
  inGateway({
    name: 'channel_receive',
    params: [HANDLE, ['waitMs', 'i32']],
    needs: 'channel',
    sentence:
      'The length of the next message: four bytes with the length of a JSON head (the sender), the head, the message.',
    component: {
      name: 'channels.receive',
      type: func({ handle: 'u32', 'wait-ms': 'u32' }, result(MESSAGE, ERROR)),
      request: (handle: number, waitMs: number) => ({ numbers: [handle, waitMs], texts: [] }),
      answer: (bytes) => {
        const { head, body } = splitHead(bytes);
        return { sender: head, body };
      },
    },
  }),
] as const;

export type AbiName = (typeof ABI_FUNCTIONS)[number]['name'];

type Row = (typeof ABI_FUNCTIONS)[number];

/** Names of functions by the side that handles them. */
export type EngineFunctionName = Extract<Row, { readonly handledBy: 'engine' }>['name'];
export type GatewayFunctionName = Extract<Row, { readonly handledBy: 'gateway' }>['name'];

/** The version that a write expects, in the core form; null where no such version can exist. */
function versionOf(condition: Condition): number | null {
  if (condition.tag !== 'version') return condition.tag === 'always' ? VERSIONS.any : VERSIONS.absent;
  const number = Number(condition.value);
  return Number.isSafeInteger(number) && number > 0 ? number : null;
}

/** Four bytes with the length of a head, the head, and what follows it. */
function splitHead(bytes: Uint8Array): { readonly head: string; readonly body: Uint8Array } {
  const end = HEAD_LENGTH_BYTES + viewOf(bytes).readUInt32LE(0);
  return { head: textOf(bytes.subarray(HEAD_LENGTH_BYTES, end)), body: bytes.subarray(end) };
}

function textOf(bytes: Uint8Array): string {
  return viewOf(bytes).toString('utf8');
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
