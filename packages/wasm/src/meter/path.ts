/**
 * The current position of the trace: the last node, the work since then, and the open blocks. These few operations
 * record all control flow.
 */
import { MOST_UNCHECKED } from '../costs.table.ts';
import { type Flow, GROUND, SITES } from './flow.ts';
import { Frames } from './frames.ts';
import { OP } from './op.ts';
import type { Walker } from './walker.ts';

/** The heat outside of all loops. */
export const WARM = 100;

export class Path {
  readonly walker: Walker;
  readonly flow: Flow;
  readonly frames = new Frames();
  /** The last node passed, and the work since. */
  node = GROUND;
  owed = 0;
  /** The longest path since a check. */
  unchecked = 0;
  heat = WARM;
  height = 0;
  mostHeight = 0;
  /** The most values that one call passes and returns. */
  mostCarried = 0;
  /** Values that V8 may keep besides locals and operands. */
  values = 0;
  isDead = false;
  hasCalls = false;

  constructor(walker: Walker, flow: Flow) {
    this.walker = walker;
    this.flow = flow;
  }

  /** Starts a function; the node after the check at its entry is the first. */
  begin(): number {
    this.flow.reset();
    this.heat = WARM;
    this.height = 0;
    this.mostHeight = 0;
    this.mostCarried = 0;
    this.values = 0;
    this.isDead = false;
    this.hasCalls = false;
    this.frames.depth = -1;
    return this.addCheck();
  }

  /** Adds the node after a check, where the count of work starts again. */
  addCheck(): number {
    const node = this.flow.addNode();
    this.flow.isCheck[node] = 1;
    this.node = node;
    this.owed = 0;
    this.unchecked = 0;
    return node;
  }

  /** Counts work, and splits a long straight path with a check before the current instruction. */
  work(cost: number): void {
    this.unchecked += cost;
    if (this.unchecked > MOST_UNCHECKED) this.#checkpoint(cost);
    this.owed += cost;
  }

  #checkpoint(cost: number): void {
    const { at } = this.walker;
    const before = this.flow.addNode();
    this.flow.isTerminal[before] = 1;
    this.pay(before, this.heat, at);
    const site = this.flow.addSite(SITES.checkpoint, at, at, before);
    this.flow.siteExtra[site] = this.addCheck();
    this.unchecked = cost;
  }

  changeHeight(change: number): void {
    this.height += change;
    if (this.height > this.mostHeight) this.mostHeight = this.height;
  }

  /** Adds an edge from here to a node, with its payment at `at`. */
  pay(to: number, heat: number, at: number): void {
    const edge = this.flow.addEdge(this.node, to, this.owed, heat);
    this.flow.addSite(SITES.pay, at, at, edge);
  }

  /** Adds an edge from here to zero debt and the site of its payment; work continues from there. */
  toGround(kind: number, at: number, end: number): number {
    const edge = this.flow.addEdge(this.node, GROUND, this.owed, this.heat);
    this.node = GROUND;
    this.owed = 0;
    return this.flow.addSite(kind, at, end, edge);
  }

  /** The node of a block's label. */
  labelOf(frame: number): number {
    const node = this.frames.node[frame] ?? -1;
    if (node >= 0) return node;
    const made = this.flow.addNode();
    this.frames.node[frame] = made;
    return made;
  }

  /** Records that a path leads to a label. */
  arrive(frame: number): void {
    const { frames } = this;
    frames.branches[frame] = (frames.branches[frame] ?? 0) + 1;
    frames.unchecked[frame] = Math.max(frames.unchecked[frame] ?? 0, this.unchecked);
  }

  /** Adds the edge from here to the label of a block that ends or whose first arm ends. */
  fallInto(frame: number): void {
    this.pay(this.labelOf(frame), this.heat, this.walker.at);
    this.arrive(frame);
  }

  /** Continues from the label of a block. */
  continueAt(frame: number): void {
    this.node = this.frames.node[frame] ?? GROUND;
    this.owed = 0;
    this.unchecked = this.frames.unchecked[frame] ?? 0;
    this.isDead = false;
  }

  /** Marks what follows the current instruction as unreachable. */
  die(): void {
    this.isDead = true;
    this.skipDead(false);
  }

  /** Skips unreachable code, up to the end or else of its block. */
  skipDead(isDeaf: boolean): void {
    const { walker } = this;
    const start = walker.next;
    let nesting = 0;
    for (;;) {
      walker.step();
      const { code } = walker;
      if (code >= OP.block && code <= OP.if) nesting += 1;
      else if (code === OP.end || code === OP.else) {
        if (nesting === 0) break;
        if (code === OP.end) nesting -= 1;
      }
    }
    walker.next = walker.at;
    // After the end of a block V8 treats code as reachable again, unless an `unreachable` comes first.
    if (isDeaf) this.flow.addSite(SITES.dropDeaf, start, walker.at, 0);
    else if (walker.at > start) this.flow.addSite(SITES.drop, start, walker.at, 0);
  }
}
