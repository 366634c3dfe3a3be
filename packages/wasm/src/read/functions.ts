import type { Limits } from '../limits.ts';
import type { Cursor } from './cursor.ts';
import { type Draft, readIndex, readLimitedCount, use } from './draft.ts';
import type { FunctionType, ValueType } from './module.ts';
import { malformed, unsupported } from './refusal.ts';
import { readValueType } from './value-type.ts';

const FUNCTION = 0x60;
/** Structures, arrays, subtypes, recursive groups and descriptors. */
const HEAP_FORMS = [0x5f, 0x5e, 0x50, 0x4f, 0x4e, 0x4d, 0x4c];
const CONTINUATION = 0x5d;
const SHARED = 0x65;

export function readTypes(cursor: Cursor, draft: Draft): void {
  const count = readLimitedCount(cursor, draft, { key: 'types', before: 0, leastBytes: 3 });
  for (let index = 0; index < count; index += 1) {
    draft.types.push(readFunctionType(cursor, draft));
  }
}

function readFunctionType(cursor: Cursor, draft: Draft): FunctionType {
  const offset = cursor.at;
  const form = cursor.u8("a type's form");
  if (HEAP_FORMS.includes(form)) unsupported('gc', offset);
  if (form === CONTINUATION) unsupported('stack-switching', offset);
  if (form === SHARED) unsupported('shared-everything', offset);
  if (form !== FUNCTION) throw malformed(`a type has form 0x${form.toString(16)}, expected 0x60`, offset);
  const params = readTypeList(cursor, draft, 'params');
  const results = readTypeList(cursor, draft, 'results');
  if (results.length > 1) use(draft, 'multi-value', offset);
  return { params, results };
}

function readTypeList(cursor: Cursor, draft: Draft, key: keyof Limits): readonly ValueType[] {
  const count = readLimitedCount(cursor, draft, { key, before: 0, leastBytes: 1 });
  const types = new Array<ValueType>(count);
  for (let index = 0; index < count; index += 1) types[index] = readValueType(cursor, draft);
  return types;
}

/** The function section: the type of each function that the code section will define. */
export function readFunctions(cursor: Cursor, draft: Draft): void {
  const imported = draft.importedFunctions;
  const count = readLimitedCount(cursor, draft, { key: 'functions', before: imported, leastBytes: 1 });
  const functions = new Uint32Array(imported + count);
  functions.set(draft.functions);
  for (let index = imported; index < functions.length; index += 1) {
    functions[index] = readIndex(cursor, 'type', draft.types.length);
  }
  setFunctions(draft, functions);
}

/** Sets all functions known so far; none of them is referenced yet. */
export function setFunctions(draft: Draft, functions: Uint32Array): void {
  draft.functions = functions;
  draft.referenced = new Uint8Array(functions.length);
}
