import { describe, expect, it } from 'vitest';
import { type RecordRow, readHead } from '../../src/journal/head.ts';
import { search, type Wanted } from '../../src/journal/search.ts';
import { NOON, recordsOf, testClock } from '../fixture/gateway.ts';
import { appendMany, openTestRecords, type TestRecords } from './sample.ts';

const COUNT = 1200;

/** A journal over two segments and a live part, with a second between every hundred records. */
async function history(): Promise<TestRecords> {
  const clock = testClock();
  const records = await openTestRecords({ clock });
  for (let i = 0; i < COUNT / 100; i++) {
    clock.add(1000);
    appendMany(records, i === 0 ? 99 : 100);
  }
  await records.segments.roll(readHead(records.store).seq, 256);
  return records;
}

/** Pages through all that fits. */
function seek({ segments }: TestRecords, wanted: Wanted, newestFirst: boolean, limit: number): RecordRow[] {
  const found: RecordRow[] = [];
  for (let cursor: number | null = null; ; ) {
    const page = search(segments, wanted, { newestFirst, limit, cursor });
    expect(page.records.length).toBeLessThanOrEqual(limit);
    found.push(...page.records);
    if (page.cursor === null) return found;
    cursor = page.cursor;
  }
}

const FILTERS: readonly [string, Wanted, (row: RecordRow) => boolean][] = [
  ['everything', {}, () => true],
  ['a kind', { kind: 'note' }, ({ kind }) => kind === 'note'],
  ['a principal', { principal: 'agent:a3' }, ({ principal }) => principal === 'agent:a3'],
  ['a tool', { tool: 'tool.t6' }, ({ tool }) => tool === 'tool.t6'],
  ['a call', { call: 'call_42' }, ({ call }) => call === 'call_42'],
  [
    'a time',
    { fromMs: NOON + 3000, toMs: NOON + 9000 },
    (row) => row.at_ms >= NOON + 3000 && row.at_ms <= NOON + 9000,
  ],
  [
    'all terms at once',
    { kind: 'remark', principal: 'agent:a1', tool: 'tool.t1', fromMs: NOON + 2000 },
    (row) =>
      row.kind === 'remark' &&
      row.principal === 'agent:a1' &&
      row.tool === 'tool.t1' &&
      row.at_ms >= NOON + 2000,
  ],
  ['nothing', { kind: 'no such kind' }, () => false],
  ['a text that would be SQL', { tool: "' OR 1=1 --" }, () => false],
];

describe('search()', () => {
  it.each(FILTERS)(
    'finds %s once, in both orders, over segments, on pages of any size',
    async (_, wanted, fits) => {
      const records = await history();
      const all = recordsOf(records);
      expect(all).toHaveLength(COUNT);
      const expected = all.filter(fits).map(({ seq }) => seq);
      for (const limit of [7, 256, 5000]) {
        expect(seek(records, wanted, false, limit).map(({ seq }) => seq)).toEqual(expected);
        expect(seek(records, wanted, true, limit).map(({ seq }) => seq)).toEqual(expected.toReversed());
      }
    },
  );

  it('goes on after a cursor although records were sealed in between', async () => {
    const records = await openTestRecords();
    appendMany(records, COUNT - 1);
    const first = search(records.segments, {}, { newestFirst: true, limit: 100, cursor: null });
    await records.segments.roll(COUNT, 256);
    appendMany(records, 50);
    const rest = search(records.segments, {}, { newestFirst: true, limit: 5000, cursor: first.cursor });
    const seqs = [...first.records, ...rest.records].map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: COUNT }, (_, i) => COUNT - i));
  });
});
