import { OCI_LIMITS } from './limits.ts';

/*
 * Reads `WWW-Authenticate` (RFC 9110, section 11.6.1): one or more challenges, each a scheme with parameters. What a
 * registry sends there decides where a log-in goes, so it is read strictly: a value that is not well-formed as a whole, or
 * names a parameter twice, asks for nothing.
 */

export type Challenge = {
  /** In lower case. */
  readonly scheme: string;
  /** By their names in lower case. */
  readonly params: ReadonlyMap<string, string>;
};

const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const QUOTED = /"((?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*)"/y;
const TOKEN68 = /[A-Za-z0-9._~+/-]+=*(?=[ \t]*(?:,|$))/y;
const SPACES = /[ \t]*/y;
const EQUALS = /[ \t]*=[ \t]*/y;

/** The challenges of all values of the header; a value that is not valid counts for none. */
export function readChallenges(values: readonly string[]): readonly Challenge[] {
  return values.flatMap((value) => readValue(value) ?? []).slice(0, OCI_LIMITS.challenges);
}

/** Formats a challenge as a server sends it. */
export function formatChallenge({ scheme, params }: Challenge): string {
  const parts = Array.from(params, ([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`);
  return `${scheme} ${parts.join(', ')}`.trimEnd();
}

function readValue(value: string): readonly Challenge[] | null {
  if (value.length > OCI_LIMITS.challengeChars) return null;
  const reader = new Reader(value);
  const found: { scheme: string; params: Map<string, string> }[] = [];
  reader.commas();
  // Right after a scheme, without a comma, only a parameter of it can follow.
  for (let isInside = false; !reader.isDone; ) {
    const name = reader.take(TOKEN)?.toLowerCase();
    if (name === undefined) return null;
    if (reader.take(EQUALS) !== null) {
      const [params, text] = [found.at(-1)?.params, reader.text()];
      // Boundary: of two realms, one program takes the first and another the last.
      if (text === null || params === undefined || params.has(name)) return null;
      params.set(name, text);
      isInside = false;
    } else {
      if (isInside) return null;
      found.push({ scheme: name, params: new Map() });
      const isApart = reader.take(SPACES) !== '';
      // Credentials of one word belong to schemes that are not used here.
      if (isApart && reader.take(TOKEN68) !== null) reader.take(SPACES);
      isInside = !reader.isDone && !reader.isAtComma;
      if (isInside && !isApart) return null;
    }
    if (!isInside && !reader.isDone && !reader.commas()) return null;
  }
  return found;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isDone(): boolean {
    return this.#at >= this.#text.length;
  }

  get isAtComma(): boolean {
    return this.#text[this.#at] === ',';
  }

  /** What matches here, which is then behind; null when nothing does. */
  take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found === undefined) return null;
    this.#at += found.length;
    return found;
  }

  /** A value: a word, or a text in quotes. */
  text(): string | null {
    const quoted = this.take(QUOTED);
    return quoted === null ? this.take(TOKEN) : quoted.slice(1, -1).replace(/\\(.)/g, '$1');
  }

  /** Skips what separates two parts of a list; whether there was a comma. */
  commas(): boolean {
    const separator = this.take(/[ \t,]*/y) ?? '';
    return separator.includes(',');
  }
}
