/*
 * Versions by Semantic Versioning 2.0.0, strictly: no leading "v", no leading zeros, nothing left out. A version comes
 * from an untrusted package, so nothing is rounded: numbers are exact at any length.
 */

type Identifiers = readonly (bigint | string)[];
/** Major, minor and patch; and the identifiers behind "-", of which numbers are compared as numbers. */
type Version = { readonly numbers: Identifiers; readonly prerelease: Identifiers };

export const VERSION_CHARS = 64;

const NUMBER = '(?:0|[1-9][0-9]*)';
const WORD = '[0-9]*[A-Za-z-][0-9A-Za-z-]*';
/** The whole grammar, as a JSON Schema can have it. */
export const VERSION_PATTERN =
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}` +
  `(?:-(?:${NUMBER}|${WORD})(?:\\.(?:${NUMBER}|${WORD}))*)?` +
  '(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$';

const VERSION = new RegExp(VERSION_PATTERN);

/** Reads a version; anything else is null. */
export function parseVersion(text: string): Version | null {
  // Boundary: the length is bounded before a pattern runs over a text of the publisher.
  if (text.length > VERSION_CHARS || !VERSION.test(text)) return null;
  // What follows a "+" says nothing about the order.
  const [beforeBuild = ''] = text.split('+');
  const dash = beforeBuild.indexOf('-');
  const numbers = dash < 0 ? beforeBuild : beforeBuild.slice(0, dash);
  return {
    numbers: identifiersOf(numbers),
    prerelease: dash < 0 ? [] : identifiersOf(beforeBuild.slice(dash + 1)),
  };
}

function identifiersOf(text: string): Identifiers {
  return text.split('.').map((part) => (/^[0-9]+$/.test(part) ? BigInt(part) : part));
}

/** Below zero when the first comes before the second; zero when they differ in build metadata at most. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [demandVersion(a), demandVersion(b)];
  return compareAll(first.numbers, second.numbers) || comparePrereleases(first.prerelease, second.prerelease);
}

function demandVersion(text: string): Version {
  const version = parseVersion(text);
  if (version !== null) return version;
  throw new TypeError('Cannot compare versions: one of them is no version, expected SemVer 2.0.0');
}

/** A version without a prerelease part comes after all that have one. */
function comparePrereleases(a: Identifiers, b: Identifiers): number {
  return a.length === 0 || b.length === 0 ? compare(b.length, a.length) : compareAll(a, b);
}

function compareAll(a: Identifiers, b: Identifiers): number {
  for (const [i, left] of a.entries()) {
    const right = b[i];
    if (right === undefined) return 1;
    const order = compareIdentifiers(left, right);
    if (order !== 0) return order;
  }
  return compare(a.length, b.length);
}

/** Numbers by value, other identifiers by their characters, and every number before every other identifier. */
function compareIdentifiers(a: bigint | string, b: bigint | string): number {
  if (typeof a === typeof b) return compare(a, b);
  return typeof a === 'bigint' ? -1 : 1;
}

function compare<T extends bigint | number | string>(a: T, b: T): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
