import { CODES, type Code, type Usage } from '@palisade/sdk';
import type { Json } from './json.ts';
import { NO_USAGE } from './limits.ts';

type CodesOf<K extends string> = { [C in Code]: (typeof CODES)[C]['kind'] extends K ? C : never }[Code];
export type RefusedCode = CodesOf<'refused'>;
export type FailedCode = CodesOf<'failed' | 'fault'>;

/** Whether a code is one that a call which ran can end with. */
export function isFailedCode(code: Code): code is FailedCode {
  return CODES[code].kind === 'failed';
}

/** Refused before anything ran. */
export type Refused = {
  readonly status: 'refused';
  readonly code: RefusedCode;
  readonly message: string;
  readonly remedy: string;
};

/** It ran and did not succeed; its partial output is included. */
export type Failed = {
  readonly status: 'failed';
  readonly code: FailedCode;
  readonly message: string;
  readonly remedy: string;
  readonly output: Json;
  readonly truncated: boolean;
  readonly usage: Usage;
};

export type Succeeded = {
  readonly status: 'ok';
  readonly code: 'ok';
  readonly output: Json;
  /** It was allowed to write more than is kept. */
  readonly truncated?: boolean;
  readonly usage: Usage;
};

export type Outcome = Succeeded | Failed | Refused;

/** A refusal with the remedy of the code table, unless a better one is known here. */
export function refuse(code: RefusedCode, message: string, remedy: string = CODES[code].remedy): Refused {
  return { status: 'refused', code, message, remedy };
}

export type FailedFacts = Partial<Pick<Failed, 'output' | 'truncated' | 'usage' | 'remedy'>>;

/** A failure with the output of the run so far. */
export function fail(code: FailedCode, message: string, facts: FailedFacts = {}): Failed {
  const { output = null, truncated = false, usage = NO_USAGE, remedy = CODES[code].remedy } = facts;
  return { status: 'failed', code, message, remedy, output, truncated, usage };
}
