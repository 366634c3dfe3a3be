/** Adds blocks, loops and ifs to the flow. */
import type { WasmModule } from '../read/module.ts';
import { GROUND, SITES } from './flow.ts';
import { FRAMES } from './frames.ts';
import { guess } from './guess.ts';
import { NO_TYPE, OP } from './op.ts';
import { CHANGE_OF, COST_OF } from './opcodes.ts';
import { type Path, WARM } from './path.ts';

const LOOP_HEAT = 24;
const MOST_HEAT = 250;

/** Enters the block, loop or if at the walker's position. */
export function openBlock(path: Path, module: WasmModule, code: number): void {
  path.work(COST_OF[code] ?? 0);
  path.changeHeight(CHANGE_OF[code] ?? 0);
  const { frames } = path;
  const kind = code === OP.loop ? FRAMES.loop : code === OP.if ? FRAMES.if : FRAMES.block;
  const frame = frames.push(kind, path.heat);
  const { first } = path.walker;
  const type = first >= 0 ? module.types[first] : undefined;
  const params = type?.params.length ?? 0;
  const results = type?.results.length ?? (first === NO_TYPE ? 0 : 1);
  frames.params[frame] = params;
  frames.results[frame] = results;
  frames.height[frame] = path.height - params;
  frames.arity[frame] = kind === FRAMES.loop ? params : results;
  if (kind === FRAMES.loop) openLoop(path, frame);
  if (kind === FRAMES.if) openIf(path, frame);
}

/** A loop is checked at its head, on entry and on every iteration. */
function openLoop(path: Path, frame: number): void {
  const { at, next } = path.walker;
  const before = path.flow.addNode();
  path.flow.isTerminal[before] = 1;
  path.pay(before, path.heat, at);
  path.heat = Math.min(path.heat + LOOP_HEAT, MOST_HEAT);
  path.frames.node[frame] = before;
  path.frames.labelHeat[frame] = path.heat;
  const site = path.flow.addSite(SITES.loop, next, next, before);
  path.flow.siteExtra[site] = path.addCheck();
}

function openIf(path: Path, frame: number): void {
  const { frames } = path;
  frames.ifNode[frame] = path.node;
  frames.ifOwed[frame] = path.owed;
  frames.ifUnchecked[frame] = path.unchecked;
  const { holds, fails } = guess(path.walker.previous);
  frames.elseHeat[frame] = Math.max(path.heat - fails, 1);
  path.heat = Math.max(path.heat - holds, 1);
}

/** Begins the other arm of an if. */
export function openElse(path: Path): void {
  const { frames } = path;
  const frame = frames.depth;
  if (!path.isDead) path.fallInto(frame);
  frames.kind[frame] = FRAMES.else;
  resumeAtIf(path, frame);
  path.height = (frames.height[frame] ?? 0) + (frames.params[frame] ?? 0);
}

function resumeAtIf(path: Path, frame: number): void {
  path.node = path.frames.ifNode[frame] ?? GROUND;
  path.owed = path.frames.ifOwed[frame] ?? 0;
  path.unchecked = path.frames.ifUnchecked[frame] ?? 0;
  path.heat = path.frames.elseHeat[frame] ?? WARM;
  path.isDead = false;
}

/** Leaves the innermost block, or the function. */
export function closeBlock(path: Path): void {
  const { frames } = path;
  const frame = frames.depth;
  const kind = frames.kind[frame];
  if (kind === FRAMES.if) closeIf(path, frame);
  else if (kind === FRAMES.function) closeFunction(path);
  else if (kind !== FRAMES.loop && (frames.branches[frame] ?? 0) > 0) {
    if (!path.isDead) path.fallInto(frame);
    path.continueAt(frame);
  }
  path.heat = frames.heat[frame] ?? WARM;
  path.height = frames.height[frame] ?? 0;
  path.changeHeight(frames.results[frame] ?? 0);
  frames.depth -= 1;
  if (path.isDead && frames.depth >= 0) path.skipDead(true);
}

/** An if without an else: the path past it needs its own payment, in an else that is added for it. */
function closeIf(path: Path, frame: number): void {
  if (path.isDead && path.frames.branches[frame] === 0) {
    resumeAtIf(path, frame);
    return;
  }
  if (!path.isDead) path.fallInto(frame);
  resumeAtIf(path, frame);
  const { at } = path.walker;
  const edge = path.flow.addEdge(path.node, path.labelOf(frame), path.owed, path.heat);
  path.flow.addSite(SITES.implicitElse, at, at, edge);
  path.arrive(frame);
  path.continueAt(frame);
}

function closeFunction(path: Path): void {
  const { at } = path.walker;
  const hasLabel = (path.frames.branches[0] ?? 0) > 0;
  if (hasLabel) {
    if (!path.isDead) path.fallInto(0);
    path.continueAt(0);
  }
  if (path.isDead) return;
  const site = path.toGround(SITES.leave, at, at);
  path.flow.siteExtra[site] = hasLabel ? LEAVES.atLabel : LEAVES.atEnd;
}

/** The ways to leave a function: past its end, past the end of the block around its body, or by returning. */
export const LEAVES = { atEnd: 0, byReturn: 1, atLabel: 2 } as const;
