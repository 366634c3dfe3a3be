/*
 * The first look at a policy text, before Cedar sees it: where each policy begins and ends, and how deep its brackets
 * go. It knows just enough of the grammar for that: strings, line comments, brackets and the `;` that ends a policy.
 */

export type Piece = { readonly text: string; readonly startByte: number };

export type Scan = {
  readonly pieces: readonly Piece[];
  readonly deepest: number;
  /** Where the deepest bracket stands. */
  readonly deepestByte: number;
};

type State = { index: number; depth: number; deepest: number; deepestIndex: number; start: number };

// An unterminated string runs to the end, so that no text is looked at twice.
const STRING = /"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)/y;
// Cedar ends a comment at a carriage return too.
const COMMENT = /\/\/[^\r\n]*/y;
const PLAIN = /[^"/()[\]{};\s]+|\s+|[\s\S]/y;

/** Splits a text into its policies without parsing it; never throws and takes linear time. */
export function scan(text: string): Scan {
  const state: State = { index: 0, depth: 0, deepest: 0, deepestIndex: 0, start: -1 };
  const ranges: [number, number][] = [];
  while (state.index < text.length) {
    const token = nextToken(text, state.index);
    const isPart = !token.startsWith('//') && token.trim() !== '';
    if (isPart && state.start < 0) state.start = state.index;
    count(state, token);
    state.index += token.length;
    if (token === ';') {
      ranges.push([state.start, state.index]);
      state.start = -1;
    }
  }
  if (state.start >= 0) ranges.push([state.start, text.length]);
  return {
    pieces: toPieces(text, ranges),
    deepest: state.deepest,
    deepestByte: Buffer.byteLength(text.slice(0, state.deepestIndex)),
  };
}

function nextToken(text: string, index: number): string {
  const char = text[index];
  if (char === '"') return matchAt(STRING, text, index);
  if (char === '/' && text[index + 1] === '/') return matchAt(COMMENT, text, index);
  return matchAt(PLAIN, text, index);
}

function matchAt(pattern: RegExp, text: string, index: number): string {
  pattern.lastIndex = index;
  return pattern.exec(text)?.[0] ?? text.charAt(index);
}

function count(state: State, token: string): void {
  if (token === '(' || token === '[' || token === '{') {
    state.depth += 1;
    if (state.depth > state.deepest) {
      state.deepest = state.depth;
      state.deepestIndex = state.index;
    }
  } else if (token === ')' || token === ']' || token === '}') state.depth -= 1;
}

function toPieces(text: string, ranges: readonly [number, number][]): Piece[] {
  let byte = 0;
  let index = 0;
  return ranges.map(([start, end]) => {
    byte += Buffer.byteLength(text.slice(index, start));
    index = start;
    return { text: text.slice(start, end), startByte: byte };
  });
}

/** Line and column (both from 1, in characters) of a UTF-8 offset, which is how Cedar counts. */
export function positionAt(text: string, byte: number): { line: number; column: number } {
  const before = Buffer.from(text).subarray(0, byte).toString();
  const lines = before.split('\n');
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 };
}
