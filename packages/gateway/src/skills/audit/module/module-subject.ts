import { isComponent, WasmError } from '@palisade/wasm';
import { AUDIT_LIMITS } from '../../limits.ts';
import type { ManifestTool } from '../../manifest/manifest.ts';
import type { SkillPackage } from '../../package/skill-package.ts';
import type { AuditBench, ModuleImports } from '../check.ts';
import { type Looked, lookBriefly } from './look.ts';

/** A module of the package that tools name, read once. */
export type ModuleSubject = {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly tools: readonly ManifestTool[];
  readonly isComponent: boolean;
  /** Of a component these are those of the one module that it is linked into; null: it could not be read. */
  readonly looked: Looked | null;
  /** Why it could not be read or linked. */
  readonly fault: WasmError | null;
  readonly imports: readonly ImportSubject[];
  readonly sections: readonly CustomSection[];
};

/** What modules are judged by. */
type ModuleBench = Pick<AuditBench, 'abi' | 'linkComponent'>;

type ImportSubject = {
  readonly module: string;
  readonly name: string;
  /** The capability that it requires, if any. */
  readonly need: string | null;
  /** The function of the ABI that it is, null where it reaches nothing; undefined: it is unknown. */
  readonly abi: string | null | undefined;
  /** What is wrong with it by itself, whatever the manifest declares; null: nothing. */
  readonly misfit: string | null;
};

/** Reads every module that a tool names. Never throws for what a module is. */
export function moduleSubjects(
  { manifest, entries }: Pick<SkillPackage, 'manifest' | 'entries'>,
  bench: ModuleBench,
): readonly ModuleSubject[] {
  const paths = [...new Set(manifest.tools.map(({ module }) => module))];
  return paths.flatMap((path) => {
    const bytes = entries.get(path);
    if (bytes === undefined) return [];
    const tools = manifest.tools.filter(({ module }) => module === path);
    const isLinked = isComponent(bytes);
    const base = { path, bytes, tools, isComponent: isLinked, sections: customSections(bytes) };
    return [{ ...base, ...(isLinked ? readComponent(bytes, bench) : readCore(bytes, bench)) }];
  });
}

type Reading = Pick<ModuleSubject, 'looked' | 'fault' | 'imports'>;

function readComponent(bytes: Uint8Array, bench: ModuleBench): Reading {
  return reading(() => {
    const linked = bench.linkComponent(bytes);
    const imports = linked.imports.map(({ module, name, need, abi }) => ({
      ...{ module, name, need, abi },
      misfit: null,
    }));
    return { looked: lookBriefly(linked.bytes), fault: null, imports };
  });
}

function readCore(bytes: Uint8Array, bench: ModuleBench): Reading {
  return reading(() => {
    const looked = lookBriefly(bytes);
    // A memory that is imported is made by the engine, within the limits.
    const asked = looked.facts.imports.filter(({ kind }) => kind !== 'memory');
    return { looked, fault: null, imports: asked.map((each) => judgeImport(each, bench)) };
  });
}

function reading(read: () => Reading): Reading {
  try {
    return read();
  } catch (fault) {
    // Boundary: whatever a module is, its audit ends with a report.
    if (!(fault instanceof WasmError)) throw fault;
    return { looked: null, fault, imports: [] };
  }
}

type ImportFact = Looked['facts']['imports'][number];

function judgeImport({ module, name, kind, type }: ImportFact, { abi }: ModuleBench): ImportSubject {
  const row = abi.functions.find((each) => each.name === name);
  if (module !== abi.module || kind !== 'function' || row === undefined)
    return { module, name, need: null, abi: undefined, misfit: `which is not a function of ${abi.module}` };
  const misfit = type === row.type ? null : `as ${type}, expected ${row.type}`;
  return { module, name, need: row.needs, abi: row.name, misfit };
}

/** Boundary: what cannot be read, or is not known, counts as a use of everything. */
export function importsOf({ path, fault, imports }: ModuleSubject): ModuleImports {
  const functions = imports.map(({ abi }) => abi);
  if (fault !== null || functions.includes(undefined)) return { path, imports: null };
  return { path, imports: [...new Set(functions.filter((name) => typeof name === 'string'))].sort() };
}

/** A custom section: it is not executed, and engines ignore it. */
export type CustomSection = { readonly name: string; readonly content: Uint8Array };

const HEADER_BYTES = 8;
const CUSTOM = 0;
/** What a component has inside itself: modules, and components. */
const NESTED: readonly number[] = [1, 4];

/** The custom sections of a module, or of a component and of all that it is made of; as far as they can be read. */
function customSections(bytes: Uint8Array): readonly CustomSection[] {
  const found: CustomSection[] = [];
  const open = [bytes];
  let left = AUDIT_LIMITS.sections;
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const isComponent = part[6] === 1;
    // Boundary: a section that is longer than its container ends the walk; the engine refuses such a module.
    for (let at = HEADER_BYTES; at < part.length && left > 0; left -= 1) {
      const id = part[at] ?? 0;
      const [length, start] = readUnsigned(part, at + 1);
      const body = part.subarray(start, start + length);
      if (body.length < length) break;
      if (id === CUSTOM) found.push(readCustom(body));
      else if (isComponent && NESTED.includes(id)) open.push(body);
      at = start + length;
    }
  }
  return found;
}

function readCustom(body: Uint8Array): CustomSection {
  const [length, start] = readUnsigned(body, 0);
  const name = Buffer.from(body.subarray(start, start + length)).toString();
  return { name, content: body.subarray(start + length) };
}

/** A number of at most five bytes, and where it ends. */
function readUnsigned(bytes: Uint8Array, from: number): readonly [value: number, end: number] {
  let value = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = bytes[from + at] ?? 0;
    value += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return [value, from + at + 1];
  }
  return [value, from + 5];
}
