import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

type ShelfTerms = {
  /** Of all files together. */
  readonly mostBytes: number;
  /** Distinguishes the unfinished files of one process from those of another. */
  readonly tag: string;
  readonly nowMs: () => number;
};

/** A cache of reproducible data: files by name, in a separate directory. */
export class FileShelf {
  readonly #dir: string;
  readonly #terms: ShelfTerms;
  #writes = 0;

  constructor(dir: string, terms: ShelfTerms) {
    this.#dir = dir;
    this.#terms = terms;
  }

  /** The contents of a file; null where it does not exist or cannot be read. The caller checks the contents. */
  async read(name: string): Promise<Buffer | null> {
    try {
      const path = this.#pathOf(name);
      const bytes = await readFile(path);
      const nowS = this.#terms.nowMs() / 1000;
      await utimes(path, nowS, nowS).catch(() => undefined);
      return bytes;
    } catch {
      return null;
    }
  }

  /** Writes a file, whole or not at all; the least recently used ones are removed to make space. */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length > this.#terms.mostBytes) return;
    this.#writes += 1;
    const path = this.#pathOf(name);
    const half = `${path}.${this.#terms.tag}-${this.#writes}`;
    try {
      await mkdir(this.#dir, { recursive: true, mode: 0o700 });
      await this.#makeRoom(bytes.length);
      const file = await open(half, 'wx', 0o600);
      try {
        await file.writeFile(bytes);
      } finally {
        await file.close();
      }
      await rename(half, path);
    } catch {
      // A full disk only costs the work of producing it again.
      await rm(half, { force: true }).catch(() => undefined);
    }
  }

  async remove(name: string): Promise<void> {
    await rm(this.#pathOf(name), { force: true }).catch(() => undefined);
  }

  async #makeRoom(bytes: number): Promise<void> {
    const names = await readdir(this.#dir);
    const files = await Promise.all(
      names.map(async (name) => {
        const { size, mtimeMs } = await stat(join(this.#dir, name)).catch(() => ({ size: 0, mtimeMs: 0 }));
        return { name, size, mtimeMs };
      }),
    );
    let total = files.reduce((sum, { size }) => sum + size, bytes);
    for (const { name, size } of files.sort((a, b) => a.mtimeMs - b.mtimeMs)) {
      if (total <= this.#terms.mostBytes) return;
      total -= size;
      await rm(join(this.#dir, name), { force: true });
    }
  }

  #pathOf(name: string): string {
    // Boundary: a name must not be a path to anywhere else.
    if (!/^[a-z0-9-]{1,128}$/.test(name))
      throw new TypeError('Cannot name file: expected letters, digits and dashes');
    return join(this.#dir, name);
  }
}
