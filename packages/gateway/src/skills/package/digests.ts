import { type Digest, digestBytes } from '../../core/digest.ts';
import type { Entries } from './skill-package.ts';

/** The digest of each entry, in the order of the entries. */
export function digestsOf(entries: Entries): ReadonlyMap<string, Digest> {
  return new Map(Array.from(entries, ([path, contents]) => [path, digestBytes(contents)]));
}

/** The modules of a package with their digests, in the order of their paths. */
export function modulesOf(digests: ReadonlyMap<string, Digest>): readonly (readonly [string, Digest])[] {
  return [...digests].filter(([path]) => path.toLowerCase().endsWith('.wasm'));
}
