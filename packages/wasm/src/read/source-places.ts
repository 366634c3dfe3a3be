/** From offsets in a module to files and lines, by what its compiler left in custom sections. */
import { WasmError } from '../error.ts';
import { CEILINGS } from '../limits.ts';
import { Cursor } from './cursor.ts';
import { requireHeader } from './header.ts';
import { placesIn, type SourcePlace } from './line-table.ts';
import type { Section } from './module.ts';
import { readSections } from './sections.ts';
import { parseSourceMap, placesInMap, urlOfSourceMap } from './source-map.ts';

export type { SourcePlace } from './line-table.ts';

const CODE = 10;
const MAP = 'sourceMappingURL';
const LINES = '.debug_line';
/** What only debuggers read, beside names. */
const FOR_DEBUGGERS = /^(?:\.debug_.*|sourceMappingURL|external_debug_info)$/;

/** Whether a module says which lines it was made of. */
export function hasSourcePlaces(bytes: Uint8Array): boolean {
  return sectionsOf(bytes).some(({ name }) => name === LINES || name === MAP);
}

/** The places of offsets in a module; null where it does not say. */
export function sourcePlaces(bytes: Uint8Array, offsets: readonly number[]): readonly (SourcePlace | null)[] {
  const sections = sectionsOf(bytes);
  const contents = (name: string) => {
    const { start = 0, end = 0 } = sections.find((each) => each.name === name) ?? {};
    return bytes.subarray(start, end);
  };
  const code = sections.find(({ id }) => id === CODE);
  const lines = contents(LINES);
  if (code !== undefined && lines.length > 0) {
    const rest = { strings: contents('.debug_str'), lineStrings: contents('.debug_line_str') };
    const addresses = offsets.map((offset) => offset - code.start);
    return placesIn({ lines, ...rest }, addresses);
  }
  const starts = code === undefined ? [] : startsIn(bytes, code);
  return placesInMap(
    urlIn(contents(MAP)),
    offsets.map((offset) => ({ offset, from: starts.findLast((start) => start <= offset) ?? offset })),
  );
}

/** Where the functions begin, as far as the section can be read. */
function startsIn(bytes: Uint8Array, { start, end }: Section): readonly number[] {
  const cursor = new Cursor(bytes, start, end);
  const starts: number[] = [];
  try {
    for (let left = cursor.u32('a number of bodies'); left > 0; left -= 1) {
      const length = cursor.u32('a size');
      starts.push(cursor.at);
      cursor.skip(length, 'a body');
    }
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
  }
  return starts;
}

function urlIn(content: Uint8Array): string {
  try {
    const cursor = new Cursor(content);
    return cursor.text(cursor.u32('a length'), 'a URL');
  } catch (error) {
    if (error instanceof WasmError) return '';
    throw error;
  }
}

/** The same module without what says which lines it was made of; its names stay. */
export function withoutSourcePlaces(bytes: Uint8Array): Uint8Array {
  const dropped = sectionsOf(bytes).filter(({ name = '' }) => FOR_DEBUGGERS.test(name));
  if (dropped.length === 0) return bytes;
  const kept: Uint8Array[] = [];
  let from = 0;
  for (const { headerStart, end } of dropped) {
    kept.push(bytes.subarray(from, headerStart));
    from = end;
  }
  return joined([...kept, bytes.subarray(from)]);
}

/** The same module with this source map in it; without one where the text is none. */
export function withSourceMap(bytes: Uint8Array, text: string): Uint8Array {
  const map = parseSourceMap(text);
  const bare = withoutSourcePlaces(bytes);
  if (map === null) return bare;
  const parts = [MAP, urlOfSourceMap(map)].map((each) => new TextEncoder().encode(each));
  const content = joined(parts.flatMap((each) => [length(each.length), each]));
  return joined([bare, Uint8Array.of(0), length(content.length), content]);
}

/** Of bytes that are no module, none. */
function sectionsOf(bytes: Uint8Array): readonly Section[] {
  try {
    requireHeader(bytes);
    return readSections(bytes, CEILINGS);
  } catch (error) {
    if (error instanceof WasmError) return [];
    throw error;
  }
}

function length(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Uint8Array.of(...bytes, rest);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
