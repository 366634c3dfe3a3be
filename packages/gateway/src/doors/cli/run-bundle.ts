/** What a recorded call takes with it to another machine: the receipt, what it came from, and the module. */

import { CodedError } from '../../core/coded-error.ts';
import type { Recording } from '../../core/recording.ts';
import type { Opened } from '../../invoke/gateway.ts';
import { recordOf } from '../../operations/record-document.ts';
import { findRecording, type Recorded } from '../../recordings/recordings.ts';
import { type Bound, readNamed } from './input.ts';
import { endingOf } from './records.ts';
import { findUnsound } from './run-bundle-form.ts';
import type { Invocation } from './verb.ts';

type Records = Awaited<ReturnType<Invocation['openRecords']>>;

export const BUNDLE_FORMAT = 'palisade-run-1';

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
export type Claim = {
  readonly call: string;
  readonly code: string;
  readonly outputDigest: string | null;
  readonly fuel: number;
  /** The digest of the recording; or why there is none. */
  readonly recording: string;
};

const MOST_BYTES = 256 * 1024 * 1024;
const BOUND: Bound = {
  maxBytes: MOST_BYTES,
  refuse: (name) => unreadable(name, `it has more than ${MOST_BYTES} bytes`),
};

/** The bundle of a call of this state directory. */
export function bundleOf(records: Opened<Pick<Records, 'segments' | 'store'>>, call: string): RunBundle {
  const { envelope } = recordOf(endingOf(records.segments, call)).body as Pick<RunBundle, 'envelope'>;
  const claim = claimOf(envelope);
  const recorded: Recorded | null = findRecording(records.store, call);
  if (recorded === null) {
    throw new CodedError(
      'journal/unknown-record',
      `Cannot replay ${call}: nothing was kept of it (${claim.recording}), expected a call of a WASM tool`,
    );
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
    // Boundary: whoever wrote the file may want something else than a replay.
    const unsound = findUnsound(raw);
    if (unsound !== null) throw unreadable(path, `its ${unsound} is missing or wrong`);
    return raw as RunBundle;
  }
  if (typeof payload === 'string') return { format: null, call: claimOf({ payload }).call };
  throw unreadable(path, 'it is something else');
}

/** What the statement of a receipt says; whether its signature holds is for `palisade verify`. */
export function claimOf({ payload }: RunBundle['envelope']): Claim {
  const { predicate, subject } = statementOf(payload);
  const { call, outcome, usage, execution } = predicate ?? {};
  const subjects = Array.isArray(subject) ? subject : [];
  const outputDigest = subjects.find((each) => each?.name === 'output')?.digest?.sha256;
  return {
    call: String(call?.id),
    code: String(outcome?.code),
    outputDigest: typeof outputDigest === 'string' ? outputDigest : null,
    fuel: Number(usage?.fuel),
    recording: String(execution?.isolation?.recording ?? 'no WASM tool'),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: each part that is taken from it is made a text or a number.
function statementOf(payload: string): { readonly predicate?: any; readonly subject?: unknown } {
  try {
    return JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) ?? {};
  } catch {
    throw new CodedError('door/wrong-usage', 'Cannot use receipt: its payload is no statement, expected one');
  }
}

function parse(path: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    throw unreadable(path, 'it cannot be read as JSON');
  }
}

function unreadable(path: string, is: string): CodedError {
  return new CodedError(
    'door/wrong-usage',
    `Cannot use "${path}": ${is}, expected a receipt or an exported run`,
  );
}
