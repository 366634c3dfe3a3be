import type { Check } from './report.ts';

/** The first thing wrong with a journal. `seq` is the number of the record that belongs there, where that is known. */
export type FirstBad = { readonly line: number; readonly seq: number | null; readonly why: string };

/** Writes down the check that a bad line fails, or that there is none, and hands the bad line on. */
export function noteFirstBad(
  checks: Check[],
  name: string,
  bad: FirstBad | null,
  detail = '',
): FirstBad | null {
  checks.push({ name, ok: bad === null, detail: bad === null ? detail : `line ${bad.line}: ${bad.why}` });
  return bad;
}
