import { normalize } from 'node:path';
import { isWithin } from '../core/paths.ts';
import type { NamedArgument } from './named-commands.ts';
import {
  expandPattern,
  isPattern,
  Lookups,
  type Resolution,
  resolvePath,
  TooManyPaths,
} from './resolve-path.ts';
import { UNKNOWN } from './shell-line.ts';
import { OWN_PROCESS, SCRATCH } from './system.ts';
import { type PathZone, zoneOf } from './workspace.ts';

/**
 * Where an argument leads: a zone of the machine, the directory for temporary files of every user, or nowhere, where
 * even the first directory of the path does not exist and only root could create it.
 */
type ArgumentZone = PathZone | 'scratch' | 'nowhere';

/** One way to read an argument as a path, and where that leads. */
export type ArgumentPath = {
  readonly argument: string;
  /** The part of the argument that is read as a path. */
  readonly meaning: string;
  readonly resolved: string;
  readonly zone: ArgumentZone;
};

/** Not complete where the arguments can mean more paths than are looked at. */
export type FoundPaths = { readonly paths: readonly ArgumentPath[]; readonly isComplete: boolean };

/** All canonical. */
export type ArgumentScope = {
  readonly cwd: string;
  readonly workspace: string;
  readonly home: string;
  readonly readOnly: readonly string[];
  /** The environment of the run: what `$NAME` in an argument would become. */
  readonly variables?: Readonly<Record<string, string>>;
};

type Reading = { readonly path: string; readonly from: string };

const USER_HOME = /^~[A-Za-z_][A-Za-z0-9_.-]*(?:\/|$)/;

/**
 * Every path that an argument could mean, with links followed. A name without a slash is a path too, since it may be a
 * link. What leads outside is reported and not thrown: the caller decides what follows from it.
 */
export function pathsIn(args: readonly NamedArgument[], scope: ArgumentScope): FoundPaths {
  const lookups = new Lookups();
  const found = new Map<string, ArgumentPath>();
  let isComplete = true;
  for (const argument of args.filter(isRead)) {
    try {
      for (const path of readingsOf(argument, scope, lookups))
        found.set([path.argument, path.meaning, path.resolved, path.zone].join('\0'), path);
    } catch (error) {
      // Boundary: the work that one call can cause before it is allowed is bounded.
      if (!(error instanceof TooManyPaths)) throw error;
      isComplete = false;
    }
  }
  return { paths: [...found.values()], isComplete };
}

function isRead({ role, text }: NamedArgument): boolean {
  return role === 'any' && !text.includes(UNKNOWN);
}

function* readingsOf(
  { text: written, source, isColonRemote }: NamedArgument,
  scope: ArgumentScope,
  lookups: Lookups,
): Generator<ArgumentPath> {
  // In a line, the variables are replaced already.
  const expanded = source === written ? expandVariables(written, scope.variables ?? {}) : written;
  for (const text of new Set([written, expanded])) {
    for (const { text: meaning, reading } of partsOf(text, isColonRemote)) {
      lookups.spend(1);
      if (USER_HOME.test(meaning)) {
        // Boundary: the home of a user of the host is outside, whether or not we know where it is.
        yield { argument: source, meaning, resolved: meaning, zone: 'outside' };
      }
      for (const { path, from } of meaningsOf(meaning, scope, lookups)) {
        const resolution = resolvePath(path, from, lookups);
        if (reading === 'guess' && !leadsSomewhere(path, resolution, lookups)) continue;
        const zone = judge(resolution, scope, lookups);
        // An option is a path in the workspace only if a file of its name exists.
        if (zone !== 'workspace' || resolution.exists || !path.startsWith('-'))
          yield { argument: source, meaning, resolved: resolution.path, zone };
      }
    }
  }
}

/** The paths that one part can be. */
function meaningsOf(text: string, { cwd, home }: ArgumentScope, lookups: Lookups): readonly Reading[] {
  const readings: Reading[] = [{ path: text, from: cwd }];
  // Some programs cut `a/..` out of a path before they open it; the kernel first follows `a`.
  const plain = text.includes('..') ? normalize(text) : text;
  if (plain !== text) readings.push({ path: plain, from: cwd });
  if (text === '~' || text.startsWith('~/')) readings.push({ path: `.${text.slice(1)}`, from: home });
  if (!isPattern(text)) return readings;
  return [...readings, ...expandPattern(text, cwd, lookups).map((path) => ({ path, from: cwd }))];
}

/** A guess counts when it, or for an absolute one its first part, exists. */
function leadsSomewhere(
  path: string,
  { exists, throughLink, isKnown }: Resolution,
  lookups: Lookups,
): boolean {
  if (exists || throughLink || !isKnown) return true;
  return path.startsWith('/') && hasFirstPart(path, lookups);
}

function hasFirstPart(path: string, lookups: Lookups): boolean {
  return lookups.at(`/${path.split('/')[1] ?? ''}`).kind !== 'missing';
}

function judge(
  { path, isKnown }: Resolution,
  { workspace, readOnly }: ArgumentScope,
  lookups: Lookups,
): ArgumentZone {
  // Boundary: a path that cannot be followed is outside.
  if (!isKnown) return 'outside';
  const zone = zoneOf(path, { workspace, readOnly });
  if (zone !== 'outside') return zone;
  if (isWithin(path, OWN_PROCESS)) return 'system';
  if (isWithin(path, SCRATCH)) return 'scratch';
  return hasFirstPart(path, lookups) ? 'outside' : 'nowhere';
}

/** What a shell or a similar program would make of `$NAME` and `${NAME}`; an unset one is empty. */
function expandVariables(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, braced?: string, bare?: string) => {
    const name = braced ?? bare ?? '';
    return Object.hasOwn(variables, name) ? (variables[name] ?? '') : '';
  });
}

/*
 * What in an argument could be a path. Programs write options in many ways (`--out=/p`, `-I/p`, `if=/p`, `@/p`, `a:/p`,
 * `-Wl,-T,/p`, `file:///p`), and no table knows all of them; so an argument is cut at every character that programs cut
 * at, and every piece is a part. Too many parts cost a lookup each; one too few would be a way out.
 *
 * Paths in code (`python -c …`) are not found. That is left to the policies, which know that the program is an
 * interpreter, and to Tier C, where the kernel enforces access.
 */

type Part = {
  readonly text: string;
  /** `sure`: a program may well read it that way. `guess`: only counts where it leads to something that exists. */
  readonly reading: 'sure' | 'guess';
};

/** Schemes whose `//` begins the name of a host and not a path. */
const REMOTE_URL =
  /(?<![A-Za-z0-9+.]|[A-Za-z0-9]-)(?:-{1,2}[A-Za-z])?(?:(?:git|hg|svn|bzr)\+)?(?:https?|ftps?|sftp|ssh|git|wss?|rsync|scp|s3|gs|tcp|udp|ldaps?|smtps?|imaps?|redis|rediss|amqps?|mqtts?|postgres|postgresql|mysql|mongodb|docker|oci):\/\/[^\s,;<>]*/gi;
const FILE_URL = /file:(?:\/\/[^/\\]*)?/gi;
const SEPARATORS = '=:,;@<>';
/** An option or an assignment: programs split its value. A text (a commit message) is kept whole. */
const IS_OPTION = /^(?:-|[A-Za-z_][A-Za-z0-9_.]*\+?:?=)/;
/** As far as letters of short options are glued together before a value. */
const GLUED_LETTERS = 16;
/** In one argument; a JSON text of full length stays below it. */
const MAX_SEPARATORS = 1_000;
const MAX_FILE_URLS = 16;
/** No file has a longer name, so a text without a slash that is longer names none. */
const LONGEST_NAME = 255;

/** Every part of an argument that a program could take for a path. */
export function partsOf(argument: string, isColonRemote = false): readonly Part[] {
  const parts = new Map<string, Part>();
  const add = (text: string, reading: Part['reading']): void => {
    if (text.length > LONGEST_NAME && !text.includes('/')) return;
    if (text !== '' && parts.get(text)?.reading !== 'sure') parts.set(text, { text, reading });
  };
  for (const text of fileUrlsIn(argument)) add(text, 'sure');
  const local = argument.replace(REMOTE_URL, '');
  add(local, 'sure');
  for (const text of piecesOf(local, isColonRemote ? SEPARATORS.replace(':', '') : SEPARATORS)) {
    add(text, 'sure');
    if (text.startsWith('-')) for (const part of gluedIn(text)) add(part.text, part.reading);
  }
  return [...parts.values()];
}

/** The pieces between separators, and from each separator to the end: a path can have separators in its name. */
function piecesOf(text: string, separators: string): readonly string[] {
  const any = new RegExp(`[${separators}${IS_OPTION.test(text) ? '\\s' : ''}]`);
  const pieces = new Set(text.split(any));
  for (const each of separators) {
    if (text.includes(each)) for (const piece of text.split(each)) pieces.add(piece);
  }
  const starts: number[] = [];
  for (let at = 0; at < text.length; at++) if (any.test(text.charAt(at))) starts.push(at + 1);
  demandFew(starts.length, MAX_SEPARATORS);
  for (const start of starts) pieces.add(text.slice(start));
  return [...pieces];
}

/** Values that directly follow the letters of an option, as in `-I/p`, `-xf../p`, `-flink`. */
function gluedIn(option: string): readonly Part[] {
  const parts: Part[] = [{ text: option.slice(2), reading: 'sure' }];
  for (let at = 3; at <= GLUED_LETTERS && at < option.length; at++) {
    parts.push({ text: option.slice(at), reading: 'guess' });
  }
  const slash = option.indexOf('/');
  // `-Iinclude/x` and `-isystem/x` look alike, so the second reading has to lead somewhere.
  if (slash > 2) parts.push({ text: option.slice(slash), reading: 'guess' });
  const upward = option.search(/(?<=[^/.])(?:\.\.|~)(?:\/|$)/);
  if (upward > 2) parts.push({ text: option.slice(upward), reading: 'sure' });
  return parts;
}

function fileUrlsIn(argument: string): readonly string[] {
  const paths: string[] = [];
  const urls = [...argument.matchAll(FILE_URL)];
  demandFew(urls.length, MAX_FILE_URLS);
  for (const { 0: start, index } of urls) {
    const rest = argument.slice(index + start.length);
    // An encoded path can take the place of the host.
    const encoded = argument.slice(index + 'file:'.length).replace(/^\/*(?=%2F)/i, '');
    const readings = [encoded, rest, rest.replace(/[?#].*$/s, ''), rest.replace(/[\s,;"'].*$/s, '')];
    for (const path of readings) paths.push(path, decodePercent(path));
  }
  return paths;
}

/** Bytes written as %XX; what is not UTF-8 becomes a character that no path in the workspace has. */
function decodePercent(text: string): string {
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}

/** Boundary: each of these begins a part, and each part costs a look at the file system. */
function demandFew(count: number, most: number): void {
  if (count > most) throw new TooManyPaths();
}
