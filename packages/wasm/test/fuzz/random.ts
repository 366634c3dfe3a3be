/** A quick source of random numbers that starts from a seed: the same seed gives the same run. */
export type Random = {
  readonly word: () => number;
  readonly below: (bound: number) => number;
  readonly pick: <Item>(items: readonly Item[]) => Item;
};

/** Numbers from a seed (xorshift). */
export function randomFrom(seed: number): Random {
  let state = Math.imul(seed, 0x9e37_79b1) | 0 || 1;
  const word = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  const below = (bound: number) => Math.floor((word() / 2 ** 32) * bound);
  return {
    word,
    below,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('Cannot pick: the list is empty');
      return item;
    },
  };
}
