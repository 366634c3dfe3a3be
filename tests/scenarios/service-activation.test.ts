import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { useBuild } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { PALISADE } from '../fixtures/cli.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { VOLUME } from '../volume/volume.ts';

/* The daemon as a manager of services starts it: with a socket that listens already, and by the launcher that lets it speak. */

const LAUNCHER = resolve('packages/launcher/dist/palisade-launcher');
const MANAGER = resolve('tests/fixtures/service/manager.py');
/** Often enough to be heard in a test. */
const WATCHDOG_US = 400_000;
const FIRST_SOCKET = 3;
const CLOSE_ON_EXEC = 0o2000000;

useBuild();

type Line = {
  readonly ports?: readonly number[];
  readonly pid?: number;
  readonly from?: number;
  readonly text?: string;
  readonly status?: number;
};

class Managed {
  readonly #lines: AsyncIterator<string>;
  readonly #child: ChildProcess;
  errors = '';

  constructor(notify: string, sockets: number, words: readonly string[]) {
    const program = [
      LAUNCHER,
      'mode=service',
      '--',
      process.execPath,
      PALISADE,
      'serve',
      '--quiet',
      ...words,
    ];
    const all = [MANAGER, notify, String(WATCHDOG_US), String(sockets), ...program];
    this.#child = spawn('python3', all, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#lines = createInterface({ input: this.#child.stdout as never })[Symbol.asyncIterator]();
    this.#child.stderr?.on('data', (chunk) => {
      this.errors += chunk;
    });
    onTestFinished(async () => {
      if (this.#child.exitCode !== null) return;
      this.#child.kill('SIGKILL');
      await once(this.#child, 'exit');
    });
  }

  async line(): Promise<Line> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`Cannot read a line: the manager ended; ${this.errors}`);
    return JSON.parse(value);
  }

  /** The next line that fits; those before it are passed over. */
  async until(fits: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const line = await this.line();
      if (fits(line)) return line;
      if (line.status !== undefined) throw new Error(`It ended with ${line.status}: ${this.errors}`);
    }
  }
}

describe('palisade serve under a manager of services', () => {
  test.each(['a path', 'an abstract name'])(
    'serves the passed socket, says so itself on %s, beats, and says when it stops',
    async (kind) => {
      const { stateDir, workspace } = makeDirectories('');
      const notify = kind === 'a path' ? join(workspace, 'notify') : `@palisade-test-${process.pid}`;
      const words = ['--state', stateDir, '--workspace', workspace];
      const managed = new Managed(notify, 1, words);
      const { ports: [port] = [], pid = 0 } = await managed.line();
      onTestFinished(() => {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended.
        }
      });
      // The first client caused the start: it waits for it, and is not turned away.
      const first = await fetch(`http://127.0.0.1:${port}/readyz`);
      expect(first.status).toBe(200);
      const ready = await managed.until(({ text }) => text?.includes('READY=1') === true);
      expect(ready).toEqual({ from: pid, text: `READY=1\nSTATUS=serving http://127.0.0.1:${port}` });
      expect(await managed.until(({ text }) => text === 'WATCHDOG=1')).toMatchObject({ from: pid });

      // Nothing that it starts inherits the socket or the way to the manager.
      for (const fd of [FIRST_SOCKET, FIRST_SOCKET + 1]) {
        expect(readlinkSync(`/proc/${pid}/fd/${fd}`)).toMatch(/^socket:/);
        const [, flags = ''] = /flags:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')) ?? [];
        expect(Number.parseInt(flags, 8) & CLOSE_ON_EXEC).toBe(CLOSE_ON_EXEC);
      }

      process.kill(pid, 'SIGTERM');
      const stopping = await managed.until(({ text }) => text?.includes('STOPPING=1') === true);
      expect(stopping.from).toBe(pid);
      expect(await managed.until(({ status }) => status !== undefined)).toEqual({ status: 0 });
    },
  );

  test('refuses more than one socket, with what to do', async () => {
    const { stateDir, workspace } = makeDirectories('');
    const managed = new Managed(join(workspace, 'notify'), 2, ['--state', stateDir]);
    expect((await managed.line()).ports).toHaveLength(2);
    expect(await managed.until(({ status }) => status !== undefined)).toEqual({ status: 64 });
    expect(managed.errors).toContain('Leave one ListenStream= in the socket unit');
  });

  test('takes no socket that was meant for another process', async () => {
    const { stateDir } = makeDirectories('');
    const env = { PATH: process.env.PATH, LISTEN_FDS: '1', LISTEN_PID: '1' };
    const words = [PALISADE, 'serve', '--state', stateDir, '--listen', '127.0.0.1:0', '--json'];
    const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    expect(JSON.parse(line.toString()).url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });
});

/** As root only, with systemd and control groups of version 2; the machine is left alone. */
const BOOTS = VOLUME === 1 && process.getuid?.() === 0 ? ['process 1 of a namespace'] : [];

test.each(BOOTS)(
  'systemd itself, as %s, starts it for the first client, keeps its walls, and lets it go',
  (_) => {
    const result = mkdtempSync(join(tmpdir(), 'palisade-boot-'));
    onTestFinished(() => rmSync(result, { recursive: true, force: true }));
    execFileSync(resolve('tests/fixtures/service/boot.sh'), [resolve('.'), result]);
    const facts = readFileSync(join(result, 'out'), 'utf8').split('\n').filter(Boolean);
    expect(
      facts.map((line) => line.trim()),
      readFileSync(join(result, 'log'), 'utf8'),
    ).toEqual([
      'before: inactive',
      'client: 200',
      'after: active serving http://127.0.0.1:7433',
      'main: palisade node',
      'status: ["active",["ours"]]',
      'jail: ["ok","1000\\n"]',
      'made: hello',
      'outside: 1',
      'restarted: active success',
      'removed: 0 inactive inactive',
    ]);
  },
);
