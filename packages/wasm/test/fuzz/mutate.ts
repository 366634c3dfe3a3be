/** Changes a module at random: its bytes, its sections, or single operators with all sizes kept right. */
import { unsigned } from '../fixture/leb.ts';
import { codeSection, concat, numberAt, numberEnd, sectionsIn, withSection } from './layout.ts';
import { mutateCode } from './mutate-code.ts';
import type { Random } from './random.ts';

/** A changed copy of `bytes`; pieces of `other` may go into it. */
export type Mutation = (random: Random, bytes: Uint8Array, other: Uint8Array) => Uint8Array;

const TELLING = [0x00, 0x01, 0x02, 0x0b, 0x40, 0x60, 0x7b, 0x7f, 0x80, 0xfc, 0xfd, 0xfe, 0xff];
const NUMBERS = [0, 1, 2, 3, 127, 128, 1000, 65_535, 65_536, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
const MOST_BYTES = 60_000;

const RAW: readonly Mutation[] = [
  flip,
  setByte,
  setTelling,
  insert,
  remove,
  repeat,
  overwrite,
  truncate,
  changeNumber,
];
const SECTIONS: readonly Mutation[] = [
  duplicateSection,
  swapSections,
  dropSection,
  graftSection,
  changeContent,
];

/** Applies one to four changes, mostly to the code. */
export function mutate(random: Random, bytes: Uint8Array, other: Uint8Array): Uint8Array {
  let changed = bytes;
  // Few changes leave a module that gets far; many find the odd corner.
  for (let left = random.pick([1, 1, 1, 1, 2, 2, 3, 5]); left > 0; left -= 1) {
    const kind = random.below(10);
    const change = kind < 7 && codeSection(changed) ? mutateCode : random.pick(kind < 9 ? RAW : SECTIONS);
    changed = change(random, changed, other);
  }
  return changed.length > MOST_BYTES ? changed.slice(0, MOST_BYTES) : changed;
}

function edit(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const copy = bytes.slice();
  copy[at] = value;
  return copy;
}

function flip(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random.below(bytes.length);
  return edit(bytes, at, (bytes[at] ?? 0) ^ (1 << random.below(8)));
}

function setByte(random: Random, bytes: Uint8Array): Uint8Array {
  return edit(bytes, random.below(bytes.length), random.below(256));
}

function setTelling(random: Random, bytes: Uint8Array): Uint8Array {
  return edit(bytes, random.below(bytes.length), random.pick(TELLING));
}

function spanIn(random: Random, bytes: Uint8Array): readonly [number, number] {
  const from = random.below(bytes.length);
  return [from, Math.min(bytes.length, from + 1 + random.below(1 + random.below(40)))];
}

function insert(random: Random, bytes: Uint8Array): Uint8Array {
  const [at] = spanIn(random, bytes);
  const added = Array.from({ length: 1 + random.below(4) }, () => random.below(256));
  return concat([bytes.subarray(0, at), added, bytes.subarray(at)]);
}

function remove(random: Random, bytes: Uint8Array): Uint8Array {
  const [from, to] = spanIn(random, bytes);
  return concat([bytes.subarray(0, from), bytes.subarray(to)]);
}

function repeat(random: Random, bytes: Uint8Array): Uint8Array {
  const [from, to] = spanIn(random, bytes);
  return concat([bytes.subarray(0, to), bytes.subarray(from, to), bytes.subarray(to)]);
}

function overwrite(random: Random, bytes: Uint8Array, other: Uint8Array): Uint8Array {
  const [at] = spanIn(random, bytes);
  const [from, to] = spanIn(random, other);
  return concat([bytes.subarray(0, at), other.subarray(from, to), bytes.subarray(at + to - from)]);
}

function truncate(random: Random, bytes: Uint8Array): Uint8Array {
  return bytes.slice(0, random.below(bytes.length + 1));
}

/** Another number, a longer form of the same one, or one that is too long. */
function changeNumber(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random.below(bytes.length);
  const value = numberAt(bytes, at);
  if (value < 0) return flip(random, bytes);
  const written = [
    () => unsigned(random.pick(NUMBERS)),
    () => unsigned(value, 1 + random.below(7)),
    () => unsigned(Math.max(0, value + random.below(5) - 2)),
  ];
  return concat([bytes.subarray(0, at), random.pick(written)(), bytes.subarray(numberEnd(bytes, at))]);
}

function duplicateSection(random: Random, bytes: Uint8Array): Uint8Array {
  const sections = sectionsIn(bytes);
  if (sections.length === 0) return flip(random, bytes);
  const { head, end } = random.pick(sections);
  const target = random.pick(sections);
  return concat([bytes.subarray(0, target.head), bytes.subarray(head, end), bytes.subarray(target.head)]);
}

function swapSections(random: Random, bytes: Uint8Array): Uint8Array {
  const sections = sectionsIn(bytes);
  const at = random.below(sections.length);
  const [first, second] = [sections[at], sections[at + 1]];
  if (first === undefined || second === undefined) return duplicateSection(random, bytes);
  const whole = (span: { head: number; end: number }) => bytes.subarray(span.head, span.end);
  return concat([bytes.subarray(0, first.head), whole(second), whole(first), bytes.subarray(second.end)]);
}

function dropSection(random: Random, bytes: Uint8Array): Uint8Array {
  const sections = sectionsIn(bytes);
  if (sections.length === 0) return flip(random, bytes);
  const { head, end } = random.pick(sections);
  return concat([bytes.subarray(0, head), bytes.subarray(end)]);
}

/** A section of another module in place of, or before, one of this. */
function graftSection(random: Random, bytes: Uint8Array, other: Uint8Array): Uint8Array {
  const [own, theirs] = [sectionsIn(bytes), sectionsIn(other)];
  if (own.length === 0 || theirs.length === 0) return overwrite(random, bytes, other);
  const { head, end, id } = random.pick(theirs);
  const same = own.find((each) => each.id === id);
  const section = same ?? random.pick(own);
  const rest = same === undefined ? section.head : section.end;
  return concat([bytes.subarray(0, section.head), other.subarray(head, end), bytes.subarray(rest)]);
}

/** A change inside a section, with its size kept right. */
function changeContent(random: Random, bytes: Uint8Array, other: Uint8Array): Uint8Array {
  const sections = sectionsIn(bytes).filter(({ start, end }) => end > start);
  if (sections.length === 0) return flip(random, bytes);
  const span = random.pick(sections);
  const content = random.pick(RAW)(random, bytes.subarray(span.start, span.end), other);
  return withSection(bytes, span, content);
}
