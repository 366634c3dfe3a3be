import {
  chmodSync,
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { linesOf, toUtf8, verifyJournal, verifyProof, webPrimitives } from '@palisade/sdk';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { readHead } from '../../src/journal/head.ts';
import { exportLines, proveRecord, recordAt } from '../../src/journal/search.ts';
import { systemClock } from '../../src/open.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import { bodyOf, openTestGateway, recordsOf, ringOf } from '../fixture/gateway.ts';
import { appendMany, openTestRecords, type TestRecords, tamper, verified } from './sample.ts';

const SMALL = '[journal]\nsegment_records = 256\n';
const COUNT = 1500;

/** A journal of some segments; each was sealed when a process closed. */
async function sealed(): Promise<TestRecords> {
  const writer = await openTestRecords({ toml: SMALL });
  appendMany(writer, COUNT - 1);
  await writer.close();
  return openTestRecords({ stateDir: writer.stateDir });
}

const folderOf = ({ stateDir }: TestRecords) => join(stateDir, 'journal');
const filesOf = (records: TestRecords) => readdirSync(folderOf(records)).sort();

function liveCount(stateDir: string): number {
  const db = new Database(join(stateDir, 'palisade.db'));
  const [count] = db.prepare('SELECT count(*) FROM journal_record').raw().get([]) as [number];
  db.close();
  return count;
}

async function exportVerifies(records: TestRecords, first: number): Promise<boolean> {
  const bytes = toUtf8(`${[...exportLines(records, first)].join('\n')}\n`);
  return (await verifyJournal(linesOf([bytes]), await ringOf(records), {}, webPrimitives)).ok;
}

describe('roll()', () => {
  it('moves full segments out of the live table and leaves at least one in it', async () => {
    const records = await sealed();
    expect(filesOf(records)).toHaveLength(4);
    expect(liveCount(records.stateDir)).toBe(COUNT - 4 * 256);
    for (const file of filesOf(records))
      expect(statSync(join(folderOf(records), file)).mode & 0o777).toBe(0o400);
  });

  it('keeps every record where show, prove, export and verify find it', async () => {
    const records = await sealed();
    for (let seq = 1; seq <= COUNT; seq++) expect(recordAt(records.segments, seq)?.seq).toBe(seq);
    expect(recordAt(records.segments, 0)).toBeUndefined();
    expect(recordAt(records.segments, COUNT + 1)).toBeUndefined();
    const ring = await ringOf(records);
    for (const seq of [1, 256, 257, 700, 1024, 1025, COUNT]) {
      expect(await verifyProof(proveRecord(records, seq), ring, webPrimitives)).toMatchObject({ ok: true });
    }
    for (const first of [1, 256, 257, 1000, 1024, 1025, COUNT])
      expect(await exportVerifies(records, first)).toBe(true);
    expect(await verified(records)).toMatchObject({ ok: true, records: COUNT });
  });

  it('goes on growing one chain, also when it is asked for twice at once', async () => {
    const records = await sealed();
    appendMany(records, 600);
    const { seq } = readHead(records.store);
    await Promise.all([records.segments.roll(seq, 256), records.segments.roll(seq, 256)]);
    expect(await verified(records)).toMatchObject({ ok: true, records: COUNT + 600 });
    expect(filesOf(records)).toHaveLength(7);
  });

  it('may happen while an export is being read', async () => {
    const writer = await openTestRecords();
    appendMany(writer, COUNT - 1);
    const reader = exportLines(writer, 1);
    const lines = [reader.next().value, reader.next().value];
    const other = await openTestRecords({ stateDir: writer.stateDir });
    await other.segments.roll(COUNT, 256);
    const bytes = toUtf8(`${[...lines, ...reader].join('\n')}\n`);
    const report = await verifyJournal(linesOf([bytes]), await ringOf(writer), {}, webPrimitives);
    expect(report).toMatchObject({ ok: true, records: COUNT });
  });

  it('may be done by several connections at once', async () => {
    const writer = await openTestRecords();
    appendMany(writer, COUNT - 1);
    const others = [writer];
    for (let i = 0; i < 2; i++) others.push(await openTestRecords({ stateDir: writer.stateDir }));
    await Promise.all(others.map(({ segments }) => segments.roll(COUNT, 256)));
    expect(filesOf(writer)).toHaveLength(4);
    expect(await verified(writer)).toMatchObject({ ok: true, records: COUNT });
  });

  it('may be done by several processes at once', async () => {
    const gateway = await openTestGateway({ clock: systemClock });
    appendMany(gateway, COUNT);
    await gateway.close();
    const { stateDir } = gateway;
    writeFileSync(join(stateDir, 'palisade.toml'), SMALL);
    const program = await bundleProgram('call-many.ts');
    const children = ['ada', 'bob', 'cyd'].map((name) => new Child(program, [stateDir, name]));
    for (const child of children) expect(await child.line()).toBe('ready');
    for (const child of children) child.go();
    for (const child of children) expect(await child.ended()).toBe(0);
    const records = await openTestRecords({ stateDir, clock: systemClock });
    expect(filesOf(records)).toHaveLength(4);
    expect(liveCount(stateDir)).toBeLessThan(512);
    expect(await verified(records)).toMatchObject({ ok: true });
  });

  it('ends with the damage named when a record to be sealed is missing', async () => {
    const records = await openTestRecords();
    appendMany(records, COUNT - 1);
    tamper(records.stateDir, (db) => db.exec('DELETE FROM journal_record WHERE seq = 300'));
    await expect(records.segments.roll(COUNT, 256)).rejects.toMatchObject({
      code: 'store/corrupt',
      message: 'Cannot seal records 257 to 512 of the journal: 255 are there, expected 256',
    });
    expect(filesOf(records)).toHaveLength(1);
  });
});

describe('a crash while sealing', () => {
  it('after the copy leaves a file that nobody reads', async () => {
    const records = await openTestRecords();
    appendMany(records, COUNT - 1);
    await records.segments.roll(COUNT, 256);
    const [file = ''] = filesOf(records);
    const orphan = file.replace(/-p_.*/, '-p_gone.db');
    copyFileSync(join(folderOf(records), file), join(folderOf(records), orphan));
    expect(recordsOf(records)).toHaveLength(COUNT);
    expect(await verified(records)).toMatchObject({ ok: true, records: COUNT });
  });

  it('after the copy leaves a file that the next process removes, but never one of a process that is alive', async () => {
    const records = await sealed();
    const kept = filesOf(records);
    const [owner, ours] = ['p_gone', records.presence.id];
    for (const name of [owner, ours])
      writeFileSync(join(folderOf(records), `segment-000000001025-${name}-1.db`), 'half');
    const other = await openTestRecords({ stateDir: records.stateDir });
    await other.close();
    expect(filesOf(records)).toEqual([...kept, `segment-000000001025-${ours}-1.db`].sort());
    expect((await verified(records)).ok).toBe(true);
  });

  it('before the records were deleted shows none of them twice, and the next process deletes them', async () => {
    const records = await sealed();
    const [first = '', second = ''] = filesOf(records);
    for (const file of [first, second]) {
      tamper(records.stateDir, (db) => {
        db.prepare('ATTACH ? AS sealed').run([join(folderOf(records), file)]);
        db.exec('INSERT INTO main.journal_record SELECT * FROM sealed.journal_record');
      });
    }
    expect(liveCount(records.stateDir)).toBe(COUNT - 2 * 256);
    expect(recordsOf(records).map(({ seq }) => seq)).toEqual(Array.from({ length: COUNT }, (_, i) => i + 1));
    expect(await verified(records)).toMatchObject({ ok: true, records: COUNT });
    await records.close();
    expect(liveCount(records.stateDir)).toBe(COUNT - 4 * 256);
  });
});

describe('a segment', () => {
  it('that is missing is named by verify and stays missing', async () => {
    const records = await sealed();
    const [, second = ''] = filesOf(records);
    rmSync(join(folderOf(records), second));
    const { ok, firstBad } = await verified(records);
    expect([ok, firstBad?.seq]).toEqual([false, 257]);
    expect(firstBad?.why).toContain(`Cannot read records 257 to 512`);
    expect(firstBad?.why).toContain(second);
    expect(filesOf(records)).not.toContain(second);
  });

  it('that is damaged is named by verify', async () => {
    const records = await sealed();
    const [, , third = ''] = filesOf(records);
    const path = join(folderOf(records), third);
    chmodSync(path, 0o600);
    const fd = openSync(path, 'r+');
    writeSync(fd, Buffer.alloc(60_000, 0x5a), 0, 60_000, 4096);
    closeSync(fd);
    const { ok, firstBad } = await verified(records);
    expect([ok, firstBad?.seq]).toEqual([false, 513]);
    expect(firstBad?.why).toContain(third);
  });

  it.each([
    ['changed', 'UPDATE journal_record SET line = replace(line, \'"i":598\', \'"i":0\') WHERE seq = 600'],
    ['deleted', 'DELETE FROM journal_record WHERE seq = 600'],
  ])('in which a record was %s has that record named', async (_, sql) => {
    const records = await sealed();
    expect(bodyOf(recordAt(records.segments, 600)).i).toBe(598);
    const path = join(folderOf(records), filesOf(records)[2] ?? '');
    chmodSync(path, 0o600);
    const db = new Database(path);
    db.exec(sql);
    db.close();
    expect(await verified(records)).toMatchObject({ ok: false, firstBad: { seq: 600 } });
  });
});

describe('a long history', () => {
  it('is read through few open files, again and again', async () => {
    const writer = await openTestRecords({ toml: SMALL });
    appendMany(writer, 24 * 256);
    await writer.close();
    const records = await openTestRecords({ stateDir: writer.stateDir });
    expect(filesOf(records).length).toBeGreaterThan(20);
    // The writer was of this process as well, and some of its files may still be open.
    const before = openFilesOf(records);
    for (let round = 0; round < 2; round++) {
      expect(recordsOf(records)).toHaveLength(24 * 256 + 1);
      expect(openFilesOf(records) - before).toBeLessThanOrEqual(16);
    }
  });
});

function openFilesOf(records: TestRecords): number {
  const files = readdirSync('/proc/self/fd').map((fd) => fileOf(`/proc/self/fd/${fd}`));
  return files.filter((file) => file.startsWith(folderOf(records))).length;
}

function fileOf(fd: string): string {
  try {
    return readlinkSync(fd);
  } catch {
    // It was open while the list was made.
    return '';
  }
}
