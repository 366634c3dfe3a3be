import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** The built `palisade`, as its user runs it: a process, words, streams, an exit status. */

const ROOT = resolve(import.meta.dirname, '../../../../..');
export const BIN = join(ROOT, 'packages/gateway/bin/palisade.js');

export type Finished = { readonly status: number | null; readonly out: string; readonly err: string };
export type How = {
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Words for Node itself, before the program. */
  readonly node?: readonly string[];
};

/** Builds once what is not built from the sources as they are; set-up has a lock, so test files may race. */
export function useBuild(): void {
  beforeAll(() => {
    execFileSync(process.execPath, [join(ROOT, 'tools/setup.mjs')], { stdio: 'pipe' });
  });
}

/** A directory that is gone after the tests of the file. */
export function makeScratch(): string {
  const path = mkdtempSync(join(tmpdir(), 'palisade-cli-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Starts a command with nothing in its environment but what is given. */
export function start(words: readonly string[], how: How = {}): ChildProcess {
  const env = { PATH: process.env.PATH, ...how.env };
  return spawn(process.execPath, [...(how.node ?? []), BIN, ...words], { env, cwd: how.cwd, stdio: 'pipe' });
}

/** Waits for a started command and gives all it said. */
export async function finish(child: ChildProcess): Promise<Finished> {
  let [out, err] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, out, err };
}

/** Runs a command to its end. */
export async function palisade(words: readonly string[], how: How = {}): Promise<Finished> {
  const child = start(words, how);
  // A command that does not read its input may be gone before it is written.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(how.stdin ?? '');
  return finish(child);
}
