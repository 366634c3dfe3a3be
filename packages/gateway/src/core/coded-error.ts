import { CODES, type Code } from '@palisade/sdk';

/**
 * An ending that a person can act on, thrown where no value can be returned (opening the store, reading the
 * configuration). It always carries a code of the table; `invoke` and the doors turn it into a refusal.
 */
export class CodedError extends Error {
  override readonly name = 'CodedError';
  readonly code: Code;
  readonly remedy: string;

  constructor(code: Code, message: string, options: { remedy?: string | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.remedy = options.remedy ?? CODES[code].remedy;
  }
}

/** The error of a request or a command that is not valid. */
export function wrongUsage(message: string, remedy?: string): CodedError {
  return new CodedError('door/wrong-usage', message, { remedy });
}

/** Why a running call is ended: what it runs with may no longer be used. It is the reason of the abort signal. */
export class Withdrawn extends Error {
  override readonly name = 'Withdrawn';
}
