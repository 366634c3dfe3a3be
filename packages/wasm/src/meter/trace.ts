/**
 * The second pass over a body: it records the flow of work (see `flow.ts`) and the sites where code is inserted. The
 * module is valid by now, so types are trusted here; dead code is not traced, and is dropped.
 */
import { entryFuel, VALUES_OF_NAN } from '../costs.table.ts';
import type { FunctionType } from '../read/module.ts';
import { V128 } from '../read/value-type.ts';
import { closeBlock, openBlock, openElse } from './blocks.ts';
import { branch, branchIf, branchTable, leave, stop } from './branches.ts';
import { byLength, call } from './calls.ts';
import { type Flow, SITES } from './flow.ts';
import { FRAMES } from './frames.ts';
import type { Locals } from './locals.ts';
import { OP } from './op.ts';
import { CHANGE_OF, COST_OF, isByLength, NAN_OF, ROLE_OF, ROLES, VALUES_OF } from './opcodes.ts';
import { Path, WARM } from './path.ts';
import type { Plan } from './plan.ts';
import type { Walker } from './walker.ts';

/** What the trace of one function records besides its flow. */
export type Trace = {
  /** The node after the check at entry. */
  readonly entry: number;
  /** Whether branches lead to the end of the function. */
  readonly hasExitLabel: boolean;
  /** Whether anything is called that is counted on the stack. */
  readonly hasCalls: boolean;
  readonly mostHeight: number;
  /** The most values that one call passes and returns. */
  readonly mostCarried: number;
  /** Values that V8 may keep besides locals and operands. */
  readonly values: number;
  readonly usesVectors: boolean;
  /** Kinds of NaN to be made canonical, as bits. */
  readonly nans: number;
};

export class Tracer {
  readonly #plan: Plan;
  readonly #walker: Walker;
  readonly #path: Path;
  #usesVectors = false;
  #nans = 0;
  /** The local that has another index in the rewritten body, or -1. */
  #movedLocal = -1;

  constructor(plan: Plan, walker: Walker, flow: Flow) {
    this.#plan = plan;
    this.#walker = walker;
    this.#path = new Path(walker, flow);
  }

  /** Traces the body of a function, between the end of its locals and `end`. */
  trace(index: number, locals: Locals, end: number, movedLocal: number): Trace {
    const path = this.#path;
    const entry = path.begin();
    if ((this.#plan.light[index] ?? 0) > 0) path.flow.isCheck[entry] = 0;
    const type = this.#plan.typeOf(this.#plan.module.functions[index] ?? 0);
    path.owed = entryFuel(type.params.length + locals.total + type.results.length);
    this.#openFunction(type);
    this.#usesVectors = locals.runs.some((run) => run.type === V128) || hasVectors(type);
    this.#nans = 0;
    this.#movedLocal = movedLocal;
    this.#walker.enter(locals.end, end);
    while (path.frames.depth >= 0) {
      this.#walker.step();
      const { code } = this.#walker;
      const role = ROLE_OF[code] ?? 0;
      if (role === ROLES.control) this.#control(code);
      else {
        path.work(COST_OF[code] ?? 0);
        path.changeHeight(CHANGE_OF[code] ?? 0);
        path.values += VALUES_OF[code] ?? 0;
        if (role !== ROLES.plain) this.#look(code, role);
      }
    }
    return {
      entry,
      hasExitLabel: (path.frames.branches[0] ?? 0) > 0,
      hasCalls: path.hasCalls,
      mostHeight: path.mostHeight,
      mostCarried: path.mostCarried,
      values: path.values,
      usesVectors: this.#usesVectors,
      nans: this.#nans,
    };
  }

  #openFunction(type: FunctionType): void {
    const { frames } = this.#path;
    const frame = frames.push(FRAMES.function, WARM);
    frames.arity[frame] = type.results.length;
    frames.results[frame] = type.results.length;
    frames.params[frame] = 0;
    frames.height[frame] = 0;
  }

  #look(code: number, role: number): void {
    const { at, next, first } = this.#walker;
    if (role === ROLES.local) {
      if (first === this.#movedLocal) this.#path.flow.addSite(SITES.movedLocal, at, next, code);
      return;
    }
    if (role === ROLES.vector || (code === OP.globalGet && this.#plan.hasVectorGlobals))
      this.#usesVectors = true;
    if (role === ROLES.special && isByLength(code)) byLength(this.#path, this.#plan, code);
    if (this.#plan.isDeterministic && (NAN_OF[code] ?? 0) > 0) this.#canonical(NAN_OF[code] ?? 0);
  }

  #canonical(kind: number): void {
    const { next } = this.#walker;
    this.#nans |= 1 << kind;
    this.#path.values += VALUES_OF_NAN;
    const site = this.#path.flow.addSite(SITES.canonicalNan, next, next, 0);
    this.#path.flow.siteExtra[site] = kind;
  }

  #control(code: number): void {
    const path = this.#path;
    switch (code) {
      case OP.nop:
        return;
      case OP.block:
      case OP.loop:
      case OP.if:
        openBlock(path, this.#plan.module, code);
        return;
      case OP.else:
        openElse(path);
        return;
      case OP.end:
        closeBlock(path);
        return;
      case OP.return:
        leave(path);
        return;
      case OP.unreachable:
        stop(path);
        return;
      case OP.br:
        path.work(COST_OF[code] ?? 0);
        branch(path);
        return;
      case OP.branchIf:
        path.work(COST_OF[code] ?? 0);
        branchIf(path);
        return;
      case OP.branchTable:
        path.work(COST_OF[code] ?? 0);
        branchTable(path);
        return;
      default:
        if (hasVectors(call(path, this.#plan, code))) this.#usesVectors = true;
    }
  }
}

/** Whether vectors come in or go out: they take twice the space of any other value. */
function hasVectors({ params, results }: FunctionType): boolean {
  return params.includes(V128) || results.includes(V128);
}
