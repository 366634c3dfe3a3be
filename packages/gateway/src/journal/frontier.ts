import { hash } from 'node:crypto';

/*
 * The right edge of a Merkle tree (RFC 6962) that only grows: the roots of its complete subtrees, largest first. It is
 * all that must be kept to append and to know the root. Roots of complete subtrees of 256 leaves ("tiles") are handed
 * out as they come to be, so that an inclusion proof never has to read the whole journal.
 */

export const HASH_BYTES = 32;
export const TILE_LEAVES = 256;

const NODE = Buffer.from([0x01]);

/** The hash of a record: both its leaf in the tree and the `prev` of the next record. */
export function leafHash(line: string): Buffer {
  return hash('sha256', `\0${line}`, 'buffer');
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([NODE, left, right]), 'buffer');
}

/** Adds one leaf to the tree of `size` leaves; gives the root of a tile when this leaf completed one. */
export function appendLeaf(frontier: Uint8Array[], size: number, leaf: Uint8Array): Uint8Array | null {
  let node = leaf;
  let tile: Uint8Array | null = null;
  for (let leaves = 1; (size / leaves) % 2 >= 1; leaves *= 2) {
    const left = frontier.pop();
    if (left === undefined)
      throw new TypeError('Cannot append leaf: the frontier is shorter than its size says');
    node = nodeHash(left, node);
    if (leaves * 2 === TILE_LEAVES) tile = node;
  }
  frontier.push(node);
  return tile;
}

/** The root over everything appended so far. */
export function rootOf(frontier: readonly Uint8Array[]): Uint8Array {
  const last = frontier.at(-1);
  if (last === undefined) return hash('sha256', '', 'buffer');
  return frontier.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last);
}

export function encodeFrontier(frontier: readonly Uint8Array[]): Buffer {
  return Buffer.concat(frontier);
}

export function decodeFrontier(bytes: Uint8Array): Uint8Array[] {
  const hashes: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += HASH_BYTES) hashes.push(bytes.subarray(at, at + HASH_BYTES));
  return hashes;
}
