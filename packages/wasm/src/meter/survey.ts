/**
 * The first walk over all bodies. It refuses what is past the limits, checks every index that the meter will use, and
 * gathers what has to be known of all functions before one of them can be rewritten.
 */
import { ENTRY, MOST_LIGHT, MOST_PREPAID } from '../costs.table.ts';
import { WasmError } from '../error.ts';
import type { FeatureName } from '../features.table.ts';
import type { Limits } from '../limits.ts';
import type { WasmModule } from '../read/module.ts';
import { readLocals } from './locals.ts';
import { COST_OF, codeOf, MISC_BASE, NAN_OF } from './opcodes.ts';
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
  /** By function: 1 where it makes NaNs whose bits are open. */
  readonly openNans: Uint8Array;
  /** By function: the most a call of it costs, when it has no loops and no calls and that is little; else 0. */
  readonly light: Uint8Array;
  /** By function: what a call of it costs, when that is the same always and little; else 0. */
  readonly prepaid: Uint8Array;
};

const OP = {
  nop: codeOf('nop'),
  block: codeOf('block'),
  loop: codeOf('loop'),
  if: codeOf('if'),
  else: codeOf('else'),
  end: codeOf('end'),
  br: codeOf('br'),
  branchIf: codeOf('br_if'),
  branchTable: codeOf('br_table'),
  call: codeOf('call'),
  callIndirect: codeOf('call_indirect'),
  returnCall: codeOf('return_call'),
  returnCallIndirect: codeOf('return_call_indirect'),
  refFunc: codeOf('ref.func'),
  localGet: codeOf('local.get'),
  localTee: codeOf('local.tee'),
  memoryGrow: codeOf('memory.grow'),
  firstByLength: codeOf('memory.init'),
};

export function survey(module: WasmModule, limits: Limits): Survey {
  return new Surveyor(module, limits).run();
}

class Surveyor {
  readonly #module: WasmModule;
  readonly #limits: Limits;
  readonly #walker: Walker;
  readonly #inTailCall: Uint8Array;
  readonly #referenced: Uint8Array;
  readonly #openNans: Uint8Array;
  readonly #light: Uint8Array;
  readonly #prepaid: Uint8Array;
  #instructions = 0;
  #deepestNesting = 0;
  #mostLocals = 0;
  // Of the present function:
  #function = 0;
  #nesting = 0;
  #controls = 0;
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
    };
  }

  #walk(start: number, end: number): void {
    const walker = this.#walker;
    const params = this.#typeOf(this.#function).params.length;
    const locals = readLocals(walker, start, end, this.#limits.locals);
    this.#locals = params + locals.total;
    this.#mostLocals = Math.max(this.#mostLocals, this.#locals);
    this.#nesting = 0;
    this.#controls = 0;
    this.#targets = 0;
    this.#cost = ENTRY;
    this.#isStraight = true;
    this.#isShort = true;
    walker.enter(locals.end, end);
    do {
      walker.step();
      this.#instructions += 1;
      this.#cost += COST_OF[walker.code] ?? 0;
      if ((NAN_OF[walker.code] ?? 0) > 0) this.#openNans[this.#function] = 1;
      this.#look(walker.code);
    } while (this.#nesting >= 0);
    if (walker.next !== end)
      throw this.#malformed('function: there are bytes after its end, expected none', walker.next);
    if (this.#isShort && this.#cost <= MOST_LIGHT) this.#light[this.#function] = this.#cost;
    if (this.#isShort && this.#isStraight && this.#cost <= MOST_PREPAID)
      this.#prepaid[this.#function] = this.#cost;
  }

  #look(code: number): void {
    // Everything with meaning for the flow stands below `local.get`, or far behind the plain operators.
    if (code <= OP.returnCallIndirect) this.#lookAtControl(code);
    else if (code <= OP.localTee && code >= OP.localGet)
      this.#requireBelow('local', this.#walker.first, this.#locals);
    else if (code === OP.memoryGrow || code >= MISC_BASE || code === OP.refFunc) this.#lookAtRare(code);
  }

  #lookAtControl(code: number): void {
    const { first } = this.#walker;
    switch (code) {
      case OP.loop:
        this.#isShort = false;
        this.#open(first);
        return;
      case OP.block:
      case OP.if:
        this.#open(first);
        return;
      case OP.end:
        this.#nesting -= 1;
        return;
      case OP.else:
        return;
      case OP.br:
      case OP.branchIf:
        this.#countControl();
        this.#requireBelow('label', first, this.#nesting + 1);
        return;
      case OP.branchTable:
        this.#lookAtTable();
        return;
      default:
        this.#lookAtCall(code);
    }
  }

  #open(type: number): void {
    this.#countControl();
    if (type >= 0) this.#requireBelow('type', type, this.#module.types.length);
    this.#nesting += 1;
    if (this.#nesting <= this.#deepestNesting) return;
    this.#deepestNesting = this.#nesting;
    if (this.#nesting > this.#limits.nesting) throw this.#past('nesting', this.#nesting);
  }

  /** Counts what V8 splits and joins all locals for, and ends straight code. */
  #countControl(): void {
    this.#controls += 1;
    this.#isStraight = false;
    // Boundary: locals times branches is what the first call's compilation grows with.
    if (this.#controls * this.#locals > this.#limits.localsTimesControls) {
      throw this.#past('localsTimesControls', this.#controls * this.#locals);
    }
  }

  #lookAtTable(): void {
    const walker = this.#walker;
    this.#countControl();
    this.#targets += walker.first + 1;
    if (this.#targets > this.#limits.branchTargets) throw this.#past('branchTargets', this.#targets);
    const end = walker.next;
    walker.next = walker.labelsAt;
    while (walker.next < end) this.#requireBelow('label', walker.readIndex(walker.next), this.#nesting + 1);
  }

  #lookAtCall(code: number): void {
    const { first } = this.#walker;
    if (code === OP.nop) return;
    // A function that can leave before its end does not cost the same always.
    this.#isStraight = false;
    if (code < OP.call) return;
    this.#isShort = false;
    if (code === OP.call || code === OP.returnCall)
      this.#requireBelow('function', first, this.#inTailCall.length);
    else this.#requireBelow('type', first, this.#module.types.length);
    if (code < OP.returnCall) return;
    this.#inTailCall[this.#function] = 1;
    if (code === OP.returnCall) this.#inTailCall[first] = 1;
  }

  #lookAtRare(code: number): void {
    const { first } = this.#walker;
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

  /** Boundary: an index is used only once it is known to name something. */
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

  #past(limit: keyof Limits, count: number): WasmError {
    const most = this.#limits[limit];
    return new WasmError(
      'limit',
      `Cannot accept function ${this.#function}: its ${limit} is ${count}, expected at most ${most}`,
      {
        offset: this.#walker.at,
        detail: limit,
      },
    );
  }
}
