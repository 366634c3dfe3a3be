import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

type ShelfTerms = {
  /** Of all files together. */
  readonly mostBytes: number;
  /** Tells the half-written files of one process from those of another. */
  readonly tag: string;
  readonly nowMs: () => number;
};

/** What can be made again, and is kept so that it need not be: files by name, in a directory of its own. */
export class FileShelf {
  readonly #dir: string;
  readonly #mostBytes: number;
  readonly #tag: string;
  readonly #nowMs: () => number;
  #writes = 0;

  constructor(dir: string, { mostBytes, tag, nowMs }: ShelfTerms) {
    this.#dir = dir;
    this.#nowMs = nowMs;
    this.#mostBytes = mostBytes;
    this.#tag = tag;
  }

  /** All of a file; null where there is none, or it cannot be read. What stands in it is for the caller to check. */
  async read(name: string): Promise<Buffer | null> {
    try {
      const path = this.#pathOf(name);
      const bytes = await readFile(path);
      const nowS = this.#nowMs() / 1000;
      await utimes(path, nowS, nowS).catch(() => undefined);
      return bytes;
    } catch {
      return null;
    }
  }

  /** Puts a file there, whole or not at all; the ones that were used longest ago make room. */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length > this.#mostBytes) return;
    this.#writes += 1;
    const path = this.#pathOf(name);
    const half = `${path}.${this.#tag}-${this.#writes}`;
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
      // A full disk costs the work of making it again, and nothing else.
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
      if (total <= this.#mostBytes) return;
      total -= size;
      await rm(join(this.#dir, name), { force: true });
    }
  }

  #pathOf(name: string): string {
    // Boundary: a name is a name, and no way to anywhere else.
    if (!/^[a-z0-9-]{1,128}$/.test(name))
      throw new TypeError('Cannot name file: expected letters, digits and dashes');
    return join(this.#dir, name);
  }
}
