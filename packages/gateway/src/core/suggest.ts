const MAX_COMPARED_CHARS = 64;

/** The nearest of a few names, for "did you mean"; null when none is near. Case, dashes and underscores are ignored. */
export function nearest(text: string, among: Iterable<string>): string | null {
  if (text.length > MAX_COMPARED_CHARS) return null;
  let best: { readonly name: string | null; readonly steps: number } = {
    name: null,
    steps: Math.ceil(text.length / 3) + 1,
  };
  for (const name of among) {
    const steps = editSteps(fold(text), fold(name));
    if (steps < best.steps) best = { name, steps };
  }
  return best.name;
}

/** How many characters must be inserted, deleted or replaced to turn one text into the other. */
export function editSteps(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

/** A name as it is compared: the same in all naming styles. */
export function fold(name: string): string {
  return name.toLowerCase().replace(/[-_\s]/g, '');
}
