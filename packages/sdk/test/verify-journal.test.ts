import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import {
  encodeExportCheckpoint,
  encodeExportHeader,
  type KeyRing,
  linesOf,
  toUtf8,
  verifyJournal,
  ZERO_HASH,
} from '../src/index.ts';
import { flips } from './flips.ts';
import {
  keyLine,
  makeExport,
  makeRecords,
  nodePrimitives,
  ringOf,
  sealCheckpoint,
  signer,
  stranger,
  vectors,
} from './signer.ts';

let keys: KeyRing;
beforeAll(async () => {
  keys = await ringOf(vectors.keyFile);
});

const records = makeRecords(20);

function verifyText(text: string | Uint8Array, knownCheckpoint?: string) {
  const bytes = typeof text === 'string' ? toUtf8(text) : text;
  return verifyJournal(linesOf([bytes]), keys, knownCheckpoint === undefined ? {} : { knownCheckpoint });
}

/** A line of a record with its note changed, which keeps it a valid record. */
function forge(line: string | undefined): string {
  return (line ?? '').replace('"note":""', '"note":"forged"');
}

function splice(lines: readonly string[], at: number, remove: number, ...add: string[]): string[] {
  const copy = [...lines];
  copy.splice(at, remove, ...add);
  return copy;
}

describe('verifyJournal()', () => {
  test('verifies the published export, check by check', async () => {
    const report = await verifyText(vectors.journal, vectors.savedCheckpoint);
    expect(report).toMatchObject({ ok: true, records: 11, firstBad: null });
    expect(report.checks.map(({ name }) => name)).toMatchInlineSnapshot(`
      [
        "The saved checkpoint is a DSSE envelope",
        "The key of the saved checkpoint is known",
        "The signature of the saved checkpoint is valid",
        "The payload of the saved checkpoint is canonical",
        "The payload is in the form of a saved checkpoint",
        "The key was in use at the saved checkpoint",
        "The export has a header",
        "Every record is canonical and follows the one before it",
        "Every ending holds its receipt",
        "The checkpoint is a DSSE envelope",
        "The key of the checkpoint is known",
        "The signature of the checkpoint is valid",
        "The payload of the checkpoint is canonical",
        "The payload is in the form of a checkpoint",
        "The key was in use at the checkpoint",
        "The checkpoint covers exactly these records",
        "The journal continues the saved checkpoint",
      ]
    `);
  });

  test('verifies an export that starts in the middle', async () => {
    expect(await verifyText(vectors.journalFrom6, vectors.savedCheckpoint)).toMatchObject({
      ok: true,
      records: 6,
    });
  });

  test.each([1, 2, 3, 255, 256, 257, 600])('verifies %i records', async (count) => {
    const lines = await makeExport(makeRecords(count));
    expect(await verifyJournal(lines, keys)).toMatchObject({ ok: true, records: count, firstBad: null });
  });

  test.each([
    ['a whole export', vectors.journal],
    ['a partial export', vectors.journalFrom6],
  ])('names the line of every changed byte of %s', async (_, text) => {
    const missed: unknown[] = [];
    for (const { at, bytes } of flips(text)) {
      const { ok, firstBad } = await verifyJournal(linesOf([bytes]), keys, {}, nodePrimitives);
      const line = Buffer.from(text).subarray(0, at).toString('latin1').split('\n').length;
      if (ok || firstBad?.line !== line) missed.push({ at, line, ok, firstBad });
    }
    expect(missed).toEqual([]);
  });

  test('names the changed record wherever it is', async () => {
    const lines = await makeExport(records);
    for (const [index, line] of records.entries()) {
      const report = await verifyJournal(splice(lines, index + 1, 1, forge(line)), keys);
      expect(report.firstBad).toMatchObject({ line: index + 2, seq: index + 1 });
    }
  });

  test('names the record whose link was changed', async () => {
    const lines = await makeExport(records);
    for (const [index, line] of records.entries()) {
      const unlinked = line.replace(/"prev":"[0-9a-f]{64}"/, `"prev":"${'f'.repeat(64)}"`);
      const report = await verifyJournal(splice(lines, index + 1, 1, unlinked), keys);
      expect(report.firstBad).toMatchObject({ line: index + 2, seq: index + 1 });
    }
  });

  test.each<[string, (lines: string[]) => string[], number, number | null, string]>([
    [
      'a deleted record',
      (lines) => splice(lines, 8, 1),
      9,
      8,
      'record 8 is missing: record 9 follows instead',
    ],
    ['a deleted first record', (lines) => splice(lines, 1, 1), 2, 1, 'record 1 is missing'],
    [
      'a deleted last record',
      (lines) => splice(lines, 20, 1),
      21,
      20,
      'record 20 is missing: the checkpoint',
    ],
    ['a repeated record', (lines) => splice(lines, 8, 0, lines[8] as string), 10, 9, 'record 8 is repeated'],
    [
      'a record from elsewhere',
      (lines) => splice(lines, 8, 0, lines[3] as string),
      9,
      8,
      'record 3 stands where',
    ],
    ['an inserted record', (lines) => splice(lines, 8, 0, forge(lines[8])), 9, 8, 'the record was inserted'],
    [
      'swapped records',
      (lines) => splice(lines, 8, 2, lines[9] as string, lines[8] as string),
      9,
      8,
      'is missing',
    ],
    [
      'another number',
      (lines) => splice(lines, 8, 1, (lines[8] as string).replace('"seq":8', '"seq":9')),
      9,
      8,
      'number 9',
    ],
    ['a missing header', (lines) => lines.slice(1), 1, null, 'field "first" is missing'],
    ['a missing checkpoint', (lines) => lines.slice(0, -1), 22, 21, 'ends without a checkpoint'],
    ['nothing but a header', (lines) => lines.slice(0, 1), 2, 1, 'ends without a checkpoint'],
    ['no record', (lines) => splice(lines, 1, 20), 2, 1, 'holds no record'],
    ['nothing at all', () => [], 1, null, 'the export is empty'],
    ['a line after the end', (lines) => [...lines, ''], 23, null, 'follows the final checkpoint'],
    ['two checkpoints', (lines) => [...lines, lines[21] as string], 23, null, 'follows the final checkpoint'],
    ['an empty line', (lines) => splice(lines, 8, 0, ''), 9, 8, 'not canonical JSON'],
    [
      'a space in a line',
      (lines) => splice(lines, 8, 1, ` ${lines[8]}`),
      9,
      8,
      'canonical encoding from byte 0',
    ],
    ['a carriage return', (lines) => lines.map((line) => `${line}\r`), 1, null, 'not the canonical encoding'],
    [
      'a line over 1 MiB',
      (lines) => splice(lines, 8, 0, 'x'.repeat(1024 * 1024 + 1)),
      9,
      8,
      'more than 1048576',
    ],
    [
      'a checkpoint with a space',
      (lines) => splice(lines, 21, 1, `${lines[21]} `),
      22,
      null,
      'not the canonical',
    ],
  ])('names %s', async (_, change, line, seq, why) => {
    const lines = await makeExport(records);
    expect(await verifyJournal(lines, keys)).toMatchObject({ ok: true });
    const report = await verifyJournal(change(lines), keys);
    expect(report).toMatchObject({ ok: false, firstBad: { line, seq, why: expect.stringContaining(why) } });
    expect(report.checks.at(-1)?.ok).toBe(false);
  });

  test('names the first of several faults', async () => {
    const lines = await makeExport(records);
    const faulty = splice(splice(lines, 15, 1, 'not a record'), 5, 1, forge(lines[5]));
    expect((await verifyJournal(faulty, keys)).firstBad).toMatchObject({ line: 6, seq: 5 });
  });

  test('finds a journal that was rewritten from one record on', async () => {
    const rewritten = makeRecords(20, (seq) => (seq < 9 ? '' : 'rewritten'));
    const report = await verifyJournal(await makeExport(rewritten, records), keys);
    expect(report.firstBad).toMatchObject({
      seq: 20,
      why: expect.stringContaining('it or a record before it'),
    });
  });

  test('refuses bytes that are not lines of text', async () => {
    const cut = await verifyText(vectors.journal.slice(0, -1));
    expect(cut.firstBad).toMatchObject({ line: 13, why: 'the last line does not end with a line feed' });
    const long = await verifyText(vectors.journal.replace('\n', `\n${'x'.repeat(1024 * 1024 + 1)}\n`));
    expect(long.firstBad).toMatchObject({
      line: 2,
      seq: 1,
      why: expect.stringContaining('more than 1048576'),
    });
  });

  test('passes on an error of the source, which says nothing about the journal', async () => {
    async function* broken(): AsyncGenerator<string> {
      yield 'x';
      throw new Error('EIO');
    }
    await expect(verifyJournal(broken(), keys)).rejects.toThrow('EIO');
  });

  test.each([
    [
      'by a key that is not known',
      async () => sealCheckpoint(records, {}, stranger),
      'expected one of the 2 keys',
    ],
    [
      'by a key that poses',
      async () => sealCheckpoint(records, {}, { ...stranger, keyId: signer.keyId }),
      'does not fit',
    ],
    ['for fewer records', async () => sealCheckpoint(records.slice(0, 19)), 'record 20 is not signed'],
    ['for more records', async () => sealCheckpoint(makeRecords(22)), 'record 21 is missing'],
    ['with another root', async () => sealCheckpoint(records, { root: 'a'.repeat(64) }), 'lead to root'],
    [
      'with another origin',
      async () => sealCheckpoint(records, { origin: 'a'.repeat(64) }),
      'record 1 has hash',
    ],
    [
      'before its key',
      async () => sealCheckpoint(records, { at: '2025-01-01T00:00:00.000Z' }),
      'before the key',
    ],
    ['with another shape', async () => sealCheckpoint(records, { extra: 1 }), 'field "extra" is present'],
  ])('refuses a checkpoint signed %s', async (_, seal, why) => {
    const lines = splice(await makeExport(records), 21, 1, encodeExportCheckpoint(await seal()));
    const report = await verifyJournal(lines, keys);
    expect(report).toMatchObject({ ok: false, firstBad: { why: expect.stringContaining(why) } });
  });

  test('refuses a checkpoint of a retired key', async () => {
    const retired = await ringOf(keyLine(signer, { retiredAt: '2026-03-01T09:00:30.000Z' }));
    const report = await verifyJournal(vectors.journal.trimEnd().split('\n'), retired);
    expect(report.firstBad).toMatchObject({
      line: 13,
      why: expect.stringContaining('after the key was retired'),
    });
  });

  const header = { first: 1, frontier: [] as string[], prev: ZERO_HASH };
  test.each([
    ['a prev before record 1', { ...header, prev: 'a'.repeat(64) }, 'field "prev" is not 64 zeros'],
    ['a frontier before record 1', { ...header, frontier: ['a'.repeat(64)] }, 'has 1 hashes, expected 0'],
    ['a short frontier', { ...header, first: 4 }, 'has 0 hashes, expected 2 before record 4'],
    [
      'a prev that its frontier denies',
      { ...header, first: 2, frontier: ['a'.repeat(64)] },
      'not the last hash',
    ],
    ['a start at zero', { ...header, first: 0 }, 'field "first" is 0'],
  ])('refuses a header with %s', async (_, change, why) => {
    const lines = splice(await makeExport(records), 0, 1, encodeExportHeader(change));
    expect((await verifyJournal(lines, keys)).firstBad).toMatchObject({
      line: 1,
      why: expect.stringContaining(why),
    });
  });

  test('finds a header that starts a partial export from other records', async () => {
    const lines = vectors.journalFrom6.trimEnd().split('\n');
    const { first, frontier, prev } = JSON.parse(lines[0] as string) as typeof header;
    const other = encodeExportHeader({ first, frontier: ['a'.repeat(64), ...frontier.slice(1)], prev });
    const report = await verifyJournal(splice(lines, 0, 1, other), keys);
    expect(report.firstBad).toMatchObject({ line: 1, why: expect.stringContaining('lead to root') });
  });
});

describe('verifyJournal() on anything', () => {
  test('gives a failed report for any lines and any bytes', async () => {
    const line = fc.oneof(fc.json(), fc.string({ unit: CHARACTER }), fc.constantFrom(...records.slice(0, 3)));
    const head = encodeExportHeader({ first: 1, frontier: [], prev: ZERO_HASH });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 6 }), fc.uint8Array(), async (lines, bytes) => {
        for (const source of [lines, [head, ...lines], linesOf([bytes])]) {
          const report = await verifyJournal(source, keys, {}, nodePrimitives);
          expect(report.ok).toBe(false);
          expect(report.firstBad).not.toBeNull();
        }
      }),
    );
  });

  test('refuses any rearrangement of the lines', async () => {
    const lines = await makeExport(records);
    await fc.assert(
      fc.asyncProperty(fc.subarray(lines), fc.shuffledSubarray(lines), async (some, shuffled) => {
        for (const other of [some, shuffled]) {
          const same = other.length === lines.length && other.every((line, index) => line === lines[index]);
          expect((await verifyJournal(other, keys, {}, nodePrimitives)).ok).toBe(same);
        }
      }),
    );
  });
});
