/**
 * The files of runs that have not ended, one for each, in a folder of the state directory that all its gateways share.
 * The name of a file tells whose run it is: INSTANCE.DEVICE-INODE.CALL. It is there before the command starts, and is
 * removed when the workspace is restored. What a dead gateway has left is taken over by renaming it, so that of two
 * gateways one gets it.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { storeErrorOf } from '../../store/fault-of.ts';
import { readPrivateFile } from '../../store/private-file.ts';
import { type KeptRun, MAX_RUN_FILE_BYTES, readRun, writeRun } from './run-file.ts';

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
