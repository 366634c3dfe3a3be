/*
 * The lines that differ, found by the shortest way from one text to the other (the algorithm of Myers). A way of more than
 * MOST_EDITS steps is not looked for: what lies between the common beginning and end is then replaced as a whole.
 */
import { Json } from '@palisade/guest/assembly';
import { lineEnd } from './characters';
import { Edit, writeHunks } from './hunks';

const MOST_EDITS: i32 = 150;

/** A unified diff without file names, and how many lines it adds and removes. */
export function unifiedDiff(before: string, after: string, context: i32): Json {
  const old = linesOf(before);
  const now = linesOf(after);
  const edits = editsOf(old, now);
  let added = 0;
  let removed = 0;
  for (let at = 0; at < edits.length; at += 1) {
    added += edits[at].added;
    removed += edits[at].removed;
  }
  return Json.object()
    .setNumber('added', added)
    .setText('diff', writeHunks(old, now, edits, context))
    .setNumber('removed', removed);
}

/** Lines with the line feed that ends them. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = min(lineEnd(text, from) + 1, text.length);
    lines.push(text.slice(from, end));
    from = end;
  }
  return lines;
}

function editsOf(old: string[], now: string[]): Edit[] {
  const numbers = new Map<string, i32>();
  const a = numbered(old, numbers);
  const b = numbered(now, numbers);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let aEnd = a.length;
  let bEnd = b.length;
  for (; aEnd > head && bEnd > head && a[aEnd - 1] === b[bEnd - 1]; aEnd -= 1) bEnd -= 1;
  return shortest(a, b, new Edit(head, aEnd - head, head, bEnd - head));
}

/** The same number for the same line, so that lines are compared at once. */
function numbered(lines: string[], numbers: Map<string, i32>): i32[] {
  const all: i32[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    if (!numbers.has(line)) numbers.set(line, numbers.size);
    all.push(numbers.get(line));
  }
  return all;
}

/** How far each diagonal was reached after 0, 1, 2 … steps, and from there the way back. */
function shortest(a: i32[], b: i32[], middle: Edit): Edit[] {
  const steps: i32[][] = [];
  const most = min(middle.removed + middle.added, MOST_EDITS);
  let reached: i32[] = [0];
  for (let step = 0; step <= most; step += 1) {
    const next: i32[] = new Array<i32>(2 * step + 1);
    for (let at = 0; at <= 2 * step; at += 2) {
      const diagonal = at - step;
      let x = step === 0 ? 0 : furthest(reached, step, at);
      while (isSame(a, b, middle, x, x - diagonal)) x += 1;
      next[at] = x;
      if (x >= middle.removed && x - diagonal >= middle.added) return wayBack(steps, middle, step);
    }
    steps.push(next);
    reached = next;
  }
  return middle.removed + middle.added === 0 ? [] : [middle];
}

/** The better of one line added and one line removed, from what one step less has reached. */
function furthest(reached: i32[], step: i32, at: i32): i32 {
  if (isAdded(reached, step, at)) return reached[at];
  return reached[at - 2] + 1;
}

/** The diagonal at a place was at the same place less two, or at the same, in the step before, which has two less. */
function isAdded(reached: i32[], step: i32, at: i32): bool {
  return at === 0 || (at !== 2 * step && reached[at - 2] < reached[at]);
}

function isSame(a: i32[], b: i32[], middle: Edit, x: i32, y: i32): bool {
  if (x < 0 || y < 0 || x >= middle.removed || y >= middle.added) return false;
  return a[middle.oldFrom + x] === b[middle.newFrom + y];
}

/** From the end to the beginning; steps next to each other become one edit. */
function wayBack(steps: i32[][], middle: Edit, last: i32): Edit[] {
  const edits: Edit[] = [];
  let x = middle.removed;
  let y = middle.added;
  for (let step = last; step > 0; step -= 1) {
    const reached = steps[step - 1];
    const at = x - y + step;
    const hasAdded = isAdded(reached, step, at);
    const fromX = hasAdded ? reached[at] : reached[at - 2];
    const fromY = fromX - (hasAdded ? x - y + 1 : x - y - 1);
    join(edits, middle.oldFrom + fromX, middle.newFrom + fromY, hasAdded);
    x = fromX;
    y = fromY;
  }
  return edits.reverse();
}

function join(edits: Edit[], oldFrom: i32, newFrom: i32, hasAdded: bool): void {
  const removed = hasAdded ? 0 : 1;
  const added = hasAdded ? 1 : 0;
  if (edits.length > 0) {
    const behind = edits[edits.length - 1];
    if (oldFrom + removed === behind.oldFrom && newFrom + added === behind.newFrom) {
      edits[edits.length - 1] = new Edit(oldFrom, behind.removed + removed, newFrom, behind.added + added);
      return;
    }
  }
  edits.push(new Edit(oldFrom, removed, newFrom, added));
}
