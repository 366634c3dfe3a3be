/**
 * What is decided for the module as a whole before a body is rewritten: how each function is called, which functions,
 * types and globals are added. Existing indices never change; everything new comes after them.
 */
import { STACK_UNIT_BYTES } from '../costs.table.ts';
import { WasmError } from '../error.ts';
import type { Limits } from '../limits.ts';
import type { FunctionType, WasmModule } from '../read/module.ts';
import { I64, V128 } from '../read/value-type.ts';
import { helperBody, helperType } from './helpers.ts';
import type { Survey } from './survey.ts';

/** The two ways to carry the counter: through a global around calls, or as one more parameter and result. */
export type Form = 'local' | 'thread';

export const PROTOCOLS = {
  /** Imported: the counter is in the global during the call. */
  host: 0,
  /** Takes the counter from the global and leaves it there. */
  local: 1,
  /** Takes the counter as the last parameter and returns it as the last result. */
  thread: 2,
  /** Does not use the counter: its callers pay. */
  prepaid: 3,
} as const;

/**
 * The counter holds fuel in its upper 48 bits and stack units in its lower 16. Bit 15 is set by an overdraft of the stack,
 * and in the global by every stop, and nowhere else.
 */
export const FUEL_UNIT = 0x1_0000;
export const MOST_STACK_UNITS = 0x7fff;
export const STOPPED_BIT = 0x8000;

const MOST_HELPERS = 10_000;

export type Added = { readonly type: number; readonly body: Uint8Array };

export type PlanInput = {
  readonly module: WasmModule;
  readonly survey: Survey;
  readonly limits: Limits;
  readonly form: Form;
  readonly isDeterministic: boolean;
  readonly hostFuel: Readonly<Record<string, number>>;
};

export class Plan {
  readonly module: WasmModule;
  readonly limits: Limits;
  readonly isDeterministic: boolean;
  /** Whether a global can hold a vector: then a function without vectors can still get one. */
  readonly hasVectorGlobals: boolean;
  /** By function: one of PROTOCOLS. */
  readonly protocol: Uint8Array;
  readonly prepaid: Uint8Array;
  readonly light: Uint8Array;
  /** By function: 1 where a reference to it is taken. */
  readonly referenced: Uint8Array;
  /** By imported function: fuel of one call besides that of the operator. */
  readonly hostFuel: Float64Array;
  /** By function: the index of the copy that its callers pay for, where there is one. */
  readonly bareOf = new Map<number, number>();
  /** By function: the index of the function that replaces it in exports. */
  readonly wrapperOf = new Map<number, number>();
  readonly added: Added[] = [];
  readonly types: FunctionType[];
  /** The global that holds the counter while no function has it. */
  readonly counter: number;
  readonly #typeKeys = new Map<string, number>();
  readonly #threadTypes = new Map<number, number>();
  readonly #resultsTypes = new Map<number, number>();
  readonly #helpers = new Map<string, number>();

  constructor({ module, survey, limits, form, isDeterministic, hostFuel }: PlanInput) {
    this.module = module;
    this.limits = limits;
    this.isDeterministic = isDeterministic;
    this.types = [...module.types];
    this.types.forEach((type, index) => {
      const key = keyOf(type);
      if (!this.#typeKeys.has(key)) this.#typeKeys.set(key, index);
    });
    this.counter = module.globals.length;
    this.prepaid = survey.prepaid;
    this.light = survey.light;
    this.referenced = survey.referenced;
    this.hasVectorGlobals = module.globals.some(({ type }) => type === V128);
    this.protocol = chooseProtocols(module, survey, { form, isDeterministic });
    this.hostFuel = hostFuelOf(module, survey, hostFuel);
  }

  /** How a function is called; through a table, as the types there require. */
  protocolOf(callee: number): number {
    return callee < 0 ? PROTOCOLS.local : (this.protocol[callee] ?? PROTOCOLS.local);
  }

  typeOf(index: number): FunctionType {
    const type = this.types[index];
    if (type === undefined) throw new TypeError(`Cannot find type: ${index} does not exist`);
    return type;
  }

  /** The index of a type, which is added if it is new. */
  typeIndex(type: FunctionType): number {
    const key = keyOf(type);
    const known = this.#typeKeys.get(key);
    if (known !== undefined) return known;
    this.types.push(type);
    this.#typeKeys.set(key, this.types.length - 1);
    return this.types.length - 1;
  }

  /** The type of a function that is passed the counter, by the index of its original type. */
  threadType(type: number): number {
    return remembered(this.#threadTypes, type, () => this.typeIndex(threaded(this.typeOf(type))));
  }

  /** The type of a block with the results of a function of that type. */
  resultsType(type: number): number {
    const { results } = this.typeOf(type);
    return remembered(this.#resultsTypes, type, () => this.typeIndex({ params: [], results }));
  }

  /** Adds a function and returns its index. */
  add(type: FunctionType, body: Uint8Array): number {
    this.added.push({ type: this.typeIndex(type), body });
    return this.module.functions.length + this.added.length - 1;
  }

  /** The function that pays by length and then does the operation. */
  helperFor(code: number, first: number, second: number): number {
    const key = `${code} ${first} ${second}`;
    const known = this.#helpers.get(key);
    if (known !== undefined) return known;
    // Boundary: every pair of segment and memory, or of tables, is a helper of its own.
    if (this.#helpers.size === MOST_HELPERS) {
      const message = `Cannot meter module: it has more than ${MOST_HELPERS} different bulk operations`;
      throw new WasmError('limit', message, { detail: 'functions' });
    }
    const index = this.add(helperType(this, code, first), helperBody(this, { code, first, second }));
    this.#helpers.set(key, index);
    return index;
  }
}

/** How many units of the counter's lower bits a number of bytes is. */
export function stackUnits(bytes: number): number {
  const units = Math.ceil(bytes / STACK_UNIT_BYTES);
  // Boundary: a frame that the counter cannot represent never counts as a smaller one.
  if (units <= MOST_STACK_UNITS) return units;
  throw new WasmError('limit', `Cannot meter function: its frame takes ${bytes} bytes of stack`, {
    detail: 'stackBytes',
  });
}

function threaded(type: FunctionType): FunctionType {
  return { params: [...type.params, I64], results: [...type.results, I64] };
}

function chooseProtocols(
  module: WasmModule,
  survey: Survey,
  { form, isDeterministic }: Pick<PlanInput, 'form' | 'isDeterministic'>,
): Uint8Array {
  return Uint8Array.from(module.functions, (_type, index) => {
    if (index < module.importedFunctions) return PROTOCOLS.host;
    // A prepaid body is copied unchanged, so it must have no NaN to be made canonical.
    const isCopied = !isDeterministic || survey.openNans[index] === 0;
    if ((survey.prepaid[index] ?? 0) > 0 && isCopied) return PROTOCOLS.prepaid;
    // A function whose reference is taken keeps its type, and so do both sides of a tail call.
    const keepsType = survey.referenced[index] === 1 || survey.inTailCall[index] === 1;
    return form === 'thread' && !keepsType ? PROTOCOLS.thread : PROTOCOLS.local;
  });
}

/** A host function that is also in a table can be called where the meter cannot see it: then the host charges its fuel. */
function hostFuelOf(
  module: WasmModule,
  survey: Survey,
  hostFuel: Readonly<Record<string, number>>,
): Float64Array {
  const fuel = new Float64Array(module.importedFunctions);
  const functions = module.imports.filter(({ kind }) => kind === 'function');
  const inTable = new Set(functions.filter(({ index }) => survey.referenced[index] === 1).map(nameOf));
  for (const each of functions) {
    const name = nameOf(each);
    if (!inTable.has(name) && Object.hasOwn(hostFuel, name)) fuel[each.index] = hostFuel[name] ?? 0;
  }
  return fuel;
}

/** The name of an import in the table of host fuel. */
export function nameOf({ module, name }: { readonly module: string; readonly name: string }): string {
  return `${module}.${name}`;
}

function remembered(known: Map<number, number>, key: number, make: () => number): number {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}

function keyOf(type: FunctionType): string {
  return `${type.params.join(' ')}>${type.results.join(' ')}`;
}
