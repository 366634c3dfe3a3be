import { CODES, type Code, isCode } from '../codes.table.ts';
import type { Usage } from '../receipt.ts';
import type { AskedApproval, Json, SignedEnvelope } from './wire.ts';

/** How a request can fail without an answer of the gateway. */
export type ClientCode =
  /** No complete answer arrived: no connection, or one that broke. */
  | 'client/unreachable'
  /** No answer came in time. */
  | 'client/timed-out'
  /** The answer is not one of a gateway. */
  | 'client/invalid-reply';

/** A code of the table, one of the client, or one that a newer gateway knows. */
export type ErrorCode = Code | ClientCode | (string & {});

/** All that is known of a failed request or call. What is unknown is null. */
export type Failure = {
  readonly code: ErrorCode;
  readonly detail: string;
  /** Of the response; null when there was none. */
  readonly status: number | null;
  readonly remedy: string | null;
  readonly callId: string | null;
  /** The output of a failed call before it ended. */
  readonly output: Json;
  readonly truncated: boolean;
  readonly usage: Usage | null;
  readonly receipt: SignedEnvelope | null;
  /** The request for approval that the call waits for. */
  readonly approval: AskedApproval | null;
  /** How long to wait, as the gateway requests. */
  readonly retryAfterMs: number | null;
  /** The problem as it came, with members that are not listed here. */
  readonly problem: Readonly<Record<string, unknown>> | null;
};

const NOTHING = {
  status: null,
  remedy: null,
  callId: null,
  output: null,
  truncated: false,
  usage: null,
  receipt: null,
  approval: null,
  retryAfterMs: null,
  problem: null,
} as const;

/** Thrown for everything that is not ok, by the gateway or in transit. Programs read `code`. */
export class PalisadeError extends Error implements Failure {
  override readonly name = 'PalisadeError';
  readonly code: ErrorCode;
  readonly detail: string;
  readonly status: number | null;
  readonly remedy: string | null;
  readonly callId: string | null;
  readonly output: Json;
  readonly truncated: boolean;
  readonly usage: Usage | null;
  readonly receipt: SignedEnvelope | null;
  readonly approval: AskedApproval | null;
  readonly retryAfterMs: number | null;
  readonly problem: Readonly<Record<string, unknown>> | null;

  constructor(
    failure: Pick<Failure, 'code' | 'detail'> & Partial<Failure>,
    options: { readonly cause?: unknown } = {},
  ) {
    super(failure.detail, options);
    const whole: Failure = { ...NOTHING, ...failure };
    this.code = whole.code;
    this.detail = whole.detail;
    this.status = whole.status;
    this.remedy = whole.remedy;
    this.callId = whole.callId;
    this.output = whole.output;
    this.truncated = whole.truncated;
    this.usage = whole.usage;
    this.receipt = whole.receipt;
    this.approval = whole.approval;
    this.retryAfterMs = whole.retryAfterMs;
    this.problem = whole.problem;
  }
}

/** Of an error response; null when it is not a problem document. */
export function readProblem(
  raw: unknown,
  { status, retryAfterMs }: Pick<Failure, 'status' | 'retryAfterMs'>,
): PalisadeError | null {
  const problem = recordOf(raw);
  const code = textOf(problem?.code);
  if (problem === null || code === null) return null;
  const detail =
    textOf(problem.detail) ??
    textOf(problem.title) ??
    `Cannot complete the request: the gateway answered "${code}"`;
  return new PalisadeError({
    code,
    detail,
    status,
    retryAfterMs,
    problem,
    ...callFactsOf(problem),
    remedy: textOf(problem.remedy) ?? (isCode(code) ? CODES[code].remedy : null),
  });
}

/** Of a call document that does not say ok. */
export function errorOfCall(document: Readonly<Record<string, unknown>>): PalisadeError {
  const code = textOf(document.code) ?? 'client/invalid-reply';
  return new PalisadeError({
    code,
    problem: document,
    ...callFactsOf(document),
    detail: textOf(document.message) ?? `Cannot go on: the call ended with "${code}"`,
    status: isCode(code) ? CODES[code].httpStatus : null,
    remedy: textOf(document.remedy),
  });
}

/** Boundary: the call data in an error is checked before it gets a type; the receipt itself is for the verifier. */
function callFactsOf(from: Readonly<Record<string, unknown>>) {
  return {
    callId: textOf(from.callId),
    output: (from.output ?? null) as Json,
    truncated: from.truncated === true,
    usage: recordOf(from.usage) as Usage | null,
    receipt: recordOf(from.receipt) as SignedEnvelope | null,
    approval: recordOf(from.approval) as AskedApproval | null,
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Readonly<Record<string, unknown>>) : null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

const MOST_SECONDS = 86_400;

/** The Retry-After of a response; a date is measured against the clock of its sender. Null: absent. */
export function retryAfterOf(headers: Headers): number | null {
  const raw = headers.get('retry-after');
  if (raw === null) return null;
  if (/^[0-9]{1,9}$/.test(raw)) return Math.min(Number(raw), MOST_SECONDS) * 1000;
  const [until, now] = [Date.parse(raw), Date.parse(headers.get('date') ?? '')];
  if (Number.isNaN(until) || Number.isNaN(now)) return null;
  return Math.min(Math.max(until - now, 0), MOST_SECONDS * 1000);
}
