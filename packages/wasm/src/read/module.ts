/**
 * The section reader. It takes untrusted bytes and returns plain data about them, or a WasmError with the wrong byte's
 * offset. Every count is checked against its limit and against the bytes left before anything is allocated for it, so
 * the work and the memory are a small multiple of the file whatever the file claims. Function bodies are located but
 * not parsed, and their types are left to V8, which validates every module that runs. Nothing here runs anything.
 */
import type { FeatureName } from '../features.table.ts';
import type { Limits } from '../limits.ts';
import { readCode, requireCode } from './code.ts';
import { Cursor } from './cursor.ts';
import { readData, readDataCount, requireData } from './data.ts';
import { type Draft, newDraft } from './draft.ts';
import { readElements } from './elements.ts';
import { readExports, readStart } from './exports.ts';
import { readMemories, readTables } from './extents.ts';
import { readFunctions, readTypes } from './functions.ts';
import { readGlobals } from './globals.ts';
import { requireHeader } from './header.ts';
import { readImports } from './imports.ts';
import { malformed, requireWithin } from './refusal.ts';
import { readSections } from './sections.ts';

/** The byte of a type: 0x7f i32, 0x7e i64, 0x7d f32, 0x7c f64, 0x7b v128, 0x70 funcref, 0x6f externref. */
export type ValueType = number;

export type FunctionType = {
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
};

/** A section's content is [start, end). A custom section has a name, and its content starts after it. */
export type Section = {
  readonly id: number;
  readonly headerStart: number;
  readonly start: number;
  readonly end: number;
  readonly name?: string;
};

/** The bytes of an entry of a section. */
export type Entry = { readonly start: number; readonly end: number };

/** What can be imported and exported. */
export type ExternKind = 'function' | 'table' | 'memory' | 'global';

export type Import = Entry & {
  readonly module: string;
  readonly name: string;
  readonly kind: ExternKind;
  /** The index in its index space. */
  readonly index: number;
  /** The offset of the byte of the kind. */
  readonly descriptorStart: number;
};

/** The range is that of the type, in its section or in its import after the kind. */
export type Table = Entry & {
  readonly reference: ValueType;
  readonly min: number;
  readonly max: number | undefined;
  readonly imported: boolean;
};

/** In pages; the range is that of the type, in its section or in its import after the kind. */
export type Memory = Entry & {
  readonly min: number;
  readonly max: number | undefined;
  readonly imported: boolean;
};

/** The range is that of the initial expression, without its `end`; an imported global has none. */
export type Global = Entry & {
  readonly type: ValueType;
  readonly mutable: boolean;
  readonly imported: boolean;
};

export type Export = Entry & { readonly name: string; readonly kind: ExternKind; readonly index: number };

export type ElementSegment = {
  readonly mode: 'active' | 'passive' | 'declarative';
  readonly count: number;
};

/** The range is that of the bytes to be copied. */
export type DataSegment = Entry & {
  readonly mode: 'active' | 'passive';
  readonly memory: number;
  /** The address of an active segment; undefined where that is not a plain number. */
  readonly address: number | undefined;
};

/** The contents of the sections. Index spaces have their imports first. */
export type WasmModule = {
  readonly bytes: Uint8Array;
  /** In file order, custom sections too. */
  readonly sections: readonly Section[];
  readonly types: readonly FunctionType[];
  readonly imports: readonly Import[];
  readonly importedFunctions: number;
  /** The type index of every function. */
  readonly functions: Uint32Array;
  readonly tables: readonly Table[];
  readonly memories: readonly Memory[];
  readonly globals: readonly Global[];
  readonly exports: readonly Export[];
  /** A function index. */
  readonly start: number | undefined;
  readonly elements: readonly ElementSegment[];
  readonly data: readonly DataSegment[];
  /** Start and end of each defined function's body, from its locals to after its `end`: two numbers each. */
  readonly bodies: Uint32Array;
  /** 1 for each function that an element segment or a constant expression names. */
  readonly referenced: Uint8Array;
  /** The features that the sections use; bodies may use more. */
  readonly features: ReadonlySet<FeatureName>;
};

const READERS: Readonly<Record<number, (cursor: Cursor, draft: Draft) => void>> = {
  1: readTypes,
  2: readImports,
  3: readFunctions,
  4: readTables,
  5: readMemories,
  6: readGlobals,
  7: readExports,
  8: readStart,
  9: readElements,
  10: readCode,
  11: readData,
  12: readDataCount,
};

/** Reads all sections of a module. It throws nothing but WasmError `malformed`, `feature` or `limit`, with an offset. */
export function readModule(bytes: Uint8Array, limits: Limits): WasmModule {
  requireWithin('moduleBytes', bytes.length, limits, 0);
  requireHeader(bytes);
  const sections = readSections(bytes, limits);
  const draft = newDraft(limits);
  for (const section of sections) {
    const read = READERS[section.id];
    if (read === undefined) continue;
    const cursor = new Cursor(bytes, section.start, section.end);
    read(cursor, draft);
    // Boundary: a section must not contain unread bytes.
    if (cursor.left > 0) {
      throw malformed(`section ${section.id} has ${cursor.left} bytes too many, expected its end`, cursor.at);
    }
  }
  requireCode(draft, bytes.length);
  requireData(draft, bytes.length);
  return finish(bytes, sections, draft);
}

function finish(bytes: Uint8Array, sections: readonly Section[], draft: Draft): WasmModule {
  const { types, imports, importedFunctions, functions, tables, memories, globals, exports } = draft;
  const { start, elements, data, bodies, referenced, features } = draft;
  return {
    bytes,
    sections,
    types,
    imports,
    importedFunctions,
    functions,
    tables,
    memories,
    globals,
    exports,
    start,
    elements,
    data,
    bodies,
    referenced,
    features,
  };
}
