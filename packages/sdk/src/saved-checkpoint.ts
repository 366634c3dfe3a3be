import type { Checkpoint } from './checkpoint.ts';
import { type FirstBad, noteFirstBad } from './first-bad.ts';
import type { JournalWalk } from './journal-walk.ts';
import type { Check } from './report.ts';

/** Whether a journal whose own checkpoint holds is the one that was saved, grown; gives the first thing wrong. */
export function checkSavedCheckpoint(
  checks: Check[],
  walk: JournalWalk,
  { saved, checkpoint }: { saved: Checkpoint; checkpoint: Checkpoint },
): FirstBad | null {
  const detail =
    walk.mark === null
      ? 'compared only the origin, because its size lies before this export'
      : `compared the first ${saved.size} records`;
  const bad = findContradiction(walk, saved, checkpoint);
  return noteFirstBad(checks, 'The journal continues the saved checkpoint', bad, detail);
}

function findContradiction(walk: JournalWalk, saved: Checkpoint, checkpoint: Checkpoint): FirstBad | null {
  if (saved.origin !== checkpoint.origin) {
    const why = `the saved checkpoint is of the journal "${saved.origin}", this is the journal "${checkpoint.origin}"`;
    return { line: walk.line, seq: null, why };
  }
  if (saved.size > checkpoint.size) {
    const seq = checkpoint.size + 1;
    const why = `record ${seq} is missing: the saved checkpoint covers ${saved.size} records, this one ${checkpoint.size}`;
    return { line: walk.line, seq, why };
  }
  if (walk.mark === null || (walk.mark.head === saved.head && walk.mark.root === saved.root)) return null;
  const why = `the saved checkpoint signs another record ${saved.size}: it or a record before it was replaced`;
  return { line: walk.mark.line, seq: saved.size, why };
}
