/**
 * The rewriter. It takes an untrusted module and returns the same program, which now counts its own work and stops when
 * the fuel is used up. The reader and the survey refuse what is malformed or past the limits, V8 then validates the
 * original, and only what passed both is rewritten. Results, traps, memory, names and exports do not change.
 */
import { WasmError } from '../error.ts';
import { CEILINGS, DEFAULT_LIMITS, type Limits, narrowLimits } from '../limits.ts';
import { PAGE_BYTES } from '../read/extents.ts';
import { readModule, type WasmModule } from '../read/module.ts';
import { addControls, addWrapper, initialCounter, RESERVED } from './controls.ts';
import { Emitter } from './emit.ts';
import { type Form, nameOf, Plan, PROTOCOLS, stackUnits } from './plan.ts';
import { Sink } from './sink.ts';
import { survey } from './survey.ts';
import { type Extent, writeModule } from './write.ts';

/** Raised whenever the same module gets other bytes or other counts. */
export const METER_VERSION = 4;

/** The faster form on every supported V8. */
export const DEFAULT_FORM: Form = 'thread';

const MOST_PAGES = 65_536;
const MOST_FUEL = 2 ** 46;
/** How much larger than the largest module the code of a metered one may be. */
const MOST_GROWTH = 4;
/** The most values in all types of exports with several results: enough for forty of the largest types. */
const MOST_WRAPPED = 6_000;
const V8_FUNCTION_BYTES = 7_654_321;

export type MeterOptions = {
  /** Other limits than the default ones, none above its ceiling. */
  readonly limits?: Partial<Limits>;
  /** How the counter is passed. The counts are the same. Default: 'thread'. */
  readonly form?: Form;
  /** Makes NaNs canonical where the specification leaves their bits open. */
  readonly deterministic?: boolean;
  /** 'import' turns each defined memory into an import `palisade` `memory:<index>`. */
  readonly memories?: 'keep' | 'import';
  /** 'defer' exports the start function as `palisade:start` instead of having V8 run it. */
  readonly start?: 'keep' | 'defer';
  /** 'drop' leaves the names of functions out. */
  readonly names?: 'keep' | 'drop';
  /** Exports `palisade:renew`, which resets all globals, if memories are the only other state. */
  readonly renewal?: boolean;
  /** The fuel of a new instance. Default: the limit, or none if the start is deferred. */
  readonly initialFuel?: number;
  /** Fuel of one call of an import, by `module.name`. */
  readonly hostFuel?: Readonly<Record<string, number>>;
  /** Called with the runs of each rewritten function, see `locate`. */
  readonly onBody?: (index: number, runs: readonly number[]) => void;
};

export type Metered = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly module: WasmModule;
  /** Initial and maximum pages of each memory, after limiting. */
  readonly memories: readonly { readonly minPages: number; readonly maxPages: number }[];
  readonly form: Form;
  /** The functions that have a copy behind all others, for callers that pay for them. */
  readonly copies: readonly (readonly [copy: number, original: number])[];
  /** Imported functions whose fuel the host has to charge, because the guest can call them through a table. */
  readonly chargedByHost: readonly number[];
};

/** Rewrites a module. Throws a WasmError for whatever it refuses. */
export function meter(raw: Uint8Array, options: MeterOptions = {}): Metered {
  // Boundary: bytes that another thread can change are read once.
  const bytes = new Uint8Array(raw);
  const limits = narrowLimits(CEILINGS, { ...DEFAULT_LIMITS, ...options.limits });
  const module = readModule(bytes, limits);
  const found = survey(module, limits);
  requireValid(bytes);
  requireFreeNames(module);
  requireFewWrappers(module);
  const form = options.form ?? DEFAULT_FORM;
  const hostFuel = requireFuels(options.hostFuel ?? {});
  const isDeterministic = options.deterministic === true;
  const plan = new Plan({ module, survey: found, limits, form, isDeterministic, hostFuel });
  const controls = addControls(plan, options.renewal === true && found.isRenewable);
  addThreadTypes(plan);
  addWrappers(plan);
  const memories = extents(
    module.memories,
    Math.min(Math.floor(limits.memoryBytes / PAGE_BYTES), MOST_PAGES),
  );
  const deferStart = options.start === 'defer';
  const output = writeModule({
    plan,
    code: rewriteAll(plan, options.onBody),
    controls,
    memories,
    tables: extents(module.tables, limits.tableElements),
    importMemories: options.memories === 'import',
    deferStart,
    dropNames: options.names === 'drop',
    initialCounter: initialCounter(
      requireFuel(options.initialFuel ?? (deferStart ? 0 : limits.fuel)),
      stackUnits(limits.stackBytes),
    ),
  });
  requireValid(output);
  return {
    bytes: output,
    module,
    memories: memories.map(({ min, max }) => ({ minPages: min, maxPages: max })),
    form,
    copies: [...plan.bareOf].map(([original, copy]) => [copy, original] as const),
    chargedByHost: referencedImports(plan, hostFuel),
  };
}

/** Boundary: what V8 rejects is not rewritten, and a rewritten module that V8 rejects is not returned. */
function requireValid(source: Uint8Array<ArrayBuffer>): void {
  if (WebAssembly.validate(source)) return;
  let reason = '';
  try {
    new WebAssembly.Module(source);
  } catch (error) {
    reason = error instanceof Error ? error.message : '';
  }
  const offset = /@\+(\d+)/.exec(reason)?.[1];
  throw new WasmError(
    'invalid',
    `Cannot accept module: ${reason.replace(/^WebAssembly\.Module\(\): /, '') || 'V8 refuses it'}`,
    offset === undefined ? {} : { offset: Number(offset) },
  );
}

function requireFreeNames(module: WasmModule): void {
  const taken = module.exports.find(({ name }) => name.startsWith(RESERVED));
  if (taken === undefined) return;
  throw new WasmError(
    'malformed',
    `Cannot accept module: it exports "${taken.name}", expected no name with "${RESERVED}"`,
    {
      offset: taken.start,
    },
  );
}

/**
 * Boundary: V8 of Node 20 compiles a wrapper, at once and with its optimising compiler, for each type of an exported
 * function that has several results.
 */
function requireFewWrappers(module: WasmModule): void {
  const types = new Set(
    module.exports.filter(({ kind }) => kind === 'function').map(({ index }) => module.functions[index]),
  );
  let values = 0;
  for (const index of types) {
    const { params = [], results = [] } = module.types[index ?? 0] ?? {};
    if (results.length > 1) values += params.length + results.length;
  }
  if (values <= MOST_WRAPPED) return;
  const what = `the types of its exports that have several results carry ${values} values`;
  throw new WasmError('limit', `Cannot accept module: ${what}, expected at most ${MOST_WRAPPED}`, {
    detail: 'results',
  });
}

/** The type section is written before the functions that need its new types, so these are added first. */
function addThreadTypes(plan: Plan): void {
  const { functions } = plan.module;
  const types = new Set(functions.filter((_type, index) => plan.protocol[index] === PROTOCOLS.thread));
  for (const type of types) plan.threadType(type);
}

function addWrappers(plan: Plan): void {
  const { module } = plan;
  for (const each of module.exports) if (each.kind === 'function') addWrapper(plan, each.index);
  if (module.start !== undefined) addWrapper(plan, module.start);
}

/** Rewrites every body. A prepaid function that is also exported or referenced has a metered copy at its old index. */
function rewriteAll(plan: Plan, onBody: MeterOptions['onBody']): Sink {
  const { module } = plan;
  const emitter = new Emitter(plan);
  const isOpen = openFunctions(plan);
  for (let index = module.importedFunctions; index < module.functions.length; index += 1) {
    if (plan.protocol[index] === PROTOCOLS.prepaid && isOpen[index] === 1) {
      plan.bareOf.set(index, plan.add(plan.typeOf(module.functions[index] ?? 0), bodyOf(module, index)));
    }
  }
  const code = new Sink(module.bytes.length * 2);
  for (let index = module.importedFunctions; index < module.functions.length; index += 1) {
    const protocol = plan.protocol[index] ?? 0;
    if (protocol === PROTOCOLS.prepaid && isOpen[index] === 0) {
      const body = bodyOf(module, index);
      code.index(body.length);
      code.copy(body, 0, body.length);
      continue;
    }
    const runs: number[] | null = onBody === undefined ? null : [];
    const body = emitter.emit(index, protocol === PROTOCOLS.thread ? protocol : PROTOCOLS.local, runs);
    if (runs !== null) onBody?.(index, runs);
    requireSize(index, body.length);
    code.sized(body);
    requireTotal(code.length, plan.limits.moduleBytes);
  }
  return code;
}

/** Functions that can be called from outside or through a table. */
function openFunctions(plan: Plan): Uint8Array {
  const isOpen = plan.referenced.slice();
  for (const { kind, index } of plan.module.exports) if (kind === 'function') isOpen[index] = 1;
  if (plan.module.start !== undefined) isOpen[plan.module.start] = 1;
  return isOpen;
}

function bodyOf(module: WasmModule, index: number): Uint8Array {
  const body = 2 * (index - module.importedFunctions);
  return module.bytes.subarray(module.bodies[body], module.bodies[body + 1]);
}

function requireSize(index: number, bytes: number): void {
  if (bytes <= V8_FUNCTION_BYTES) return;
  throw new WasmError(
    'limit',
    `Cannot meter function ${index}: it then has ${bytes} bytes, expected at most ${V8_FUNCTION_BYTES}`,
    { detail: 'functionBytes' },
  );
}

/** Boundary: a module made of what the meter adds most to does not grow to many times its size. */
function requireTotal(bytes: number, moduleBytes: number): void {
  const most = MOST_GROWTH * moduleBytes;
  if (bytes <= most) return;
  throw new WasmError(
    'limit',
    `Cannot meter module: its code then has ${bytes} bytes, expected at most ${most}`,
    {
      detail: 'moduleBytes',
    },
  );
}

function extents(
  declared: readonly { readonly min: number; readonly max: number | undefined }[],
  most: number,
): Extent[] {
  return declared.map(({ min, max }) => ({ min, max: Math.max(min, Math.min(max ?? most, most)) }));
}

function requireFuels(fuels: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  for (const fuel of Object.values(fuels)) requireFuel(fuel, 2 ** 31);
  return fuels;
}

function requireFuel(fuel: number, most = MOST_FUEL): number {
  if (Number.isInteger(fuel) && fuel >= 0 && fuel <= most) return fuel;
  throw new WasmError('limit', `Cannot set fuel: it is ${fuel}, expected a whole number up to ${most}`, {
    detail: 'fuel',
  });
}

function referencedImports(plan: Plan, hostFuel: Readonly<Record<string, number>>): number[] {
  return plan.module.imports
    .filter(
      (each) =>
        each.kind === 'function' &&
        plan.referenced[each.index] === 1 &&
        Object.hasOwn(hostFuel, nameOf(each)),
    )
    .map(({ index }) => index);
}
