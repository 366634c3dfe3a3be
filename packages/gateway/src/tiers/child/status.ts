/*
 * Parses what the launcher reports on its status descriptor. The command does not have that descriptor, but it can kill
 * the launcher in the middle of a line, and it influences much of the report (mount points, cgroup names). So the
 * grammar is closed: an unknown or repeated key or an invalid value invalidates the whole report, and a line without an
 * end is ignored.
 */
import { accept, type Result, reject } from '../../core/result.ts';
import type { ByteStore } from './output.ts';

/** What the launcher counts of the whole tree, and the keys of its report. */
const USAGE_KEYS = {
  userUs: 'utime_us',
  systemUs: 'stime_us',
  /** Of processes that were seen and that no one waited for. */
  lostUs: 'lost_us',
  maxRssKb: 'maxrss_kb',
  readBlocks: 'inblock',
  writeBlocks: 'oublock',
  wallUs: 'wall_us',
} as const;

type LauncherUsage = Readonly<Record<keyof typeof USAGE_KEYS, number>>;

type SystemError = { readonly errno: number; readonly name: string };
type FailedStep = SystemError & { readonly step: string };

export type LauncherStatus = {
  /** By their names after `fact.`; unprintable bytes stay as the launcher writes them, \xNN. */
  readonly facts: Readonly<Record<string, string>>;
  readonly pid: number | null;
  readonly exit: number | null;
  readonly signal: number | null;
  readonly limit: 'cpu' | 'wall' | 'output' | null;
  readonly cancelled: boolean;
  /** The command could not be executed. */
  readonly execError: SystemError | null;
  /** The launcher could not set up what was requested; nothing was executed. */
  readonly failed: FailedStep | null;
  /** Of the whole tree; null unless it was reported completely. */
  readonly usage: LauncherUsage | null;
  /** As passed on, with the notes of what was left out. */
  readonly outputBytes: number | null;
  /** What was left out of each stream. */
  readonly dropped: { readonly stdout: number; readonly stderr: number };
  /** How many connections it tried to make to other machines or name servers; null where the launcher does not see them. */
  readonly outward: number | null;
  /** How many processes were killed after the command had ended. */
  readonly left: number | null;
  readonly done: boolean;
};

/** The launcher did not start the command, because a fact was not as the plan promises. */
export function isGateShut({ failed }: LauncherStatus): boolean {
  return failed?.step.startsWith('fact.') === true;
}

/** The end of a report: how much was written, and that it is complete. */
const LAST_WORD = /\noutput_bytes=(?<bytes>0|[1-9][0-9]{0,14})\nleft=[0-9]{1,15}\ndone=1\n$/;
const LAST_WORD_BYTES = 128;

/** How many bytes of output a launcher whose report is complete has passed on; null before that. */
export function lastWordIn(said: ByteStore): number | null {
  const bytes = LAST_WORD.exec(Buffer.from(said.tail(LAST_WORD_BYTES)).toString('latin1'))?.groups?.bytes;
  return bytes === undefined ? null : Number(bytes);
}

/** More than the mounts of any machine need. */
export const MAX_STATUS_BYTES = 262_144;
const MAX_LINES = 256;

const COUNT = /^(?:0|[1-9][0-9]{0,14})$/;
const YES = /^1$/;

/** Every key but the facts, and the form of its value. */
const GRAMMAR: Readonly<Record<string, RegExp>> = {
  launcher: YES,
  pid: /^[1-9][0-9]{0,9}$/,
  execerror: /^(?<errno>[1-9][0-9]{0,3}) (?<name>[A-Z][A-Z0-9_]{1,31})$/,
  failed: /^(?<step>[!-~]{1,64}) errno=(?<errno>0|[1-9][0-9]{0,3}) (?<name>[A-Z][A-Z0-9_]{1,31})$/,
  limit: /^(?:cpu|wall|output)$/,
  cancelled: YES,
  exit: /^(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$/,
  signal: /^(?:[1-9]|[1-5][0-9]|6[0-4])$/,
  ...Object.fromEntries(Object.values(USAGE_KEYS).map((key) => [key, COUNT])),
  dropped_stdout: COUNT,
  dropped_stderr: COUNT,
  outward: COUNT,
  output_bytes: COUNT,
  left: COUNT,
  done: YES,
};

const FACT_KEY = /^fact\.[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/;
/** Printable, and a backslash only where it begins an escape. */
const FACT_VALUE = /^(?:[ -[\]-~]|\\x[0-9a-fA-F]{2})*$/;

/** Parses the whole lines of a status. It never throws; whatever it accepts was reported once and in full. */
export function parseStatus(bytes: Uint8Array): Result<LauncherStatus, string> {
  // Boundary: the amount is bounded before anything is parsed.
  if (bytes.length > MAX_STATUS_BYTES) {
    return refuse(`it has ${bytes.length} bytes, expected at most ${MAX_STATUS_BYTES}`);
  }
  const lines = wholeLines(bytes);
  if (lines.length > MAX_LINES) return refuse(`it has ${lines.length} lines, expected at most ${MAX_LINES}`);
  const said = new Map<string, string>();
  for (const [index, line] of lines.entries()) {
    const wrong = addLine(said, line);
    if (wrong !== null) return refuse(`line ${index + 1} ${wrong}`);
  }
  return accept(statusOf(said));
}

function refuse(what: string): Result<never, string> {
  return reject(`Cannot read the status of the launcher: ${what}`);
}

/** A last line that was cut off could be mistaken for another value, so it does not count. */
function wholeLines(bytes: Uint8Array): string[] {
  const { buffer, byteOffset } = bytes;
  const end = bytes.lastIndexOf(0x0a);
  if (end === -1) return [];
  // One character for each byte: anything but ASCII matches no form below.
  return Buffer.from(buffer, byteOffset, end).toString('latin1').split('\n');
}

/** Adds a line to the report; returns what is wrong with it otherwise. */
function addLine(said: Map<string, string>, line: string): string | null {
  const [, key = '', value = ''] = /^([^=]{1,64})=(.*)$/s.exec(line) ?? [];
  const form = FACT_KEY.test(key) ? FACT_VALUE : Object.hasOwn(GRAMMAR, key) ? GRAMMAR[key] : undefined;
  if (form === undefined) return 'has no key that is known';
  if (!form.test(value)) return `has a value of another form than that of "${key}"`;
  // Boundary: what the launcher has reported cannot be overridden later.
  if (said.has(key)) return `has the key "${key}" again, expected it once`;
  // An early failure comes before the launcher identifies itself.
  if (said.size === 0 && key !== 'launcher' && key !== 'failed') {
    return `has the key "${key}", expected "launcher" first`;
  }
  if (said.has('done')) return `has the key "${key}", expected nothing after "done"`;
  const hasEnd = said.has('exit') || said.has('signal');
  if (hasEnd && (key === 'exit' || key === 'signal')) return `has the key "${key}", expected one end alone`;
  if (key === 'done' && !hasEnd && !said.has('failed'))
    return 'has the key "done", expected an end before it';
  said.set(key, value);
  return null;
}

function statusOf(said: ReadonlyMap<string, string>): LauncherStatus {
  const count = (key: string) => (said.has(key) ? Number(said.get(key)) : null);
  return {
    facts: factsOf(said),
    pid: count('pid'),
    exit: count('exit'),
    signal: count('signal'),
    limit: (said.get('limit') ?? null) as LauncherStatus['limit'],
    cancelled: said.has('cancelled'),
    execError: errorOf(said, 'execerror'),
    failed: errorOf(said, 'failed'),
    usage: usageOf(count),
    outputBytes: count('output_bytes'),
    dropped: { stdout: count('dropped_stdout') ?? 0, stderr: count('dropped_stderr') ?? 0 },
    outward: count('outward'),
    left: count('left'),
    done: said.has('done'),
  };
}

function factsOf(said: ReadonlyMap<string, string>): Record<string, string> {
  const facts: Record<string, string> = Object.create(null);
  for (const [key, value] of said) {
    if (key.startsWith('fact.')) facts[key.slice('fact.'.length)] = value;
  }
  return facts;
}

function errorOf(said: ReadonlyMap<string, string>, key: string): FailedStep | null {
  const groups = GRAMMAR[key]?.exec(said.get(key) ?? '')?.groups;
  return groups === undefined ? null : ({ ...groups, errno: Number(groups.errno) } as FailedStep);
}

function usageOf(count: (key: string) => number | null): LauncherUsage | null {
  const counts = Object.entries(USAGE_KEYS).map(([name, key]) => [name, count(key)] as const);
  return counts.some(([, number]) => number === null) ? null : (Object.fromEntries(counts) as LauncherUsage);
}
