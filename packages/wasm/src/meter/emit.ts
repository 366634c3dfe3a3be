/**
 * Rewrites a function: its own bytes, with the meter's instructions at the sites of its trace. In the local form the
 * counter is one more local; in the thread form it is one more parameter, which takes the index of the first local, and
 * that local moves after all others.
 */
import { I64 } from '../read/value-type.ts';
import { LEAVES } from './blocks.ts';
import { THROUGH_TABLE } from './calls.ts';
import { pay, payAndCheck, pushPaid, stopIfNegative } from './code.ts';
import { Flow, SITES } from './flow.ts';
import { type Locals, readLocals } from './locals.ts';
import { NAN_TYPES, writeCanonicalNan } from './nan.ts';
import { NOTHING, OP } from './op.ts';
import { type Plan, PROTOCOLS } from './plan.ts';
import { Settler } from './settle.ts';
import { Sink } from './sink.ts';
import { frameUnits } from './stack-frame.ts';
import { type Trace, Tracer } from './trace.ts';
import { Walker } from './walker.ts';

/** Rewrites bodies one after the other, in buffers that it reuses. */
export class Emitter {
  readonly #plan: Plan;
  readonly #walker: Walker;
  readonly #flow = new Flow();
  readonly #settler = new Settler();
  readonly #tracer: Tracer;
  readonly #write = new Sink(4096);
  // Of the current function:
  #isThread = false;
  #counter = 0;
  #movedTo = 0;
  #units = 0;
  #nanLocals: number[] = [];
  /** Of the current function, where it is wanted: runs of three numbers, see locate.ts. */
  #runs: number[] | null = null;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#walker = new Walker(plan.module.bytes);
    this.#tracer = new Tracer(plan, this.#walker, this.#flow);
  }

  /** The metered body of a function, valid until the next call. `protocol` says how it gets the counter. */
  emit(index: number, protocol: number, runs: number[] | null = null): Sink {
    this.#runs = runs;
    const { module } = this.#plan;
    const body = 2 * (index - module.importedFunctions);
    const start = module.bodies[body] ?? 0;
    const end = module.bodies[body + 1] ?? 0;
    const type = this.#plan.typeOf(module.functions[index] ?? 0);
    const params = type.params.length;
    const locals = readLocals(this.#walker, start, end, this.#plan.limits.locals);
    this.#isThread = protocol === PROTOCOLS.thread;
    this.#counter = this.#isThread ? params : params + locals.total;
    this.#movedTo = params + locals.total;
    const movedLocal = this.#isThread && locals.total > 0 ? params : -1;
    const trace = this.#tracer.trace(index, locals, end, movedLocal);
    this.#settler.settle(this.#flow);
    const isLight = (this.#plan.light[index] ?? 0) > 0;
    const slots = params + locals.total + type.results.length;
    this.#units = isLight ? 0 : frameUnits(trace, slots, end - start);
    this.#write.length = 0;
    this.#writeLocals(locals, trace, params);
    this.#writeEntry(trace, module.functions[index] ?? 0, isLight);
    this.#writeSites(locals.end, end);
    return this.#write;
  }

  #writeLocals(locals: Locals, trace: Trace, params: number): void {
    const runs = this.#isThread ? moveFirst(locals.runs) : [...locals.runs, { count: 1, type: I64 }];
    this.#nanLocals = [];
    let next = params + locals.total + 1;
    NAN_TYPES.forEach((type, kind) => {
      if ((trace.nans & (1 << kind)) === 0) return;
      runs.push({ count: 1, type });
      this.#nanLocals[kind] = next;
      next += 1;
    });
    const write = this.#write;
    write.index(runs.length);
    for (const { count, type } of runs) {
      write.index(count);
      write.byte(type);
    }
  }

  #writeEntry(trace: Trace, type: number, isLight: boolean): void {
    const write = this.#write;
    if (!this.#isThread) {
      write.byte(OP.globalGet);
      write.index(this.#plan.counter);
      write.byte(OP.localSet);
      write.index(this.#counter);
    }
    const fuel = -this.#settler.debtOf(trace.entry);
    if (isLight) pay(write, this.#counter, fuel);
    else if (this.#units === 0) payAndCheck(write, this.#counter, fuel, this.#plan.counter);
    else this.#payAndCheckBoth(fuel);
    if (!trace.hasExitLabel) return;
    write.byte(OP.block);
    const { results } = this.#plan.typeOf(type);
    if (results.length === 0) write.byte(NOTHING);
    else if (results.length === 1) write.byte(results[0] ?? NOTHING);
    else write.signed(this.#plan.resultsType(type));
  }

  /** Checks fuel and stack together: bit 15 of the counter, shifted to the top, is combined with the sign. */
  #payAndCheckBoth(fuel: number): void {
    const write = this.#write;
    pushPaid(write, this.#counter, fuel, this.#units);
    write.byte(OP.localTee);
    write.index(this.#counter);
    write.byte(OP.localGet);
    write.index(this.#counter);
    write.all([OP.i64Const, 48, OP.i64ShiftLeft, OP.i64Or]);
    stopIfNegative(write, this.#counter, this.#plan.counter);
  }

  #writeSites(start: number, end: number): void {
    const flow = this.#flow;
    const { bytes } = this.#plan.module;
    let copied = start;
    for (let site = 0; site < flow.sites; site += 1) {
      const at = flow.siteAt[site] ?? 0;
      this.#runs?.push(this.#write.length, copied, 1);
      this.#write.copy(bytes, copied, at);
      this.#runs?.push(this.#write.length, at, 0);
      copied = flow.siteEnd[site] ?? at;
      this.#writeSite(flow.siteKind[site] ?? 0, site, at, copied);
    }
    this.#runs?.push(this.#write.length, copied, 1);
    this.#write.copy(bytes, copied, end);
  }

  #writeSite(kind: number, site: number, at: number, end: number): void {
    const write = this.#write;
    const link = this.#flow.siteLink[site] ?? 0;
    const extra = this.#flow.siteExtra[site] ?? 0;
    switch (kind) {
      case SITES.pay:
        pay(write, this.#counter, this.#flow.payment[link] ?? 0);
        return;
      case SITES.loop:
      case SITES.checkpoint:
        payAndCheck(
          write,
          this.#counter,
          this.#settler.debtOf(link) - this.#settler.debtOf(extra),
          this.#plan.counter,
        );
        return;
      case SITES.branchIf:
        this.#writeBranchIf(this.#flow.payment[link] ?? 0, extra);
        return;
      case SITES.implicitElse:
        if (this.#flow.payment[link] === 0) return;
        write.byte(OP.else);
        pay(write, this.#counter, this.#flow.payment[link] ?? 0);
        return;
      case SITES.movedLocal:
        write.byte(link);
        write.index(this.#movedTo);
        return;
      case SITES.canonicalNan:
        writeCanonicalNan(write, extra, this.#nanLocals[extra] ?? 0);
        return;
      case SITES.dropDeaf:
        write.byte(OP.unreachable);
        return;
      case SITES.drop:
        return;
      default:
        this.#writeTransfer(kind, this.#flow.payment[link] ?? 0, extra, [at, end]);
    }
  }

  /** Before control leaves the function: the counter is passed along, or stored in the global. */
  #writeTransfer(kind: number, fuel: number, extra: number, [at, end]: readonly [number, number]): void {
    const write = this.#write;
    switch (kind) {
      case SITES.call:
        this.#writeCall(extra, fuel);
        return;
      case SITES.checkedCall:
        payAndCheck(write, this.#counter, fuel, this.#plan.counter);
        this.#spill(0, 0);
        write.copy(this.#plan.module.bytes, at, end);
        this.#reload();
        return;
      case SITES.byLength:
        pushPaid(write, this.#counter, fuel);
        write.byte(OP.call);
        write.index(extra);
        write.byte(OP.localSet);
        write.index(this.#counter);
        return;
      case SITES.prepaidCall:
        write.byte(OP.call);
        write.index(this.#plan.bareOf.get(extra) ?? extra);
        return;
      case SITES.tailCall:
        this.#writeTailCall(extra, fuel, [at, end]);
        return;
      case SITES.leave:
        if (extra === LEAVES.atLabel) write.byte(OP.end);
        if (this.#isThread) pushPaid(write, this.#counter, fuel, -this.#units);
        else this.#spill(fuel, -this.#units);
        if (extra === LEAVES.byReturn) write.byte(OP.return);
        return;
      case SITES.stop:
        this.#spill(fuel, 0);
        return;
      default:
        throw new TypeError(`Cannot write site: kind ${kind} does not exist`);
    }
  }

  #writeBranchIf(fuel: number, label: number): void {
    const write = this.#write;
    if (fuel === 0) {
      write.byte(OP.branchIf);
      write.index(label);
      return;
    }
    write.byte(OP.if);
    write.byte(NOTHING);
    pay(write, this.#counter, fuel);
    write.byte(OP.br);
    write.index(label + 1);
    write.byte(OP.end);
  }

  #writeCall(callee: number, fuel: number): void {
    const write = this.#write;
    const isThread = this.#plan.protocol[callee] === PROTOCOLS.thread;
    if (isThread) pushPaid(write, this.#counter, fuel);
    else this.#spill(fuel, 0);
    write.byte(OP.call);
    write.index(callee);
    if (!isThread) {
      this.#reload();
      return;
    }
    write.byte(OP.localSet);
    write.index(this.#counter);
  }

  /** Before a tail call the frame is released: the callee replaces it. */
  #writeTailCall(callee: number, fuel: number, [at, end]: readonly [number, number]): void {
    const write = this.#write;
    const isHost = callee === THROUGH_TABLE || this.#plan.protocolOf(callee) === PROTOCOLS.host;
    if (isHost) payAndCheck(write, this.#counter, fuel, this.#plan.counter);
    this.#spill(isHost ? 0 : fuel, -this.#units);
    const bare = this.#plan.bareOf.get(callee);
    if (bare === undefined) {
      write.copy(this.#plan.module.bytes, at, end);
      return;
    }
    write.byte(this.#plan.module.bytes[at] ?? 0);
    write.index(bare);
  }

  #spill(fuel: number, units: number): void {
    pushPaid(this.#write, this.#counter, fuel, units);
    this.#write.byte(OP.globalSet);
    this.#write.index(this.#plan.counter);
  }

  #reload(): void {
    this.#write.byte(OP.globalGet);
    this.#write.index(this.#plan.counter);
    this.#write.byte(OP.localSet);
    this.#write.index(this.#counter);
  }
}

/** The runs of locals with the first local moved to the end, since the counter has its index. */
function moveFirst(runs: Locals['runs']): { count: number; type: number }[] {
  const [first, ...rest] = runs;
  if (first === undefined) return [];
  const left = first.count > 1 ? [{ count: first.count - 1, type: first.type }] : [];
  return [...left, ...rest, { count: 1, type: first.type }];
}
