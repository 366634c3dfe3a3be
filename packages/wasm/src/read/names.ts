import { WasmError } from '../error.ts';
import { CEILINGS } from '../limits.ts';
import { Cursor } from './cursor.ts';
import { readCount } from './draft.ts';
import { requireHeader } from './header.ts';
import type { Section, WasmModule } from './module.ts';
import { readSections } from './sections.ts';

const MODULE_NAME = 0;
const FUNCTION_NAMES = 1;
/** The longest name of a module that is reported, since people read it. */
const MOST_NAME_BYTES = 256;

/** The contents of the "name" section. V8 ignores it, so a malformed one is only reported, never refused. */
export type NameFacts = {
  readonly state: 'absent' | 'present' | 'malformed';
  readonly module: string | undefined;
  /** How many functions have a name. */
  readonly functions: number;
};

/** The custom section of that name, the first if there are several. */
export function findCustom(module: WasmModule, name: string): Section | undefined {
  return module.sections.find((section) => section.name === name);
}

/** Reads the "name" section. What precedes a malformed part is still reported. */
export function readNames(module: WasmModule): NameFacts {
  const section = findCustom(module, 'name');
  if (section === undefined) return { state: 'absent', module: undefined, functions: 0 };
  const found: { module: string | undefined; functions: number } = { module: undefined, functions: 0 };
  try {
    const cursor = new Cursor(module.bytes, section.start, section.end);
    while (cursor.left > 0) readSubsection(cursor, found);
    return { state: 'present', ...found };
  } catch (error) {
    if (error instanceof WasmError) return { state: 'malformed', ...found };
    throw error;
  }
}

/** The names of these functions, without the rest of the module being read; of a malformed section those before it. */
export function functionNames(bytes: Uint8Array, wanted: readonly number[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  try {
    requireHeader(bytes);
    const section = readSections(bytes, CEILINGS).find(({ name }) => name === 'name');
    if (section === undefined) return found;
    const cursor = new Cursor(bytes, section.start, section.end);
    while (cursor.left > 0) readFunctionNames(cursor, new Set(wanted), found);
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
  }
  return found;
}

function readFunctionNames(cursor: Cursor, wanted: ReadonlySet<number>, found: Map<number, string>): void {
  const id = cursor.u8('a kind of names');
  const size = cursor.u32('a size of names');
  const start = cursor.at;
  cursor.skip(size, 'a part of the names');
  if (id !== FUNCTION_NAMES) return;
  const part = new Cursor(cursor.bytes, start, cursor.at);
  for (let left = readCount(part, 'names', 2); left > 0; left -= 1) {
    const index = part.u32('an index');
    const length = part.u32("a name's length");
    // Boundary: a name that is too long to show is left out; the first of an index counts.
    if (wanted.has(index) && !found.has(index) && length <= MOST_NAME_BYTES)
      found.set(index, part.text(length, 'a name'));
    else part.skip(length, 'a name');
  }
}

function readSubsection(cursor: Cursor, found: { module: string | undefined; functions: number }): void {
  const id = cursor.u8('a kind of names');
  const size = cursor.u32('a size of names');
  const start = cursor.at;
  cursor.skip(size, 'a part of the names');
  const part = new Cursor(cursor.bytes, start, cursor.at);
  if (id === MODULE_NAME) {
    // Boundary: a name that is too long to show is left out.
    const length = part.u32("the module's name");
    if (length <= MOST_NAME_BYTES) found.module = part.text(length, "the module's name");
  }
  if (id === FUNCTION_NAMES) found.functions = countNames(part);
}

/** Counts the pairs of an index and a name without reading the names. */
function countNames(cursor: Cursor): number {
  const count = readCount(cursor, 'names', 2);
  for (let index = 0; index < count; index += 1) {
    cursor.u32('an index');
    cursor.skip(cursor.u32("a name's length"), 'a name');
  }
  return count;
}
