import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { CallSource } from '../../core/call.ts';
import { isChannelName, placeOf } from '../../core/caller.ts';
import { CodedError } from '../../core/coded-error.ts';
import { isName, type Principal, parsePrincipal } from '../../core/principal.ts';
import { nearest } from '../../core/suggest.ts';
import type { Invocation } from './verb.ts';

/** The most bytes that are read into memory, and the error for more. */
export type Bound = { readonly maxBytes: number; readonly refuse: (name: string) => CodedError };

/** No input that the strict reader would accept is larger. */
const INPUT_BOUND = boundOf(16 * 1024 * 1024);
const START_BYTES = 4096;
const LONGEST_TIMEOUT_MS = 86_400_000;
/** The one path that may be a pipe or a terminal: the caller who names it wants to wait. */
const STANDARD_INPUT = '/dev/stdin';

/** A bound of what is wrong usage past it. */
export function boundOf(maxBytes: number, expected = ''): Bound {
  const more = `it has more than ${maxBytes} bytes${expected}`;
  return { maxBytes, refuse: (name) => wrongUsage(`Cannot read ${name}: ${more}`) };
}

/** The value of --input: JSON on the command line, in a file (@FILE) or on standard input (-). */
export async function readInput(invocation: Invocation): Promise<string | Uint8Array> {
  const raw = invocation.flags.input;
  if (typeof raw !== 'string') return '{}';
  if (raw === '-') return readStandardInput(invocation);
  return raw.startsWith('@') ? readFileFlag(raw.slice(1)) : raw;
}

/** The bytes of a file that an argument names, or of standard input when it is `-`. */
export function readNamed(invocation: Invocation, path: string, bound: Bound): Promise<Uint8Array> {
  return path === '-' ? readStandardInput(invocation, bound) : readFileFlag(path, bound);
}

async function readStandardInput({ edge, signal }: Invocation, bound = INPUT_BOUND): Promise<Uint8Array> {
  try {
    // Without it, Ctrl-C would wait for the end of the input.
    const { addAbortSignal } = await import('node:stream');
    const stdin = addAbortSignal(signal, edge.stdin as Readable);
    return await readAll(stdin as AsyncIterable<Uint8Array>, 'standard input', bound);
  } catch (error) {
    if (error instanceof CodedError) throw error;
    if (signal.aborted) throw new CodedError('tier/cancelled', 'Cannot read standard input: cancelled');
    throw wrongUsage(`Cannot read standard input: ${(error as Error).message}`);
  }
}

/** Opens a file that was named on the command line for as long as `act` takes; what cannot be read is wrong usage. */
export async function withNamed<T>(path: string, act: (file: FileHandle) => Promise<T>): Promise<T> {
  try {
    const file = await openNamed(path);
    try {
      return await act(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw wrongUsage(`Cannot read "${path}": ${(error as Error).message}`);
  }
}

/** Never waits for a writer. */
async function openNamed(path: string): Promise<FileHandle> {
  const { open } = await import('node:fs/promises');
  if (path === STANDARD_INPUT) return open(path, 'r');
  // Boundary: a FIFO without a writer would block the command forever, and a device may never end.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stat = await file.stat();
  // Reading a directory fails by itself, with the message of the system.
  if (stat.isFile() || stat.isDirectory()) return file;
  await file.close();
  throw new TypeError('it is not a regular file');
}

/** The bytes of a file that a flag names. */
export function readFileFlag(path: string, bound = INPUT_BOUND): Promise<Uint8Array> {
  return withNamed(path, (file) => {
    // Boundary: one byte past the bound is enough to know that there is more.
    const chunks = file.createReadStream({ autoClose: false, end: bound.maxBytes });
    return readAll(chunks, `"${path}"`, bound);
  });
}

/** The first bytes of a file, enough to tell what it is; the file is read again, so a pipe will not do. */
export function readStart(path: string): Promise<string> {
  return withNamed(path, async (file) => {
    if (!(await file.stat()).isFile()) throw new TypeError('it is not a regular file');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0);
    return buffer.subarray(0, bytesRead).toString('utf8');
  });
}

/** The principal of --as, else the user who runs the command. */
export function principalOf({ flags, edge }: Invocation): Principal {
  if (typeof flags.as !== 'string') return { kind: 'user', name: edge.env.user ?? 'local' };
  const principal = parsePrincipal(flags.as);
  if (principal !== null) return principal;
  throw wrongUsage(`Cannot act as "${flags.as}": expected agent:NAME, user:NAME or service:NAME`);
}

/** What --device and --channel say of the caller: the word of the operator who writes the command line. */
export function placeIn(invocation: Invocation): Pick<CallSource, 'device' | 'channel'> {
  const named = (read: (text: string) => boolean) => (raw: string) => (read(raw) ? raw : null);
  return placeOf({
    device: parsedOf(invocation, 'device', named(isName), 'a name of letters, digits and . _ @ + -'),
    channel: parsedOf(invocation, 'channel', named(isChannelName), 'a name that is not the name of a door'),
  });
}

/** A whole number from a flag, or the default when the flag is absent. */
export function numberOf(
  { flags }: Invocation,
  name: string,
  range: { min: number; max: number; absent: number },
): number {
  const raw = flags[name];
  if (typeof raw !== 'string') return range.absent;
  const value = /^[0-9]{1,16}$/.test(raw) ? Number(raw) : Number.NaN;
  if (value >= range.min && value <= range.max) return value;
  throw wrongUsage(
    `Cannot use --${name} "${raw}": expected a whole number from ${range.min} to ${range.max}`,
  );
}

/** The time limit of --timeout; null when it is absent. */
export function timeoutOf(invocation: Invocation): number | null {
  return numberOf(invocation, 'timeout', { min: 1, max: LONGEST_TIMEOUT_MS, absent: 0 }) || null;
}

/** The value of a flag, or undefined when it is absent. */
export function textOf({ flags }: Invocation, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
}

/** The value of a flag as `read` understands it; undefined when the flag is absent. */
export function parsedOf<T>(
  invocation: Invocation,
  name: string,
  read: (raw: string) => T | null,
  expected: string,
): T | undefined {
  const raw = textOf(invocation, name);
  const value = raw === undefined ? undefined : read(raw);
  if (value !== null) return value;
  throw wrongUsage(`Cannot use --${name} "${raw}": expected ${expected}`);
}

/** The page of a list that --limit and --cursor ask for. */
export function pageOf(invocation: Invocation) {
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1_000, absent: 20 });
  return { limit, cursor: textOf(invocation, 'cursor') };
}

/** All values of a flag that repeats. */
export function listOf({ flags }: Invocation, name: string): readonly string[] {
  const values = flags[name];
  return Array.isArray(values) ? values : [];
}

/** The values of a flag that repeats, each with a name; none is named twice. */
export function pairsOf(
  invocation: Invocation,
  flag: string,
  form: string,
): Readonly<Record<string, string>> {
  const pairs = new Map<string, string>();
  for (const word of listOf(invocation, flag)) {
    const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (name === undefined) throw wrongUsage(`Cannot use --${flag} "${word}": expected ${form}`);
    if (pairs.has(name)) throw wrongUsage(`Cannot use --${flag} "${word}": "${name}" is given twice`);
    pairs.set(name, value);
  }
  // Boundary: entries, never assignments: a name such as __proto__ is a name like any other.
  return Object.fromEntries(pairs);
}

/** The value of a flag that has a few, or undefined when it is absent. */
export function choiceOf<const Choice extends string>(
  invocation: Invocation,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const raw = textOf(invocation, name);
  const choice = choices.find((each) => each === raw);
  if (raw === undefined || choice !== undefined) return choice;
  const meant = nearest(raw, choices);
  const hint = meant === null ? '' : `; did you mean "${meant}"?`;
  throw wrongUsage(`Cannot use --${name} "${raw}": expected one of ${choices.join(', ')}${hint}`);
}

export function wrongUsage(message: string, remedy?: string): CodedError {
  return new CodedError('door/wrong-usage', message, remedy === undefined ? {} : { remedy });
}

async function readAll(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  { maxBytes, refuse }: Bound,
): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw refuse(name);
  }
  return Buffer.concat(read);
}
