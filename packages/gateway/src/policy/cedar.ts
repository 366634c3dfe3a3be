import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as CedarWasm from '@cedar-policy/cedar-wasm/nodejs';
import { accept, type Result, reject } from '../core/result.ts';
import { setWasmFlags } from '../core/wasm-flags.ts';

export type {
  CedarValueJson,
  Clause,
  DetailedError,
  EntityJson,
  Expr,
  PolicyJson,
  TypeAndId,
} from '@cedar-policy/cedar-wasm/nodejs';

/** One instance of the Cedar evaluator, with a memory of its own. */
export type Cedar = typeof CedarWasm;

/** Returns a fresh instance at each call; tests pass one that breaks. */
export type CedarLoader = () => Cedar;

const MODULE = '@cedar-policy/cedar-wasm/nodejs';

/** Loads an instance that shares nothing with the ones before it. Takes 10 to 80 ms. */
export function loadCedar(): Cedar {
  setWasmFlags();
  // A new require each time: its module record would otherwise keep every instance it ever loaded.
  const require = createRequire(import.meta.url);
  const path = require.resolve(MODULE);
  delete require.cache[path];
  const cedar = require(path) as Cedar;
  delete require.cache[path];
  return cedar;
}

/** The version of the evaluator that `loadCedar` gives, without loading it. */
export function cedarVersion(): string {
  const require = createRequire(import.meta.url);
  const manifest = join(dirname(require.resolve(MODULE)), '..', 'package.json');
  return (require(manifest) as { version: string }).version;
}

/**
 * Whether an error of Cedar means that its instance can no longer be trusted. A stack that ran out (RangeError)
 * corrupts the instance's own stack pointer, a trap (RuntimeError) its memory; both break later calls.
 */
export function isCrash(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === 'RangeError' || error.name === 'RuntimeError';
}

/**
 * A Cedar instance for texts that are not trusted yet. It decides nothing; any damage is confined, because an instance
 * that threw is never used again.
 */
export class Workbench {
  readonly #load: CedarLoader;
  #cedar: Cedar | null = null;

  constructor(load: CedarLoader) {
    this.#load = load;
  }

  /** Does the work and returns how it ended; never throws. */
  try<T>(work: (cedar: Cedar) => T): Result<T, string> {
    try {
      this.#cedar ??= this.#load();
      return accept(work(this.#cedar));
    } catch (error) {
      // Boundary: even a seemingly harmless error may have left the instance inconsistent.
      this.#cedar = null;
      return reject(String(error));
    }
  }

  /** Frees the instance; the next work loads another. */
  clear(): void {
    this.#cedar = null;
  }
}
