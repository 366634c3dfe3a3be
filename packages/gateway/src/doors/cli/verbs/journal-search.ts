import { search, type Wanted } from '../../../journal/search.ts';
import { recordOf } from '../../../operations/record-document.ts';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import { printRecords } from '../records.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 10_000, absent: 20 });
  const cursor = numberOf(invocation, 'cursor', { min: 0, max: Number.MAX_SAFE_INTEGER, absent: -1 });
  const newestFirst = flags['oldest-first'] !== true;
  const wanted = wantedOf(invocation);
  const records = await invocation.openRecords();
  try {
    const page = search(records.segments, wanted, {
      newestFirst,
      limit,
      cursor: cursor === -1 ? null : cursor,
    });
    if (print.json) {
      print.document({ records: page.records.map(recordOf), cursor: page.cursor });
      return 0;
    }
    if (page.records.length === 0) print.line('No record fits.');
    else printRecords(print, page.records);
    if (page.cursor !== null) print.note(`More: the same search with --cursor ${page.cursor}`);
    return 0;
  } finally {
    await records.close();
  }
}

function wantedOf(invocation: Invocation): Wanted {
  const wanted: Record<string, string | number> = {};
  for (const name of ['kind', 'principal', 'tool', 'call']) {
    const value = textOf(invocation, name);
    if (value !== undefined) wanted[name] = value;
  }
  const [fromMs, toMs] = [timeOf(invocation, 'from'), timeOf(invocation, 'to')];
  if (fromMs !== undefined) wanted.fromMs = fromMs;
  if (toMs !== undefined) wanted.toMs = toMs;
  return wanted;
}

function timeOf(invocation: Invocation, name: string): number | undefined {
  const raw = textOf(invocation, name);
  if (raw === undefined) return undefined;
  const ms = /^\d{4}-\d{2}-\d{2}/.test(raw) ? Date.parse(raw) : Number.NaN;
  if (Number.isNaN(ms))
    throw wrongUsage(`Cannot use --${name} "${raw}": expected a time like 2026-01-31T12:00:00Z`);
  return ms;
}
