import type { Cursor } from './cursor.ts';
import { type Draft, readCount } from './draft.ts';
import { malformed, requireWithin } from './refusal.ts';

const END = 0x0b;
/** The number of locals and `end`. */
const LEAST_BODY_BYTES = 2;

/** The code section: the location of each body. The survey reads their contents. */
export function readCode(cursor: Cursor, draft: Draft): void {
  const offset = cursor.at;
  const count = readCount(cursor, 'bodies', 1 + LEAST_BODY_BYTES);
  const expected = draft.functions.length - draft.importedFunctions;
  if (count !== expected) throw malformed(`there are ${count} bodies, expected ${expected}`, offset);
  draft.bodies = new Uint32Array(2 * count);
  for (let index = 0; index < count; index += 1) {
    const start = readBody(cursor, draft);
    draft.bodies[2 * index] = start;
    draft.bodies[2 * index + 1] = cursor.at;
  }
}

function readBody(cursor: Cursor, draft: Draft): number {
  const offset = cursor.at;
  const size = cursor.u32("a body's size");
  requireWithin('functionBytes', size, draft.limits, offset);
  if (size < LEAST_BODY_BYTES) throw malformed(`a body has ${size} bytes, expected at least 2`, offset);
  const start = cursor.at;
  cursor.skip(size, 'a body');
  if (cursor.bytes[cursor.at - 1] !== END) {
    throw malformed('a body ends in the middle, expected "end" as its last byte', cursor.at - 1);
  }
  return start;
}

/** Refuses a module that declares functions and has no code section. */
export function requireCode(draft: Draft, offset: number): void {
  const expected = draft.functions.length - draft.importedFunctions;
  if (draft.bodies.length === 2 * expected) return;
  throw malformed(`there are no bodies, expected ${expected}`, offset);
}
