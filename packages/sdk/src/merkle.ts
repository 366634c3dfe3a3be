/**
 * The Merkle tree of RFC 6962 over the record hashes. A frontier is what is left of a tree when only its right edge is
 * kept: the hashes of the complete subtrees, largest first. Sizes pass 2^31, so halves are divided, not shifted.
 */

import type { Primitives } from './primitives.ts';

export type Frontier = { readonly size: number; readonly hashes: readonly Uint8Array[] };

/** A leaf's claimed position: its hash, its zero-based index, the size of the tree, the sibling hashes. */
export type Inclusion = {
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly size: number;
  readonly path: readonly Uint8Array[];
};

const HASH_BYTES = 32;

/** The frontier of the tree without leaves. */
export const EMPTY_FRONTIER: Frontier = { size: 0, hashes: [] };

/** How many hashes the frontier of a tree of this size has: the number of ones in its binary form. */
export function frontierLength(size: number): number {
  let ones = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) ones += rest % 2;
  return ones;
}

/** The frontier after more leaves. Each level is hashed at once, so that slow digests run side by side. */
export async function appendLeaves(
  frontier: Frontier,
  leaves: readonly Uint8Array[],
  primitives: Primitives,
): Promise<Frontier> {
  const waiting = [...frontier.hashes];
  const kept: Uint8Array[] = [];
  let nodes = [...leaves];
  for (let rest = frontier.size; nodes.length > 0 || rest > 0; rest = Math.floor(rest / 2)) {
    const left = rest % 2 === 1 ? waiting.pop() : undefined;
    if (left !== undefined) nodes.unshift(left);
    const odd = nodes.length % 2 === 1 ? nodes.pop() : undefined;
    if (odd !== undefined) kept.push(odd);
    nodes = await hashPairs(nodes, primitives);
  }
  return { size: frontier.size + leaves.length, hashes: kept.reverse() };
}

/** The root over a frontier; null for the empty tree, which is never signed. */
export async function frontierRoot(frontier: Frontier, primitives: Primitives): Promise<Uint8Array | null> {
  let root: Uint8Array | null = null;
  for (const hash of [...frontier.hashes].reverse()) {
    root = root === null ? hash : await hashNode(hash, root, primitives);
  }
  return root;
}

/** The root that a path leads to; null when no tree of that size has such a path. */
export async function inclusionRoot(
  inclusion: Inclusion,
  primitives: Primitives,
): Promise<Uint8Array | null> {
  const { index, size, path } = inclusion;
  // Boundary: only an index inside the tree, or a path could be read for a leaf that is not there.
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(index) || index < 0 || index >= size) return null;
  if (![inclusion.leaf, ...path].every((hash) => hash.length === HASH_BYTES)) return null;
  let node = index;
  let last = size - 1;
  let root = inclusion.leaf;
  for (const sibling of path) {
    if (last === 0) return null;
    const isRight = node % 2 === 1 || node === last;
    root = isRight ? await hashNode(sibling, root, primitives) : await hashNode(root, sibling, primitives);
    // A node without a right neighbour rises until it has a left one.
    while (isRight && node % 2 === 0 && node !== 0)
      [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : null;
}

/** Whether the leaf is in the tree with that root. */
export async function verifyInclusion(
  root: Uint8Array,
  inclusion: Inclusion,
  primitives: Primitives,
): Promise<boolean> {
  const reached = await inclusionRoot(inclusion, primitives);
  return reached?.length === root.length && reached.every((byte, index) => byte === root[index]);
}

function hashPairs(nodes: readonly Uint8Array[], primitives: Primitives): Promise<Uint8Array[]> {
  const parents: (Uint8Array | Promise<Uint8Array>)[] = [];
  for (let index = 0; index + 1 < nodes.length; index += 2) {
    parents.push(hashNode(nodes[index] as Uint8Array, nodes[index + 1] as Uint8Array, primitives));
  }
  return Promise.all(parents);
}

function hashNode(
  left: Uint8Array,
  right: Uint8Array,
  primitives: Primitives,
): Uint8Array | Promise<Uint8Array> {
  const bytes = new Uint8Array(1 + 2 * HASH_BYTES);
  bytes[0] = 1;
  bytes.set(left, 1);
  bytes.set(right, 1 + HASH_BYTES);
  return primitives.sha256(bytes);
}
