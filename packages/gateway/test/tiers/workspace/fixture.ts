import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { diffSnapshots, type Finding, findingsIn } from '../../../src/tiers/workspace/hygiene.ts';
import type { Entry, EntryKind } from '../../../src/tiers/workspace/names.ts';
import { type Snapshot, takeSnapshot } from '../../../src/tiers/workspace/snapshot.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

export const BOUNDS = { maxEntries: 100_000 };

export type Ground = { readonly outside: string; readonly workspace: string };

/** A workspace, and a secret beside it that nothing may reach. */
export function makeGround(files: readonly string[] = []): Ground {
  const outside = realpathSync(tempDir());
  const workspace = join(outside, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(outside, 'secret'), 'the secret');
  for (const file of files) put(workspace, file);
  return { outside, workspace };
}

/** Writes a file, with the directories that it needs. */
export function put(workspace: string, path: string, text = 'text', mode = 0o644): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  writeFileSync(join(workspace, path), text, { mode });
}

/** Makes a fifo that nobody ever writes to. */
export function makeFifo(path: string): void {
  execFileSync('mkfifo', [path]);
}

/** What a run, here a function, changed and what there is to say about it. */
export async function afterRun(workspace: string, run: () => void | Promise<void>) {
  const before = await takeSnapshot(workspace, BOUNDS);
  await run();
  const after = await takeSnapshot(workspace, BOUNDS);
  const changes = diffSnapshots(before, after);
  return { before, after, changes, findings: findingsIn(changes, after, workspace) };
}

export function whysOf(findings: readonly Finding[], path: string): string[] {
  return findings.filter((finding) => finding.path === path).map(({ why }) => why);
}

/** An entry as the walk would make it. */
export function entry(path: string, kind: EntryKind, facts: Partial<Entry> = {}): Entry {
  const times = { mtimeNs: 1n, ctimeNs: 1n };
  const ids = { uid: 1000, gid: 1000, dev: 1n, ino: 1n, nlink: 1 };
  return { path, kind, mode: 0o644, size: 0, target: null, ...ids, ...times, ...facts };
}

export function snapshotOf(entries: readonly Entry[], gaps: Snapshot['gaps'] = []): Snapshot {
  return {
    entries: new Map(entries.map((each) => [each.path, each])),
    gaps,
    complete: gaps.length === 0,
    isSparse: false,
  };
}
