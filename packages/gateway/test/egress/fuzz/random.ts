/** Random numbers that start from a seed: the same seed gives the same run. */
export type Random = {
  readonly below: (bound: number) => number;
  readonly chance: (oneIn: number) => boolean;
  readonly pick: <Item>(items: readonly Item[]) => Item;
};

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const below = (bound: number) => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) % bound;
  };
  return {
    below,
    chance: (oneIn) => below(oneIn) === 0,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('Cannot pick: the list is empty');
      return item;
    },
  };
}
