/** How findings quote names of a module or a package: truncated, counted, never whole lists. */

const MOST_SHOWN = 4;
const LONGEST_SHOWN = 48;

/** An untrusted text, truncated so that it cannot fill the screen. */
export function shorten(text: string): string {
  const letters = [...text.slice(0, 2 * LONGEST_SHOWN)];
  if (letters.length <= LONGEST_SHOWN && text.length <= 2 * LONGEST_SHOWN) return text;
  return `${letters.slice(0, LONGEST_SHOWN).join('')}…`;
}

/** The first few of a list, and how many more there are. */
export function list(texts: readonly string[]): string {
  const rest = texts.length - MOST_SHOWN;
  const shown = texts.slice(0, MOST_SHOWN).join(', ');
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

/** `1 function`, `2 functions`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** An import as messages call it. */
export function importName({ module, name }: { readonly module: string; readonly name: string }): string {
  return `${shorten(module)}.${shorten(name)}`;
}
