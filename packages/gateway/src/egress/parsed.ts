/** What a reader of this room gives: the value, or one sentence on what is wrong. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string };

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
