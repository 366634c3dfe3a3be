import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { Edge } from '../../../src/doors/cli/verb.ts';
import { openGateway, openRecords, systemClock, systemRandom } from '../../../src/open.ts';
import { VERSION } from '../../../src/version.ts';
import { CHECKED } from '../../fixture/checked.ts';
import { runInside } from './fake-edge.ts';

/** `palisade` as its user runs it: arguments, streams, an exit status; in this process, or the built command as one. */

const ROOT = resolve(import.meta.dirname, '../../../../..');
export const BIN = join(ROOT, 'packages/gateway/bin/palisade.js');

const PACKAGE_FOLDERS = ['packages/guest/tools/node_modules', 'node_modules', 'packages'].map((path) =>
  join(ROOT, path),
);

export type Finished = { readonly status: number | null; readonly out: string; readonly err: string };
export type How = {
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** How a command in this process opens its gateway. */
  readonly openGateway?: Edge['openGateway'];
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

/** Runs a command to its end in this process: the same command line, from the sources, in a fifth of the time. */
export async function palisade(words: readonly string[], how: How = {}): Promise<Finished> {
  // What depends on the process itself is run as one.
  if (how.cwd !== undefined || how.node !== undefined) return palisadeProcess(words, how);
  const env = readEnvironment({ PATH: process.env.PATH, ...how.env });
  return runInside(words, {
    env,
    cwd: process.cwd(),
    version: VERSION,
    clock: systemClock,
    random: systemRandom,
    stdin: Readable.from(how.stdin === undefined || how.stdin.length === 0 ? [] : [Buffer.from(how.stdin)]),
    packageFolders: PACKAGE_FOLDERS,
    openRecords,
    openGateway: how.openGateway ?? ((options) => openGateway({ checked: CHECKED, ...options })),
  });
}

/** Runs the built command to its end, as a process. */
export async function palisadeProcess(words: readonly string[], how: How = {}): Promise<Finished> {
  const child = start(words, how);
  // A command that does not read its input may be gone before it is written.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(how.stdin ?? '');
  return finish(child);
}
