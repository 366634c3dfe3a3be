import { type BigIntStats, lstatSync } from 'node:fs';

/** Which file or directory stood at a canonical path, for a later look at the same path. */
export type FileFacts = {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
  readonly sizeBytes: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
};

export function factsFrom(path: string, stats: BigIntStats): FileFacts {
  return {
    path,
    dev: stats.dev,
    ino: stats.ino,
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    mode: Number(stats.mode),
    sizeBytes: stats.size,
    mtimeNs: stats.mtimeNs,
    ctimeNs: stats.ctimeNs,
  };
}

/** Tells whether the very same directory still stands there; its content may be another. */
export function isSameDirectory(facts: FileFacts): boolean {
  const now = lookAgain(facts.path);
  return now !== null && now.dev === facts.dev && now.ino === facts.ino && now.mode === facts.mode;
}

/** Tells whether the very same file still stands there, and nobody has written to it. */
export function isSameFile(facts: FileFacts): boolean {
  const now = lookAgain(facts.path);
  return now !== null && (Object.keys(facts) as (keyof FileFacts)[]).every((key) => now[key] === facts[key]);
}

/** Boundary: a link that took the place of the file is not followed; its own facts differ. */
function lookAgain(path: string): FileFacts | null {
  try {
    return factsFrom(path, lstatSync(path, { bigint: true }));
  } catch {
    // Gone, or no longer to be reached: in any case not what it was.
    return null;
  }
}
