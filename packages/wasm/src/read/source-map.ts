import type { SourcePlace } from './line-table.ts';

/*
 * A source map within its module: the section `sourceMappingURL` has it as a URL of the scheme `data`. It has one line, whose columns
 * are offsets in the module. Boundary: a module wrote it, so nothing is taken from it but texts and numbers.
 */

const SCHEME = 'data:application/json;base64,';
const MOST_PATH_CHARS = 512;
const DIGITS = new Map(
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].map((digit, value) => [
    digit,
    value,
  ]),
);

type SourceMap = { readonly sources: readonly unknown[]; readonly mappings: string };

/** The URL of a source map that its module carries. */
export function urlOfSourceMap({ sources, mappings }: SourceMap): string {
  const text = new TextEncoder().encode(JSON.stringify({ version: 3, sources, names: [], mappings }));
  return SCHEME + btoa(Array.from(text, (byte) => String.fromCharCode(byte)).join(''));
}

/** What a compiler wrote as a source map; null where it is none. */
export function parseSourceMap(text: string): SourceMap | null {
  try {
    const { sources, mappings } = JSON.parse(text) ?? {};
    return Array.isArray(sources) && typeof mappings === 'string' ? { sources, mappings } : null;
  } catch {
    return null;
  }
}

/** An offset in a module, and where the function begins that it is in. */
type Within = { readonly offset: number; readonly from: number };

/**
 * The places of offsets in the module; null where the map has none. An instruction that the compiler added has the place of the
 * one before it in the same function.
 */
export function placesInMap(url: string, wanted: readonly Within[]): readonly (SourcePlace | null)[] {
  const map = readUrl(url);
  const found: (SourcePlace | null)[] = wanted.map(() => null);
  if (map === null) return found;
  let [offset, source, line] = [0, 0, 0];
  // A segment holds up to the next one, and only the first line has any.
  const [segments = ''] = map.mappings.split(';', 1);
  for (const segment of segments.split(',')) {
    const fields = readDigits(segment);
    if (fields === null) return found;
    const [ahead = 0, sourceAhead, lineAhead = 0] = fields;
    offset += ahead;
    source += sourceAhead ?? 0;
    line += lineAhead;
    const place = sourceAhead === undefined ? null : placeOf(map.sources[source], line);
    wanted.forEach((each, index) => {
      if (place !== null && offset >= each.from && offset <= each.offset) found[index] = place;
    });
  }
  return found;
}

function readUrl(url: string): SourceMap | null {
  if (!url.startsWith(SCHEME)) return null;
  try {
    const bytes = Uint8Array.from(atob(url.slice(SCHEME.length)), (each) => each.charCodeAt(0));
    return parseSourceMap(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

function placeOf(source: unknown, line: number): SourcePlace | null {
  if (
    typeof source !== 'string' ||
    source.length > MOST_PATH_CHARS ||
    !Number.isSafeInteger(line) ||
    line < 0
  )
    return null;
  return { file: source, line: line + 1 };
}

/** The numbers of a segment: six bits a digit, the highest says that more follow, the lowest of a number is its sign. */
function readDigits(segment: string): readonly number[] | null {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.get(digit);
    if (bits === undefined || shift > 25) return null;
    value += (bits & 31) * 2 ** shift;
    shift += 5;
    if (bits >= 32) continue;
    numbers.push(value % 2 === 1 ? -Math.floor(value / 2) : value / 2);
    [value, shift] = [0, 0];
  }
  return numbers;
}
