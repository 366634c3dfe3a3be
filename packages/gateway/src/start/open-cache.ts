import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { cachedDataVersionTag } from 'node:v8';
import { setWasmFlags } from '../core/wasm-flags.ts';
import { CodeCache } from './code-cache.ts';
import { setShortFlags } from './short-flags.ts';

export type CacheOptions = {
  /** Of the packs. */
  readonly directory: string;
  /** The state directory, which may not exist yet; null where it is not known. */
  readonly stateDir: string | null;
  /** The first word of the command. */
  readonly verb: string;
  readonly digestOf: (pack: string) => string;
  /** The one place to write to, for the build, which makes each anew. */
  readonly keepIn: string | undefined;
};

/** Commands that are waited for; the others share one cache. */
const PROFILES = ['exec', 'call', 'mcp', 'serve'];

/** Commands that make one call and end. */
const SHORT = ['exec', 'call'];

const BESIDE = 'code';
const IN_STATE = 'code';

/** The code cache of this start. */
export function openCache({ directory, stateDir, verb, digestOf, keepIn }: CacheOptions): CodeCache {
  // V8 uses cached code only under the flags that it was made under.
  setWasmFlags();
  if (SHORT.includes(verb)) setShortFlags();
  const inState = stateDir === null ? null : join(stateDir, IN_STATE);
  // Boundary: who can write the code of the program is trusted with its cache, and no one else.
  const beside = { path: join(directory, BESIDE), alsoOf: ownerOf(join(directory, 'packs.json')) };
  const own = inState === null ? [] : [{ path: inState, alsoOf: null }];
  return new CodeCache({
    digestOf,
    versionTag: cachedDataVersionTag(),
    profile: PROFILES.includes(verb) ? verb : 'other',
    folders: keepIn === undefined ? [beside, ...own] : [],
    writeTo: keepIn ?? inState,
  });
}

function ownerOf(path: string): number | null {
  return lstatSync(path, { throwIfNoEntry: false })?.uid ?? null;
}
