import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  appendLeaves,
  EMPTY_FRONTIER,
  fromHex,
  frontierRoot,
  hashRecord,
  inclusionRoot,
  toHex,
  verifyInclusion,
  webPrimitives,
} from '../src/index.ts';
import { nodePrimitives, readVectors } from './signer.ts';

type Row = {
  leafText: string;
  leaf: string;
  size: number;
  root: string;
  frontier: string[];
  pathOfFirst: string[];
  pathOfLast: string[];
};

const rows = readVectors<Row[]>('merkle.json');
const leaves = rows.map(({ leaf }) => bytes(leaf));

function bytes(hex: string): Uint8Array {
  const decoded = fromHex(hex);
  if (decoded === null) throw new Error(`Cannot read the vector: ${hex}`);
  return decoded;
}

describe('the Merkle tree', () => {
  test.each(rows)('has the published leaf, frontier and root at size $size', async (row) => {
    expect(toHex(await hashRecord(row.leafText, webPrimitives))).toBe(row.leaf);
    const frontier = await appendLeaves(EMPTY_FRONTIER, leaves.slice(0, row.size), webPrimitives);
    expect(frontier.hashes.map(toHex)).toEqual(row.frontier);
    expect(toHex((await frontierRoot(frontier, webPrimitives)) ?? bytes(''))).toBe(row.root);
  });

  test.each(rows)('proves its first and last leaf at size $size', async (row) => {
    const { size } = row;
    const first = { leaf: bytes(rows[0]?.leaf ?? ''), index: 0, size, path: row.pathOfFirst.map(bytes) };
    const last = { leaf: bytes(row.leaf), index: size - 1, size, path: row.pathOfLast.map(bytes) };
    expect(await verifyInclusion(bytes(row.root), first, webPrimitives)).toBe(true);
    expect(await verifyInclusion(bytes(row.root), last, webPrimitives)).toBe(true);
  });

  test('has no root without leaves', async () => {
    expect(await frontierRoot(EMPTY_FRONTIER, webPrimitives)).toBeNull();
  });

  test('does not depend on how the leaves are grouped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 9 })), async (groups) => {
        let frontier = EMPTY_FRONTIER;
        const many = Array.from({ length: 100 }, (_, index) => Uint8Array.from({ length: 32 }, () => index));
        for (const group of groups) {
          const next = many.slice(frontier.size, frontier.size + group);
          frontier = await appendLeaves(frontier, next, nodePrimitives);
        }
        const whole = await appendLeaves(EMPTY_FRONTIER, many.slice(0, frontier.size), nodePrimitives);
        expect(frontier).toEqual(whole);
      }),
    );
  });
});

describe('inclusionRoot()', () => {
  const [row] = rows.slice(-1) as [Row];
  const inclusion = { leaf: bytes(row.leaf), index: 15, size: 16, path: row.pathOfLast.map(bytes) };

  test.each([
    ['an index outside the tree', { index: 16 }],
    ['a negative index', { index: -1 }],
    ['an index that is no integer', { index: 0.5 }],
    ['a size that is no integer', { size: Number.NaN }],
    ['a path that is too short', { path: inclusion.path.slice(1) }],
    ['a path that is too long', { path: [...inclusion.path, inclusion.leaf] }],
    ['a hash of the wrong length', { path: [...inclusion.path.slice(1), bytes('00')] }],
    ['a leaf of the wrong length', { leaf: bytes('00') }],
  ])('gives none for %s', async (_, change) => {
    expect(await inclusionRoot({ ...inclusion, ...change }, webPrimitives)).toBeNull();
  });

  test.each([
    ['another leaf', { leaf: leaves[0] ?? bytes('') }],
    ['another index', { index: 14 }],
    ['a reordered path', { path: [...inclusion.path].reverse() }],
  ])('gives another root for %s', async (_, change) => {
    expect(await verifyInclusion(bytes(row.root), { ...inclusion, ...change }, webPrimitives)).toBe(false);
  });

  test('ends for the largest sizes', async () => {
    const size = Number.MAX_SAFE_INTEGER;
    const path = Array.from({ length: 53 }, () => bytes(row.leaf));
    expect(
      await inclusionRoot({ leaf: bytes(row.leaf), index: 0, size, path }, webPrimitives),
    ).not.toBeNull();
  });
});
