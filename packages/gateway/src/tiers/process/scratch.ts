/**
 * Directories that a gateway makes for what it starts, outside of its state directory: the user of commands, another
 * one where the gateway is root, has to reach them. Each is named after its gateway, so that the next one of the same
 * state directory can remove what a killed gateway has left.
 */
import { chmodSync, copyFileSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '../../core/coded-error.ts';
import { isWithin } from '../../core/paths.ts';
import { orElse } from '../../core/result.ts';
import { JAIL_PLACES } from '../c-bubblewrap/root.table.ts';
import { type GroupNames, groupNames, type Owner } from '../cgroup/cgroups.ts';
import { isInReachOfAll } from './machine.ts';

export type Scratch = { readonly path: string; readonly remove: () => void };

type ScratchOptions = {
  /** Distinguishes the directories of this state directory and process from those of others. */
  readonly owner: Owner;
  readonly isGone: (process: string) => boolean;
};

/** Not /tmp, which a jail has its own of. */
const PROGRAMS_IN = '/var/tmp';
const ALL_ENTER = 0o711;
const ALL_EXECUTE = 0o755;

export class Scratches {
  readonly #options: ScratchOptions;
  readonly #names: GroupNames;

  constructor(options: ScratchOptions) {
    this.#options = options;
    this.#names = groupNames('palisade', options.owner);
  }

  /** A new directory with one file in it, a copy of the first of these that exists. */
  file(name: string, sources: readonly string[]): Scratch {
    const scratch = this.#make(tmpdir());
    for (const source of sources) {
      try {
        copyFileSync(source, join(scratch.path, name));
        return scratch;
      } catch {
        // Try the next one.
      }
    }
    scratch.remove();
    throw new CodedError(
      'tier/unenforceable',
      `Cannot find "${name}": it is not built, expected it beside the gateway`,
    );
  }

  /** A program that every user can execute: itself, or a copy where a user or a jail cannot see its directory. */
  program(path: string): Scratch {
    const isHidden = [tmpdir(), ...JAIL_PLACES.map((place) => place.path)].some((place) =>
      isWithin(path, place),
    );
    if (!isHidden && isInReachOfAll(path)) return { path, remove: () => undefined };
    const scratch = this.#make(PROGRAMS_IN);
    const directory = join(scratch.path, 'bin');
    mkdirSync(directory);
    const copy = join(directory, 'program');
    copyFileSync(path, copy);
    chmodSync(scratch.path, ALL_ENTER);
    chmodSync(directory, ALL_ENTER);
    chmodSync(copy, ALL_EXECUTE);
    return { path: copy, remove: scratch.remove };
  }

  sweep(): void {
    for (const parent of new Set([tmpdir(), PROGRAMS_IN])) {
      for (const name of orElse(() => readdirSync(parent), [])) {
        const process = this.#names.processOf(name);
        // Boundary: a directory with such a name that another user made in a shared directory is left alone.
        if (process !== null && isOwn(join(parent, name)) && this.#options.isGone(process)) {
          remove(join(parent, name));
        }
      }
    }
  }

  #make(parent: string): Scratch {
    const path = mkdtempSync(join(parent, `${this.#names.nameOf('scratch')}-`));
    return { path, remove: () => remove(path) };
  }
}

function isOwn(path: string): boolean {
  const stats = orElse(() => lstatSync(path), null);
  return stats?.isDirectory() === true && stats.uid === process.geteuid?.();
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
