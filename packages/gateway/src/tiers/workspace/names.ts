import { isUtf8 } from 'node:buffer';

/** Bytes that stand for themselves: printable ASCII without the backslash. */
const PLAIN = /^[ -[\]-~]*$/;

/** What a terminal or an editor would act on or hide: control, format, private and unassigned characters. */
const UNSHOWABLE = /[\\\p{C}\p{Zl}\p{Zp}]/gu;

/** How the characters that HFS+ ignores in a name look once they are written out. */
const IGNORED_BY_HFS = /\\xe2\\x80\\x(?:8[c-f]|a[a-e])|\\xe2\\x81\\xa[a-f]|\\xef\\xbb\\xbf/g;

/**
 * The text of a name that may be any bytes: printable UTF-8 as it is, every other byte and the backslash as `\xNN`.
 * No two names have one text, and a text can be printed and put into JSON without harm.
 */
export function nameText(bytes: Buffer): string {
  const raw = bytes.toString('latin1');
  if (PLAIN.test(raw)) return raw;
  // Boundary: a name never brings an escape sequence, a line break or a direction mark into a result.
  if (isUtf8(bytes))
    return bytes.toString('utf8').replace(UNSHOWABLE, (char) => escapeBytes(Buffer.from(char)));
  return raw.replace(/[^ -[\]-~]/g, (char) => escapeBytes(Buffer.from(char, 'latin1')));
}

function escapeBytes(bytes: Buffer): string {
  return bytes.toString('hex').replace(/../g, '\\x$&');
}

/** The bytes of a name that `nameText` wrote. */
export function nameBytes(text: string): Buffer {
  const parts = text.split(/\\x([0-9a-f]{2})/);
  return Buffer.concat(parts.map((part, index) => Buffer.from(part, index % 2 === 1 ? 'hex' : 'utf8')));
}

/**
 * One form for all the names that some file system takes for the same one: without case, compatibility forms and the
 * characters that HFS+ ignores. It goes too far rather than not far enough.
 */
export function foldName(text: string): string {
  const seen = text.includes('\\') ? text.replace(IGNORED_BY_HFS, '') : text;
  if (PLAIN.test(seen.replaceAll('\\', ''))) return seen.toLowerCase();
  // Upper case first: the long s and the Kelvin sign have no lower case that meets their letters.
  return seen.normalize('NFKC').toUpperCase().toLowerCase();
}

/** The names of a path, each folded for itself: folding can bring forth a slash. */
export function foldPath(path: string): string[] {
  return PLAIN.test(path) ? path.toLowerCase().split('/') : path.split('/').map(foldName);
}

/** The directory that the path is in; the workspace itself is ''. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** The last name of the path. */
export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The path of a name in a directory. */
export function pathIn(directory: string, name: string): string {
  return directory === '' ? name : `${directory}/${name}`;
}
