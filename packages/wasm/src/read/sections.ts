import type { Limits } from '../limits.ts';
import { Cursor } from './cursor.ts';
import { readName } from './draft.ts';
import type { Section } from './module.ts';
import { malformed, requireWithin, unsupported } from './refusal.ts';

const HEADER_BYTES = 8;
const CUSTOM = 0;
const TAG = 13;
const STRINGS = 14;

/** The required order of sections, by id. The data count (12) precedes the code (10). */
const ORDER = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11];

/**
 * Finds all sections: their sizes fill the file exactly, each appears once and in order. Their content is not read yet,
 * so a file with the wrong structure is refused after a few bytes.
 */
export function readSections(bytes: Uint8Array, limits: Limits): readonly Section[] {
  const cursor = new Cursor(bytes, HEADER_BYTES);
  const sections: Section[] = [];
  let customs = 0;
  let position = -1;
  while (cursor.left > 0) {
    const headerStart = cursor.at;
    const id = cursor.u8('a section id');
    if (id === CUSTOM) {
      customs += 1;
      requireWithin('customSections', customs, limits, headerStart);
    } else {
      position = requireOrder(id, position, headerStart);
    }
    sections.push(readSection(cursor, id, limits));
  }
  return sections;
}

/** Returns the position of the section in the order, which is after `position`. */
function requireOrder(id: number, position: number, offset: number): number {
  if (id === TAG) unsupported('exceptions', offset);
  if (id === STRINGS) unsupported('stringref', offset);
  const found = ORDER.indexOf(id);
  if (found === -1) throw malformed(`section id ${id} is not known, expected 0 to 12`, offset);
  if (found === position) throw malformed(`section ${id} appears twice, expected one`, offset);
  // Boundary: no section can replace the contents of an earlier one.
  if (found < position) throw malformed(`section ${id} is out of order, expected it earlier`, offset);
  return found;
}

function readSection(cursor: Cursor, id: number, limits: Limits): Section {
  const headerStart = cursor.at - 1;
  const size = cursor.u32('a section size');
  const start = cursor.at;
  cursor.skip(size, `section ${id}`);
  const end = cursor.at;
  if (id !== CUSTOM) return { id, headerStart, start, end };
  const content = new Cursor(cursor.bytes, start, end);
  const name = readName(content, limits, "a custom section's name");
  return { id, headerStart, start: content.at, end, name };
}
