/**
 * What making instances of a module takes beside its compiled code, as plain data. It is part of the disk form, so that
 * such a module is not parsed again: the reader's own code takes longer to warm up than V8's compiler.
 */
import { CEILINGS, type Limits } from '../limits.ts';
import { RENEW } from '../meter/controls.ts';
import { type ExternKind, readModule, type WasmModule } from '../read/module.ts';
import { footprintOf } from './footprint.ts';
import { PAGE_BYTES } from './memory.ts';
import { CONTROL_MODULE, CONTROL_PREFIX } from './names.ts';
import { type Shapes, shapeOf } from './shape.ts';
import type { Signature } from './value.ts';

export type OtherKind = Exclude<ExternKind, 'function'>;

/** A function by the position of its type, anything else by its kind. */
export type Kind = number | OtherKind;

export type Outline = {
  readonly types: readonly Signature[];
  readonly imports: readonly (readonly [module: string, name: string, kind: Kind])[];
  /** `owed` is the fuel that is due before a call begins. */
  readonly exports: readonly (readonly [name: string, kind: Kind, owed: number])[];
  /** The same for the start function. */
  readonly startOwed: number;
  /** How many functions the module had before it was metered. */
  readonly functions: number;
  /** Of those that have a copy behind these. */
  readonly copies: readonly (readonly [copy: number, original: number])[];
  /** Which of the memories host functions see. */
  readonly guestMemory: number;
  /** Pages of each memory, at first and at most. */
  readonly memories: readonly (readonly [minPages: number, maxPages: number])[];
  /** The initial contents of the memories, by their position in the code; null: a guest cannot be reset in place. */
  readonly images: readonly (readonly [memory: number, address: number, start: number, end: number])[] | null;
  /** How much memory all this takes, about. */
  readonly bytes: number;
};

export type OutlineTerms = Pick<Outline, 'functions' | 'copies'> & {
  readonly memories: readonly { readonly minPages: number; readonly maxPages: number }[];
  readonly hostFuel: Readonly<Record<string, number>>;
  readonly hostCharged: ReadonlySet<string>;
};

const START = `${CONTROL_PREFIX}start`;
/** Above this a new instance is as cheap as a reset one. */
const MOST_RENEWED_BYTES = 1024 * 1024;

// What the meter wrote is larger than what it was given.
const OWN_LIMITS = Object.fromEntries(
  Object.entries(CEILINGS).map(([key, ceiling]) => [key, 2 * ceiling]),
) as Limits;

/** The outline of code that the meter wrote. */
export function outlineOf(code: Uint8Array, terms: OutlineTerms): Outline {
  const sections = readModule(code, OWN_LIMITS);
  const owed = owedByImport(sections, terms);
  const shapes: Shapes = new Map();
  const positions = new Map<number, number>();
  const kindOf = (kind: ExternKind, index: number): Kind => {
    if (kind !== 'function') return kind;
    const type = sections.functions[index] ?? -1;
    shapeOf(sections, shapes, index);
    const position = positions.get(type) ?? positions.size;
    positions.set(type, position);
    return position;
  };
  const imports = sections.imports
    .filter(({ module, name, kind }) => !isOwnMemory(module, name, kind))
    .map(({ module, name, kind, index }) => [module, name, kindOf(kind, index)] as const);
  const exports = sections.exports
    .filter(({ name }) => !name.startsWith(CONTROL_PREFIX))
    .map(({ name, kind, index }) => [name, kindOf(kind, index), owedFor(owed, kind, index)] as const);
  const start = sections.exports.find(({ name }) => name === START)?.index ?? sections.start ?? -1;
  const guestMemory = sections.exports.find(({ name, kind }) => kind === 'memory' && name === 'memory');
  return {
    types: [...shapes.values()].map(({ params, results }) => ({ params, results })),
    ...{ imports, exports, startOwed: owed.get(start) ?? 0, guestMemory: guestMemory?.index ?? 0 },
    ...{ functions: terms.functions, copies: terms.copies },
    memories: terms.memories.map(({ minPages, maxPages }) => [minPages, maxPages]),
    images: imagesOf(sections, terms),
    bytes: footprintOf(sections, shapes, terms),
  };
}

function owedFor(owed: ReadonlyMap<number, number>, kind: ExternKind, index: number): number {
  return kind === 'function' ? (owed.get(index) ?? 0) : 0;
}

/** The fuel of each imported function that neither the crossing nor a caller inside the guest would take. */
function owedByImport(
  { imports }: WasmModule,
  { hostFuel, hostCharged }: Pick<OutlineTerms, 'hostFuel' | 'hostCharged'>,
): ReadonlyMap<number, number> {
  const owed = new Map<number, number>();
  for (const { module, name, kind, index } of imports) {
    const key = `${module}.${name}`;
    if (kind === 'function' && !hostCharged.has(key)) owed.set(index, hostFuel[key] ?? 0);
  }
  return owed;
}

function isOwnMemory(module: string, name: string, kind: ExternKind): boolean {
  return kind === 'memory' && module === CONTROL_MODULE && name.startsWith('memory:');
}

function imagesOf({ exports, data }: WasmModule, { memories }: OutlineTerms): Outline['images'] {
  const isRenewable = exports.some(({ name }) => name === RENEW);
  const total = memories.reduce((sum, { minPages }) => sum + minPages * PAGE_BYTES, 0);
  if (!isRenewable || total > MOST_RENEWED_BYTES) return null;
  const images: [memory: number, address: number, start: number, end: number][] = [];
  for (const { mode, memory, address, start, end } of data) {
    if (mode === 'passive') continue;
    // Boundary: what cannot be restored exactly is not restored at all.
    if (address === undefined) return null;
    images.push([memory, address, start, end]);
  }
  return images;
}
