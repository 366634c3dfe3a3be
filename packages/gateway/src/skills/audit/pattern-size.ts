/**
 * How many steps a pattern has once its repetitions are written out: what compiling it takes, and what each character of a
 * text takes at most. A pattern that is none gives some number; to refuse it is for whoever compiles it.
 */
export function patternSize(pattern: string): number {
  const groups: number[] = [];
  let size = 0;
  let last = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at];
    const [repeated = '', least = '', most = ''] = char === '{' ? (repetitionAt(pattern, at) ?? []) : [];
    if (repeated !== '') {
      const times = Math.max(Number(least), Number(most), 1);
      size += last * (times - 1);
      last *= times;
      at += repeated.length - 1;
    } else if (char === '(') {
      groups.push(size);
    } else if (char === ')') {
      last = size - (groups.pop() ?? 0);
    } else {
      const end = char === '\\' ? at + 1 : char === '[' ? endOfClass(pattern, at) : at;
      last = 1 + (end - at) / CLASS_CHARS;
      size += last;
      at = end;
    }
  }
  return Math.ceil(size);
}

/** A class of characters is one step, and takes longer to make the more it names. */
const CLASS_CHARS = 16;
const REPETITION = /\{(\d{1,6})(?:,(\d{0,6}))?\}/y;

function repetitionAt(pattern: string, at: number): RegExpExecArray | null {
  REPETITION.lastIndex = at;
  return REPETITION.exec(pattern);
}

/** Where a class that begins here ends; the end of the pattern where it does not. */
export function endOfClass(pattern: string, from: number): number {
  for (let at = from + 1; at < pattern.length; at += 1) {
    if (pattern[at] === '\\') at += 1;
    else if (pattern[at] === ']') return at;
  }
  return pattern.length;
}
