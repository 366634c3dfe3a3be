/**
 * The first pass over all bodies. It refuses what is past the limits, checks every index that the meter will use, and
 * collects what must be known of all functions before one of them can be rewritten.
 */
import { entryFuel, MOST_LIGHT, MOST_LIGHT_SLOTS, MOST_PREPAID } from '../costs.table.ts';
import { WasmError } from '../error.ts';
import type { FeatureName } from '../features.table.ts';
import type { Limits } from '../limits.ts';
import type { WasmModule } from '../read/module.ts';
import { CompileCost } from './compile-cost.ts';
import { readLocals } from './locals.ts';
import { NO_TYPE, OP } from './op.ts';
import { CHANGE_OF, COST_OF, isLasting, MISC_BASE, NAN_OF, ROLE_OF, ROLES } from './opcodes.ts';
import { Walker } from './walker.ts';

export type Survey = {
  readonly features: ReadonlySet<FeatureName>;
  readonly instructions: number;
  readonly deepestNesting: number;
  readonly mostLocals: number;
  /** By function: 1 where it makes tail calls or is the target of one. */
  readonly inTailCall: Uint8Array;
  /** By function: 1 where a reference to it is taken, in a section or in a body. */
  readonly referenced: Uint8Array;
  /** By function: 1 where it makes NaNs whose bits the specification leaves open. */
  readonly openNans: Uint8Array;
  /** By function: the most that a call costs, if it has no loops and no calls and costs little; else 0. */
  readonly light: Uint8Array;
  /** By function: what a call costs, if that is little and always the same; else 0. */
  readonly prepaid: Uint8Array;
  /** Tables and globals are private, globals have short initial values, and nothing changes a table or drops a segment. */
  readonly isRenewable: boolean;
};

/** The most bytes of all initial values of globals; a thousand usually take 6 KB, but constant expressions can be long. */
const MOST_INITIAL_BYTES = 16 * 1024;

/** More than twice what the heaviest real modules need. */
const WEIGHT_PER_BYTE = 4;

export function survey(module: WasmModule, limits: Limits): Survey {
  return new Surveyor(module, limits).run();
}

/** Whether tables and globals are not shared, and resetting the globals takes a small function. */
function canReset({ imports, globals }: WasmModule): boolean {
  const initialBytes = globals.reduce((sum, { start, end }) => sum + end - start, 0);
  // Boundary: the added body is never one that V8 would refuse or take long to compile.
  if (initialBytes > MOST_INITIAL_BYTES) return false;
  return imports.every(({ kind }) => kind === 'function' || kind === 'memory');
}

class Surveyor {
  readonly #module: WasmModule;
  readonly #limits: Limits;
  readonly #walker: Walker;
  readonly #compileCost = new CompileCost();
  readonly #inTailCall: Uint8Array;
  readonly #referenced: Uint8Array;
  readonly #openNans: Uint8Array;
  readonly #light: Uint8Array;
  readonly #prepaid: Uint8Array;
  #instructions = 0;
  #deepestNesting = 0;
  #mostLocals = 0;
  #isRenewable: boolean;
  // Of the current function:
  #function = 0;
  #nesting = 0;
  #targets = 0;
  #cost = 0;
  #isStraight = true;
  #isShort = true;
  #locals = 0;

  constructor(module: WasmModule, limits: Limits) {
    this.#module = module;
    this.#limits = limits;
    this.#walker = new Walker(module.bytes);
    this.#inTailCall = new Uint8Array(module.functions.length);
    this.#referenced = module.referenced.slice();
    this.#openNans = new Uint8Array(module.functions.length);
    this.#light = new Uint8Array(module.functions.length);
    this.#prepaid = new Uint8Array(module.functions.length);
    this.#isRenewable = canReset(module);
  }

  run(): Survey {
    const { functions, importedFunctions, bodies } = this.#module;
    for (let index = importedFunctions; index < functions.length; index += 1) {
      const body = index - importedFunctions;
      this.#function = index;
      this.#walk(bodies[2 * body] ?? 0, bodies[2 * body + 1] ?? 0);
    }
    return {
      features: new Set(this.#walker.features()),
      instructions: this.#instructions,
      deepestNesting: this.#deepestNesting,
      mostLocals: this.#mostLocals,
      inTailCall: this.#inTailCall,
      referenced: this.#referenced,
      openNans: this.#openNans,
      light: this.#light,
      prepaid: this.#prepaid,
      isRenewable: this.#isRenewable,
    };
  }

  #walk(start: number, end: number): void {
    const walker = this.#walker;
    const { params, results } = this.#typeOf(this.#function);
    const locals = readLocals(walker, start, end, this.#limits.locals);
    this.#locals = params.length + locals.total;
    this.#compileCost.begin(this.#locals);
    this.#mostLocals = Math.max(this.#mostLocals, this.#locals);
    this.#nesting = 0;
    this.#targets = 0;
    const slots = this.#locals + results.length;
    this.#cost = entryFuel(slots);
    this.#isStraight = true;
    this.#isShort = slots <= MOST_LIGHT_SLOTS;
    walker.enter(locals.end, end);
    do {
      walker.step();
      this.#instructions += 1;
      const { code } = walker;
      this.#cost += COST_OF[code] ?? 0;
      const role = ROLE_OF[code] ?? 0;
      if (role === ROLES.control) this.#visitControl(code);
      else {
        this.#compileCost.change(CHANGE_OF[code] ?? 0);
        if (role !== ROLES.plain) this.#visit(code, role);
      }
    } while (this.#nesting >= 0);
    this.#requireCompilable();
    if (walker.next !== end)
      throw this.#malformed('function: there are bytes after its end, expected none', walker.next);
    if (this.#isShort && this.#cost <= MOST_LIGHT) this.#light[this.#function] = this.#cost;
    if (this.#isShort && this.#isStraight && this.#cost <= MOST_PREPAID)
      this.#prepaid[this.#function] = this.#cost;
  }

  #visit(code: number, role: number): void {
    if (role === ROLES.local) this.#requireBelow('local', this.#walker.first, this.#locals);
    else {
      if ((NAN_OF[code] ?? 0) > 0) this.#openNans[this.#function] = 1;
      if (role === ROLES.special) this.#visitRare(code);
    }
  }

  #visitControl(code: number): void {
    const { first } = this.#walker;
    switch (code) {
      case OP.loop:
        this.#isShort = false;
        this.#open(code, first);
        return;
      case OP.block:
      case OP.if:
        this.#open(code, first);
        return;
      case OP.end:
        this.#nesting -= 1;
        this.#compileCost.close();
        return;
      case OP.else:
        this.#compileCost.openElse();
        return;
      case OP.br:
      case OP.branchIf:
        this.#branch(code, first);
        return;
      case OP.branchTable:
        this.#visitBranchTable();
        return;
      default:
        this.#visitCall(code);
    }
  }

  #open(code: number, type: number): void {
    this.#split(1);
    if (type >= 0) this.#requireBelow('type', type, this.#module.types.length);
    this.#nesting += 1;
    if (this.#nesting > this.#deepestNesting) this.#deepestNesting = this.#nesting;
    if (this.#nesting > this.#limits.nesting) throw this.#pastLimit('nesting', this.#nesting);
    this.#compileCost.change(CHANGE_OF[code] ?? 0);
    const shape = type >= 0 ? this.#module.types[type] : undefined;
    this.#compileCost.open(shape?.params.length ?? 0, shape?.results.length ?? (type === NO_TYPE ? 0 : 1));
  }

  #branch(code: number, label: number): void {
    this.#split(1);
    this.#requireBelow('label', label, this.#nesting + 1);
    if (code === OP.br) this.#compileCost.endBlock();
    else this.#compileCost.change(-1);
  }

  /** Counts a branch, which ends straight-line code. */
  #split(ways: number): void {
    this.#isStraight = false;
    this.#compileCost.split(ways);
  }

  /** Boundary: what V8's compiler would take too long for is refused before V8 sees it. */
  #requireCompilable(): void {
    const { weight, total, mostHeight } = this.#compileCost;
    if (mostHeight > this.#limits.operands) throw this.#pastLimit('operands', mostHeight);
    if (weight > this.#limits.functionWeight) throw this.#pastLimit('functionWeight', Math.ceil(weight));
    if (total > this.#mostTotal()) throw this.#pastLimit('moduleWeight', Math.ceil(total));
  }

  /** The limit grows with the size of the module, so that compiling takes time in proportion to it. */
  #mostTotal(): number {
    const { functionWeight, moduleWeight } = this.#limits;
    return Math.min(moduleWeight, functionWeight + WEIGHT_PER_BYTE * this.#module.bytes.length);
  }

  #visitBranchTable(): void {
    const walker = this.#walker;
    // However long the table is, it has no more distinct targets than there are labels.
    this.#split(Math.min(walker.first, this.#nesting) + 1);
    this.#targets += walker.first + 1;
    if (this.#targets > this.#limits.branchTargets) throw this.#pastLimit('branchTargets', this.#targets);
    const end = walker.next;
    walker.next = walker.labelsAt;
    while (walker.next < end) this.#requireBelow('label', walker.readIndex(walker.next), this.#nesting + 1);
    this.#compileCost.endBlock();
  }

  #visitCall(code: number): void {
    const { first } = this.#walker;
    if (code === OP.nop) return;
    // A function that can return early does not always cost the same.
    this.#isStraight = false;
    if (code < OP.call) {
      this.#compileCost.endBlock();
      return;
    }
    this.#isShort = false;
    const isDirect = code === OP.call || code === OP.returnCall;
    if (isDirect) this.#requireBelow('function', first, this.#inTailCall.length);
    else this.#requireBelow('type', first, this.#module.types.length);
    this.#weighCall(code, isDirect);
    if (code < OP.returnCall) return;
    this.#compileCost.endBlock();
    this.#inTailCall[this.#function] = 1;
    if (code === OP.returnCall) this.#inTailCall[first] = 1;
  }

  /** The meter checks the fuel before a call to the host or through a table, and that check is a branch. */
  #weighCall(code: number, isDirect: boolean): void {
    const { first } = this.#walker;
    const type = isDirect ? this.#typeOf(first) : this.#module.types[first];
    this.#compileCost.change(CHANGE_OF[code] ?? 0);
    if (!isDirect || first < this.#module.importedFunctions) this.#compileCost.split(1);
    this.#compileCost.call(type?.params.length ?? 0, type?.results.length ?? 0);
  }

  #visitRare(code: number): void {
    const { first } = this.#walker;
    if (isLasting(code)) this.#isRenewable = false;
    if (code === OP.refFunc) {
      this.#requireBelow('function', first, this.#inTailCall.length);
      this.#referenced[first] = 1;
    } else if (code === OP.memoryGrow || (code >= OP.firstByLength && code < MISC_BASE + 256))
      this.#isShort = false;
  }

  #typeOf(index: number) {
    const type = this.#module.types[this.#module.functions[index] ?? 0];
    if (type === undefined) throw this.#malformed('function: it has no type', this.#walker.at);
    return type;
  }

  /** Boundary: an index is used only after it is known to be in range. */
  #requireBelow(what: string, index: number, count: number): void {
    if (index >= count)
      throw this.#malformed(
        `instruction: ${what} ${index} does not exist, expected below ${count}`,
        this.#walker.at,
      );
  }

  #malformed(what: string, offset: number): WasmError {
    return new WasmError('malformed', `Cannot read ${what}`, { offset });
  }

  #pastLimit(limit: keyof Limits, count: number): WasmError {
    const most = limit === 'moduleWeight' ? this.#mostTotal() : this.#limits[limit];
    const what = `function ${this.#function}: its ${limit} is ${count}, expected at most ${most}`;
    return new WasmError('limit', `Cannot accept ${what}`, { offset: this.#walker.at, detail: limit });
  }
}
