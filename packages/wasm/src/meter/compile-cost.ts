/**
 * What a function costs V8's compiler, which copies all locals and operands wherever control splits or joins, so the
 * work grows with their number times the number of branches; and with the square of what a call passes and returns.
 * The numbers are estimates of time, in a unit of their own.
 */
import { doubled } from './flow.ts';

/** Values passed and returned, squared, that weigh as much as one copied value. */
const CALL_SHARE = 32;

export class CompileCost {
  /** The weight of the current function, and of all so far. */
  weight = 0;
  total = 0;
  height = 0;
  mostHeight = 0;
  #locals = 0;
  #depth = 0;
  #base = new Int32Array(64);
  #params = new Int32Array(64);
  #results = new Int32Array(64);

  begin(locals: number): void {
    this.#locals = locals;
    this.height = 0;
    this.mostHeight = 0;
    this.#depth = 0;
    this.weight = 0;
    this.#add(locals);
  }

  change(by: number): void {
    this.height += by;
    if (this.height > this.mostHeight) this.mostHeight = this.height;
  }

  /** Control may branch to `ways` other targets from here. */
  split(ways: number): void {
    this.#add(ways * (this.#locals + Math.max(this.height, 0)));
  }

  call(params: number, results: number): void {
    this.#add(((params + results) * (params + results)) / CALL_SHARE);
    this.change(results - params);
  }

  open(params: number, results: number): void {
    this.#depth += 1;
    if (this.#depth === this.#base.length) this.#grow();
    this.#base[this.#depth] = this.height - params;
    this.#params[this.#depth] = params;
    this.#results[this.#depth] = results;
  }

  openElse(): void {
    this.height = (this.#base[this.#depth] ?? 0) + (this.#params[this.#depth] ?? 0);
  }

  close(): void {
    this.height = this.#base[this.#depth] ?? 0;
    this.change(this.#results[this.#depth] ?? 0);
    this.#depth -= 1;
  }

  /** What follows is unreachable: V8 drops the operands of the block. */
  endBlock(): void {
    this.height = this.#depth === 0 ? 0 : (this.#base[this.#depth] ?? 0);
  }

  #add(weight: number): void {
    this.weight += weight;
    this.total += weight;
  }

  #grow(): void {
    this.#base = doubled(this.#base);
    this.#params = doubled(this.#params);
    this.#results = doubled(this.#results);
  }
}
