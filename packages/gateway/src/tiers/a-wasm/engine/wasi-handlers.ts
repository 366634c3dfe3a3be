/**
 * The functions of WASI. A stream is a number that is the same in every call, since a call has one of each; a number
 * that is not a stream ends the call. All pollables are one that is always ready: nothing here needs a wait.
 */
import { LOG_LEVELS } from './abi.table.ts';
import {
  addLine,
  type CallContext,
  type ComponentHandler,
  type Crossing,
  ok,
  randomBytes,
} from './handlers.ts';
import { FILE_FUNCTIONS, NO_DIRECTORIES } from './wasi.table.ts';

/** A longer line is forwarded in pieces. */
const MOST_LINE_BYTES = 8 * 1024;
const NEW_LINE = 0x0a;
const NO_BYTES = new Uint8Array(0);

/** What a guest prints to one stream: whole lines go to the log of the call, the rest is held until the line ends. */
export class PrintedLines {
  readonly #context: CallContext;
  readonly #level: number;
  #rest: Uint8Array = NO_BYTES;

  constructor(context: CallContext, level: number) {
    this.#context = context;
    this.#level = level;
  }

  add(bytes: Uint8Array): void {
    const text = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let from = 0;
    // Boundary: once the quota is used up the text is no longer scanned, so that printing costs no more than its fuel.
    while (from < text.length && !this.#context.isLogCut) {
      const newLine = text.indexOf(NEW_LINE, from);
      const end = newLine === -1 ? text.length : newLine;
      if (end - from > MOST_LINE_BYTES) {
        this.#add(text.subarray(from, from + MOST_LINE_BYTES));
        from += MOST_LINE_BYTES;
        continue;
      }
      if (newLine === -1) break;
      this.#add(text.subarray(from, end));
      from = end + 1;
    }
    this.#rest = this.#context.isLogCut ? NO_BYTES : text.slice(from);
  }

  /** Forwards the text after the last newline. */
  end(): void {
    if (this.#rest.length > 0) this.#add(this.#rest);
    this.#rest = NO_BYTES;
  }

  #add(line: Uint8Array): void {
    addLine(this.#context, this.#level, line);
  }
}

const [STDIN, STDOUT, STDERR, READY] = [1, 2, 3, 4];
/** The most that an output accepts at once. */
const MOST_WRITE_BYTES = 64 * 1024;
const NS_PER_MS = 1_000_000n;
const MS_PER_S = 1_000;
const U64_BYTES = 8;

const CLOSED = { tag: 'error', value: { tag: 'closed', value: null } } as const;

export type ToolFailure = { readonly code: string; readonly message: string };

/** Thrown for a guest that exits; the call has then failed, since there is no output. */
export class GuestExit extends Error {
  override readonly name = 'GuestExit';
  readonly failure: ToolFailure;

  constructor(status: string) {
    super(`it exited with ${status} before it returned`);
    this.failure = { code: 'exit', message: this.message };
  }
}

function inputOf(handle: number): void {
  // Boundary: a handle is a number, and a guest can make one up.
  if (handle !== STDIN) throw new Error(`Cannot read: ${handle} is not an input-stream`);
}

function printedOf({ context }: Crossing, handle: number): PrintedLines {
  // Boundary: a forged handle of a stream permits no more than a real one, which takes the grant.
  const isGranted = context.head.functions.includes('log');
  if (!isGranted || (handle !== STDOUT && handle !== STDERR))
    throw new Error(`Cannot write: ${handle} is not an output-stream`);
  const name = handle === STDOUT ? 'stdout' : 'stderr';
  const level = LOG_LEVELS.indexOf(handle === STDOUT ? 'info' : 'warning');
  context.printed[name] ??= new PrintedLines(context, level);
  return context.printed[name];
}

function pollableOf(handle: number): void {
  // Boundary: as for streams.
  if (handle !== READY) throw new Error(`Cannot wait: ${handle} is not a pollable`);
}

function print(crossing: Crossing, handle: number, bytes: Uint8Array) {
  printedOf(crossing, handle).add(bytes);
  return ok();
}

function printZeroes(crossing: Crossing, handle: number, length: bigint) {
  // Boundary: no more than one write permits is allocated outside of the guest.
  if (length > MOST_WRITE_BYTES)
    throw new Error(`Cannot write: ${length} zeroes are too many, expected ${MOST_WRITE_BYTES}`);
  return print(crossing, handle, new Uint8Array(Number(length)));
}

/** The answer to every call on the input; an invalid handle ends the call. */
function onInput(answer: unknown): ComponentHandler {
  return (_crossing, handle: number) => {
    inputOf(handle);
    return answer;
  };
}

/** The same for an output. */
function onOutput(answer: unknown): ComponentHandler {
  return (crossing, handle: number) => {
    printedOf(crossing, handle);
    return answer;
  };
}

const splice: ComponentHandler = (crossing, handle: number, source: number) => {
  printedOf(crossing, handle);
  inputOf(source);
  return CLOSED;
};

/** Dropping a handle is a no-op: nothing behind it needs to be released. */
const drop: ComponentHandler = () => undefined;

const nowNs: ComponentHandler = ({ context }) => BigInt(Math.trunc(context.head.startedMs)) * NS_PER_MS;

const wallClock: ComponentHandler = ({ context }) => {
  const ms = Math.trunc(context.head.startedMs);
  return { seconds: BigInt(Math.floor(ms / MS_PER_S)), nanoseconds: (ms % MS_PER_S) * Number(NS_PER_MS) };
};

function randomU64(crossing: Crossing): bigint {
  return Buffer.from(randomBytes(crossing, U64_BYTES)).readBigUInt64LE(0);
}

const manyRandom: ComponentHandler = (crossing, length: bigint) => randomBytes(crossing, length);

function exit(status: string): never {
  throw new GuestExit(status);
}

const nothing: ComponentHandler = () => null;

const noFile: ComponentHandler = () => {
  // Boundary: no file handle is ever issued.
  throw new Error('Cannot use file: the handle does not exist');
};

const STREAMS: Readonly<Record<string, ComponentHandler>> = {
  '[method]input-stream.read': onInput(CLOSED),
  '[method]input-stream.blocking-read': onInput(CLOSED),
  '[method]input-stream.skip': onInput(CLOSED),
  '[method]input-stream.blocking-skip': onInput(CLOSED),
  '[method]input-stream.subscribe': onInput(READY),
  '[resource-drop]input-stream': drop,
  '[method]output-stream.check-write': onOutput(ok(BigInt(MOST_WRITE_BYTES))),
  '[method]output-stream.write': print,
  '[method]output-stream.blocking-write-and-flush': print,
  '[method]output-stream.flush': onOutput(ok()),
  '[method]output-stream.blocking-flush': onOutput(ok()),
  '[method]output-stream.subscribe': onOutput(READY),
  '[method]output-stream.write-zeroes': printZeroes,
  '[method]output-stream.blocking-write-zeroes-and-flush': printZeroes,
  '[method]output-stream.splice': splice,
  '[method]output-stream.blocking-splice': splice,
  '[resource-drop]output-stream': drop,
};

const POLL: Readonly<Record<string, ComponentHandler>> = {
  '[method]pollable.ready': (_crossing, handle: number) => {
    pollableOf(handle);
    return true;
  },
  '[method]pollable.block': (_crossing, handle: number) => pollableOf(handle),
  '[resource-drop]pollable': drop,
  poll: (_crossing, handles: readonly number[]) => {
    if (handles.length === 0) throw new Error('Cannot wait: there is not a pollable, expected one or more');
    for (const handle of handles) pollableOf(handle);
    return handles.map((_, index) => index);
  },
};

const BY_INTERFACE: Readonly<Record<string, Readonly<Record<string, ComponentHandler>>>> = {
  'wasi:clocks/monotonic-clock': {
    now: nowNs,
    resolution: () => NS_PER_MS,
    'subscribe-instant': () => READY,
    'subscribe-duration': () => READY,
  },
  'wasi:clocks/wall-clock': {
    now: wallClock,
    resolution: () => ({ seconds: 0n, nanoseconds: Number(NS_PER_MS) }),
  },
  'wasi:random/random': { 'get-random-bytes': manyRandom, 'get-random-u64': randomU64 },
  'wasi:random/insecure': {
    'get-insecure-random-bytes': manyRandom,
    'get-insecure-random-u64': randomU64,
  },
  'wasi:random/insecure-seed': { 'insecure-seed': (crossing) => [randomU64(crossing), randomU64(crossing)] },
  'wasi:cli/environment': {
    'get-environment': () => [],
    'get-arguments': () => [],
    'initial-cwd': nothing,
  },
  'wasi:cli/exit': {
    exit: (_crossing, { tag }: { readonly tag: string }) => exit(tag === 'ok' ? 'success' : 'an error'),
    'exit-with-code': (_crossing, code: number) => exit(`the status ${code}`),
  },
  'wasi:cli/stdin': { 'get-stdin': () => STDIN },
  'wasi:cli/stdout': { 'get-stdout': () => STDOUT },
  'wasi:cli/stderr': { 'get-stderr': () => STDERR },
  'wasi:cli/terminal-input': { '[resource-drop]terminal-input': drop },
  'wasi:cli/terminal-output': { '[resource-drop]terminal-output': drop },
  'wasi:cli/terminal-stdin': { 'get-terminal-stdin': nothing },
  'wasi:cli/terminal-stdout': { 'get-terminal-stdout': nothing },
  'wasi:cli/terminal-stderr': { 'get-terminal-stderr': nothing },
  'wasi:io/error': {
    '[method]error.to-debug-string': () => {
      // Boundary: no stream here fails in a way that issues an error handle.
      throw new Error('Cannot describe error: the handle does not exist');
    },
    '[resource-drop]error': drop,
  },
  'wasi:io/poll': POLL,
  'wasi:io/streams': STREAMS,
};

/** By `interface.name`. */
export const WASI_HANDLERS: Readonly<Record<string, ComponentHandler>> = Object.fromEntries([
  ...Object.entries(BY_INTERFACE).flatMap(([place, handlers]) =>
    Object.entries(handlers).map(([name, handle]) => [`${place}.${name}`, handle] as const),
  ),
  ...FILE_FUNCTIONS.map((row) => [`${row.interface}.${row.name}`, noFile] as const),
  [`${NO_DIRECTORIES.interface}.${NO_DIRECTORIES.name}`, () => []],
]);
