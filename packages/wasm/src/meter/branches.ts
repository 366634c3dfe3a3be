/** Adds branches, returns and traps to the flow. */
import { LEAVES } from './blocks.ts';
import { SITES } from './flow.ts';
import { FRAMES } from './frames.ts';
import { guess } from './guess.ts';
import { type Path, WARM } from './path.ts';

const MOST_COOLED = 8;

/** An unconditional branch; to the function's own label it is a return. */
export function branch(path: Path): void {
  const { frames, walker } = path;
  const frame = frames.depth - walker.first;
  if (frame === 0) {
    leave(path);
    return;
  }
  path.pay(path.labelOf(frame), Math.min(path.heat, frames.labelHeat[frame] ?? WARM), walker.at);
  path.arrive(frame);
  path.die();
}

/** A conditional branch that is taken pays in a block that is added for it. */
export function branchIf(path: Path): void {
  const { frames, flow } = path;
  const { at, next, first } = path.walker;
  const frame = frames.depth - first;
  path.changeHeight(-1);
  const label = path.labelOf(frame);
  path.arrive(frame);
  if ((frames.arity[frame] ?? 0) > 0) {
    // Values on the stack cannot be carried into that block, so both paths are paid before the branch.
    decide(path, label);
    return;
  }
  const isBack = frames.kind[frame] === FRAMES.loop;
  const { holds, fails } = guess(path.walker.previous);
  const heat = Math.min(isBack ? path.heat : path.heat - holds, frames.labelHeat[frame] ?? WARM);
  const site = flow.addSite(SITES.branchIf, at, next, flow.addEdge(path.node, label, path.owed, heat));
  flow.siteExtra[site] = first;
  if (!isBack && fails > 0) cool(path, frame, path.heat - fails);
}

/** Code that is usually jumped over is cold, up to the label. */
function cool(path: Path, label: number, heat: number): void {
  path.heat = Math.max(heat, 1);
  const { frames } = path;
  // Boundary: deep nesting with many branches must not take time quadratic in the input.
  const last = Math.max(label, frames.depth - MOST_COOLED);
  for (let frame = frames.depth; frame > last; frame -= 1) {
    frames.heat[frame] = Math.min(frames.heat[frame] ?? WARM, path.heat);
  }
}

/** Continues from a node from which every path has the same debt. */
function decide(path: Path, label: number): void {
  const node = path.flow.addNode();
  path.pay(node, path.heat, path.walker.at);
  path.flow.tie(node, label);
  path.node = node;
  path.owed = 0;
}

/** All labels of a table have the same debt, since nothing can be paid between it and them. */
export function branchTable(path: Path): void {
  const { walker, frames } = path;
  const node = path.flow.addNode();
  path.pay(node, path.heat, walker.at);
  const end = walker.next;
  walker.next = walker.labelsAt;
  while (walker.next < end) {
    const frame = frames.depth - walker.readIndex(walker.next);
    if (frames.stamp[frame] === node) continue;
    frames.stamp[frame] = node;
    path.flow.tie(node, path.labelOf(frame));
    path.arrive(frame);
  }
  path.die();
}

/** Returns to the caller. */
export function leave(path: Path): void {
  const site = path.toGround(SITES.leave, path.walker.at, path.walker.next);
  path.flow.siteExtra[site] = LEAVES.byReturn;
  path.die();
}

/** A trap ends the work: it neither attracts payments nor limits what may be paid in advance. */
export function stop(path: Path): void {
  const site = path.toGround(SITES.stop, path.walker.at, path.walker.at);
  path.flow.isHard[path.flow.siteLink[site] ?? 0] = 2;
  path.die();
}
