import type { FirstBad } from './first-bad.ts';

/** A record as the chain sees it. The header of an export takes the place of the record before the first. */
export type Link = {
  readonly line: number;
  readonly seq: number;
  readonly prev: string;
  readonly hash: string;
};

/**
 * Describes what is wrong between two neighbours; null if nothing is. A broken link alone does not show which side was
 * changed: if the rest of the journal continues from the later record, the earlier one is false.
 */
export function judgeLink(before: Link, here: Link, nextPrev: string | null): FirstBad | null {
  const seq = before.seq + 1;
  const isFirst = before.line === 1;
  const goesOn = nextPrev === here.hash;
  const blameHere = (why: string): FirstBad => ({ line: here.line, seq, why });
  const blameBefore = (why: string): FirstBad => ({
    line: before.line,
    seq: isFirst ? null : before.seq,
    why,
  });
  if (here.prev === before.hash) {
    if (here.seq === seq) return null;
    if (isFirst && goesOn) return blameBefore(`the export starts with record ${here.seq}, expected ${seq}`);
    return blameHere(`the record has number ${here.seq}, expected ${seq}`);
  }
  if (here.hash === before.hash) return blameHere(`record ${before.seq} is repeated`);
  if (here.seq > seq) return blameHere(`record ${seq} is missing: record ${here.seq} follows instead`);
  if (goesOn && here.seq === before.seq && here.prev === before.prev) {
    return blameBefore(`the record was inserted: the journal goes on from the other record ${here.seq}`);
  }
  if (here.seq < seq) return blameHere(`record ${here.seq} stands where record ${seq} is expected`);
  // The header of a complete journal cannot be wrong: its contents are fixed.
  if (goesOn && seq > 1) {
    return blameBefore(
      `its hash is "${before.hash}", but record ${here.seq} follows "${here.prev}": it was changed`,
    );
  }
  return blameHere(`field "prev" is "${here.prev}", expected "${before.hash}"`);
}
