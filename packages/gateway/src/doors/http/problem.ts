import { CODES, type Code } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';
import { InsufficientScope } from '../../operations/access.ts';
import { OperationProblem } from '../../operations/operation.ts';

/* How this door refuses: problem documents (RFC 9457) whose `code` is from the code table. */

/** Headers beside those that every answer has. */
export type HeaderFields = Readonly<Record<string, string>>;

/** A caller over HTTP has no command with a --help. */
const READ_THE_DOCS = 'See /docs/api.html or /openapi.json for what is expected.';

/** A refusal of the door itself, with the headers that belong to it. */
export class RequestRefused extends CodedError {
  readonly headers: HeaderFields;

  constructor(code: Code, message: string, headers: HeaderFields = {}) {
    super(code, message);
    this.headers = headers;
  }
}

export type ProblemFacts = {
  readonly code: Code;
  readonly detail: string;
  readonly remedy?: string;
  readonly more?: Readonly<Record<string, Json>>;
};

/** The problem of an error that a caller can act on. */
export function problemOf(error: CodedError): ProblemFacts {
  const { code, message: detail } = error;
  const isDefault = error.remedy === CODES[code].remedy;
  const remedy = code === 'door/wrong-usage' && isDefault ? READ_THE_DOCS : error.remedy;
  return { code, detail, remedy, ...(error instanceof OperationProblem ? { more: error.more } : {}) };
}

/** An ending that programs read as the whole result; anything else aborted the operation. */
export function problemOrThrow(error: unknown): OperationProblem {
  if (error instanceof OperationProblem) return error;
  throw error;
}

/** The headers that belong to an error. */
export function headersOf(error: unknown): HeaderFields {
  if (error instanceof RequestRefused) return error.headers;
  if (error instanceof CodedError && error.code === 'door/call-open') return { 'retry-after': '1' };
  if (!(error instanceof InsufficientScope)) return {};
  return { 'www-authenticate': `Bearer error="insufficient_scope", scope="palisade:${error.scope}"` };
}

/** The document of a problem; further members never replace one that every problem has. */
export function problemDocument(facts: ProblemFacts) {
  const { code, detail, remedy = CODES[code].remedy, more } = facts;
  const { sentence: title, httpStatus: status } = CODES[code];
  return { ...more, type: `urn:palisade:code:${code}`, title, status, detail, code, remedy };
}
