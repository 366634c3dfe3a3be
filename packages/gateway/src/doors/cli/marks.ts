import { digestBytes } from '../../core/digest.ts';

/*
 * Files outside of the state directory that palisade writes and removes again. A line of each says who made it, with the
 * digest of all the others, so that a file that its owner has edited, or that is another's, is never replaced or removed.
 */

type Mark = {
  /** The words of the command after `palisade`. */
  readonly by: string;
  /** What begins and ends a comment in that file. */
  readonly open: string;
  readonly close?: string;
  /** How many lines have to come before the mark. */
  readonly after?: number;
};

const MARK = /^.{1,8}Made by `palisade [a-z -]+`, sha256 ([0-9a-f]{64})/;
/** A mark is one of the first lines. */
const FIRST_LINES = 3;

/** The text with the line that says who made it. */
export function marked(text: string, { by, open, close = '', after = 0 }: Mark): string {
  const lines = text.split('\n');
  const mark = `${open}Made by \`palisade ${by}\`, sha256 ${digestBytes(text)}${close}`;
  return [...lines.slice(0, after), mark, ...lines.slice(after)].join('\n');
}

/** Whose file it is: `ours` as it was made, `edited` since then, or `other`. */
export function ownerOf(text: string): 'ours' | 'edited' | 'other' {
  const lines = text.split('\n');
  const at = lines.slice(0, FIRST_LINES).findIndex((line) => MARK.test(line));
  if (at === -1) return 'other';
  const [, digest] = MARK.exec(lines[at] ?? '') ?? [];
  return digestBytes(lines.toSpliced(at, 1).join('\n')) === digest ? 'ours' : 'edited';
}
