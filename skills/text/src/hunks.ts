import { joined } from '@palisade/guest/assembly';

/** Lines that are removed from one text, and those that are put in their place. */
export class Edit {
  readonly oldFrom: i32;
  readonly removed: i32;
  readonly newFrom: i32;
  readonly added: i32;

  constructor(oldFrom: i32, removed: i32, newFrom: i32, added: i32) {
    this.oldFrom = oldFrom;
    this.removed = removed;
    this.newFrom = newFrom;
    this.added = added;
  }
}

/** Edits with the lines around them; those whose surroundings touch are one hunk. */
export function writeHunks(old: string[], now: string[], edits: Edit[], context: i32): string {
  const pieces: string[] = [];
  for (let first = 0; first < edits.length; ) {
    let last = first;
    while (last + 1 < edits.length && edits[last + 1].oldFrom - oldEnd(edits[last]) <= 2 * context) last += 1;
    writeHunk(pieces, old, now, edits.slice(first, last + 1), context);
    first = last + 1;
  }
  return joined(pieces);
}

function oldEnd(edit: Edit): i32 {
  return edit.oldFrom + edit.removed;
}

function writeHunk(pieces: string[], old: string[], now: string[], edits: Edit[], context: i32): void {
  const first = edits[0];
  const last = edits[edits.length - 1];
  const before = min(context, first.oldFrom);
  const behind = min(context, old.length - oldEnd(last));
  const newEnd = last.newFrom + last.added;
  const removes = range(first.oldFrom - before, oldEnd(last) + behind);
  const adds = range(first.newFrom - before, newEnd + behind);
  pieces.push(`@@ -${removes} +${adds} @@\n`);
  let at = first.oldFrom - before;
  for (let index = 0; index < edits.length; index += 1) {
    const edit = edits[index];
    writeLines(pieces, ' ', old, at, edit.oldFrom);
    writeLines(pieces, '-', old, edit.oldFrom, oldEnd(edit));
    writeLines(pieces, '+', now, edit.newFrom, edit.newFrom + edit.added);
    at = oldEnd(edit);
  }
  writeLines(pieces, ' ', old, at, at + behind);
}

/** The first line, counted from 1, and how many; of no lines the one before them. */
function range(from: i32, to: i32): string {
  const count = to - from;
  if (count === 1) return `${from + 1}`;
  return `${count === 0 ? from : from + 1},${count}`;
}

function writeLines(pieces: string[], sign: string, lines: string[], from: i32, to: i32): void {
  for (let at = from; at < to; at += 1) {
    pieces.push(sign + lines[at]);
    if (!lines[at].endsWith('\n')) pieces.push('\n\\ No newline at end of file\n');
  }
}
