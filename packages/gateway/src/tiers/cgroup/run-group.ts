import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { orElse } from '../../core/result.ts';
import {
  type Controller,
  type GroupFiles,
  type GroupLimits,
  LIMITS,
  tryRemove,
  USAGE,
  type Usage,
} from './group-files.ts';

export type GroupUsage = {
  readonly peakMemoryBytes: number | null;
  readonly cpuUs: number | null;
  readonly oomKills: number;
  readonly pidsRefused: number;
};

/** A killed process is gone within milliseconds, unless it waits for a device. */
const KILL_AT_MOST_MS = 5_000;
const REMOVE_AT_MOST_MS = 3_000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

/** Makes the group of one run in every tree; on failure throws and leaves none. */
export function makeRunGroup(
  files: GroupFiles,
  places: readonly Place[],
  name: string,
  limits: GroupLimits,
): RunGroup {
  const parts: Part[] = [];
  try {
    for (const place of places) parts.push(makePart(files, place, name, limits));
  } catch (error) {
    for (const { descriptor, directory } of parts) {
      files.close(descriptor);
      tryRemove(files, directory);
    }
    throw error;
  }
  return new RunGroup(files, parts);
}

/** The groups that hold all processes of one run, one in each tree that is used. */
export class RunGroup {
  readonly #files: GroupFiles;
  readonly #parts: readonly (Place | Part)[];
  /** What was counted before the kill, and the last usage that the kernel reported before the group was removed. */
  #refusedBeforeKill: number | null = null;
  #last: GroupUsage | null = null;
  #removal: Promise<void> | null = null;
  #countsCpu: boolean | null = null;

  /** From new parts, or from those that an ended process has left. */
  constructor(files: GroupFiles, parts: readonly (Place | Part)[]) {
    this.#files = files;
    this.#parts = parts;
  }

  /** A process that writes "0" to each of them, before it starts anything, joins the group with all its descendants. */
  get descriptors(): readonly number[] {
    // Boundary: a closed number may refer to another file by now, which would be passed to a command.
    if (this.#last !== null) return [];
    return this.#parts.flatMap((part) => ('descriptor' in part ? [part.descriptor] : []));
  }

  /** Whether the CPU time of the group can be read. */
  get countsCpu(): boolean {
    this.#countsCpu ??= readUsage(this.#files, this.#parts, 'cpuUs') !== null;
    return this.#countsCpu;
  }

  /**
   * Whether the buffers of TCP count as memory. Version 1 counts them beside it, and gives every socket one of up to
   * 64 KiB whatever the limit.
   */
  get countsTcp(): boolean {
    return this.#parts.some(({ version, controllers }) => version === 2 && controllers.includes('memory'));
  }

  /** What was achieved, for the receipt: the trees, and the limits as the kernel read them back. */
  facts(): Record<string, string | number> {
    const facts: Record<string, string | number> = { cgroup_kind: kindOf(this.#parts) };
    for (const part of this.#parts) {
      const tree = part.version === 2 ? 'v2' : part.controllers.join(',');
      facts[`cgroup_path_${tree}`] = `/${relative(part.mount, part.directory)}`;
      if ('limits' in part) Object.assign(facts, part.limits);
    }
    return facts;
  }

  /** What the run has used so far; after `remove`, its final usage. */
  usage(): GroupUsage {
    const read = (usage: keyof GroupUsage) => readUsage(this.#files, this.#parts, usage);
    return (
      this.#last ?? {
        peakMemoryBytes: read('peakMemoryBytes'),
        cpuUs: read('cpuUs'),
        oomKills: read('oomKills') ?? 0,
        pidsRefused: this.#refusedBeforeKill ?? read('pidsRefused') ?? 0,
      }
    );
  }

  /** Kills every process in the group, whatever session or parent it has; true when none is left. */
  async kill(): Promise<boolean> {
    return this.#until(KILL_AT_MOST_MS, () => {
      if (this.#processes().length > 0) this.#killOnce();
      return this.#processes().length === 0;
    });
  }

  /** Kills what is left, removes the group and closes its descriptors; throws when the kernel still holds it. */
  remove(): Promise<void> {
    this.#removal ??= this.#remove();
    return this.#removal;
  }

  async #remove(): Promise<void> {
    await this.kill();
    const { descriptors } = this;
    this.#last = this.usage();
    for (const descriptor of descriptors) this.#files.close(descriptor);
    let reason = '';
    const gone = await this.#until(REMOVE_AT_MOST_MS, () => {
      reason =
        this.#parts.map(({ directory }) => this.#removeTree(directory)).find((each) => each !== '') ?? '';
      // For a process that joined at the last moment.
      if (reason !== '' && this.#processes().length > 0) this.#killOnce();
      return reason === '';
    });
    if (gone) return;
    throw new Error(`Cannot remove control group: ${reason}, expected no process in it`);
  }

  /** Why the tree still exists; empty when it does not. A group is busy until its zombies are reaped. */
  #removeTree(directory: string): string {
    const errnos = treeOf(this.#files, directory).map((each) => tryRemove(this.#files, each));
    const errno = errnos.find((each) => each !== null && each !== 'ENOENT');
    return errno === undefined ? '' : `"${directory}" gives ${errno}`;
  }

  #processes(): number[] {
    return this.#parts.flatMap(({ directory }) => processesIn(this.#files, directory));
  }

  #killOnce(): void {
    const rest = this.#parts.filter(({ directory }) => !tryWrite(this.#files, directory, 'cgroup.kill', '1'));
    if (rest.length === this.#parts.length) this.#stopForks();
    for (const { directory } of rest) processesIn(this.#files, directory).forEach(killProcess);
  }

  /** Otherwise a fork bomb could outrun a loop that kills one by one. */
  #stopForks(): void {
    this.#refusedBeforeKill ??= readUsage(this.#files, this.#parts, 'pidsRefused');
    for (const { directory } of this.#parts) tryWrite(this.#files, directory, 'pids.max', '0');
  }

  async #until(atMostMs: number, isDone: () => boolean): Promise<boolean> {
    let pauseMs = FIRST_PAUSE_MS;
    for (let waitedMs = 0; !isDone(); waitedMs += pauseMs) {
      if (waitedMs >= atMostMs) return false;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      await sleep(pauseMs);
    }
    return true;
  }
}

function tryWrite(files: GroupFiles, directory: string, file: string, text: string): boolean {
  return orElse(() => {
    files.write(join(directory, file), text);
    return true;
  }, false);
}

function killProcess(pid: number): void {
  // Boundary: 0 means a process of another PID namespace, and kill(0) would hit every process of our own group.
  if (pid <= 0 || pid === process.pid) return;
  // It may have ended since. One that we may not kill stays in the group, and `kill` reports it.
  orElse(() => process.kill(pid, 'SIGKILL'), false);
}

/** A directory of one tree, and what is counted there. */
export type Place = {
  readonly version: 1 | 2;
  readonly mount: string;
  readonly directory: string;
  readonly controllers: readonly Controller[];
};

/** The group of one run in one tree, just made. */
type Part = Place & {
  /** Open for writing; a process that writes "0" to it joins. */
  readonly descriptor: number;
  readonly limits: Readonly<Record<string, number>>;
};

/** The cgroup versions of these places. */
export function kindOf(places: readonly Place[]): 'v1' | 'v2' | 'hybrid' {
  const versions = new Set(places.map(({ version }) => version));
  if (versions.size > 1) return 'hybrid';
  return versions.has(2) ? 'v2' : 'v1';
}

/** Makes a group with its limits set and read back; on failure throws and leaves nothing. */
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
    if (row.optional === true && files.read(path) === null) continue;
    const wish = row.valueOf(limits);
    files.write(path, String(wish));
    taken[row.fact] = limitTaken(files, path, wish);
  }
  return taken;
}

/** The value that the kernel accepted: it may round down to whole pages, but never up. */
function limitTaken(files: GroupFiles, path: string, wish: number): number {
  const text = files.read(path)?.trim() ?? 'nothing';
  // Boundary: a limit that was not accepted is not enforced; "max" and any larger number are refused here.
  if (/^\d+$/.test(text) && Number(text) <= wish) return Number(text);
  throw new Error(`"${path}" says "${text.slice(0, 40)}", expected at most ${wish}`);
}

/** One number of what the group used; null where this kernel does not count it. */
function readUsage(files: GroupFiles, parts: readonly Place[], usage: Usage): number | null {
  for (const { version, controllers, directory } of parts) {
    const row = USAGE.find(
      (each) => each.usage === usage && each.version === version && controllers.includes(each.controller),
    );
    const text = row === undefined ? null : files.read(join(directory, row.file));
    if (row === undefined || text === null) continue;
    const found = row.key === undefined ? text.trim() : lineOf(text, row.key);
    if (found !== null && /^\d+$/.test(found)) return Math.floor(Number(found) / (row.divisor ?? 1));
  }
  return null;
}

function lineOf(text: string, key: string): string | null {
  const line = text.split('\n').find((each) => each.startsWith(`${key} `));
  return line === undefined ? null : line.slice(key.length + 1).trim();
}

/** More levels or groups than any run creates; what is left beyond them is reported as busy. */
const DEEPEST = 32;

/** A group and all groups in it, the innermost first. */
function treeOf(files: GroupFiles, directory: string, depth = 0): string[] {
  const inner = depth >= DEEPEST ? [] : files.directories(directory);
  return [...inner.flatMap((name) => treeOf(files, join(directory, name), depth + 1)), directory];
}

/** The processes in a group and all groups in it, as far as they are visible from here. */
function processesIn(files: GroupFiles, directory: string): number[] {
  return treeOf(files, directory).flatMap((each) =>
    (files.read(join(each, 'cgroup.procs')) ?? '').split('\n').flatMap((line) => {
      return /^\d+$/.test(line) ? [Number(line)] : [];
    }),
  );
}
