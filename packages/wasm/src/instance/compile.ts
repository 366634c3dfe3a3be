import { WasmError } from '../error.ts';
import type { Limits } from '../limits.ts';
import { type MeterOptions, meter } from '../meter/meter.ts';
import type { Form } from '../meter/plan.ts';
import type { WasmModule } from '../read/module.ts';
import { digest, writeHex } from './digest.ts';
import { addSeal, writeDiskForm } from './disk-form.ts';
import { writeFileTerms } from './file-terms.ts';
import type { Price } from './host.ts';
import type { KeyParts } from './key.ts';
import { CONTROL_MODULE } from './names.ts';
import { outlineOf } from './outline.ts';
import { type ModuleExport, type ModuleImport, type Recipe, recipeOf } from './recipe.ts';

/** A module that was metered and compiled. Only the engine that made it makes instances of it. */
export type CompiledModule = {
  /** The digest of what determines it: module, limits, prices and meter. All three digests are in hexadecimal. */
  readonly digest: string;
  /** SHA-256 of the guest's module as submitted. */
  readonly moduleDigest: string;
  /** SHA-256 of the disk form: a caller that remembers it need not trust the location of the file. */
  readonly seal: string;
  readonly form: Form;
  readonly isDeterministic: boolean;
  readonly limits: Limits;
  readonly imports: readonly ModuleImport[];
  readonly exports: readonly ModuleExport[];
  /** The disk form, for `revive`. */
  serialise(): Uint8Array<ArrayBuffer>;
};

/** A compiled module and what is behind it. */
export type Compilation = {
  readonly compiled: CompiledModule;
  readonly recipe: Recipe;
  /** How much memory keeping it takes, about. */
  readonly bytes: number;
};

/** Meters and compiles bytes that do not change in the meantime. */
export async function compile(
  bytes: Uint8Array<ArrayBuffer>,
  key: Uint8Array,
  parts: KeyParts,
): Promise<Compilation> {
  const { limits, isDeterministic, prices } = parts;
  const hostFuel = fuelByName(prices);
  const metered = meter(bytes, meterTerms(parts));
  requireForeignNames(metered.module);
  const hostCharged = nameImports(metered.module, metered.chargedByHost);
  const outline = outlineOf(metered.bytes, {
    ...{ memories: metered.memories, hostFuel, hostCharged: new Set(hostCharged) },
    ...{ functions: metered.module.functions.length, copies: metered.copies },
  });
  const terms = writeFileTerms({ ...parts, hostCharged, outline });
  const file = writeDiskForm({ key, terms, code: metered.bytes });
  const seal = await digest(file);
  const module = await compileCode(metered.bytes);
  const recipe = recipeOf({
    ...{ module, outline, code: metered.bytes },
    hostFuel,
    hostCharged: new Set(hostCharged),
    limits,
    isDeterministic,
  });
  return completeCompilation({ recipe, parts, key, file, seal, isKept: true });
}

/** How modules are metered that this engine compiles. */
export function meterTerms({
  limits,
  form,
  isDeterministic,
  prices,
}: Omit<KeyParts, 'moduleDigest'>): MeterOptions {
  return {
    limits,
    form,
    deterministic: isDeterministic,
    memories: 'import',
    start: 'defer',
    renewal: true,
    // Boundary: V8 would write names of the guest into its stacks, which are read.
    names: 'drop',
    hostFuel: fuelByName(prices),
  };
}

/** The fuel of each host function as the meter takes it. */
export function fuelByName(prices: readonly Price[]): Readonly<Record<string, number>> {
  return Object.freeze(Object.fromEntries(prices.map(([module, name, fuel]) => [`${module}.${name}`, fuel])));
}

/** Boundary: a guest that imports under the engine's own name could get memory created by the engine. */
function requireForeignNames({ imports }: WasmModule): void {
  const taken = imports.find(({ module }) => module === CONTROL_MODULE);
  if (taken === undefined) return;
  const message = `Cannot compile module: it imports from "${CONTROL_MODULE}", expected other modules only`;
  throw new WasmError('link', message, { offset: taken.start, detail: `${taken.module}.${taken.name}` });
}

function nameImports({ imports }: WasmModule, indices: readonly number[]): readonly string[] {
  const charged = new Set(indices);
  return imports
    .filter(({ kind, index }) => kind === 'function' && charged.has(index))
    .map(({ module, name }) => `${module}.${name}`);
}

async function compileCode(code: Uint8Array<ArrayBuffer>): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(code);
  } catch (cause) {
    if (!(cause instanceof WebAssembly.CompileError)) throw cause;
    throw new WasmError('invalid', 'Cannot compile module: V8 refuses its metered form', { cause });
  }
}

export type CompilationParts = {
  readonly recipe: Recipe;
  readonly parts: KeyParts;
  readonly key: Uint8Array;
  readonly file: Uint8Array;
  readonly seal: Uint8Array;
  /** Whether it can be serialised again. */
  readonly isKept: boolean;
};

export function completeCompilation(completed: CompilationParts): Compilation {
  const { recipe, parts, key, file, seal, isKept } = completed;
  const compiled: CompiledModule = Object.freeze({
    digest: writeHex(key),
    moduleDigest: parts.moduleDigest,
    seal: writeHex(seal),
    form: parts.form,
    isDeterministic: parts.isDeterministic,
    limits: recipe.limits,
    imports: recipe.imports,
    exports: recipe.exports,
    serialise: serialiserOf(isKept ? file : null, seal),
  });
  // V8 keeps a copy of the code besides ours.
  return { compiled, recipe, bytes: (isKept ? 2 : 1) * file.length + recipe.bytes };
}

/** A function of its own: one made beside the file would keep it in memory, whether it uses it or not. */
function serialiserOf(file: Uint8Array | null, seal: Uint8Array): () => Uint8Array<ArrayBuffer> {
  return () => {
    if (file !== null) return addSeal(file, seal);
    throw new TypeError('Cannot serialise module: its file was not kept, expected one that was');
  };
}
