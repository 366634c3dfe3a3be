import type { SourcePosition, ValuePath } from './result.ts';

/** The line and column, counted from 1, of an index into a text. */
export function positionAt(text: string, index: number): SourcePosition {
  const before = text.slice(0, index);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: index - lineStart + 1 };
}

/** The position of the first byte that is invalid UTF-8. */
export function positionOfBadUtf8(bytes: Uint8Array): SourcePosition {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const repaired = Buffer.from(decoder.decode(bytes));
  const bad = repaired.findIndex((byte, i) => byte !== bytes[i]);
  // An incomplete character at the end is held back by `stream`.
  const text = decoder.decode(bytes.subarray(0, bad), { stream: true });
  return positionAt(text, text.length);
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Finds keys and values in a text that `parseStrict` accepted: the position of a path, or undefined. */
export function jsonPositions(
  text: string,
): (path: ValuePath, at: 'key' | 'value') => SourcePosition | undefined {
  return (path, at) => {
    const index = indexOf(text, path, at);
    return index === undefined ? undefined : positionAt(text, index);
  };
}

type Container = { readonly isList: boolean; part: string | number; keyIndex: number };

/** Walks the tokens; the parts of the open containers are the path of the current token. */
function indexOf(text: string, path: ValuePath, at: 'key' | 'value'): number | undefined {
  const open: Container[] = [];
  let isValueNext = true;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const inner = open.at(-1);
    if (token === '}' || token === ']') open.pop();
    else if (token === ',' && inner?.isList) inner.part = Number(inner.part) + 1;
    else if (token === ':') isValueNext = true;
    else if (token !== ',' && inner !== undefined && !inner.isList && !isValueNext) {
      inner.part = JSON.parse(token) as string;
      inner.keyIndex = index;
    } else if (token !== ',') {
      if (isAt(open, path)) return at === 'key' && inner?.isList === false ? inner.keyIndex : index;
      if (token === '{' || token === '[') open.push({ isList: token === '[', part: 0, keyIndex: index });
      isValueNext = token === '[';
    }
    if (token === ',' || token === ']' || token === '}') isValueNext = open.at(-1)?.isList === true;
  }
  return undefined;
}

function isAt(open: readonly Container[], path: ValuePath): boolean {
  return open.length === path.length && open.every(({ part }, i) => part === path[i]);
}
