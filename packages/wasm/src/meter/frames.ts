/** The open blocks of a function, as parallel arrays: index 0 is the function itself. */
import { doubled } from './flow.ts';

export const FRAMES = { function: 0, block: 1, loop: 2, if: 3, else: 4 } as const;

export class Frames {
  depth = -1;
  kind = new Uint8Array(64);
  /** The node of its label; for a loop, the node before its check. -1 until there is one. */
  node = new Int32Array(64);
  /** Edges that lead to the label. */
  branches = new Int32Array(64);
  /** How many values a branch to the label carries. */
  arity = new Int32Array(64);
  /** Height of the operands below its parameters, and how many results it leaves. */
  height = new Int32Array(64);
  results = new Int32Array(64);
  params = new Int32Array(64);
  /** Heat around it, and at its label. */
  heat = new Int32Array(64);
  labelHeat = new Int32Array(64);
  /** The longest path to its label since a check. */
  unchecked = new Float64Array(64);
  /** For an if: the node where its condition is tested. */
  ifNode = new Int32Array(64);
  ifOwed = new Float64Array(64);
  /** Heat of the other arm. */
  elseHeat = new Int32Array(64);
  ifUnchecked = new Float64Array(64);
  /** For a label: the last branch table that contains it. */
  stamp = new Int32Array(64);

  /** Opens a block and returns its index. */
  push(kind: number, heat: number): number {
    this.depth += 1;
    const index = this.depth;
    if (index === this.kind.length) this.#grow();
    this.kind[index] = kind;
    this.node[index] = -1;
    this.branches[index] = 0;
    this.heat[index] = heat;
    this.labelHeat[index] = heat;
    this.unchecked[index] = 0;
    this.stamp[index] = -1;
    return index;
  }

  #grow(): void {
    this.kind = doubled(this.kind);
    this.node = doubled(this.node);
    this.branches = doubled(this.branches);
    this.arity = doubled(this.arity);
    this.height = doubled(this.height);
    this.results = doubled(this.results);
    this.params = doubled(this.params);
    this.heat = doubled(this.heat);
    this.labelHeat = doubled(this.labelHeat);
    this.unchecked = doubled(this.unchecked);
    this.ifNode = doubled(this.ifNode);
    this.ifOwed = doubled(this.ifOwed);
    this.elseHeat = doubled(this.elseHeat);
    this.ifUnchecked = doubled(this.ifUnchecked);
    this.stamp = doubled(this.stamp);
  }
}
