import type { Checkpoint } from './checkpoint.ts';
import { type FirstBad, noteFirstBad } from './first-bad.ts';
import type { JournalWalk } from './journal-walk.ts';
import type { Check } from './report.ts';

/** Whether a checkpoint signs exactly the records that were walked; returns the first problem. */
export async function checkCover(
  checks: Check[],
  walk: JournalWalk,
  checkpoint: Checkpoint,
): Promise<FirstBad | null> {
  const root = await walk.root();
  const bad = findSizeError(walk, checkpoint) ?? findHashError(walk, checkpoint, root);
  const detail = `${checkpoint.size} records, root "${root}"`;
  return noteFirstBad(checks, 'The checkpoint covers exactly these records', bad, detail);
}

function findSizeError({ last, line }: JournalWalk, { size }: Checkpoint): FirstBad | null {
  const end = last?.seq ?? 0;
  if (size === end) return null;
  const is = `the checkpoint covers ${size} records, the export ends at ${end}`;
  return size > end
    ? { line, seq: end + 1, why: `record ${end + 1} is missing: ${is}` }
    : { line, seq: size + 1, why: `record ${size + 1} is not signed: ${is}` };
}

function findHashError(walk: JournalWalk, { head, origin, root, size }: Checkpoint, reached: string | null) {
  const { last, line } = walk;
  if (head !== last?.hash) {
    const why = `its hash is "${last?.hash}", the checkpoint signs "${head}": it or a record before it was changed`;
    return { line: last?.line ?? line, seq: size, why };
  }
  if (root !== reached) {
    const why = `the frontier and the records lead to root "${reached}", the checkpoint signs "${root}"`;
    return { line: 1, seq: null, why };
  }
  if (walk.origin === null || origin === walk.origin) return null;
  return { line, seq: null, why: `record 1 has hash "${walk.origin}", the checkpoint signs "${origin}"` };
}
