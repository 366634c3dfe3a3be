/**
 * The supported part of WASI 0.2, for programs whose language runtime imports it. Nothing is simulated: the clock is
 * that of the call, what is printed goes to its log, and input, environment and directories are empty.
 */
import type { WitFunction, WitType } from '@palisade/wasm';
import type { AbiName } from './abi.table.ts';
import {
  borrow,
  enumOf,
  flags,
  func,
  list,
  option,
  own,
  record,
  result,
  tuple,
  variant,
  type WorldRow,
} from './wit.ts';

/** Resources, by the interface that defines them; all versions 0.2.x are treated alike. */
const RESOURCES = {
  pollable: 'wasi:io/poll@0.2/pollable',
  error: 'wasi:io/error@0.2/error',
  input: 'wasi:io/streams@0.2/input-stream',
  output: 'wasi:io/streams@0.2/output-stream',
  terminalInput: 'wasi:cli/terminal-input@0.2/terminal-input',
  terminalOutput: 'wasi:cli/terminal-output@0.2/terminal-output',
  descriptor: 'wasi:filesystem/types@0.2/descriptor',
  entries: 'wasi:filesystem/types@0.2/directory-entry-stream',
} as const;

const { pollable, error, input, output, terminalInput, terminalOutput, descriptor, entries } = RESOURCES;
const BYTES = list('u8');
const STREAM_ERROR = variant({ 'last-operation-failed': own(error), closed: null });
const DATETIME = record({ seconds: 'u64', nanoseconds: 'u32' });

const rows = (
  place: string,
  abi: AbiName | null,
  functions: Readonly<Record<string, WitFunction>>,
): readonly WorldRow[] =>
  Object.entries(functions).map(([name, type]) => ({ interface: `wasi:${place}`, name, type, abi }));

/** The methods of a resource, each of which takes it as its first parameter. */
const methods = (
  resource: string,
  functions: Readonly<Record<string, WitFunction>>,
): Readonly<Record<string, WitFunction>> => {
  const name = resource.slice(resource.lastIndexOf('/') + 1);
  const self: readonly [string, WitType] = ['self', borrow(resource)];
  const called = Object.entries(functions).map(([method, type]) => [
    `[method]${name}.${method}`,
    { ...type, params: [self, ...type.params] },
  ]);
  return { ...Object.fromEntries(called), [`[resource-drop]${name}`]: func({ self: own(resource) }) };
};

const inputMethods = (): Readonly<Record<string, WitFunction>> => {
  const bytes = func({ len: 'u64' }, result(BYTES, STREAM_ERROR));
  const count = func({ len: 'u64' }, result('u64', STREAM_ERROR));
  return methods(input, {
    read: bytes,
    'blocking-read': bytes,
    skip: count,
    'blocking-skip': count,
    subscribe: func({}, own(pollable)),
  });
};

const outputMethods = (): Readonly<Record<string, WitFunction>> => {
  const done = result(null, STREAM_ERROR);
  const splice = func({ src: borrow(input), len: 'u64' }, result('u64', STREAM_ERROR));
  return methods(output, {
    'check-write': func({}, result('u64', STREAM_ERROR)),
    write: func({ contents: BYTES }, done),
    'blocking-write-and-flush': func({ contents: BYTES }, done),
    flush: func({}, done),
    'blocking-flush': func({}, done),
    subscribe: func({}, own(pollable)),
    'write-zeroes': func({ len: 'u64' }, done),
    'blocking-write-zeroes-and-flush': func({ len: 'u64' }, done),
    splice,
    'blocking-splice': splice,
  });
};

export const WASI_FUNCTIONS: readonly WorldRow[] = [
  ...rows('clocks/monotonic-clock', 'clock_ms', {
    now: func({}, 'u64'),
    resolution: func({}, 'u64'),
    'subscribe-instant': func({ when: 'u64' }, own(pollable)),
    'subscribe-duration': func({ when: 'u64' }, own(pollable)),
  }),
  ...rows('clocks/wall-clock', 'clock_ms', { now: func({}, DATETIME), resolution: func({}, DATETIME) }),
  ...rows('random/random', 'random', {
    'get-random-bytes': func({ len: 'u64' }, BYTES),
    'get-random-u64': func({}, 'u64'),
  }),
  ...rows('random/insecure', 'random', {
    'get-insecure-random-bytes': func({ len: 'u64' }, BYTES),
    'get-insecure-random-u64': func({}, 'u64'),
  }),
  ...rows('random/insecure-seed', 'random', { 'insecure-seed': func({}, tuple('u64', 'u64')) }),
  ...rows('cli/environment', null, {
    'get-environment': func({}, list(tuple('string', 'string'))),
    'get-arguments': func({}, list('string')),
    'initial-cwd': func({}, option('string')),
  }),
  ...rows('cli/exit', null, {
    exit: func({ status: result(null, null) }),
    'exit-with-code': func({ 'status-code': 'u8' }),
  }),
  ...rows('cli/stdin', null, { 'get-stdin': func({}, own(input)) }),
  ...rows('cli/stdout', 'log', { 'get-stdout': func({}, own(output)) }),
  ...rows('cli/stderr', 'log', { 'get-stderr': func({}, own(output)) }),
  ...rows('cli/terminal-input', null, methods(terminalInput, {})),
  ...rows('cli/terminal-output', null, methods(terminalOutput, {})),
  ...rows('cli/terminal-stdin', null, { 'get-terminal-stdin': func({}, option(own(terminalInput))) }),
  ...rows('cli/terminal-stdout', null, { 'get-terminal-stdout': func({}, option(own(terminalOutput))) }),
  ...rows('cli/terminal-stderr', null, { 'get-terminal-stderr': func({}, option(own(terminalOutput))) }),
  ...rows('io/error', null, methods(error, { 'to-debug-string': func({}, 'string') })),
  ...rows('io/poll', null, {
    ...methods(pollable, { ready: func({}, 'bool'), block: func({}) }),
    poll: func({ in: list(borrow(pollable)) }, list('u32')),
  }),
  ...rows('io/streams', null, { ...inputMethods(), ...outputMethods() }),
];

const ERROR_CODE = enumOf(
  ...words(`access would-block already bad-descriptor busy deadlock quota exist file-too-large illegal-byte-sequence
    in-progress interrupted invalid io is-directory loop too-many-links message-size name-too-long no-device no-entry
    no-lock insufficient-memory insufficient-space not-directory not-empty not-recoverable unsupported no-tty
    no-such-device overflow not-permitted pipe read-only invalid-seek text-file-busy cross-device`),
);
const FILE_TYPE = enumOf(
  ...words('unknown block-device character-device directory fifo symbolic-link regular-file socket'),
);
const FILE_FLAGS = flags(
  ...words('read write file-integrity-sync data-integrity-sync requested-write-sync mutate-directory'),
);
const STAT = record({
  ...{ type: FILE_TYPE, 'link-count': 'u64', size: 'u64' },
  'data-access-timestamp': option(DATETIME),
  'data-modification-timestamp': option(DATETIME),
  'status-change-timestamp': option(DATETIME),
});
function words(text: string): readonly string[] {
  return text.split(/\s+/);
}

const or = (ok: WitType | null) => result(ok, ERROR_CODE);

/** What the adapter for programs of WASI 0.1 calls on its standard streams; nothing here takes a path. */
const descriptorMethods = (): Readonly<Record<string, WitFunction>> =>
  methods(descriptor, {
    'read-via-stream': func({ offset: 'u64' }, or(own(input))),
    'write-via-stream': func({ offset: 'u64' }, or(own(output))),
    'append-via-stream': func({}, or(own(output))),
    'get-flags': func({}, or(FILE_FLAGS)),
    'get-type': func({}, or(FILE_TYPE)),
    stat: func({}, or(STAT)),
  });

/** There are no directories, and so no descriptor to call any of the others with. */
export const NO_DIRECTORIES: WorldRow = {
  interface: 'wasi:filesystem/preopens',
  name: 'get-directories',
  type: func({}, list(tuple(own(descriptor), 'string'))),
  abi: null,
};

/**
 * Functions that programs import whether they use files or not. None of them opens anything, so a guest that calls one
 * has forged a handle; functions that open, read, change or list a file are absent, and their import is refused.
 */
export const FILE_FUNCTIONS: readonly WorldRow[] = rows('filesystem/types', null, {
  ...descriptorMethods(),
  ...methods(entries, {}),
  'filesystem-error-code': func({ err: borrow(error) }, option(ERROR_CODE)),
});

/** What to use instead of an unsupported interface, by the prefix of its name. */
export const REMEDIES: readonly (readonly [prefix: string, remedy: string])[] = [
  ['wasi:http/', 'use palisade:skill/http, which sends requests to granted hosts'],
  ['wasi:sockets/', 'use palisade:skill/http: there are no sockets'],
  ['wasi:filesystem/', 'use palisade:skill/storage: there are no files'],
  ['wasi:keyvalue/', 'use palisade:skill/storage'],
  ['wasi:blobstore/', 'use palisade:skill/storage'],
  ['wasi:messaging/', 'use palisade:skill/channels'],
  ['wasi:config/', 'use palisade:skill/config'],
  ['wasi:logging/', 'use palisade:skill/log'],
  ['wasi:', 'build it without this, for WASI 0.2'],
  ['palisade:skill/', 'build it for the world of docs/components.md'],
  ['', 'build it for the world of docs/components.md, which has no such interface'],
];
