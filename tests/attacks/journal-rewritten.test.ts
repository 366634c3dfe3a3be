import { linesOf, toUtf8, verifyJournal, webPrimitives } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import { appendLeaf, encodeFrontier, leafHash } from '../../packages/gateway/src/journal/head.ts';
import { exportLines } from '../../packages/gateway/src/journal/search.ts';
import { recordsOf, ringOf } from '../../packages/gateway/test/fixture/gateway.ts';
import {
  appendMany,
  openTestRecords,
  type RawDatabase,
  type TestRecords,
  tamper,
  verified,
} from '../../packages/gateway/test/journal/sample.ts';

/*
 * Somebody who can write to the database, but not sign, tells the story anew from some record on: every hash, the tree
 * and the head fit together again. And somebody who can also sign does the same, against a reader who kept a checkpoint.
 */

const COUNT = 40;

async function lived(): Promise<TestRecords> {
  const records = await openTestRecords();
  appendMany(records, COUNT - 1);
  records.store.transact((tx) => records.journal.checkpoint(tx));
  return records;
}

/** Rewrites the records from `from` on; `tell` gives the new line, or null to leave the record out. */
function rewrite(db: RawDatabase, from: number, tell: (line: string) => string | null): void {
  const rows = db.prepare('SELECT line FROM journal_record ORDER BY seq').raw().all([]) as [string][];
  const lines: string[] = [];
  const frontier: Uint8Array[] = [];
  let prev = '0'.repeat(64);
  for (const [i, [line]] of rows.entries()) {
    const reported = i + 1 < from ? line : tell(line);
    if (reported === null) continue;
    const seq = lines.length + 1;
    const linked = reported
      .replace(/"prev":"[0-9a-f]{64}"/, `"prev":"${prev}"`)
      .replace(/"seq":\d+/, `"seq":${seq}`);
    prev = leafHash(linked).toString('hex');
    appendLeaf(frontier, lines.length, leafHash(linked));
    lines.push(linked);
  }
  db.exec(`DELETE FROM journal_record WHERE seq > ${lines.length}`);
  const update = db.prepare(
    "UPDATE journal_record SET line = ?1, hash = ?2, call = json_extract(?1, '$.call'), principal = json_extract(?1, '$.principal'), tool = json_extract(?1, '$.tool'), kind = json_extract(?1, '$.kind') WHERE seq = ?3",
  );
  for (const [i, line] of lines.entries()) update.run([line, leafHash(line), i + 1]);
  db.prepare(
    'UPDATE journal_head SET seq = ?, hash = ?, origin = ?, frontier = ?, checkpoint_seq = min(checkpoint_seq, ?)',
  ).run([
    lines.length,
    Buffer.from(prev, 'hex'),
    leafHash(lines[0] ?? ''),
    encodeFrontier(frontier),
    lines.length,
  ]);
}

const STORIES: readonly [string, number, (line: string) => string | null][] = [
  ['changes who did it', 10, (line) => line.replaceAll('agent:a', 'agent:b')],
  ['leaves one record out', 10, (line) => (line.includes('"call":"call_20"') ? null : line)],
  ['cuts the end off', 10, (line) => (/"call":"call_3\d"/.test(line) ? null : line)],
  ['founds another journal', 1, (line) => line.replace('"version":"0.0.0"', '"version":"9.9.9"')],
];

/** The export of a journal, and whether it holds against what a reader kept. */
async function judged(records: TestRecords, knownCheckpoint?: string) {
  const bytes = toUtf8(`${[...exportLines(records, 1)].join('\n')}\n`);
  const options = knownCheckpoint === undefined ? {} : { knownCheckpoint };
  return verifyJournal(linesOf([bytes]), await ringOf(records), options, webPrimitives);
}

describe('a journal that is told anew', () => {
  test('as it was holds: the means are not what is found', async () => {
    const records = await lived();
    tamper(records.stateDir, (db) => rewrite(db, 10, (line) => line));
    expect(await verified(records)).toMatchObject({ ok: true, records: COUNT });
  });

  test.each(STORIES)('and %s breaks the signed checkpoint', async (_, from, tell) => {
    const records = await lived();
    tamper(records.stateDir, (db) => rewrite(db, from, tell));
    expect(recordsOf(records).length).toBeLessThanOrEqual(COUNT);
    expect(await verified(records)).toMatchObject({ ok: false });
  });

  test.each(STORIES)(
    'and %s, signed with the stolen key, breaks a checkpoint kept elsewhere',
    async (_, from, tell) => {
      const records = await lived();
      const { envelope } = records.store.transact((tx) => records.journal.checkpoint(tx));
      expect(await judged(records, envelope)).toMatchObject({ ok: true });
      tamper(records.stateDir, (db) => {
        rewrite(db, from, tell);
        db.exec('DELETE FROM journal_checkpoint');
      });
      // Without what the reader kept, the new story holds: this is what the key can do.
      expect(await judged(records)).toMatchObject({ ok: true });
      expect(await judged(records, envelope)).toMatchObject({ ok: false });
    },
  );
});
