/** Builds the launcher twice, as it is shipped and with sanitizers, and starts it as the gateway does. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VOLUME } from '../../../tests/volume/volume.ts';

const home = join(import.meta.dirname, '..');
const sources = join(home, 'src');
const cache = join(home, '../../node_modules/.cache/palisade-launcher');
const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all'];

export const shipped = join(home, 'dist/palisade-launcher');

/**
 * The launchers that a story is told of: the shipped one, and with sanitizers in one file of three, or in all when
 * everything is proved. What reads arguments and messages always runs with both.
 */
export function kinds(): readonly ('shipped' | 'sanitized')[] {
  return VOLUME === 1 || Math.random() < 1 / 3 ? ['shipped', 'sanitized'] : ['shipped'];
}

/** All processes of the machine are looked at each time. */
export const LOOK_AGAIN_MS = 30;

export const isRoot = process.geteuid?.() === 0;

/** A user of its own per test file: processes of one are not counted, found or ended as those of another. */
export function identity(uid: number): readonly string[] {
  return isRoot ? [`uid=${uid}`, `gid=${uid}`] : [];
}

/** Asked of another program, so that a launcher that cannot make namespaces is not taken for a machine that has none. */
export const hasNamespaces =
  isRoot ||
  spawnSync('unshare', ['--user', '--pid', '--mount', '--fork', '--mount-proc', 'true']).status === 0;

/** A folder that the command's user can reach; the caller removes it. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'palisade-launcher-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** Builds the shipped launcher and, into `folder`, the one that reports undefined behaviour, which is built once. */
export function buildBoth(folder: string): { readonly shipped: string; readonly sanitized: string } {
  execFileSync(process.execPath, [join(home, '../../tools/launcher.mjs')]);
  const files = readdirSync(sources).map((name) => join(sources, name));
  const digest = createHash('sha256');
  for (const file of files) digest.update(readFileSync(file));
  const kept = join(cache, `sanitized-${digest.digest('hex').slice(0, 16)}`);
  if (!existsSync(kept)) {
    mkdirSync(cache, { recursive: true });
    const unfinished = `${kept}.${process.pid}`;
    const units = files.filter((file) => file.endsWith('.c'));
    execFileSync('cc', ['-std=c17', '-D_GNU_SOURCE', '-O1', '-g', ...sanitizers, '-o', unfinished, ...units]);
    renameSync(unfinished, kept);
  }
  // The user of a command cannot reach the folder of the project everywhere.
  const sanitized = join(folder, 'sanitized-launcher');
  copyFileSync(kept, sanitized);
  return { shipped, sanitized };
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

export type End = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly status: ReadonlyMap<string, string>;
  readonly lines: readonly string[];
};

export type Started = { readonly child: ChildProcess; readonly end: Promise<End> };

/** The sanitizers report and exit with a status that nothing else has; leaks need ptrace, which the launcher forbids. */
export const sanitizerEnv = { ASAN_OPTIONS: 'detect_leaks=0:exitcode=99', UBSAN_OPTIONS: 'exitcode=99' };

/** Starts a launcher: its status is descriptor 3, `more` are 4 and on. */
export function start(
  launcher: string,
  args: readonly string[],
  argv: readonly string[],
  more: readonly ('pipe' | number)[] = [],
): Started {
  const [file = ''] = argv;
  const child = spawn(launcher, ['status=3', ...args, '--', file, ...argv], {
    env: { PATH: '/usr/bin:/bin', ...sanitizerEnv },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...more],
  });
  return { child, end: collect(child) };
}

/** Starts a launcher with a shell script as its command and waits for the end. */
export function runScript(launcher: string, args: readonly string[], script: string): Promise<End> {
  return start(launcher, args, ['/bin/sh', '-c', script]).end;
}

function collect(child: ChildProcess): Promise<End> {
  const parts: Buffer[][] = [[], [], []];
  for (const [index, stream] of [child.stdout, child.stderr, child.stdio[3]].entries()) {
    stream?.on('data', (chunk: Buffer) => parts[index]?.push(chunk));
  }
  // A launcher that ends with something unread in its control resets the connection.
  for (const stream of child.stdio) stream?.on('error', () => {});
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code, signal) => {
      const [stdout, stderr, status] = parts.map((each) => Buffer.concat(each));
      if (stdout === undefined || stderr === undefined || status === undefined) return;
      const lines = status.toString('latin1').split('\n').slice(0, -1);
      const pairs = lines.map((line): [string, string] => {
        const at = line.indexOf('=');
        return [line.slice(0, at), line.slice(at + 1)];
      });
      done({ code, signal, stdout, stderr, status: new Map(pairs), lines });
    });
  });
}

/** Waits until the standard output of a started launcher contains `expected`. */
export function heard({ child }: Started, expected: string): Promise<void> {
  let text = '';
  return new Promise((done, fail) => {
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      if (text.includes(expected)) done();
    });
    child.once('close', () => fail(new Error(`it ended before it wrote ${expected}: ${text}`)));
  });
}

/** The processes that have `mark` in their command line and are not dead. */
export function living(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark) &&
          !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
        );
      } catch {
        return false;
      }
    });
}

/** Waits until no process has `mark`; the time limit of the test is its end. */
export async function gone(mark: string): Promise<void> {
  while (living(mark).length > 0) await new Promise((wake) => setTimeout(wake, LOOK_AGAIN_MS));
}

/** Ends the processes that have `mark`, those that a control let live, and what they begin until they are dead. */
export function endAll(mark: string): number {
  const ended = new Set<number>();
  for (let pids = living(mark); pids.length > 0; pids = living(mark)) {
    for (const pid of pids) {
      ended.add(pid);
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        // Boundary: it may be gone since it was listed.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }
  return ended.size;
}

/** What a sanitizer says when it has found something. */
export const REPORT = /AddressSanitizer|runtime error:|UndefinedBehavior/;
