/*
 * Runs of stars and underscores, and which of them belong together. A run is one piece of the output: what of it closes
 * stands in front of what is left as text, and what opens behind it.
 */
import { isPunctuation, isSpace } from './characters';

const STAR: i32 = 0x2a;

export class Run {
  readonly piece: i32;
  readonly sign: i32;
  readonly length: i32;
  readonly canOpen: bool;
  readonly canClose: bool;
  left: i32;
  private opening: string = '';
  private closing: string = '';
  isGone: bool = false;

  constructor(text: string, from: i32, to: i32, piece: i32) {
    this.piece = piece;
    this.sign = text.charCodeAt(from);
    this.length = to - from;
    this.left = to - from;
    const before = from === 0 ? 0x20 : (text.charCodeAt(from - 1) as i32);
    const after = to === text.length ? 0x20 : (text.charCodeAt(to) as i32);
    const isLeft = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before));
    const isRight = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after));
    // An underscore inside of a word is a part of it.
    this.canOpen = isLeft && (this.sign === STAR || !isRight || isPunctuation(before));
    this.canClose = isRight && (this.sign === STAR || !isLeft || isPunctuation(after));
  }

  get html(): string {
    return this.closing + String.fromCharCode(this.sign).repeat(this.left) + this.opening;
  }

  /** The rule of three: with a run that could do both, the lengths together are no multiple of it, unless both are. */
  fits(closer: Run): bool {
    if (this.isGone || !this.canOpen || this.sign !== closer.sign || this.left === 0) return false;
    if (!this.canClose && !closer.canOpen) return true;
    return (this.length + closer.length) % 3 !== 0 || (this.length % 3 === 0 && closer.length % 3 === 0);
  }

  open(count: i32, isPlain: bool): void {
    this.left -= count;
    if (!isPlain) this.opening = (count === 2 ? '<strong>' : '<em>') + this.opening;
  }

  close(count: i32, isPlain: bool): void {
    this.left -= count;
    if (!isPlain) this.closing += count === 2 ? '</strong>' : '</em>';
  }
}

/** Pairs the runs from a place in their list on, and takes them off it; what they become goes into their pieces. */
export function pairRuns(runs: Run[], from: i32, pieces: string[], isPlain: bool): void {
  // For each kind of closer, where no opener has to be looked for any more.
  const bottoms = new StaticArray<i32>(12);
  for (let at = 0; at < bottoms.length; at += 1) bottoms[at] = from;
  for (let at = from; at < runs.length; at += 1) {
    const closer = runs[at];
    while (closer.canClose && closer.left > 0) {
      const kind = (closer.sign === STAR ? 0 : 6) + (closer.canOpen ? 3 : 0) + (closer.length % 3);
      const opener = openerOf(runs, at, bottoms[kind]);
      if (opener < 0) {
        bottoms[kind] = at;
        break;
      }
      const count = closer.left >= 2 && runs[opener].left >= 2 ? 2 : 1;
      runs[opener].open(count, isPlain);
      closer.close(count, isPlain);
      for (let between = opener + 1; between < at; between += 1) runs[between].isGone = true;
    }
  }
  for (let at = from; at < runs.length; at += 1) pieces[runs[at].piece] = runs[at].html;
  runs.length = from;
}

function openerOf(runs: Run[], closer: i32, bottom: i32): i32 {
  for (let at = closer - 1; at >= bottom; at -= 1) if (runs[at].fits(runs[closer])) return at;
  return -1;
}
