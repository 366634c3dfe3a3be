import { appendLeaves, EMPTY_FRONTIER, frontierRoot, toHex, webPrimitives } from '@palisade/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodePrimitives } from '../../src/attest/primitives.ts';
import {
  appendLeaf,
  decodeFrontier,
  encodeFrontier,
  leafHash,
  nodeHash,
  rootOf,
  TILE_LEAVES,
} from '../../src/journal/head.ts';

const leaves = Array.from({ length: 700 }, (_, i) => new Uint8Array(leafHash(`record ${i}`)));

/** The tree as the journal builds it, leaf by leaf. */
function grow(size: number): { frontier: Uint8Array[]; tiles: Uint8Array[] } {
  const frontier: Uint8Array[] = [];
  const tiles: Uint8Array[] = [];
  for (const [i, leaf] of leaves.slice(0, size).entries()) {
    const tile = appendLeaf(frontier, i, leaf);
    if (tile !== null) tiles.push(tile);
  }
  return { frontier, tiles };
}

/** RFC 6962, section 2.1, word for word. */
function treeHash(part: readonly Uint8Array[]): Uint8Array {
  const [only] = part;
  if (part.length === 1 && only !== undefined) return only;
  let left = 1;
  while (left * 2 < part.length) left *= 2;
  return nodeHash(treeHash(part.slice(0, left)), treeHash(part.slice(left)));
}

describe('appendLeaf()', () => {
  it('builds the tree that the sdk builds and RFC 6962 defines, at every size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: leaves.length }), async (size) => {
        const { frontier } = grow(size);
        const ours = toHex(rootOf(frontier));
        const theirs = await appendLeaves(EMPTY_FRONTIER, leaves.slice(0, size), nodePrimitives);
        expect(frontier.map((hash) => toHex(hash))).toEqual(theirs.hashes.map((hash) => toHex(hash)));
        expect(ours).toBe(toHex((await frontierRoot(theirs, nodePrimitives)) ?? new Uint8Array()));
        expect(ours).toBe(toHex(treeHash(leaves.slice(0, size))));
      }),
    );
  });

  it('agrees with the primitives of a browser', async () => {
    const theirs = await appendLeaves(EMPTY_FRONTIER, leaves, webPrimitives);
    expect(toHex(rootOf(grow(leaves.length).frontier))).toBe(
      toHex((await frontierRoot(theirs, webPrimitives)) ?? new Uint8Array()),
    );
  });

  it('hands out the root of every 256 leaves when they are complete, and no other', () => {
    const { tiles } = grow(leaves.length);
    const expected = [0, 1].map((i) => treeHash(leaves.slice(i * TILE_LEAVES, (i + 1) * TILE_LEAVES)));
    expect(tiles.map((tile) => toHex(tile))).toEqual(expected.map((tile) => toHex(tile)));
  });

  it('refuses a frontier that is shorter than its size says', () => {
    expect(() => appendLeaf([], 1, leaves[0] ?? new Uint8Array())).toThrow(TypeError);
  });
});

describe('encodeFrontier()', () => {
  it('is undone by decodeFrontier()', () => {
    const { frontier } = grow(693);
    const read = decodeFrontier(encodeFrontier(frontier));
    expect(read.map((hash) => toHex(hash))).toEqual(frontier.map((hash) => toHex(hash)));
  });
});
