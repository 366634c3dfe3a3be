import * as z from 'zod';
import { CodedError } from '../../core/coded-error.ts';
import { LIMIT_CEILINGS } from '../../core/limits.ts';
import type { Recording } from '../../core/recording.ts';
import { findRecording } from '../../recordings/recordings.ts';
import type { Reader } from '../../store/transaction.ts';
import { type Bound, readNamed, wrongUsage } from './input.ts';
import type { Invocation } from './verb.ts';

const BUNDLE_FORMAT = 'palisade-run-1';

/** What a replay on another machine needs: the receipt, the recording and the module. */
export type RunBundle = {
  readonly format: typeof BUNDLE_FORMAT;
  readonly call: string;
  /** The signed receipt. */
  readonly envelope: { readonly payload: string };
  readonly recording: Recording;
  /** In base64. */
  readonly module: string;
};

/** What a receipt says of how the call ended. */
export type Claim = ReturnType<typeof claimOf>;

const MOST_BYTES = 256 * 1024 * 1024;
const BOUND: Bound = {
  maxBytes: MOST_BYTES,
  refuse: (name) => unreadable(name, `it has more than ${MOST_BYTES} bytes`),
};

/** The bundle of a call of this state directory. */
export function bundleOf(store: Reader, call: string, envelope: RunBundle['envelope']): RunBundle {
  const recorded = findRecording(store, call);
  if (recorded === null) {
    const is = `it was not recorded (${claimOf(envelope).recording})`;
    const message = `Cannot replay ${call}: ${is}, expected a recorded call of a WASM tool`;
    throw new CodedError('journal/unknown-record', message);
  }
  const module = Buffer.from(recorded.module).toString('base64');
  return { format: BUNDLE_FORMAT, call, envelope, recording: recorded.recording, module };
}

/** The bundle in a file, or the call that a receipt in it is of. */
export async function readBundle(
  invocation: Invocation,
  path: string,
): Promise<RunBundle | { readonly format: null; readonly call: string }> {
  const raw: unknown = parse(path, await readNamed(invocation, path, BOUND));
  const { format, payload } = (raw ?? {}) as { readonly format?: unknown; readonly payload?: unknown };
  if (format === BUNDLE_FORMAT) {
    // Boundary: the author of the file may want something else than a replay.
    const unsound = findUnsound(raw);
    if (unsound !== null) throw unreadable(path, `its ${unsound} is missing or invalid`);
    return raw as RunBundle;
  }
  if (typeof payload === 'string') return { format: null, call: claimOf({ payload }).call };
  throw unreadable(path, 'it is neither');
}

/** What the statement of a receipt claims; `palisade verify` checks its signature. */
export function claimOf({ payload }: RunBundle['envelope']) {
  const { predicate, subject } = statementOf(payload);
  const { call, outcome, usage, execution } = predicate ?? {};
  const subjects = Array.isArray(subject) ? subject : [];
  const outputDigest = subjects.find((each) => each?.name === 'output')?.digest?.sha256;
  return {
    call: String(call?.id),
    code: String(outcome?.code),
    outputDigest: typeof outputDigest === 'string' ? outputDigest : null,
    fuel: Number(usage?.fuel),
    // The digest of the recording, or why it is missing.
    recording: String(execution?.isolation?.recording ?? 'not a WASM tool'),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: each part that is taken from it is made a text or a number.
function statementOf(payload: string): { readonly predicate?: any; readonly subject?: unknown } {
  try {
    return JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) ?? {};
  } catch {
    throw wrongUsage('Cannot use the receipt: its payload is not a statement');
  }
}

function parse(path: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    throw unreadable(path, 'it is not valid JSON');
  }
}

function unreadable(path: string, is: string): CodedError {
  return wrongUsage(`Cannot use "${path}": ${is}, expected a receipt or an exported run`);
}

/* The shape of an exported run, checked before anything of it is used: anyone may have written the file. */

const LONE_SURROGATE = /\p{Surrogate}/u;
/** More than any version wrote. */
const MOST_LOG_BYTES = 1024 * 1024;

/** A lone surrogate has no canonical form. */
const text = z.string().refine((value) => !LONE_SURROGATE.test(value));
const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/);
const count = z.int().min(0);

const recording = z.object({
  version: z.literal([1, 2]),
  engine: z.object({ meter: count, form: text, isDeterministic: z.boolean() }).optional(),
  module: text,
  exportName: text,
  input: text,
  functions: z.array(text),
  counts: z.record(text, count),
  // Boundary: no replay of a file may use more than a call could.
  limits: z.object({
    fuel: count.max(LIMIT_CEILINGS.fuel),
    memoryBytes: count.max(LIMIT_CEILINGS.memoryBytes),
    outputBytes: count.max(LIMIT_CEILINGS.outputBytes),
    logBytes: count.max(MOST_LOG_BYTES),
  }),
  startedMs: count,
  seed: z.string().regex(/^[0-9a-f]{64}$/),
  config: z.record(text, text),
  exchanges: z.array(z.object({ name: text, asked: text, result: z.int(), bytes: base64 })),
} satisfies Record<keyof Recording, z.ZodType>);

const bundle = z.object({ call: text, envelope: z.object({ payload: base64 }), recording, module: base64 });

/** The name of the first part that is missing or invalid; null where all are valid. */
export function findUnsound(raw: unknown): string | null {
  const [first] = bundle.safeParse(raw).error?.issues ?? [];
  if (first === undefined) return null;
  const [part = 'document', inner] = first.path.map(String);
  return part === 'recording' && inner !== undefined ? `${part}.${inner}` : part;
}
