/** A Map or a WeakMap. */
type Cache<K, V> = {
  readonly get: (key: K) => V | undefined;
  readonly set: (key: K, value: V) => unknown;
  readonly size?: number;
  readonly clear?: () => void;
};

/** The value of a key, made when it is first asked for. A map that has `most` values is emptied before one more. */
export function cached<K, V>(map: Cache<K, V>, key: K, make: () => V, most = Number.POSITIVE_INFINITY): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  if ((map.size ?? 0) >= most) map.clear?.();
  map.set(key, made);
  return made;
}
