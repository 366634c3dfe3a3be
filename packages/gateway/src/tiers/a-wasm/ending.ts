/** Maps what an engine sent at the end of a call to the code table. Pure. */
import { type TrapFrame, trapInWords } from '../../core/call-log.ts';
import type { Json } from '../../core/json.ts';
import type { FailedCode } from '../../core/outcome.ts';
import type { EngineFacts } from '../../core/recording.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { RunEnding } from '../tier.ts';
import {
  type DoneHead,
  type GuestLimits,
  type LocatedHead,
  type ModuleRefusal,
  readFormHead,
} from './engine/protocol.ts';
import type { PrepareEnd } from './engine-process.ts';
import { isSealed } from './modules.ts';

const ENDINGS: ReadonlySet<unknown> = new Set(['returned', 'failed', 'trapped']);
const MOST_FRAMES = 16;
const FORM = /^[a-z]{1,16}$/;

/**
 * The head of a `done` frame, or null where it is invalid. Boundary: budgets are settled and receipts signed with these
 * numbers, so they must be integers within the limits.
 */
export function readDoneHead(raw: unknown, limits: GuestLimits): DoneHead | null {
  if (typeof raw !== 'object' || raw === null) return null;
  const {
    ending,
    code,
    message,
    detail,
    fuelUsed,
    isExact,
    peakMemoryBytes,
    isLogCut,
    engine,
    frames,
    places,
  } = raw as Partial<Record<keyof DoneHead, unknown>>;
  const isSound =
    ENDINGS.has(ending) &&
    [code, message, detail].every((text) => text === undefined || typeof text === 'string') &&
    isWhole(fuelUsed) &&
    fuelUsed <= limits.fuel &&
    isWhole(peakMemoryBytes) &&
    peakMemoryBytes <= limits.memoryBytes &&
    [isExact, isLogCut].every((flag) => typeof flag === 'boolean') &&
    (engine === undefined || isEngineFacts(engine)) &&
    [frames, places].every((each) => each === undefined || isFrames(each));
  return isSound ? (raw as DoneHead) : null;
}

/** The result of preparing a module, or null where it is invalid. */
export function readPrepared(raw: unknown, bytes: Uint8Array): PrepareEnd | null {
  const refused = readRefused((raw as { readonly refused?: unknown } | null)?.refused);
  if (refused !== null) return { kind: 'refused', refused };
  const head = readFormHead(raw);
  // Boundary: a form that is kept for all calls must match its own digest, to the byte.
  return head !== null && isSealed(head, bytes) ? { kind: 'prepared', form: { ...head, bytes } } : null;
}

function readRefused(raw: unknown): ModuleRefusal | null {
  if (typeof raw !== 'object' || raw === null) return null;
  const { code, message, detail } = raw as Partial<Record<keyof ModuleRefusal, unknown>>;
  if (typeof code !== 'string' || typeof message !== 'string') return null;
  return { code, message, ...(typeof detail === 'string' ? { detail } : {}) };
}

const MOST_FILE_CHARS = 256;

/** The lines of places, or null where they are invalid; a path that is too long to show is left out. */
export function readLocated(raw: unknown, count: number): LocatedHead['lines'] | null {
  const { lines } = (raw ?? {}) as { readonly lines?: unknown };
  if (!Array.isArray(lines) || lines.length !== count) return null;
  const isSound = lines.every(
    (each) => each === null || (typeof each?.file === 'string' && isWhole(each.line) && each.line > 0),
  );
  if (!isSound) return null;
  return lines.map((each) =>
    each === null || each.file.length > MOST_FILE_CHARS ? null : { file: each.file, line: each.line },
  );
}

/** Boundary: names are looked up for them, so there are only a few. */
function isFrames(raw: unknown): boolean {
  return Array.isArray(raw) && raw.length <= MOST_FRAMES && raw.every(isWhole);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Boundary: these facts go into the recording unchanged, so extra properties are refused. */
function isEngineFacts(raw: unknown): boolean {
  if (typeof raw !== 'object' || raw === null || Object.keys(raw).length !== 3) return false;
  const { meter, form, isDeterministic } = raw as Partial<Record<keyof EngineFacts, unknown>>;
  return (
    isWhole(meter) && typeof form === 'string' && FORM.test(form) && typeof isDeterministic === 'boolean'
  );
}

/** Error codes of the engine, mapped to those of the code table. */
const CODES: ReadonlyMap<string, FailedCode> = new Map(
  Object.entries({
    fuel: 'tier/out-of-fuel',
    memory: 'tier/out-of-memory',
    limit: 'tier/invalid-module',
    malformed: 'tier/invalid-module',
    invalid: 'tier/invalid-module',
    feature: 'tier/invalid-module',
    link: 'tier/invalid-module',
    export: 'tier/invalid-module',
  }),
);
/** Traps that are bugs of a module: what a limit or a host function ended is not among them. */
const BUGS: ReadonlySet<string> = new Set([
  'unreachable',
  'out-of-bounds',
  'arithmetic',
  'indirect-call',
  'trap',
]);

/** Whether the guest trapped by itself. */
export function isTrap({ ending, code = '' }: DoneHead): boolean {
  return ending === 'trapped' && BUGS.has(code);
}

const MOST_DEPTH = 128;
const MOST_MESSAGE_CHARS = 2_000;

export function endingOf(
  head: DoneHead,
  bytes: Uint8Array,
  outputBytes: number,
  trap: readonly TrapFrame[] = [],
): RunEnding {
  if (head.ending === 'trapped') return trapped(head, outputBytes, trap);
  const parsed = parseStrict(bytes, { maxBytes: outputBytes, maxDepth: MOST_DEPTH });
  if (head.ending === 'failed') return reported(parsed.ok ? parsed.value : null);
  if (parsed.ok) return { status: 'ok', output: parsed.value };
  return failed('tier/invalid-output', `Cannot accept the output of the module. ${parsed.message}`);
}

function trapped(
  { code = '', message = '', detail }: DoneHead,
  outputBytes: number,
  trap: readonly TrapFrame[],
): RunEnding {
  if (code === 'limit' && detail === 'mostBytes')
    return failed('tier/output-exceeded', `Cannot return output: it has more than ${outputBytes} bytes`);
  const ending = refusedEnding({ code, message });
  const where = trapInWords(trap);
  if (where === '' || ending.status === 'ok') return ending;
  return { ...ending, message: `${ending.message} ${where}` };
}

/** The ending of a module that the engine refused, or of a guest that it stopped. */
export function refusedEnding({ code, message }: ModuleRefusal): RunEnding {
  return failed(CODES.get(code) ?? 'tier/trapped', shorten(message));
}

/** The failure that a tool reports; an invalid report counts as a failure without a reason. */
function reported(report: Json): RunEnding {
  const { code, message } = (typeof report === 'object' && report !== null ? report : {}) as Record<
    string,
    Json
  >;
  const what = typeof message === 'string' ? message : 'no reason given';
  const kind = typeof code === 'string' ? ` (${shorten(code)})` : '';
  return failed('tier/tool-error', `Cannot finish call: the tool reported "${shorten(what)}"${kind}`);
}

export function failed(code: FailedCode, message: string): RunEnding {
  return { status: 'failed', code, message, output: null, truncated: false };
}

function shorten(text: string): string {
  return text.slice(0, MOST_MESSAGE_CHARS);
}
