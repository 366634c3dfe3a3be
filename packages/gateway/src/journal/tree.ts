import { CodedError } from '../core/coded-error.ts';
import type { Store } from '../store/store.ts';
import { nodeHash, TILE_LEAVES } from './frontier.ts';
import type { Segments } from './segments.ts';
import { query } from './tables.ts';

/*
 * Reads the Merkle tree of the journal from what is stored: leaves from the records, complete subtrees of 256 leaves
 * from the tiles. A proof in a journal of a million records reads some hundred leaves and four thousand tiles.
 */

const tilesIn = query<{ from: number; to: number }>()((db, p) =>
  db
    .selectFrom('journal_tile')
    .selectAll()
    .where('tile', '>=', p('from'))
    .where('tile', '<', p('to'))
    .orderBy('tile'),
);
const leavesIn = query<{ from: number; to: number }>()((db, p) =>
  db
    .selectFrom('journal_record')
    .select(['seq', 'hash'])
    .where('seq', '>=', p('from'))
    .where('seq', '<=', p('to'))
    .orderBy('seq'),
);

export class Tree {
  readonly #store: Store;
  readonly #segments: Segments;

  constructor(store: Store, segments: Segments) {
    this.#store = store;
    this.#segments = segments;
  }

  /** The hashes that, with the leaf at `index`, make the root of the tree of `size` leaves; nearest first. */
  path(index: number, size: number): Uint8Array[] {
    const path: Uint8Array[] = [];
    let [start, count] = [0, size];
    while (count > 1) {
      const left = largestPowerBelow(count);
      if (index < start + left) {
        path.unshift(this.root(start + left, count - left));
        count = left;
      } else {
        path.unshift(this.root(start, left));
        [start, count] = [start + left, count - left];
      }
    }
    return path;
  }

  /** The roots of the complete subtrees of the first `size` leaves, largest first. */
  frontier(size: number): Uint8Array[] {
    const hashes: Uint8Array[] = [];
    for (let start = 0, left = size; left > 0; ) {
      const count = 2 ** Math.floor(Math.log2(left));
      hashes.push(this.root(start, count));
      start += count;
      left -= count;
    }
    return hashes;
  }

  /** The root over `count` leaves from `start` on. */
  root(start: number, count: number): Uint8Array {
    if (count >= TILE_LEAVES && start % TILE_LEAVES === 0) {
      const whole = count - (count % TILE_LEAVES);
      const tiles = this.#tiles(start / TILE_LEAVES, (start + whole) / TILE_LEAVES);
      return fold(count === whole ? tiles : [...tiles, this.root(start + whole, count - whole)]);
    }
    return fold(this.#leaves(start, count));
  }

  #tiles(from: number, to: number): Uint8Array[] {
    return complete(
      this.#store.all(tilesIn, { from, to }).map(({ hash }) => hash),
      to - from,
      'tiles',
    );
  }

  #leaves(start: number, count: number): Uint8Array[] {
    const [from, to] = [start + 1, start + count];
    const found = this.#segments
      .shelves()
      .filter((shelf) => shelf.first <= to && from <= shelf.last)
      .flatMap((shelf) =>
        shelf.all(leavesIn, { from: Math.max(from, shelf.first), to: Math.min(to, shelf.last) }),
      );
    return complete(
      found.map(({ hash }) => hash),
      count,
      'records',
    );
  }
}

/** RFC 6962 over any number of equal subtrees (the last may be smaller): split at the largest power of two below. */
function fold(hashes: readonly Uint8Array[]): Uint8Array {
  const [only] = hashes;
  if (only === undefined) throw new TypeError('Cannot fold a tree of no leaves');
  if (hashes.length === 1) return only;
  const left = largestPowerBelow(hashes.length);
  return nodeHash(fold(hashes.slice(0, left)), fold(hashes.slice(left)));
}

function largestPowerBelow(count: number): number {
  return 2 ** Math.ceil(Math.log2(count) - 1);
}

function complete(hashes: Uint8Array[], expected: number, what: string): Uint8Array[] {
  if (hashes.length === expected) return hashes;
  const message = `Cannot read the tree of the journal: ${hashes.length} ${what} are there, expected ${expected}`;
  throw new CodedError('store/corrupt', message);
}
