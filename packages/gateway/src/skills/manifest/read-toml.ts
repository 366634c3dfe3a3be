import { isUtf8 } from 'node:buffer';
import { parse, TomlError } from 'smol-toml';
import { readTree, type Spot } from '../../config/toml-tree.ts';
import { inert } from '../../core/hostile-text.ts';
import { type Place, placeOf, placeOfBadUtf8 } from '../../core/strict-json.ts';
import { differenceIn, measure } from './agree.ts';

/*
 * The text of a manifest → its values and its syntax tree. The file comes from whoever made the package. It is read by two
 * parsers that know nothing of each other, and where they differ it has no meaning that could be approved.
 */

/** What is wrong with the file as such; there is no key to name. */
export type Unreadable = {
  readonly ok: false;
  readonly place: Place;
  readonly what: string;
  readonly hint: string | null;
};
export type ReadToml = { readonly ok: true; readonly raw: unknown; readonly root: Spot } | Unreadable;

export const MAX_MANIFEST_BYTES = 256 * 1024;
/** A schema may have 32 levels and stands on the fourth; the rest is room for a better message. */
const MAX_DEPTH = 64;
/** The second parser is slow: this many values take it some tens of milliseconds. */
const MAX_VALUES = 16_384;
const START: Place = { line: 1, column: 1 };

/** Reads TOML 1.1 in UTF-8, or says what is wrong and where. It never throws, whatever it is given. */
export function readToml(source: string | Uint8Array): ReadToml {
  const decoded = decode(source);
  return decoded.ok ? readBoth(decoded.text) : decoded;
}

function decode(source: string | Uint8Array): { readonly ok: true; readonly text: string } | Unreadable {
  // Boundary: the size is known before a byte is looked at.
  if (source.length > MAX_MANIFEST_BYTES || Buffer.byteLength(source) > MAX_MANIFEST_BYTES) {
    return unreadable(START, 'it is too large', `at most ${MAX_MANIFEST_BYTES} bytes`);
  }
  if (typeof source !== 'string' && !isUtf8(source)) {
    return unreadable(placeOfBadUtf8(source), 'it has other bytes', 'UTF-8');
  }
  const text = typeof source === 'string' ? source.replace(/^\ufeff/, '') : new TextDecoder().decode(source);
  // Boundary: parsers differ on a NUL and on a second byte order mark, and half a character has no UTF-8.
  const bad = text.search(/\0|^\ufeff|\p{Surrogate}/u);
  if (bad < 0) return { ok: true, text };
  const is = 'it has a NUL, half a character or a second byte order mark';
  return unreadable(placeOf(text, bad), is, 'text');
}

function readBoth(text: string): ReadToml {
  const read = readValues(text);
  if (!read.ok) return read;
  const { levels, values } = measure(read.raw, MAX_DEPTH);
  // Boundary: dotted keys and headers nest without brackets; past this line every walk may recurse.
  if (levels > MAX_DEPTH) {
    return unreadable(START, 'its keys are nested too deeply', `at most ${MAX_DEPTH} levels`);
  }
  if (values > MAX_VALUES) return unreadable(START, `it has ${values} values`, `at most ${MAX_VALUES}`);
  const tree = attempt(() => readTree(text));
  if (tree === null) return disputed(START, 'one of two TOML parsers fails on it');
  if (!tree.ok) return disputed(tree.place, `one of two TOML parsers refuses it: ${inert(tree.why)}`);
  // Boundary: a text that two parsers read differently could be shown to one person and run by another.
  const odd = differenceIn(read.raw, tree.root);
  if (odd !== null) return disputed(odd, 'two TOML parsers read another value here');
  return { ok: true, raw: read.raw, root: tree.root };
}

function readValues(text: string): { readonly ok: true; readonly raw: unknown } | Unreadable {
  try {
    return { ok: true, raw: parse(text, { integersAsBigInt: true, maxDepth: MAX_DEPTH }) };
  } catch (error) {
    if (!(error instanceof TomlError)) return disputed(START, 'one of two TOML parsers fails on it');
    const [summary = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
    const { line, column } = error;
    const hint = hintFor(text.split('\n')[line - 1] ?? '', summary);
    return unreadable({ line, column }, `it is no TOML (${inert(summary)})`, 'valid TOML', hint);
  }
}

/** What people write in a line that is no TOML. */
function hintFor(line: string, summary: string): string | null {
  if (/^\s*[\w.-]+\s*=\s*$/.test(line)) return 'a value has to follow on the same line';
  if (summary.includes('redefine')) return hintForTwice(line);
  if (/^\s*[\w.-]+\s*=\s*"[^"]*$/.test(line)) return 'a text ends with a quote on the same line';
  if (/^\s*[\w.-]+\s*=\s*(?:yes|no|on|off)\b/i.test(line)) return 'write true or false';
  if (/^\s*[\w.-]+\s*=\s*[\d_]+[a-z]+\s*$/i.test(line)) return 'a number has no unit';
  if (/^\s*[\w.-]+\s*=\s*(?!true\b|false\b|inf\b|nan\b)[^\s"'[{\d+-]/.test(line))
    return 'texts stand in double quotes';
  if (/^\s*"?[\w.-]+"?\s*:/.test(line)) return 'a key and its value are joined by "="';
  return null;
}

/** Most often it is the table of a tool, whose beginning has one bracket or another name. */
function hintForTwice(line: string): string {
  if (/^\s*\[\s*entrypoints\b|^\s*\[\[/.test(line)) return 'every tool begins with [[entrypoints.tools]]';
  return /^\s*\[/.test(line) ? 'a table stands once' : 'a key stands once in its table';
}

/** Boundary: a parser of somebody else that fails on a hostile text must not take the gateway along. */
function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function disputed(place: Place, is: string): Unreadable {
  return unreadable(place, is, 'TOML that every parser reads alike');
}

function unreadable(place: Place, is: string, expected: string, hint: string | null = null): Unreadable {
  return { ok: false, place, what: `Cannot read the file: ${is}, expected ${expected}`, hint };
}
