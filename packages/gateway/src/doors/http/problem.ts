import { CODES, type Code } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';

/* How this door says no: problem documents (RFC 9457) whose `code` is of the code table. */

/** What the header lines of an answer say beside those that every answer has: name, value, name, value. */
export type HeaderLines = readonly string[];

/** Whoever asks over HTTP has no command with a --help. */
const READ_THE_DOCS = 'See /docs or /openapi.json for what is expected.';

/** A refusal of the door itself, with the headers that belong to it. */
export class TurnedAway extends CodedError {
  readonly headers: HeaderLines;

  constructor(code: Code, message: string, options: { remedy?: string; headers?: HeaderLines } = {}) {
    const remedy = options.remedy ?? (code === 'door/wrong-usage' ? READ_THE_DOCS : undefined);
    super(code, message, remedy === undefined ? {} : { remedy });
    this.headers = options.headers ?? [];
  }
}

export type Told = {
  readonly code: Code;
  readonly detail: string;
  readonly remedy?: string;
  readonly more?: Readonly<Record<string, Json>>;
};

/** The document of a problem; what is said beside never replaces a member that every problem has. */
export function problemDocument({ code, detail, remedy, more }: Told): Readonly<Record<string, Json>> {
  const row = CODES[code];
  return {
    ...more,
    type: `urn:palisade:code:${code}`,
    title: row.sentence,
    status: row.httpStatus,
    detail,
    code,
    remedy: remedy ?? row.remedy,
  };
}
