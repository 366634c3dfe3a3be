import { EGRESS_LIMITS } from './limits.ts';

/*
 * The path of a request in the one form in which paths are compared. Servers differ on what a path means: whether `%2f`
 * is a slash, whether `..;` goes up. A path on which they could differ has no form, and is treated as not known.
 */

/** Printable ASCII without the backslash and the hash. */
const PATH = /^\/[!"$-[\]-~]*$/;
/** In its one form already, as nearly all are: no segment is empty or begins with a dot, and only what must be is encoded. */
const PLAIN =
  /^(?:\/(?![./])[!"$&-.0-[\]-~]*(?:%(?:2[0-46-9A-C]|3[A-F]|[46]0|5[BDE]|7[BCD]|[89A-F][0-9A-F])[!"$&-.0-[\]-~]*)*)+$/;
/** A dot, a slash, a backslash or a control character that is encoded, once or more often. */
const HIDDEN = /%(?:25)*(?:2[ef]|5c|[01][0-9a-f]|7f)/i;
const BROKEN = /%(?![0-9A-Fa-f]{2})/;
const CLIMBING = /\/\.{1,2}(?:(?:;|%3B)[^/]*)?(?=\/|$)/;
const PARAMETERS = /(?:;|%3B)[^/]*/gi;

/** The path without its query, with nothing encoded that need not be and no empty segment; null when it is doubtful. */
export function normalizePath(raw: string): string | null {
  const query = raw.indexOf('?');
  const path = query < 0 ? raw : raw.slice(0, query);
  // Boundary: a prefix means nothing for a path that a server could take for one outside it.
  if (path.length > EGRESS_LIMITS.pathChars) return null;
  if (PLAIN.test(path)) return path;
  if (!PATH.test(path) || HIDDEN.test(path) || BROKEN.test(path)) return null;
  const plain = path.replace(/%[0-9A-Fa-f]{2}/g, decodeUnreserved).replace(/\/{2,}/g, '/');
  return CLIMBING.test(plain) ? null : plain;
}

function decodeUnreserved(encoded: string): string {
  const char = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[A-Za-z0-9_~-]/.test(char) ? char : encoded.toUpperCase();
}

/** Tells whether a normalized path is the prefix or beneath it; a prefix ends where a segment ends. */
export function isBeneath(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  return path.length === prefix.length || prefix.endsWith('/') || path[prefix.length] === '/';
}

/** A normalized path as a denial compares it: as the most generous server would read it. */
export function widenPath(path: string): string {
  const bare = path.replace(PARAMETERS, '').replace(/\/{2,}/g, '/');
  return bare.replace(/(?!^)\/$/, '').toLowerCase();
}
