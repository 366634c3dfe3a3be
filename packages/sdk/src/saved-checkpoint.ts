import type { Checkpoint } from './checkpoint.ts';
import { type FirstBad, noteFirstBad } from './first-bad.ts';
import type { JournalWalk } from './journal-walk.ts';
import type { Check } from './report.ts';

/** Whether a journal with a valid checkpoint continues the saved one; returns the first problem. */
export function checkSavedCheckpoint(
  checks: Check[],
  walk: JournalWalk,
  { saved, checkpoint }: { saved: Checkpoint; checkpoint: Checkpoint },
): FirstBad | null {
  const detail = `compared the first ${saved.size} records`;
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
  if (walk.mark === null) {
    // Boundary: what is between the two is missing, and could be anything that the same key signed.
    const why = `the saved checkpoint covers ${saved.size} records, the export starts at record ${walk.header?.first}: export from record ${saved.size + 1} or an earlier one`;
    return { line: 1, seq: null, why };
  }
  if (walk.mark.head === saved.head && walk.mark.root === saved.root) return null;
  const why = `the saved checkpoint signs another record ${saved.size}: it or a record before it was replaced`;
  return { line: walk.mark.line, seq: saved.size, why };
}
