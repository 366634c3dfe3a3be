/* What changes from one text to another, as `diff -u` and `patch` have it. */

const CONTEXT = 3;
/** Past it, the changed part is shown as a whole: comparing all lines with all would take too long. */
const MOST_PAIRS = 1_000_000;

type Line = { readonly sign: ' ' | '-' | '+'; readonly text: string };

/** The difference of two texts; empty where there is none. */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return '';
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const lead = commonLead(old, fresh);
  const tail = commonLead(old.slice(lead).reverse(), fresh.slice(lead).reverse());
  const middle = compare(old.slice(lead, old.length - tail), fresh.slice(lead, fresh.length - tail));
  const from = Math.max(0, lead - CONTEXT);
  const lines: readonly Line[] = [
    ...old.slice(from, lead).map((text): Line => ({ sign: ' ', text })),
    ...middle,
    ...old.slice(old.length - tail, old.length - tail + CONTEXT).map((text): Line => ({ sign: ' ', text })),
  ];
  const count = (sign: '-' | '+') => lines.filter((line) => line.sign === ' ' || line.sign === sign).length;
  const spanOf = (size: number) => `${size === 0 ? from : from + 1},${size}`;
  const head = `--- ${path}\n+++ ${path}\n@@ -${spanOf(count('-'))} +${spanOf(count('+'))} @@\n`;
  return head + lines.map(({ sign, text }) => `${sign}${marked(text)}`).join('');
}

/** Each line with its end, so that a file whose last line has none differs from one where it has. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function marked(line: string): string {
  return line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`;
}

function commonLead(one: readonly string[], other: readonly string[]): number {
  const end = one.findIndex((line, i) => line !== other[i]);
  return Math.min(end === -1 ? one.length : end, other.length);
}

/** By the longest common subsequence: as few lines as possible are out and in. */
function compare(old: readonly string[], fresh: readonly string[]): readonly Line[] {
  const out = old.map((text): Line => ({ sign: '-', text }));
  const into = fresh.map((text): Line => ({ sign: '+', text }));
  if (old.length * fresh.length > MOST_PAIRS) return [...out, ...into];
  const longest = old.map(() => new Uint32Array(fresh.length + 1));
  longest.push(new Uint32Array(fresh.length + 1));
  const lengthAt = (i: number, j: number) => longest[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--) {
      const row = longest[i];
      if (row !== undefined)
        row[j] =
          old[i] === fresh[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  const lines: Line[] = [];
  for (let [i, j] = [0, 0]; i < old.length || j < fresh.length; ) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push({ sign: ' ', text: old[i++] ?? '' });
      j++;
    } else if (i < old.length && (j === fresh.length || lengthAt(i + 1, j) >= lengthAt(i, j + 1)))
      lines.push({ sign: '-', text: old[i++] ?? '' });
    else lines.push({ sign: '+', text: fresh[j++] ?? '' });
  }
  return lines;
}
