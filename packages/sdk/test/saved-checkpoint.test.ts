import { beforeAll, describe, expect, test } from 'vitest';
import { type KeyRing, linesOf, toUtf8, verifyJournal } from '../src/index.ts';
import { makeExport, makeExportFrom, makeRecords, ringOf, sealCheckpoint, vectors } from './signer.ts';

let keys: KeyRing;
beforeAll(async () => {
  keys = await ringOf(vectors.keyFile);
});

const records = makeRecords(20);

function verifyText(text: string, knownCheckpoint: string) {
  return verifyJournal(linesOf([toUtf8(text)]), keys, { knownCheckpoint });
}

describe('verifyJournal() with a saved checkpoint', () => {
  test.each([1, 7, 19, 20])('accepts the journal that grew from size %i', async (size) => {
    const knownCheckpoint = await sealCheckpoint(records.slice(0, size));
    const report = await verifyJournal(await makeExport(records), keys, { knownCheckpoint });
    expect(report).toMatchObject({ ok: true, firstBad: null });
    expect(report.checks.at(-1)?.detail).toBe(`compared the first ${size} records`);
  });

  test('compares at the very start of a partial export and refuses one that starts later', async () => {
    const lines = vectors.journal.split('\n').slice(1, 12);
    const at5 = await sealCheckpoint(lines.slice(0, 5));
    const exact = await verifyText(vectors.journalFrom6, at5);
    expect(exact.checks.at(-1)).toMatchObject({ ok: true, detail: 'compared the first 5 records' });
    const at3 = await verifyText(vectors.journalFrom6, await sealCheckpoint(lines.slice(0, 3)));
    expect(at3).toMatchObject({ ok: false, firstBad: { line: 1 } });
    expect(at3.checks.at(-1)).toMatchObject({
      ok: false,
      detail: expect.stringContaining('export from record 4 or an earlier one'),
    });
    const other = await sealCheckpoint(lines.slice(0, 5), { root: 'a'.repeat(64) });
    expect((await verifyText(vectors.journalFrom6, other)).firstBad).toMatchObject({ line: 1, seq: 5 });
  });

  test('does not take a forged history for the saved one because its beginning is left out', async () => {
    const knownCheckpoint = await sealCheckpoint(records.slice(0, 4));
    const forged = makeRecords(20, (seq) => (seq === 1 ? '' : 'forged'));
    const whole = await verifyJournal(await makeExport(forged), keys, { knownCheckpoint });
    expect(whole.firstBad).toMatchObject({ seq: 4 });
    for (const first of [6, 7, 20]) {
      const report = await verifyJournal(await makeExportFrom(forged, first), keys, { knownCheckpoint });
      expect(report).toMatchObject({ ok: false, firstBad: { line: 1 } });
      expect(await verifyJournal(await makeExportFrom(forged, first), keys)).toMatchObject({ ok: true });
    }
  });

  test('finds an older export with its own valid checkpoint: the tail was cut', async () => {
    const knownCheckpoint = await sealCheckpoint(records);
    const older = await makeExport(records.slice(0, 15));
    const report = await verifyJournal(older, keys, { knownCheckpoint });
    expect(report.firstBad).toMatchObject({ seq: 16, why: expect.stringContaining('record 16 is missing') });
  });

  test('finds a fork and another journal that the same key signed', async () => {
    const knownCheckpoint = await sealCheckpoint(records.slice(0, 12));
    const fork = makeRecords(20, (seq) => (seq < 9 ? '' : 'fork'));
    const forked = await verifyJournal(await makeExport(fork), keys, { knownCheckpoint });
    expect(forked.firstBad).toMatchObject({
      line: 13,
      seq: 12,
      why: expect.stringContaining('another record 12'),
    });
    const other = await makeExport(makeRecords(20, () => 'other'));
    const report = await verifyJournal(other, keys, { knownCheckpoint });
    expect(report.firstBad).toMatchObject({ why: expect.stringContaining('is of the journal') });
  });

  test('refuses a saved checkpoint that does not verify', async () => {
    const report = await verifyJournal(await makeExport(records), keys, { knownCheckpoint: '{}' });
    expect(report).toMatchObject({ ok: false, firstBad: null });
    expect(report.checks).toEqual([
      { name: 'The saved checkpoint is a DSSE envelope', ok: false, detail: expect.any(String) },
    ]);
  });
});
