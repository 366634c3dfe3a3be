/**
 * The facts of a module for an audit, as plain serializable data: what it imports, what it exports, what it needs and
 * what it carries. Nothing is judged here, and nothing that the module says about itself (names, producers) is
 * believed; texts are the module's own and are shown to people only after sanitising.
 */
import { FEATURES, type FeatureName } from '../features.table.ts';
import { entropyOf, isDense } from './entropy.ts';
import type { DataSegment, ExternKind, WasmModule } from './module.ts';
import { type NameFacts, readNames } from './names.ts';
import { type Producer, readProducers } from './producers.ts';
import { signatureWriter } from './signature.ts';

/** An import or an export with its type written out, like `(i32, i32) -> i64` or `memory 1..16 pages`. */
export type ImportFact = {
  readonly module: string;
  readonly name: string;
  readonly kind: ExternKind;
  readonly type: string;
};

export type ExportFact = { readonly name: string; readonly kind: ExternKind; readonly type: string };

export type CustomFact = { readonly name: string; readonly bytes: number };

export type DataFact = {
  readonly mode: DataSegment['mode'];
  readonly bytes: number;
  /** 0 for one value repeated, 8 for noise. */
  readonly bitsPerByte: number;
};

/** All of a kind together; the maximum is undefined where one of them has none. */
export type Needs = { readonly min: number; readonly max: number | undefined };

export type Counts = {
  readonly types: number;
  readonly imports: number;
  readonly exports: number;
  readonly importedFunctions: number;
  readonly definedFunctions: number;
  readonly tables: number;
  readonly memories: number;
  readonly globals: number;
  readonly elementSegments: number;
  readonly elements: number;
  readonly dataSegments: number;
  readonly dataBytes: number;
  readonly customSections: number;
  readonly customBytes: number;
  readonly codeBytes: number;
};

/** The facts that the sections show. */
export type SectionFacts = {
  readonly bytes: number;
  /** Beyond the first version of WebAssembly, in the order of the table. */
  readonly features: readonly FeatureName[];
  readonly imports: readonly ImportFact[];
  readonly exports: readonly ExportFact[];
  readonly hasStart: boolean;
  readonly counts: Counts;
  /** In pages of 64 KiB. */
  readonly memory: Needs;
  /** In elements. */
  readonly table: Needs;
  readonly customs: readonly CustomFact[];
  readonly data: readonly DataFact[];
  /** The largest data segment that looks compressed or encrypted. */
  readonly largestDense: DataFact | undefined;
  readonly names: NameFacts;
  readonly producers: readonly Producer[];
};

/** The facts that only the bodies show. */
export type BodyFacts = {
  readonly features: ReadonlySet<FeatureName>;
  readonly instructions: number;
  readonly deepestNesting: number;
  readonly mostLocals: number;
};

/** What the sections show, and what the bodies show once they were scanned. */
export type Facts = SectionFacts & { readonly bodies?: Omit<BodyFacts, 'features'> };

/** Collects the facts of a module that was read. The work is a small multiple of the module's size. */
export function inspectSections(module: WasmModule, bodies?: BodyFacts): Facts {
  const write = signatureWriter(module);
  const data = inspectData(module);
  const facts: SectionFacts = {
    bytes: module.bytes.length,
    features: listFeatures(module, bodies),
    imports: module.imports.map(({ module, name, kind, index }) => ({
      module,
      name,
      kind,
      type: write(kind, index),
    })),
    exports: module.exports.map(({ name, kind, index }) => ({ name, kind, type: write(kind, index) })),
    hasStart: module.start !== undefined,
    counts: count(module),
    memory: addUp(module.memories),
    table: addUp(module.tables),
    customs: listCustoms(module),
    data,
    largestDense: findLargestDense(data),
    names: readNames(module),
    producers: readProducers(module),
  };
  if (bodies === undefined) return facts;
  const { instructions, deepestNesting, mostLocals } = bodies;
  return { ...facts, bodies: { instructions, deepestNesting, mostLocals } };
}

function listFeatures(module: WasmModule, bodies: BodyFacts | undefined): readonly FeatureName[] {
  const names = FEATURES.map((row) => row.name).filter((name) => name !== 'mvp');
  return names.filter((name) => module.features.has(name) || bodies?.features.has(name));
}

function listCustoms(module: WasmModule): readonly CustomFact[] {
  return module.sections.flatMap(({ name, start, end }) =>
    name === undefined ? [] : [{ name, bytes: end - start }],
  );
}

function inspectData({ bytes, data }: WasmModule): readonly DataFact[] {
  const counts = new Uint32Array(256);
  return data.map(({ mode, start, end }) => ({
    mode,
    bytes: end - start,
    // Rounded, so that the same module has the same facts on every engine.
    bitsPerByte: Math.round(entropyOf(bytes, start, end, counts) * 1000) / 1000,
  }));
}

function findLargestDense(data: readonly DataFact[]): DataFact | undefined {
  let largest: DataFact | undefined;
  for (const segment of data) {
    if (!isDense(segment.bytes, segment.bitsPerByte)) continue;
    if (largest === undefined || segment.bytes > largest.bytes) largest = segment;
  }
  return largest;
}

function addUp(all: readonly { readonly min: number; readonly max: number | undefined }[]): Needs {
  let min = 0;
  let max: number | undefined = 0;
  for (const each of all) {
    min += each.min;
    max = max === undefined || each.max === undefined ? undefined : max + each.max;
  }
  return { min, max };
}

function sum<Item>(items: readonly Item[], measure: (item: Item) => number): number {
  return items.reduce((total, item) => total + measure(item), 0);
}

function count(module: WasmModule): Counts {
  const customs = module.sections.filter((section) => section.name !== undefined);
  const code = module.sections.find((section) => section.id === 10);
  return {
    types: module.types.length,
    imports: module.imports.length,
    exports: module.exports.length,
    importedFunctions: module.importedFunctions,
    definedFunctions: module.functions.length - module.importedFunctions,
    tables: module.tables.length,
    memories: module.memories.length,
    globals: module.globals.length,
    elementSegments: module.elements.length,
    elements: sum(module.elements, (segment) => segment.count),
    dataSegments: module.data.length,
    dataBytes: sum(module.data, (segment) => segment.end - segment.start),
    customSections: customs.length,
    customBytes: sum(customs, (section) => section.end - section.start),
    codeBytes: code === undefined ? 0 : code.end - code.start,
  };
}
