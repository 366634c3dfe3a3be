import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import type { CodeCache } from './code-cache.ts';
import { withLibcReport } from './libc.ts';

/*
 * The program in a few files. A pack has many chunks, and each runs when something of it is first used; a chunk names
 * others as #PACK/NAME. Packs are compiled here, because only so they can be compiled from a code cache.
 */

/** What the build says of its packs: the digest of each. */
export type PackIndex = { readonly packs: Readonly<Record<string, string>> };

type Module = { readonly exports: object };
type Chunk = (exports: object, module: Module) => void;
type Require = (id: string) => unknown;
/** The text of a pack is an expression of this type. */
type Linked = (
  require: Require,
  lazy: (id: string) => () => unknown,
  bundleUrl: string,
) => Readonly<Record<string, Chunk>>;
type Pack = {
  readonly script: Script;
  readonly isCached: boolean;
  readonly chunks: Readonly<Record<string, Chunk>>;
};

export class Packs {
  readonly #directory: string;
  readonly #cacheOf: (pack: string) => CodeCache | null;
  readonly #opened: Map<string, Pack> = new Map();
  readonly #loaded: Map<string, Module> = new Map();

  constructor(directory: string, cacheOf: (pack: string) => CodeCache | null) {
    this.#directory = directory;
    this.#cacheOf = cacheOf;
  }

  /** The exports of a chunk, which runs once. */
  load(id: string): unknown {
    const before = this.#loaded.get(id);
    if (before !== undefined) return before.exports;
    const chunk = this.#open(id.slice(1, id.indexOf('/'))).chunks[id];
    if (chunk === undefined) throw new TypeError(`Cannot load "${id}": it is not in this build`);
    const module: Module = { exports: {} };
    // Before it runs: two chunks may import each other.
    this.#loaded.set(id, module);
    try {
      chunk(module.exports, module);
    } catch (error) {
      this.#loaded.delete(id);
      throw error;
    }
    return module.exports;
  }

  /** Keeps the code of the packs that were compiled anew, with all functions that have run. */
  keep(): void {
    for (const [name, { script, isCached }] of this.#opened)
      if (!isCached) this.#cacheOf(name)?.write(name, script.createCachedData());
  }

  #open(name: string): Pack {
    const before = this.#opened.get(name);
    if (before !== undefined) return before;
    const path = join(this.#directory, `${name}.cjs`);
    // The build writes ASCII alone, which is read faster than UTF-8.
    const { script, isCached } = this.#compile(name, path, readFileSync(path, 'latin1'));
    const outside = createRequire(path);
    const require = (id: string) => (id.startsWith('#') ? this.load(id) : loadOutside(outside, id));
    const lazy = (id: string) => {
      let exports: unknown;
      return () => {
        exports ??= require(id);
        return exports;
      };
    };
    const linked = script.runInThisContext() as Linked;
    const opened = { script, isCached, chunks: linked(require, lazy, pathToFileURL(path).href) };
    this.#opened.set(name, opened);
    return opened;
  }

  #compile(name: string, filename: string, text: string): Omit<Pack, 'chunks'> {
    const cachedData = this.#cacheOf(name)?.read(name);
    if (cachedData == null) return { script: new Script(text, { filename }), isCached: false };
    const script = new Script(text, { filename, cachedData });
    // V8 compares versions and flags itself, and compiles the text where they differ.
    return { script, isCached: script.cachedDataRejected !== true };
  }
}

function loadOutside(require: NodeJS.Require, id: string): unknown {
  return id === 'libsql' ? withLibcReport(() => require(id)) : require(id);
}
