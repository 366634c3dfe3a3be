/** What a reader of this room gives: the value, or one sentence on what is wrong. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string };

const SHOWN_CHARS = 120;

/** A text of the caller as a message shows it: on one line, not too long, nothing that a terminal would obey. */
export function quote(text: string): string {
  const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  return JSON.stringify(shown).replace(/[\x7f-\x9f\p{Cf}\p{Surrogate}\u2028\u2029]/gu, '?');
}

export function accept<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** A refusal in the words of all messages: what cannot be used, what it is, what it should be. */
export function refuse(
  what: string,
  is: string,
  expected: string,
): { readonly ok: false; readonly why: string } {
  return { ok: false, why: `Cannot use ${what}: ${is}, expected ${expected}` };
}
