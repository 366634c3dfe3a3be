export type DocumentKind = 'receipt' | 'proof' | 'key' | 'journal' | 'unknown';

/** The first key of each kind of document: their keys are sorted, so it is always the same one. */
const KIND_OF_FIRST_KEY: ReadonlyMap<string, DocumentKind> = new Map([
  ['payload', 'receipt'],
  ['checkpoint', 'proof'],
  ['algorithm', 'key'],
  ['first', 'journal'],
]);

const FIRST_KEY = /^\s*\{\s*"([a-z]{1,16})"\s*:\s*("eyJhdCI6)?/;

/** Guesses from the first bytes what a document claims to be; only verification shows whether it is. */
export function detectDocument(firstBytes: string): DocumentKind {
  const [, key = '', checkpoint] = FIRST_KEY.exec(firstBytes) ?? [];
  // An envelope whose payload starts with {"at": is a checkpoint on its own.
  return checkpoint === undefined ? (KIND_OF_FIRST_KEY.get(key) ?? 'unknown') : 'unknown';
}
