import {
  encodeProof,
  frontierRoot,
  linesOf,
  toHex,
  toUtf8,
  verifyInclusion,
  verifyJournal,
  verifyProof,
  webPrimitives,
} from '@palisade/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { nodePrimitives } from '../../src/attest/primitives.ts';
import { readHead } from '../../src/journal/head.ts';
import { exportLines, proveRecord } from '../../src/journal/search.ts';
import { Tree } from '../../src/journal/verify.ts';
import { recordsOf, ringOf } from '../fixture/gateway.ts';
import { refusalOf } from '../store/sample.ts';
import { appendMany, openTestRecords, type TestRecords, tamper } from './sample.ts';

const SIZE = 900;

async function grown(): Promise<TestRecords> {
  const records = await openTestRecords();
  appendMany(records, SIZE - 1);
  return records;
}

function exportFrom(records: TestRecords, first: number): Uint8Array {
  return toUtf8(`${[...exportLines(records, first)].join('\n')}\n`);
}

describe('Tree', () => {
  it('gives a path from any record to the root of any size that has it', async () => {
    const records = await grown();
    const tree = new Tree(records.store, records.segments);
    const leaves = recordsOf(records).map(({ hash }) => hash);
    const place = fc
      .integer({ min: 1, max: SIZE })
      .chain((size) => fc.tuple(fc.constant(size), fc.integer({ min: 0, max: size - 1 })));
    const check = async ([size, index]: [number, number]) => {
      const root = tree.root(0, size);
      const inclusion = {
        leaf: leaves[index] ?? new Uint8Array(),
        index,
        size,
        path: tree.path(index, size),
      };
      expect(await verifyInclusion(root, inclusion, nodePrimitives)).toBe(true);
      const hashes = tree.frontier(size);
      expect(toHex((await frontierRoot({ size, hashes }, nodePrimitives)) ?? new Uint8Array())).toBe(
        toHex(root),
      );
    };
    await fc.assert(fc.asyncProperty(place, check), { numRuns: volume(200, 30) });
    for (const size of [1, 2, 255, 256, 257, 511, 512, 513, 768, SIZE]) {
      for (const index of [0, Math.floor(size / 2), size - 1]) await check([size, index]);
    }
  });

  it('gives the root that the journal itself keeps', async () => {
    const { store, segments } = await grown();
    const { frontier } = readHead(store);
    expect(new Tree(store, segments).frontier(SIZE).map(toHex)).toEqual(frontier.map(toHex));
  });

  it('says that it is damaged when a record or a tile is missing', async () => {
    const { store, segments, stateDir } = await grown();
    const tree = new Tree(store, segments);
    tamper(stateDir, (db) => db.exec('DELETE FROM journal_record WHERE seq = 899'));
    expect(refusalOf(() => tree.path(0, SIZE)).code).toBe('store/corrupt');
    tamper(stateDir, (db) => db.exec('DELETE FROM journal_tile WHERE tile = 1'));
    expect(refusalOf(() => tree.path(0, 512)).code).toBe('store/corrupt');
  });
});

describe('proveRecord()', () => {
  it('proves any record to a stranger', async () => {
    const records = await grown();
    const ring = await ringOf(records);
    for (const seq of [1, 2, 255, 256, 257, 512, 700, 899, 900]) {
      const report = await verifyProof(proveRecord(records, seq), ring, webPrimitives);
      expect([seq, report.ok, report.record?.seq]).toEqual([seq, true, seq]);
    }
  });

  it('refuses a record that is not there', async () => {
    const records = await openTestRecords();
    for (const seq of [0, -1, 2]) {
      expect(refusalOf(() => proveRecord(records, seq)).code).toBe('journal/unknown-record');
    }
  });

  it('proves nothing about another record', async () => {
    const records = await grown();
    const [a, b] = [proveRecord(records, 5), proveRecord(records, 6)].map((text) => JSON.parse(text));
    const checkpoint = JSON.stringify(a.checkpoint);
    const swapped = encodeProof({ checkpoint, path: a.path, record: b.record });
    expect(await verifyProof(swapped, await ringOf(records), webPrimitives)).toMatchObject({ ok: false });
  });
});

describe('exportLines()', () => {
  it.each([1, 2, 3, 255, 256, 257, 258, 512, 513, 899, 900])(
    'gives an export from record %i that a stranger verifies',
    async (first) => {
      const records = await grown();
      const lines = linesOf([exportFrom(records, first)]);
      const report = await verifyJournal(lines, await ringOf(records), {}, webPrimitives);
      expect(report).toMatchObject({ ok: true, records: SIZE - first + 1, firstBad: null });
    },
  );

  it.each([0, -1, 901])('refuses to start at record %i', async (first) => {
    const records = await grown();
    expect(refusalOf(() => exportFrom(records, first))).toMatchObject({
      code: 'journal/unknown-record',
      message: `Cannot export from record ${first}: the journal has 1 to 900`,
    });
  });
});
