/**
 * The baselines of runs that have not ended. Runs that overlap share the oldest baseline, in one workspace and where one
 * workspace lies in the other, so that none of them takes what another one has planted for the state before.
 */
import { readFileSync } from 'node:fs';
import { isWithin, locationOf, parseMounts } from '../../core/paths.ts';
import { orElse } from '../../core/result.ts';
import type { Baseline, Copy } from './baseline.ts';
import type { Entry } from './names.ts';
import { nameText } from './names.ts';
import { EVERY_TOP } from './protected.ts';

/** What the runs of a workspace share: the baseline of the first of them, once it is made. */
type SharedBaseline = {
  readonly identity: string;
  readonly workspace: string;
  baseline: Baseline | null;
  runs: number;
};

/** A run in some workspace, and the state before it. */
export type OtherRun = { readonly workspace: string; readonly baseline: Baseline };

export class Baselines {
  #shared: SharedBaseline[] = [];

  /** The baseline that the runs in a workspace share now. */
  of(identity: string): Baseline | null {
    return this.#running(identity)?.baseline ?? null;
  }

  /** Joins the runs of a workspace, before anything in it is looked at; the caller leaves at the end. */
  enter(identity: string, workspace: string): SharedBaseline {
    const shared = this.#running(identity) ?? { identity, workspace, baseline: null, runs: 0 };
    if (shared.runs === 0) this.#shared.push(shared);
    shared.runs += 1;
    return shared;
  }

  leave(shared: SharedBaseline): void {
    shared.runs -= 1;
    // A run that has ended may have planted what another one has just read; that one still asks for it.
    const isAsked = this.#shared.some(({ baseline, runs }) => baseline === null && runs > 0);
    if (!isAsked) this.#shared = this.#shared.filter(({ runs }) => runs > 0);
  }

  /** The runs of other workspaces. */
  others(own: { readonly identity: string }): readonly OtherRun[] {
    return this.#shared.flatMap(({ identity, workspace, baseline }) =>
      identity === own.identity || baseline === null ? [] : [{ workspace, baseline }],
    );
  }

  #running(identity: string): SharedBaseline | undefined {
    return this.#shared.find((each) => each.identity === identity && each.runs > 0);
  }
}

/** Whether one of the two directories lies in the other. */
export function overlap(one: string, other: string): boolean {
  const [a, b] = locate([one, other]);
  return isWithin(a, b) || isWithin(b, a);
}

/** The baseline of a workspace, with what runs of workspaces around and in it have found before it. */
export function shareBaseline(own: Baseline, workspace: string, others: readonly OtherRun[]): Baseline {
  return others.reduce((shared, other) => {
    const [at, otherAt] = locate([workspace, other.workspace]);
    if (isWithin(at, otherAt)) return partOf(other.baseline, below(at, otherAt), shared);
    return isWithin(otherAt, at) ? withPart(shared, below(otherAt, at), other.baseline) : shared;
  }, own);
}

/** Boundary: compared by device and path on it, so that a bind mount does not count as another directory. */
function locate(paths: readonly [string, string]): [string, string] {
  const mounts = parseMounts(orElse(() => readFileSync('/proc/self/mountinfo', 'utf8'), ''));
  return [locationOf(paths[0], mounts), locationOf(paths[1], mounts)];
}

function below(path: string, directory: string): string {
  return nameText(Buffer.from(path.slice(directory.length + 1)));
}

function partOf(around: Baseline, part: string, own: Baseline): Baseline {
  const inside = (path: string) => (path.startsWith(`${part}/`) ? path.slice(part.length + 1) : null);
  const hints = [...around.hints].flatMap(([path, row]) => {
    const rest = path.startsWith(EVERY_TOP) ? path : inside(path);
    return rest === null ? [] : [[rest, row] as const];
  });
  return {
    copies: renamed(around.copies, inside),
    hints: new Map([...own.hints, ...hints]),
    repositories: around.repositories.flatMap((entry) =>
      renamedEntry(entry, entry.path === part ? '.' : inside(entry.path)),
    ),
    isInRepository: own.isInRepository,
  };
}

function withPart(own: Baseline, part: string, inner: Baseline): Baseline {
  const outside = (path: string) => (path === part || path.startsWith(`${part}/`) ? null : path);
  const inside = (path: string) => (path === '.' ? part : `${part}/${path}`);
  const hints = [...inner.hints].map(
    ([path, row]) => [path.startsWith(EVERY_TOP) ? path : inside(path), row] as const,
  );
  return {
    copies: new Map([...renamed(own.copies, outside), ...renamed(inner.copies, inside)]),
    hints: new Map([...own.hints, ...hints]),
    repositories: [
      ...own.repositories.flatMap((entry) => renamedEntry(entry, outside(entry.path))),
      ...inner.repositories.flatMap((entry) => renamedEntry(entry, inside(entry.path))),
    ],
    isInRepository: own.isInRepository,
  };
}

function renamed(copies: Baseline['copies'], rename: (path: string) => string | null): Map<string, Copy> {
  return new Map(
    [...copies].flatMap(([path, copy]) =>
      renamedEntry(copy.entry, rename(path)).map((entry) => [entry.path, { ...copy, entry }] as const),
    ),
  );
}

function renamedEntry(entry: Entry, path: string | null): Entry[] {
  return path === null ? [] : [{ ...entry, path }];
}
