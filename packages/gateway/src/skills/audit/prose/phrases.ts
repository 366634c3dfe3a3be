/*
 * Searches for all phrases in one pass over a folded text. For each word of a phrase the last position where it matched
 * is kept: a later one always allows more than an earlier one, so there is no backtracking, and the time depends only
 * on the length of the text.
 */
import { PHRASES, type Phrase, SIGNS } from './phrases.table.ts';

/** A phrase that was found, and where it begins in the folded text. */
export type PhraseHit = { readonly phrase: Phrase; readonly at: number };

/** A word of a phrase, and how many others may precede it. */
type Step = {
  readonly phrase: number;
  readonly place: number;
  readonly gap: number;
  readonly isLast: boolean;
};

const STEPS: ReadonlyMap<string, readonly Step[]> = stepsOf(PHRASES);
const LONGEST_WORD = Math.max(...[...STEPS.keys()].map((word) => word.length));
const MOST_PLACES = 8;
/** Words that negate a phrase, and how many others may be in between: "do not hesitate to" negates nothing. */
const DENYING: ReadonlySet<string> = new Set(['not', 'never', 'dont', 'cannot', 'doesnt']);
const MOST_DENIED = 1;
/** The letters that digits and signs stand for, in pairs. */
const LEET: ReadonlyMap<string, string> = new Map(
  '0o 1i 3e 4a 5s 7t 8b @a $s'.split(' ').map((pair) => [pair.charAt(0), pair.charAt(1)]),
);

const TARGET = /\]\([^()\s]{1,500}\)/g;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const DOLLAR = 0x24;
const OPEN = 0x28;
const AT = 0x40;
const PIPE = 0x7c;
const LONGEST_ROW = 4_000;
const IS_SIGN = new Uint8Array(128);
const ENDS: readonly number[] = [0x21, 0x2e, 0x3b, 0x3f];

for (const code of [NEWLINE, ...ENDS, ...[...SIGNS.keys()].map((sign) => sign.charCodeAt(0))])
  IS_SIGN[code] = 1;

/** The phrases of a text, each at every place where it ends first after it begins. */
export function findPhrases(folded: string): readonly PhraseHit[] {
  // The target of a link is between its words and the next ones, and no reader sees it.
  const text = folded.replace(TARGET, (target) => ' '.repeat(target.length));
  const walk = new Walk(text);
  let at = 0;
  while (at < text.length) {
    if (isInWord(text, at)) {
      let end = at + 1;
      while (end < text.length && isInWord(text, end)) end += 1;
      walk.word(at, end);
      at = end;
    } else {
      walk.sign(at, text.charCodeAt(at));
      at += 1;
    }
  }
  return walk.hits;
}

/** One walk over one text. */
class Walk {
  readonly hits: PhraseHit[] = [];
  readonly #text: string;
  /** By phrase and place: the place of the word that reached it, and where the phrase began. */
  readonly #reached = new Int32Array(PHRASES.length * MOST_PLACES).fill(-1);
  readonly #began = new Int32Array(PHRASES.length * MOST_PLACES);
  #words = 0;
  /** Words have even positions and the signs after them odd ones, so that signs do not count as words. */
  #place = 0;
  #stop = -1;
  #denied = -1;
  #isRow: boolean;

  constructor(text: string) {
    this.#text = text;
    this.#isRow = isTableRow(text, 0);
  }

  word(start: number, end: number): void {
    this.#words += 1;
    this.#place = 2 * this.#words;
    if (end - start > LONGEST_WORD) return;
    const word = this.#text.slice(start, end);
    if (DENYING.has(word)) this.#denied = this.#place;
    const steps = STEPS.get(word) ?? plainSteps(word);
    if (steps !== undefined) this.#take(steps, start);
  }

  sign(at: number, code: number): void {
    if (IS_SIGN[code] !== 1) return;
    const next = this.#text.charCodeAt(at + 1);
    // The end of a sentence, or an empty line.
    const endsSentence = ENDS.includes(code) && !(next > SPACE);
    if (endsSentence || (code === NEWLINE && next === NEWLINE)) this.#stop = 2 * this.#words;
    if (code === NEWLINE) this.#isRow = isTableRow(this.#text, at + 1);
    // Between the cells of a table it is not a shell pipe, unless it is escaped and so part of a cell.
    if (code === PIPE && this.#isRow && this.#text[at - 1] !== '\\') return;
    const sign = SIGNS.get(this.#text.slice(at, at + 2)) ?? SIGNS.get(this.#text.charAt(at));
    if (sign === undefined) return;
    this.#place = 2 * this.#words + 1;
    this.#take(STEPS.get(sign) ?? [], at);
  }

  #take(steps: readonly Step[], at: number): void {
    for (const { phrase, place, gap, isLast } of steps) {
      const slot = phrase * MOST_PLACES + place;
      const before = this.#reached[slot - 1] ?? -1;
      if (place > 0 && !this.#isNear(phrase, before, gap)) continue;
      if (place === 0 && this.#isDenied(phrase)) continue;
      this.#reached[slot] = this.#place;
      this.#began[slot] = place === 0 ? at : (this.#began[slot - 1] ?? at);
      if (isLast) this.#hit(phrase, slot);
    }
  }

  #isNear(phrase: number, before: number, gap: number): boolean {
    if (before < 0 || Math.floor((this.#place - before - 1) / 2) > gap) return false;
    return before > this.#stop || PHRASES[phrase]?.across === true;
  }

  #isDenied(phrase: number): boolean {
    if (PHRASES[phrase]?.unlessDenied !== true || this.#denied <= this.#stop) return false;
    return Math.floor((this.#place - this.#denied - 1) / 2) <= MOST_DENIED;
  }

  #hit(phrase: number, slot: number): void {
    const found = PHRASES[phrase];
    if (found !== undefined) this.hits.push({ phrase: found, at: this.#began[slot] ?? 0 });
    // The next hit needs a beginning of its own.
    this.#reached.fill(-1, phrase * MOST_PLACES, slot + 1);
  }
}

/** Whether the line that begins here is one of a table of Markdown. */
function isTableRow(text: string, start: number): boolean {
  const end = text.indexOf('\n', start);
  if (end - start > LONGEST_ROW) return false;
  return /^[ \t>]{0,8}\|.*\|[ \t\r]{0,8}$/.test(text.slice(start, end < 0 ? start + LONGEST_ROW : end));
}

/** The same word where digits replace letters; `1` for both that it looks like. */
function plainSteps(word: string): readonly Step[] | undefined {
  if (!/[0-9@$]/.test(word) || !/[a-z]/.test(word)) return undefined;
  const plain = word.replace(/[0-9@$]/g, (sign) => LEET.get(sign) ?? sign);
  const withL = word.replace(/[0-9@$]/g, (sign) => (sign === '1' ? 'l' : (LEET.get(sign) ?? sign)));
  return STEPS.get(plain) ?? STEPS.get(withL);
}

function isInWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code >= 0x61 && code <= 0x7a) return true;
  if (code >= 0x80)
    return code !== 0xa0 && !(code >= 0x2000 && code <= 0x206f) && !(code >= 0x3000 && code <= 0x303f);
  // A dollar is a letter in disguise unless a command follows it.
  return (
    (code >= 0x30 && code <= 0x39) || code === AT || (code === DOLLAR && text.charCodeAt(at + 1) !== OPEN)
  );
}

function stepsOf(phrases: readonly Phrase[]): ReadonlyMap<string, readonly Step[]> {
  const steps = new Map<string, Step[]>();
  for (const [phrase, { words }] of phrases.entries()) {
    const parts = [...words.matchAll(/(?:~(\d+) )?(\S+)/g)];
    for (const [place, [, gap = '0', alternatives = '']] of parts.entries()) {
      for (const word of new Set(alternatives.split('|'))) {
        const step = { phrase, place, gap: Number(gap), isLast: place === parts.length - 1 };
        // Later places first: one word never takes two steps of a phrase.
        steps.set(word, [step, ...(steps.get(word) ?? [])]);
      }
    }
  }
  return steps;
}
