import { join } from 'node:path';
import { type Controller, type GroupLimits, LIMITS, USAGE, type Usage } from './controllers.table.ts';
import { type GroupFiles, tryRemove } from './group-files.ts';

/** A directory of one tree, and what is counted there. */
export type Place = {
  readonly version: 1 | 2;
  readonly mount: string;
  readonly directory: string;
  readonly controllers: readonly Controller[];
};

/** The group of one run in one tree, just made. */
export type Part = Place & {
  /** Open for writing; a process that writes "0" to it joins. */
  readonly descriptor: number;
  /** The limits as the kernel reads them back. */
  readonly limits: Readonly<Record<string, number>>;
};

/** Which versions of control groups these places are of. */
export function kindOf(places: readonly Place[]): 'v1' | 'v2' | 'hybrid' {
  const versions = new Set(places.map(({ version }) => version));
  if (versions.size > 1) return 'hybrid';
  return versions.has(2) ? 'v2' : 'v1';
}

/** Makes a group with its limits set and read back, or leaves nothing and throws. */
export function makePart(files: GroupFiles, place: Place, name: string, limits: GroupLimits): Part {
  const directory = join(place.directory, name);
  files.makeDirectory(directory);
  try {
    const taken = setLimits(files, { ...place, directory }, limits);
    return { ...place, directory, limits: taken, descriptor: files.open(join(directory, 'cgroup.procs')) };
  } catch (error) {
    tryRemove(files, directory);
    throw error;
  }
}

function setLimits(files: GroupFiles, group: Place, limits: GroupLimits): Record<string, number> {
  const taken: Record<string, number> = {};
  for (const row of LIMITS) {
    if (row.version !== group.version || !group.controllers.includes(row.controller)) continue;
    const path = join(group.directory, row.file);
    if (row.optional && files.read(path) === null) continue;
    const wish = row.valueOf(limits);
    files.write(path, String(wish));
    taken[row.fact] = limitTaken(files, path, wish);
  }
  return taken;
}

/** What the kernel made of a limit: it may round down to whole pages, but never up. */
function limitTaken(files: GroupFiles, path: string, wish: number): number {
  const text = files.read(path)?.trim() ?? 'nothing';
  // Boundary: a limit that was not taken is no limit; "max" and any larger number end here.
  if (/^\d+$/.test(text) && Number(text) <= wish) return Number(text);
  throw new Error(`"${path}" says "${text.slice(0, 40)}", expected at most ${wish}`);
}

/** One number of what the group used; null where this kernel does not count it. */
export function readUsage(files: GroupFiles, parts: readonly Place[], usage: Usage): number | null {
  for (const { version, controllers, directory } of parts) {
    const row = USAGE.find(
      (each) => each.usage === usage && each.version === version && controllers.includes(each.controller),
    );
    const text = row === undefined ? null : files.read(join(directory, row.file));
    if (row === undefined || text === null) continue;
    const found = row.key === null ? text.trim() : lineOf(text, row.key);
    if (found !== null && /^\d+$/.test(found)) return Math.floor(Number(found) / row.divisor);
  }
  return null;
}

function lineOf(text: string, key: string): string | null {
  const line = text.split('\n').find((each) => each.startsWith(`${key} `));
  return line === undefined ? null : line.slice(key.length + 1).trim();
}

/** More levels or groups than any run makes; what is left beyond is reported as busy. */
const DEEPEST = 32;

/** A group and all groups in it, the innermost first. */
export function treeOf(files: GroupFiles, directory: string, depth = 0): string[] {
  const inner = depth >= DEEPEST ? [] : files.directories(directory);
  return [...inner.flatMap((name) => treeOf(files, join(directory, name), depth + 1)), directory];
}

/** The processes in a group and in all groups in it, as far as they can be seen from here. */
export function processesIn(files: GroupFiles, directory: string): number[] {
  return treeOf(files, directory).flatMap((each) =>
    (files.read(join(each, 'cgroup.procs')) ?? '').split('\n').flatMap((line) => {
      return /^\d+$/.test(line) ? [Number(line)] : [];
    }),
  );
}
