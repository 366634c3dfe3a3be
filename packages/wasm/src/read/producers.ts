import { WasmError } from '../error.ts';
import { Cursor } from './cursor.ts';
import { readCount } from './draft.ts';
import type { WasmModule } from './module.ts';
import { findCustom } from './names.ts';
import { malformed } from './refusal.ts';

/** Far above what compilers write. */
const MOST_FIELDS = 16;
const MOST_PRODUCERS = 64;
const MOST_TEXT_BYTES = 256;

/** A language or tool that a module claims it was made with. The claim is unchecked. */
export type Producer = { readonly field: string; readonly name: string; readonly version: string };

/** The contents of the "producers" section; empty if it is missing, malformed or too long. */
export function readProducers(module: WasmModule): readonly Producer[] {
  const section = findCustom(module, 'producers');
  if (section === undefined) return [];
  try {
    return readFields(new Cursor(module.bytes, section.start, section.end));
  } catch (error) {
    if (error instanceof WasmError) return [];
    throw error;
  }
}

function readFields(cursor: Cursor): readonly Producer[] {
  const producers: Producer[] = [];
  const fields = readCount(cursor, 'fields', 2);
  // Boundary: no list that is longer than a person would read.
  if (fields > MOST_FIELDS) return [];
  for (let index = 0; index < fields; index += 1) {
    const field = readText(cursor);
    const values = readCount(cursor, 'producers', 2);
    for (let value = 0; value < values; value += 1) {
      if (producers.length === MOST_PRODUCERS) return [];
      producers.push({ field, name: readText(cursor), version: readText(cursor) });
    }
  }
  return producers;
}

function readText(cursor: Cursor): string {
  const offset = cursor.at;
  const length = cursor.u32('a text');
  if (length > MOST_TEXT_BYTES) throw malformed(`a text has ${length} bytes, expected fewer`, offset);
  return cursor.text(length, 'a text');
}
