import { parsePlainIPv4 } from './ipv4-text.ts';

const GROUPS = 8;
const GROUP = /^[0-9A-Fa-f]{1,4}$/;

/** The 128 bits of an IPv6 address; null for anything else, a zone (`%eth0`) included. */
export function parseIPv6(text: string): bigint | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [head, tail] = halves;
  const before = groupsOf(head, tail === undefined);
  const after = groupsOf(tail, true);
  if (before === null || after === null) return null;
  const missing = GROUPS - before.length - after.length;
  // The gap stands for one group at least; without a gap there are exactly eight.
  if (tail === undefined ? missing !== 0 : missing < 1) return null;
  const groups = [...before, ...Array.from({ length: missing }, () => 0), ...after];
  return BigInt(`0x${groups.map((group) => group.toString(16).padStart(4, '0')).join('')}`);
}

/** The 16-bit groups of one side of the gap; the last two may be written as an IPv4 address where the text ends. */
function groupsOf(side: string | undefined, endsText: boolean): number[] | null {
  if (side === undefined || side === '') return [];
  const words = side.split(':');
  const groups: number[] = [];
  for (const [at, word] of words.entries()) {
    if (endsText && at === words.length - 1 && word.includes('.')) {
      const value = parsePlainIPv4(word);
      if (value === null) return null;
      groups.push(Number(value >> 16n), Number(value & 0xffffn));
    } else if (GROUP.test(word)) groups.push(Number.parseInt(word, 16));
    else return null;
  }
  return groups.length > GROUPS ? null : groups;
}

/** The canonical form (RFC 5952): lower case, no leading zeros, the first longest run of zero groups left out. */
export function formatIPv6(value: bigint): string {
  const digits = value.toString(16).padStart(32, '0');
  const groups = Array.from({ length: GROUPS }, (_, at) =>
    Number.parseInt(digits.slice(at * 4, at * 4 + 4), 16).toString(16),
  );
  const gap = longestGap(groups);
  if (gap.length < 2) return groups.join(':');
  return `${groups.slice(0, gap.start).join(':')}::${groups.slice(gap.start + gap.length).join(':')}`;
}

function longestGap(groups: readonly string[]): { readonly start: number; readonly length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (const [at, group] of groups.entries()) {
    if (group !== '0') start = at + 1;
    else if (at + 1 - start > longest.length) longest = { start, length: at + 1 - start };
  }
  return longest;
}
