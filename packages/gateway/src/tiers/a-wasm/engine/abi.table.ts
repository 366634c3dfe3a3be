/**
 * Version 1 of what a guest and its host say to each other. A guest exports `memory`, `palisade_alloc` and one function
 * per tool; it imports from the module below what it was granted, and nothing else is there. Bytes go as a place and a
 * length; an answer of bytes is kept by the host until the guest fetches it with `result_read`.
 */

/** The module that host functions are imported from. */
export const ABI_MODULE = 'palisade_v1';

/** The export that gives a place for so many bytes. */
export const ABI_ALLOC = 'palisade_alloc';

/** The kinds of capabilities: their number in the ABI, and where their handles begin. */
export const CAPABILITY_KINDS = {
  http: { number: 1, firstHandle: 10_000, sentence: 'Requests to one granted host.' },
  secret: { number: 2, firstHandle: 20_000, sentence: 'One secret, to be used or, where granted, read.' },
  storage: { number: 3, firstHandle: 30_000, sentence: 'Keys below granted prefixes.' },
  channel: { number: 4, firstHandle: 40_000, sentence: 'One channel, to publish to or receive from.' },
} as const;

export type CapabilityKind = keyof typeof CAPABILITY_KINDS;

/** What a host function gives instead of a length or zero. */
export const ABI_ERRORS = {
  denied: { code: -1, sentence: 'The handle is none of this call, or does not allow this.' },
  missing: { code: -2, sentence: 'There is no such thing, or nothing yet.' },
  tooLarge: { code: -3, sentence: 'It is larger than is taken.' },
  full: { code: -4, sentence: 'A quota is used up.' },
  conflict: { code: -5, sentence: 'It has changed meanwhile: the version is another.' },
  invalid: { code: -6, sentence: 'An argument makes no sense.' },
  unavailable: { code: -7, sentence: 'The other side cannot be reached, or broke off.' },
  tooSlow: { code: -8, sentence: 'The other side took too long.' },
} as const;

export type AbiError = keyof typeof ABI_ERRORS;

type NumberType = 'i32' | 'f64';

/** What a call must have been granted so that a function is there. */
export type Need = CapabilityKind | 'log' | 'clock' | 'random' | 'config' | null;

export type AbiFunction = {
  readonly name: string;
  /** By name; `x` and `xLength` together are bytes. */
  readonly params: readonly (readonly [name: string, type: NumberType])[];
  readonly result: NumberType | null;
  readonly needs: Need;
  /** Of one call; bytes that cross are paid beside it. */
  readonly fuel: number;
  /** Done by the gateway, which looks at the grant again; the others are done beside the guest. */
  readonly asksGateway: boolean;
  readonly sentence: string;
};

const LOCAL_FUEL = 20;
const CROSSING_FUEL = 2_000;

const HANDLE = ['handle', 'i32'] as const;
const bytes = (name: string) => [[name, 'i32'] as const, [`${name}Length`, 'i32'] as const];

export const ABI_FUNCTIONS = [
  {
    name: 'capability_count',
    params: [['kind', 'i32']],
    result: 'i32',
    needs: null,
    fuel: LOCAL_FUEL,
    asksGateway: false,
    sentence: 'How many capabilities of a kind the call has.',
  },
  {
    name: 'capability_handle',
    params: [
      ['kind', 'i32'],
      ['index', 'i32'],
    ],
    result: 'i32',
    needs: null,
    fuel: LOCAL_FUEL,
    asksGateway: false,
    sentence: 'The handle of a capability by its kind and its place in the grant.',
  },
  {
    name: 'result_read',
    params: bytes('place'),
    result: 'i32',
    needs: null,
    fuel: LOCAL_FUEL,
    asksGateway: false,
    sentence: 'Copies the last answer of bytes to a place; gives its length, and forgets it.',
  },
  {
    name: 'fail',
    params: bytes('error'),
    result: null,
    needs: null,
    fuel: LOCAL_FUEL,
    asksGateway: false,
    sentence:
      'Says that the tool failed: JSON with a `code` and a `message`. What it returns is ignored then.',
  },
  {
    name: 'log',
    params: [['level', 'i32'], ...bytes('text')],
    result: null,
    needs: 'log',
    fuel: LOCAL_FUEL,
    asksGateway: false,
    sentence: 'A line for the log of the call: 0 debug, 1 info, 2 warning, 3 error.',
  },
  {
    name: 'clock_ms',
    params: [],
    result: 'f64',
    needs: 'clock',
    fuel: LOCAL_FUEL,
    asksGateway: false,
    sentence: 'When the call began, in milliseconds since 1970. It stands still while the call runs.',
  },
  {
    name: 'random',
    params: bytes('place'),
    result: null,
    needs: 'random',
    fuel: LOCAL_FUEL,
    asksGateway: false,
    sentence: 'Fills a place with random bytes, from a seed that the record of the call has.',
  },
  {
    name: 'config_get',
    params: bytes('key'),
    result: 'i32',
    needs: 'config',
    fuel: LOCAL_FUEL,
    asksGateway: false,
    sentence: 'The length of a value of the tool’s configuration, which `result_read` fetches.',
  },
  {
    name: 'http_request',
    params: [HANDLE, ...bytes('head'), ...bytes('body')],
    result: 'i32',
    needs: 'http',
    fuel: CROSSING_FUEL,
    asksGateway: true,
    sentence:
      'Makes a request. `head` is JSON: `method`, `url`, `headers` (a list of pairs) and, as `secret`, the handle of a secret and the header it goes into. Gives the length of the answer: four bytes with the length of a head of JSON (`status`, `headers`, `url`), the head, the body.',
  },
  {
    name: 'secret_read',
    params: [HANDLE],
    result: 'i32',
    needs: 'secret',
    fuel: CROSSING_FUEL,
    asksGateway: true,
    sentence: 'The length of a secret’s value, where its grant lets the guest see it.',
  },
  {
    name: 'storage_get',
    params: [HANDLE, ...bytes('key')],
    result: 'i32',
    needs: 'storage',
    fuel: CROSSING_FUEL,
    asksGateway: true,
    sentence: 'The length of what is stored: eight bytes with its version (a float), then the value.',
  },
  {
    name: 'storage_put',
    params: [HANDLE, ...bytes('key'), ...bytes('value'), ['version', 'f64']],
    result: 'i32',
    needs: 'storage',
    fuel: CROSSING_FUEL,
    asksGateway: true,
    sentence: 'Stores a value: whatever is there (-1), only where nothing is (0), or over that very version.',
  },
  {
    name: 'storage_delete',
    params: [HANDLE, ...bytes('key'), ['version', 'f64']],
    result: 'i32',
    needs: 'storage',
    fuel: CROSSING_FUEL,
    asksGateway: true,
    sentence: 'Removes a value: whatever is there (-1), or that very version.',
  },
  {
    name: 'storage_list',
    params: [HANDLE, ...bytes('prefix'), ...bytes('after'), ['limit', 'i32']],
    result: 'i32',
    needs: 'storage',
    fuel: CROSSING_FUEL,
    asksGateway: true,
    sentence: 'The length of a list of keys, as JSON, that are beneath a prefix and come after a key.',
  },
  {
    name: 'channel_publish',
    params: [HANDLE, ...bytes('message')],
    result: 'i32',
    needs: 'channel',
    fuel: CROSSING_FUEL,
    asksGateway: true,
    sentence: 'Puts a message on a channel.',
  },
  {
    name: 'channel_receive',
    params: [HANDLE, ['waitMs', 'i32']],
    result: 'i32',
    needs: 'channel',
    fuel: CROSSING_FUEL,
    asksGateway: true,
    sentence:
      'The length of the next message: four bytes with the length of a head of JSON (the sender), the head, the message.',
  },
] as const satisfies readonly AbiFunction[];

export type AbiName = (typeof ABI_FUNCTIONS)[number]['name'];
