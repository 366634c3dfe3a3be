import type { Check } from './report.ts';

/** The first thing wrong with a journal. `seq` is the number of the record that belongs there, where that is known. */
export type FirstBad = { readonly line: number; readonly seq: number | null; readonly why: string };

/** The earlier of two bad lines; for the same line, the problem with its position in the journal. */
export function earlierBad(position: FirstBad | null, content: FirstBad | null): FirstBad | null {
  if (position === null || content === null) return position ?? content;
  return content.line < position.line ? content : position;
}

/** Reports the check that a bad line fails, or that all lines passed, and returns the bad line. */
export function noteFirstBad(
  checks: Check[],
  name: string,
  bad: FirstBad | null,
  detail = '',
): FirstBad | null {
  checks.push({ name, ok: bad === null, detail: bad === null ? detail : `line ${bad.line}: ${bad.why}` });
  return bad;
}
