import { normalize } from 'node:path';
import { expandPattern, isPattern } from './glob.ts';
import { partsOf } from './parts.ts';
import { type Place, placeOf } from './place.ts';
import { Lookups, type Resolution, resolvePath } from './resolve-path.ts';

/** One way to read an argument as a path, and where that leads. */
export type ArgumentPath = {
  readonly argument: string;
  /** The part of the argument that is read as a path. */
  readonly meaning: string;
  readonly resolved: string;
  readonly place: Place;
  /** In the workspace. */
  readonly inside: boolean;
};

/** All canonical. */
export type ArgumentScope = {
  readonly cwd: string;
  readonly workspace: string;
  /** HOME of the run. */
  readonly home: string;
  readonly readOnly?: readonly string[];
  /** The environment of the run: what `$NAME` in an argument would become. */
  readonly variables?: Readonly<Record<string, string>>;
};

type Reading = { readonly path: string; readonly from: string };

const USER_HOME = /^~[A-Za-z_][A-Za-z0-9_.-]*(?:\/|$)/;

/**
 * Every path that an argument could mean, with links followed. A name without a slash is a path too, since it may be a
 * link. What leads outside is reported as such and not thrown: the scope is for the caller to hold.
 */
export function pathsIn(args: readonly string[], scope: ArgumentScope): readonly ArgumentPath[] {
  const lookups = new Lookups();
  const found: ArgumentPath[] = [];
  for (const argument of new Set(args)) {
    const seen = new Set<string>();
    for (const path of readingsOf(argument, scope, lookups)) {
      const key = `${path.meaning}\0${path.resolved}`;
      if (!seen.has(key)) found.push(path);
      seen.add(key);
    }
  }
  return found;
}

function* readingsOf(argument: string, scope: ArgumentScope, lookups: Lookups): Generator<ArgumentPath> {
  const texts = new Set([argument, expandVariables(argument, scope.variables ?? {})]);
  for (const text of texts) {
    for (const { text: meaning, reading } of partsOf(text)) {
      lookups.spend(1);
      if (USER_HOME.test(meaning)) {
        // Boundary: the home of a user of the host is outside, whether or not we know where it is.
        yield { argument, meaning, resolved: meaning, place: 'outside', inside: false };
      }
      for (const { path, from } of meaningsOf(meaning, scope, lookups)) {
        const resolution = resolvePath(path, from, lookups);
        if (reading === 'guess' && !leadsSomewhere(path, resolution, lookups)) continue;
        const judged = judge(argument, meaning, resolution, scope);
        // An option is no path in the workspace unless there is a file of its name.
        if (!judged.inside || resolution.exists || !path.startsWith('-')) yield judged;
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

/** A guess counts when it, or for an absolute one its first part, is there. */
function leadsSomewhere(
  path: string,
  { exists, throughLink, isKnown }: Resolution,
  lookups: Lookups,
): boolean {
  if (exists || throughLink || !isKnown) return true;
  return path.startsWith('/') && lookups.at(`/${path.split('/')[1] ?? ''}`).kind !== 'missing';
}

function judge(
  argument: string,
  meaning: string,
  { path: resolved, isKnown }: Resolution,
  { workspace, readOnly = [] }: ArgumentScope,
): ArgumentPath {
  // Boundary: a path that nobody can follow is outside.
  const place = isKnown ? placeOf(resolved, { workspace, readOnly }) : 'outside';
  return { argument, meaning, resolved, place, inside: place === 'workspace' };
}

/** What a shell or a program that acts like one would make of `$NAME` and `${NAME}`; an unset one is empty. */
function expandVariables(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, braced?: string, bare?: string) => {
    const name = braced ?? bare ?? '';
    return Object.hasOwn(variables, name) ? (variables[name] ?? '') : '';
  });
}
