/**
 * The files of runs that have not ended, one for each, in a folder of the state directory that all its gateways share.
 * The name of a file tells whose run it is: INSTANCE.DEVICE-INODE.CALL. It is there before the command starts, and is
 * removed when the workspace is restored. What a dead gateway has left is taken over by renaming it, so that of two
 * gateways one gets it.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestBytes } from '../../core/digest.ts';
import { PROTECTED_NAMES, type ProtectedName } from '../../core/protected.table.ts';
import { storeErrorOf } from '../../store/fault-of.ts';
import { readPrivateFile } from '../../store/private-file.ts';
import type { Baseline, Copy } from './baseline.ts';
import { ENTRY_KINDS, type Entry } from './names.ts';

/** The file of a run, by its name. */
export type RunFileName = {
  readonly name: string;
  /** The gateway that has to restore the workspace. */
  readonly instance: string;
  readonly identity: string;
};

const NAME = /^([A-Za-z0-9_]{1,64})\.([0-9]+-[0-9]+)\.[A-Za-z0-9_-]{1,128}$/;
/** Of a file that is being written, which has not protected anything yet. */
const UNFINISHED = '.new';

export class RunFiles {
  readonly folder: string;
  readonly #instance: string;
  /** Those of runs of this process. */
  readonly #running = new Set<string>();
  #isMade = false;

  constructor(folder: string, instance: string) {
    this.folder = folder;
    this.#instance = instance;
  }

  /** Writes the file of a run, whole or not at all; the returned function removes it. */
  keep(run: KeptRun): () => void {
    const name = this.#nameOf(run.identity.replace(':', '-'), run.call);
    const path = join(this.folder, name);
    this.#running.add(name);
    try {
      if (!this.#isMade) mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      this.#isMade = true;
      writeFileSync(`${path}${UNFINISHED}`, writeRun(run), { mode: 0o600, flag: 'wx' });
      renameSync(`${path}${UNFINISHED}`, path);
    } catch (error) {
      this.#running.delete(name);
      throw storeErrorOf(error, `write "${path}", from which protected files would be restored`);
    }
    return () => {
      this.#running.delete(name);
      rmSync(path, { force: true });
    };
  }

  /** The files of all gateways, except those of runs of this process. */
  list(): readonly RunFileName[] {
    return namesIn(this.folder).flatMap((name) => {
      const [, instance, place] = NAME.exec(name) ?? [];
      if (instance === undefined || place === undefined || this.#running.has(name)) return [];
      return [{ name, instance, identity: place.replace('-', ':') }];
    });
  }

  isOwn({ instance }: RunFileName): boolean {
    return instance === this.#instance;
  }

  /** The run of a file, null where it is gone; throws where it cannot be used. */
  read({ name, identity }: RunFileName): KeptRun | null {
    // Boundary: neither a link nor a file that another user could have written.
    const bytes = readPrivateFile(join(this.folder, name), MAX_RUN_FILE_BYTES);
    if (bytes === null) return null;
    const run = readRun(bytes.toString('utf8'));
    if (run.identity !== identity) throw new TypeError('its name tells of another workspace');
    return run;
  }

  /** Makes it a file of this gateway; null where another one was faster. */
  takeOver(file: RunFileName, call: string): RunFileName | null {
    const name = this.#nameOf(file.identity.replace(':', '-'), call);
    try {
      renameSync(join(this.folder, file.name), join(this.folder, name));
      return { ...file, name, instance: this.#instance };
    } catch {
      return null;
    }
  }

  remove({ name }: RunFileName): void {
    rmSync(join(this.folder, name), { force: true });
  }

  /** Removes what gateways left that died while they wrote: their commands had not started. */
  sweep(isGone: (instance: string) => boolean): void {
    for (const name of namesIn(this.folder)) {
      const [, instance] = NAME.exec(name.slice(0, -UNFINISHED.length)) ?? [];
      if (name.endsWith(UNFINISHED) && instance !== undefined && isGone(instance))
        rmSync(join(this.folder, name), { force: true });
    }
  }

  #nameOf(place: string, call: string): string {
    return `${this.#instance}.${place}.${call.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 128)}`;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return [];
    throw storeErrorOf(error, `read "${folder}"`);
  }
}

/*
 * The file of a run that has not ended: what its gateway would restore from, for the case that it is killed. Only the
 * user of the gateway can write it, and still nothing in it is believed before it was checked: a file that is damaged
 * is not used in part.
 */

export type KeptRun = {
  readonly call: string;
  /** The path that the workspace had, its device and inode, and when it was made, where that is known. */
  readonly workspace: string;
  readonly identity: string;
  readonly born: string;
  /** Rows that the call may write. */
  readonly allowed: readonly ProtectedName[];
  /** The process that ends all processes of the run, as the kernel tells it from others; empty where there is none. */
  readonly starter: string;
  readonly takenMs: number;
  readonly baseline: Baseline;
};

/** Copies have 64 MiB together, and Base64 adds a third. */
export const MAX_RUN_FILE_BYTES = 128 * 1024 * 1024;

const VERSION = 1;
const DIGEST_CHARS = 64;

/** The text of a run, with its digest on the first line. */
export function writeRun({ baseline, ...run }: KeptRun): string {
  const { copies, hints, repositories, isInRepository } = baseline;
  const body = JSON.stringify({
    version: VERSION,
    ...run,
    hints: [...hints],
    isInRepository,
    repositories: repositories.map(plainEntry),
    copies: [...copies.values()].map(({ entry, row, bytes, isFresh, home }) => ({
      entry: plainEntry(entry),
      row,
      bytes: bytes?.toString('base64') ?? null,
      isFresh,
      home,
    })),
  });
  return `${digestBytes(body)}\n${body}`;
}

function plainEntry(entry: Entry) {
  const { mtimeNs, ctimeNs, dev, ino } = entry;
  return { ...entry, mtimeNs: `${mtimeNs}`, ctimeNs: `${ctimeNs}`, dev: `${dev}`, ino: `${ino}` };
}

/** The run of a text; throws a sentence about what is wrong with it. */
export function readRun(text: string): KeptRun {
  const body = text.slice(DIGEST_CHARS + 1);
  // Boundary: a file that was cut off or altered is not used at all.
  if (text.slice(0, DIGEST_CHARS + 1) !== `${digestBytes(body)}\n`)
    throw new TypeError('its content does not have the digest of its first line');
  const raw = tableOf(JSON.parse(body));
  if (raw.version !== VERSION) throw new TypeError(`its version is not ${VERSION}`);
  const copies = listOf(raw.copies).map(readCopy);
  return {
    call: textOf(raw.call),
    workspace: textOf(raw.workspace),
    identity: textOf(raw.identity),
    born: textOf(raw.born),
    allowed: listOf(raw.allowed).map(rowOf),
    starter: textOf(raw.starter),
    takenMs: numberOf(raw.takenMs),
    baseline: {
      copies: new Map(copies.map((copy) => [copy.entry.path, copy])),
      hints: new Map(listOf(raw.hints).map(readHint)),
      repositories: listOf(raw.repositories).map(readEntry),
      isInRepository: raw.isInRepository !== false,
    },
  };
}

function readCopy(value: unknown): Copy {
  const raw = tableOf(value);
  const bytes = raw.bytes === null ? null : Buffer.from(textOf(raw.bytes), 'base64');
  // A gateway of before did not write it.
  const home = typeof raw.home === 'string' ? raw.home : '';
  return { entry: readEntry(raw.entry), row: rowOf(raw.row), bytes, isFresh: raw.isFresh !== false, home };
}

function readHint(value: unknown): readonly [string, ProtectedName] {
  const [path, row] = listOf(value);
  return [textOf(path), rowOf(row)];
}

function readEntry(value: unknown): Entry {
  const raw = tableOf(value);
  return {
    path: textOf(raw.path),
    kind: oneOf(ENTRY_KINDS, raw.kind),
    mode: numberOf(raw.mode),
    uid: numberOf(raw.uid),
    gid: numberOf(raw.gid),
    size: numberOf(raw.size),
    mtimeNs: BigInt(textOf(raw.mtimeNs)),
    ctimeNs: BigInt(textOf(raw.ctimeNs)),
    dev: BigInt(textOf(raw.dev)),
    ino: BigInt(textOf(raw.ino)),
    nlink: numberOf(raw.nlink),
    target: raw.target === null ? null : textOf(raw.target),
  };
}

function rowOf(value: unknown): ProtectedName {
  return oneOf(PROTECTED_NAMES, value);
}

function oneOf<const T>(known: readonly T[], value: unknown): T {
  const found = known.find((each) => each === value);
  return found ?? misfit('one of its names is not known');
}

function tableOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : misfit('an object is missing in it');
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : misfit('a list is missing in it');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : misfit('a text is missing in it');
}

function numberOf(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : misfit('a number is missing in it');
}

function misfit(what: string): never {
  throw new TypeError(what);
}
