import { CODES, canonicalize } from '@palisade/sdk';
import { signReceipt } from '../attest/keys.ts';
import { settle } from '../budget/budget.ts';
import type { ToolCall } from '../core/call.ts';
import { type CallLog, frameFacts, hasLog, safeLog } from '../core/call-log.ts';
import { makeId } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { digestBytes } from '../core/digest.ts';
import type { Json } from '../core/json.ts';
import { NO_USAGE, type Usage } from '../core/limits.ts';
import { fail, type Outcome, type RefusedCode, refuse } from '../core/outcome.ts';
import { search } from '../journal/search.ts';
import { type Packed, pack, saveRecording } from '../recordings/recordings.ts';
import { keepLog } from '../results/call-logs.ts';
import { type Keeping, keepResult, pruneResults } from '../results/results.ts';
import { leaveSession } from '../sessions/sessions.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Execution, RunResult } from '../tiers/tier.ts';
import { type CallFacts, refusalFacts, UNDECIDED } from './admit.ts';
import type { Begun } from './begin.ts';
import type { Line, Records } from './gateway.ts';
import { countEnding } from './skills/traps.ts';

/** A disk or a lock may recover; the ending of a run is worth waiting for. */
const ATTEMPTS = 5;
const PAUSE_MS = 200;
const LATER_MS = 5000;
const LATER_ATTEMPTS = 720;

const UNSAVED = 'none: it could not be saved';

/**
 * One transaction: the budgets are settled with the actual usage, the recording is kept, the receipt is signed, the
 * intent is closed. The receipt has the digest of the recording, so both are written together or neither is: no receipt
 * names a recording that does not exist. The ending is worth waiting for, the recording is not: it is compressed
 * before, tried once, and after any failure, later attempts write an ending whose receipt says that there is none.
 */
export async function finish(line: Line, begun: Begun, result: RunResult): Promise<Ended> {
  const { ending, usage, egress = null } = result;
  const log = result.log === undefined || !hasLog(result.log) ? null : safeLog(result.log, line.redact);
  const outcome: Outcome =
    ending.status === 'ok'
      ? { ...ending, code: 'ok', usage }
      : fail(ending.code, ending.message, { ...ending, usage });
  const packed = result.recorded === undefined ? null : await pack(result.recorded).catch(() => null);
  const recordWith = (recording: Packed | null) =>
    line.store.commit((tx) => {
      settle(tx, begun.facts.call.id, usage);
      const { trace, session } = begun.grant.call.call;
      if (session !== undefined) leaveSession(tx, session, line.clock.nowMs());
      if (recording !== null) saveRecording(tx, begun.facts.call.id, recording);
      const ran = { startedAt: begun.startedAt, execution: executionOf(result, recording) };
      countEnding(line, tx, begun.grant.call, result);
      return appendEnding(line, tx, begun.facts, { outcome, ran, egress, trace, log });
    });
  for (let attempt = 1; ; attempt++) {
    try {
      return await recordWith(attempt === 1 ? packed : null);
    } catch (error) {
      if (attempt === ATTEMPTS) {
        recordLater(() => recordWith(null), LATER_ATTEMPTS);
        return unrecorded(begun, result, error);
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Where it ran, and the digest of its recording. */
function executionOf({ execution, recorded }: RunResult, saved: Packed | null): Execution {
  if (recorded === undefined) return execution;
  return { ...execution, isolation: { ...execution.isolation, recording: saved?.digest ?? UNSAVED } };
}

/** A gateway that continues closes the call itself once it can; one that ends leaves it to the next. */
function recordLater(record: () => Promise<Ended>, attempts: number): void {
  if (attempts === 0) return;
  const again = () => record().catch(() => recordLater(record, attempts - 1));
  setTimeout(again, LATER_MS).unref();
}

/** It ran, but its ending could not be written: the next start will record it as unknown, so it is unknown here too. */
function unrecorded({ facts }: Begun, { ending, usage }: RunResult, error: unknown): Ended {
  const reason = error instanceof CodedError ? error.message : 'the gateway broke';
  const remedy = error instanceof CodedError ? error.remedy : undefined;
  const message = `Cannot record the ending of the call, which ran: ${reason}`;
  const truncated = ending.truncated === true;
  const ran = { output: ending.output, truncated, usage, ...(remedy === undefined ? {} : { remedy }) };
  const outcome = fail('tier/unknown-ending', message, ran);
  return { kind: 'ended', callId: facts.call.id, outcome, usage, receipt: null };
}

/** How a call ended, with the receipt that proves it; null only when nothing could be recorded. */
export type Ended = {
  readonly kind: 'ended';
  readonly callId: string;
  readonly outcome: Outcome;
  readonly usage: Usage;
  readonly receipt: string | null;
  /** What its guest said and was denied; left out where there is nothing. */
  readonly log?: CallLog;
  /** The call had ended before, and was repeated with its idempotency key. */
  readonly replayed?: true;
};

/** For a call that may have run; where and how is unknown. */
export const UNKNOWN_EXECUTION: Execution = { tier: 'unknown', executor: 'unknown', isolation: {} };

type Ending = {
  readonly outcome: Outcome;
  readonly ran: Ran;
  readonly egress?: Json | null;
  readonly trace?: string | undefined;
  readonly log?: CallLog | null;
};

type Ran = { readonly startedAt: string; readonly execution: Execution } | null;

/**
 * Signs the receipt and appends the record that contains it, in one transaction. The receipt names the position of its
 * record, and the hash of the record goes into the chain: neither can be changed or left out without the other.
 */
export function appendEnding(records: Records, tx: Transaction, facts: CallFacts, ended: Ending): Ended {
  const { outcome, ran, trace, log = null } = ended;
  // Boundary: the run chooses the host names, and may have put a secret into one.
  const egress = records.redact(ended.egress ?? null);
  const { status, code } = outcome;
  const usage = status === 'refused' ? NO_USAGE : outcome.usage;
  const output = outputOf(outcome);
  let receipt = '';
  const { seq, atMs } = records.journal.append(tx, (place) => {
    const { inputDigest, call, from: _, ...rest } = facts;
    const signed = signReceipt(
      {
        ...rest,
        call: {
          ...call,
          receivedAt: earlier(call.receivedAt, ran?.startedAt ?? place.at),
          startedAt: ran?.startedAt ?? null,
        },
        inputDigest,
        outputDigest: output?.digest ?? null,
        outcome: { status, code },
        output: output === null ? null : { bytes: output.bytes, truncated: output.truncated },
        execution: ran === null ? null : withRecord(ran.execution, egress),
        usage,
      },
      place,
      records.keys,
    );
    receipt = signed.envelope;
    return {
      kind: status === 'refused' ? 'refused' : 'ended',
      call: call.id,
      principal: facts.principal,
      tool: facts.tool.id,
      tenant: facts.tenant,
      body: {
        status,
        code,
        usage,
        receipt: signed.sha256,
        envelope: JSON.parse(signed.envelope),
        ...facts.from,
        ...(egress === null ? {} : { egress }),
        ...(log === null ? {} : notesOf(log)),
        ...(trace === undefined ? {} : { trace }),
      },
      closes: ran !== null,
      isPlain: true,
    };
  });
  keep(records, tx, facts, { outcome, usage, receiptSeq: seq, atMs });
  if (log !== null) keepLog(tx, facts.call.id, atMs, log);
  return { kind: 'ended', callId: facts.call.id, outcome, usage, receipt, ...(log === null ? {} : { log }) };
}

/** What the journal has of a log: why host calls were denied and where the guest trapped, and nothing that it logged. */
function notesOf({ denied, deniedMore, trap }: CallLog): { readonly [key: string]: Json } {
  return {
    ...(denied.length === 0 ? {} : { denied: denied.map((each) => ({ ...each })), deniedMore }),
    ...(trap.length === 0 ? {} : { trap: trap.map(frameFacts) }),
  };
}

/** Once in this many records, some expired results are dropped. */
const PRUNE_EVERY = 64;

type Kept = Pick<Keeping, 'outcome' | 'usage' | 'receiptSeq' | 'atMs'>;

/** Keeps what the caller gets, without secrets, for as long as the operator configured. */
function keep(
  records: Records,
  tx: Transaction,
  { call, from, principal, tenant, tool }: CallFacts,
  kept: Kept,
): void {
  const { id: callId, run, door } = call;
  // Boundary: what a tool printed may be in its message as well as in its output.
  const outcome = records.redact(kept.outcome as unknown as Json) as unknown as Outcome;
  const session = from?.session ?? null;
  const facts = { callId, tenant, principal, run, session, door, tool: tool.id };
  keepResult(tx, { ...facts, ...kept, outcome }, records.keep);
  if (kept.receiptSeq % PRUNE_EVERY === 0) pruneResults(tx, kept.atMs - records.keep.keepForMs);
}

/** The receipt refers to the journal's record of the network as it is written there. */
function withRecord(execution: Execution, egress: Json): Execution {
  if (egress === null) return execution;
  const egressRecord = digestBytes(canonicalize(egress));
  return { ...execution, isolation: { ...execution.isolation, egressRecord } };
}

function outputOf(outcome: Outcome) {
  if (outcome.status === 'refused' || outcome.output === null) return null;
  const text = canonicalize(outcome.output);
  const truncated = outcome.truncated === true;
  return { digest: digestBytes(text), bytes: Buffer.byteLength(text), truncated };
}

/** Times in a receipt are in order even when the clock was set back slightly in between. */
function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

/*
 * Handles what was thrown before the call could run. A coded error is a refusal with its remedy; anything else is an
 * internal fault, and the caller gets an incident id, not a stack. Both are recorded if the journal is writable.
 */
export async function refuseOrFault(line: Line, call: ToolCall, error: unknown): Promise<Ended> {
  const incident = makeId('inc', line.clock.nowMs(), line.random);
  const outcome = outcomeOf(error, incident);
  try {
    return await line.store.commit((tx) => {
      const facts = refusalFacts(line, call, { checked: null, verdict: UNDECIDED });
      if (outcome.status === 'failed') appendFault(line, tx, facts, { incident, error });
      return appendEnding(line, tx, facts, { outcome, ran: null, trace: call.trace });
    });
  } catch {
    // Nothing ran and nothing can be written: the refusal itself is all we can return.
    return { kind: 'ended', callId: call.id, outcome, usage: NO_USAGE, receipt: null };
  }
}

/** Records what failed while the call ran, and returns the incident for the caller. */
export async function recordFault(line: Line, facts: CallFacts, error: unknown): Promise<string> {
  const incident = makeId('inc', line.clock.nowMs(), line.random);
  await line.store.commit((tx) => appendFault(line, tx, facts, { incident, error }));
  return incident;
}

function appendFault(
  line: Line,
  tx: Transaction,
  facts: CallFacts,
  broken: { incident: string; error: unknown },
): void {
  const { call, principal, tool, tenant } = facts;
  const body = { incident: broken.incident, error: describe(broken.error) };
  line.journal.append(tx, { kind: 'fault', call: call.id, principal, tool: tool.id, tenant, body });
}

function outcomeOf(error: unknown, incident: string): Outcome {
  if (error instanceof CodedError && CODES[error.code].kind === 'refused') {
    return refuse(error.code as RefusedCode, error.message, error.remedy);
  }
  return fail('gateway/fault', `Cannot handle call: the gateway broke, incident ${incident}`);
}

/** Enough to locate the failure in our code, without values from the caller. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const frames = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 5);
  return `${error.name} ${frames.map((frame) => frame.trim().replace(/\(?(file:\/\/)?\/[^)]*\/([^/)]+)\)?$/, '$2')).join(' < ')}`;
}

/** Enough for every record of one call. */
const RECORDS_OF_A_CALL = 16;

/** The receipt of a call from the journal, an envelope of JSON; null where the call has none. */
export function receiptOf({ segments }: Pick<Records, 'segments'>, callId: string): string | null {
  const page = search(
    segments,
    { call: callId },
    { newestFirst: true, limit: RECORDS_OF_A_CALL, cursor: null },
  );
  for (const { line } of page.records) {
    const { body } = JSON.parse(line) as { body?: { envelope?: unknown } };
    if (body?.envelope !== undefined) return JSON.stringify(body.envelope);
  }
  return null;
}
