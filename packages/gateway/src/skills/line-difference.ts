/** Longer texts are not compared line by line; the table of the comparison would have the product of both as its size. */
const MOST_COMPARED_LINES = 2000;
/** Above this, what differs is shown as replaced: comparing every line with every other would take too long. */
const MOST_PAIRS = MOST_COMPARED_LINES ** 2;
const MOST_SHOWN_CHARS = 400;
const CONTEXT_LINES = 2;

type Step = { readonly sign: ' ' | '-' | '+'; readonly text: string };

/** What changed between two texts: `-` and `+` lines with a little around them, never more lines than requested. */
export function differenceOfLines(before: string, after: string, most: number): readonly string[] {
  if (before === after) return [];
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const isTooLong = Math.max(old.length, fresh.length) > MOST_COMPARED_LINES;
  const lines = isTooLong ? replaced(old, fresh) : hunks(stepsOf(old, fresh));
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), `@ ${lines.length - most + 1} more lines are not shown`];
}

function replaced(old: readonly string[], fresh: readonly string[]): readonly string[] {
  const head = `@ too long, shown as replaced: ${old.length} lines before, ${fresh.length} lines after`;
  return [head, ...fresh.map((text) => written({ sign: '+', text }))];
}

/** One text made of another, line by line. */
export function stepsOf(old: readonly string[], fresh: readonly string[]): readonly Step[] {
  const least = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < least && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < least - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const same = (text: string): Step => ({ sign: ' ', text });
  return [
    ...old.slice(0, start).map(same),
    ...middle(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)),
    ...old.slice(old.length - end).map(same),
  ];
}

/** The longest common part, by the table of the lengths that are left; then one walk through the table. */
function middle(old: readonly string[], fresh: readonly string[]): readonly Step[] {
  const stepsWith = (sign: '-' | '+', lines: readonly string[]) => lines.map((text) => ({ sign, text }));
  if (old.length * fresh.length > MOST_PAIRS) return [...stepsWith('-', old), ...stepsWith('+', fresh)];
  const width = fresh.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      const isSame = old[i] === fresh[j];
      lengths[i * width + j] = isSame ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const steps: Step[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    const [gone, come] = [old[i], fresh[j]];
    if (gone !== undefined && gone === come) {
      steps.push({ sign: ' ', text: gone });
      [i, j] = [i + 1, j + 1];
    } else if (gone !== undefined && (come === undefined || at(i + 1, j) >= at(i, j + 1))) {
      steps.push({ sign: '-', text: gone });
      i += 1;
    } else {
      steps.push({ sign: '+', text: come ?? '' });
      j += 1;
    }
  }
  return steps;
}

/** The changed lines with a little around them; what is left out between two of them is one line that says so. */
function hunks(steps: readonly Step[]): readonly string[] {
  const near = new Uint8Array(steps.length);
  for (const [at, { sign }] of steps.entries())
    if (sign !== ' ') near.fill(1, Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1);
  const lines: string[] = [];
  let line = 1;
  for (const [at, step] of steps.entries()) {
    if (near[at] === 1 && near[at - 1] !== 1) lines.push(`@ line ${line}`);
    if (near[at] === 1) lines.push(written(step));
    if (step.sign !== '-') line += 1;
  }
  return lines;
}

function written({ sign, text }: Step): string {
  return `${sign} ${text.length > MOST_SHOWN_CHARS ? `${text.slice(0, MOST_SHOWN_CHARS)}…` : text}`;
}
