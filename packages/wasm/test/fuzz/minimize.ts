/** The input with as much cut away as can be while `holds` stays true, within a number of attempts. */
export function minimize(
  input: Uint8Array<ArrayBuffer>,
  holds: (smaller: Uint8Array<ArrayBuffer>) => boolean,
  attempts = 2_000,
): Uint8Array<ArrayBuffer> {
  let smallest = input;
  let left = attempts;
  for (let chunk = input.length >> 1; chunk > 0 && left > 0; chunk >>= 1) {
    for (let at = 0; at + chunk <= smallest.length && left > 0; left -= 1) {
      const smaller = new Uint8Array(smallest.length - chunk);
      smaller.set(smallest.subarray(0, at));
      smaller.set(smallest.subarray(at + chunk), at);
      if (holds(smaller)) smallest = smaller;
      else at += chunk;
    }
  }
  return smallest;
}
