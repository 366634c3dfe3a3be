import { lstatSync, opendirSync, readlinkSync } from 'node:fs';
import { normalize } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { isWithin } from '../core/paths.ts';
import { DEVICES, OWN_PROCESS } from './system.ts';

/*
 * Where a path leads. The kernel's realpath fails for a path whose end does not exist yet, which is just what a command
 * creates; so links are followed here, one part at a time, dangling ones included.
 */

export type Resolution = {
  /** Without links, `.` and `..`, as far as could be resolved. */
  readonly path: string;
  readonly exists: boolean;
  readonly throughLink: boolean;
  /** False if a directory could not be read or links form a loop: the target is unknown. */
  readonly isKnown: boolean;
};

type Seen =
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'there' | 'missing' | 'unknown' };
type Walk = {
  /** The parts of the canonical path that is reached, none for the root. */
  at: string[];
  /** The parts to come, the next one last. */
  left: string[];
  links: number;
  /** How many parts of `at` are below the last one that exists. */
  missing: number;
  isKnown: boolean;
};

/** As many as the kernel follows. */
const MAX_LINKS = 40;
/** Far more than an honest command line names; a hostile one would block the gateway with lookups. */
const MAX_LOOKUPS = 50_000;
/** Parts below something missing are only counted, which is cheaper than a look. */
const PARTS_PER_LOOKUP = 16;
/** Of one part of a path, on every file system in use; what is longer does not exist. */
const LONGEST_NAME = 255;

/** Looks up files on behalf of one call: each path once, and only up to a limit. */
export class Lookups {
  readonly #seen = new Map<string, Seen>();
  readonly #names = new Map<string, readonly string[]>();
  #left = MAX_LOOKUPS;

  /** What is at a path, without following its last part. */
  at(path: string): Seen {
    const known = this.#seen.get(path);
    if (known !== undefined) return known;
    this.spend(1);
    const seen = lookAt(path);
    this.#seen.set(path, seen);
    return seen;
  }

  namesIn(directory: string): readonly string[] {
    const known = this.#names.get(directory);
    if (known !== undefined) return known;
    const names: string[] = [];
    for (const name of entriesOf(directory)) {
      this.spend(1);
      names.push(name);
    }
    this.#names.set(directory, names);
    return names;
  }

  spend(lookups: number): void {
    this.#left -= lookups;
    // Boundary: the work that one call can cause before it is allowed is bounded.
    if (this.#left < 0) throw new TooManyPaths();
  }
}

/** The arguments of a call can mean more paths than are looked at. */
export class TooManyPaths extends CodedError {
  constructor() {
    super(
      'runner/outside-workspace',
      'Cannot check the arguments: they can mean more paths than are looked at, expected fewer',
      { remedy: 'Pass fewer arguments and patterns, or put a long text into a file of the workspace.' },
    );
  }
}

function* entriesOf(directory: string): Generator<string> {
  let listing: ReturnType<typeof opendirSync>;
  try {
    listing = opendirSync(directory);
  } catch {
    // What we cannot list cannot be expanded by a command with fewer rights.
    return;
  }
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) yield entry.name;
  } finally {
    listing.closeSync();
  }
}

function lookAt(path: string): Seen {
  try {
    if (path.length - path.lastIndexOf('/') - 1 > LONGEST_NAME) return { kind: 'missing' };
    if (path.startsWith(`${OWN_PROCESS}/fd/`)) return { kind: 'unknown' };
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return { kind: 'missing' };
    if (!stats.isSymbolicLink() || path === OWN_PROCESS) return { kind: 'there' };
    // What is linked there belongs to the process that looks, which is not the command.
    if (isWithin(path, OWN_PROCESS)) return { kind: 'unknown' };
    return { kind: 'link', target: readlinkSync(path) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG';
    return { kind: isMissing ? 'missing' : 'unknown' };
  }
}

/** Resolves a path from a canonical directory, as the kernel would if all of its parts existed. */
export function resolvePath(path: string, from: string, lookups = new Lookups()): Resolution {
  const walk: Walk = { at: partsOf(from), left: [], links: 0, missing: 0, isKnown: true };
  follow(walk, path, lookups);
  while (walk.left.length > 0) step(walk, walk.left.pop() ?? '', lookups);
  const { at, missing, links, isKnown } = walk;
  return { path: `/${at.join('/')}`, exists: missing === 0, throughLink: links > 0, isKnown };
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/** Continues with this path from where the walk is. */
function follow(walk: Walk, path: string, lookups: Lookups): void {
  // What a device name leads to depends on the process that opens it; ours would be the wrong one.
  const isDevice = /^\/(?:dev|proc)\//.test(path) && walk.left.length === 0 && DEVICES.has(normalize(path));
  const parts = partsOf(path);
  lookups.spend(Math.ceil(parts.length / PARTS_PER_LOOKUP));
  if (path.startsWith('/')) {
    walk.missing = 0;
    walk.at = isDevice ? partsOf(normalize(path)) : [];
  }
  if (isDevice) return;
  // One at a time: a hostile path has thousands of parts, too many for the arguments of a call.
  for (const part of parts.reverse()) walk.left.push(part);
}

function step(walk: Walk, part: string, lookups: Lookups): void {
  if (part === '..') {
    walk.at.pop();
    walk.missing = Math.max(0, walk.missing - 1);
    return;
  }
  walk.at.push(part);
  const seen: Seen = walk.missing > 0 ? { kind: 'missing' } : lookups.at(`/${walk.at.join('/')}`);
  if (seen.kind === 'link' && walk.links < MAX_LINKS) {
    walk.links += 1;
    walk.at.pop();
    follow(walk, seen.target, lookups);
    return;
  }
  if (seen.kind === 'there') return;
  walk.missing += 1;
  if (seen.kind !== 'missing') walk.isKnown = false;
}

/** `*`, `?`, a set in brackets, or alternatives in braces. */
const MAGIC = /\*+|\?|\[[^\]]+\]|\{[^{}]*(?:,|\.\.)[^{}]*\}/;
const ONE = Symbol('any one character');
const MANY = Symbol('any characters');

type Token = string | typeof ONE | typeof MANY;

/** Whether a program that expands patterns could take this for one; texts with quotes are code or data. */
export function isPattern(text: string): boolean {
  return MAGIC.test(text) && text.length <= LONGEST_NAME && !text.includes('"');
}

/**
 * The paths that a pattern can mean to a program that expands it. It may return too many, since a set is read as any
 * character and alternatives as any characters, but never too few.
 */
export function expandPattern(pattern: string, from: string, lookups: Lookups): readonly string[] {
  let bases = [pattern.startsWith('/') ? '' : from];
  for (const part of pattern.split('/').filter((each) => each !== '')) {
    bases = MAGIC.test(part)
      ? bases.flatMap((base) => matchesIn(base, tokensOf(part), lookups))
      : bases.map((base) => `${base}/${part}`);
  }
  return bases;
}

function matchesIn(directory: string, tokens: readonly Token[], lookups: Lookups): readonly string[] {
  const names = lookups.namesIn(directory === '' ? '/' : directory);
  // A name costs less than a lookup, but is not free.
  lookups.spend(Math.ceil(names.length / 16));
  return names.filter((name) => matches(tokens, name)).map((name) => `${directory}/${name}`);
}

function tokensOf(pattern: string): readonly Token[] {
  const tokens: Token[] = [];
  let rest = pattern;
  for (let magic = MAGIC.exec(rest); magic !== null; magic = MAGIC.exec(rest)) {
    tokens.push(...rest.slice(0, magic.index), /^[?[]/.test(magic[0]) ? ONE : MANY);
    rest = rest.slice(magic.index + magic[0].length);
  }
  return [...tokens, ...rest];
}

/** Boundary: backtracks to the last MANY only, so that no pattern takes more than the product of both lengths. */
function matches(tokens: readonly Token[], name: string): boolean {
  const chars = [...name];
  let token = 0;
  let char = 0;
  let many = { token: -1, char: 0 };
  while (char < chars.length) {
    if (tokens[token] === MANY) {
      many = { token, char };
      token += 1;
    } else if (tokens[token] === ONE || tokens[token] === chars[char]) {
      token += 1;
      char += 1;
    } else if (many.token >= 0) {
      many = { token: many.token, char: many.char + 1 };
      token = many.token + 1;
      char = many.char;
    } else return false;
  }
  return tokens.slice(token).every((each) => each === MANY);
}
