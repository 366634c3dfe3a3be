import { EGRESS_LIMITS } from './limits.ts';

/*
 * The path of a request in the one form in which paths are compared. Servers differ on what a path means: whether `%2f`
 * is a slash, whether `..;` goes up. A path on which they could differ has no form, and is treated as not known.
 */

/** Printable ASCII without the backslash and the hash. */
const PATH = /^\/[!"$-[\]-~]*$/;
/** Nothing encoded, no empty segment and none that begins with a dot: in its one form already, as nearly all paths are. */
const PLAIN = /^(?=\/)(?:\/[!"$&-\-0-[\]-~][!"$&-.0-[\]-~]*)*\/?$/;
/** A dot, a slash, a backslash or a control character that is encoded, once or more often; or an encoding that is none. */
const DOUBTFUL = /%(?:(?:25)*(?:2[ef]|5c|[01][0-9a-f]|7f)|(?![0-9a-f]{2}))/i;
/** What is encoded in lower case, or need not be. */
const RESPELT = /%(?:[a-f]|[\dA-F][a-f]|2D|3\d|[46][1-9A-F]|5[\dAF]|7[\dAE])/;
const CLIMBING = /\/\.{1,2}(?:(?:;|%3B)[^/]*)?(?=\/|$)/;
const PARAMETERS = /(?:;|%3B)[^/]*/gi;

/** The path without its query, with nothing encoded that need not be and no empty segment; null when it is doubtful. */
export function normalizePath(raw: string): string | null {
  const query = raw.indexOf('?');
  const path = query < 0 ? raw : raw.slice(0, query);
  // Boundary: a prefix means nothing for a path that a server could take for one outside it.
  if (path.length > EGRESS_LIMITS.pathChars) return null;
  if (PLAIN.test(path)) return path;
  if (!PATH.test(path) || DOUBTFUL.test(path)) return null;
  const decoded = RESPELT.test(path) ? path.replace(/%[0-9A-Fa-f]{2}/g, decodeUnreserved) : path;
  const plain = decoded.replace(/\/{2,}/g, '/');
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
  const hasParameters = path.includes(';') || path.includes('%');
  const bare = hasParameters ? path.replace(PARAMETERS, '').replace(/\/{2,}/g, '/') : path;
  return bare.replace(/(?!^)\/$/, '').toLowerCase();
}
