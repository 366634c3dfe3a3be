import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PALISADE, scratch } from '../fixtures/cli.ts';

/*
 * The quickstarts of docs/ as they are written, each in an empty directory with an empty home: every command ends with
 * 0 or the status that its line names, and prints what the page shows. `…` on a page stands for anything.
 */

const docs = join(import.meta.dirname, '../../docs');
const PAGES = ['agent', 'platform', 'operator', 'skill-author', 'auditor'];
const MOST_COMMANDS = 10;

type Step = { readonly command: string; readonly status: number; readonly shown: readonly string[] };

/** The commands of the blocks of a page, with what it shows of their output. */
function stepsOf(page: string): readonly Step[] {
  const text = readFileSync(join(docs, `quickstart-${page}.md`), 'utf8');
  const blocks = [...text.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  return blocks
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((part) => {
      const [command = '', ...shown] = part.trimEnd().split('\n');
      const [, status = '0'] = / # exit status (\d+)$/.exec(command) ?? [];
      return { command, status: Number(status), shown };
    });
}

/** Runs commands in one shell, as they are typed; gives what each printed and its exit status. */
async function run(steps: readonly Step[], port: number) {
  const home = join(scratch(), 'home');
  const bin = join(home, '../bin');
  for (const folder of [home, bin]) mkdirSync(folder);
  writeFileSync(join(bin, 'palisade'), `#!/bin/sh\nexec "${process.execPath}" "${PALISADE}" "$@"\n`);
  chmodSync(join(bin, 'palisade'), 0o755);
  // The usual port may be in use on the machine of the test.
  const config = join(home, '.local/state/palisade');
  if (steps.some(({ command }) => command.includes(':7433'))) {
    mkdirSync(config, { recursive: true, mode: 0o700 });
    writeFileSync(join(config, 'palisade.toml'), `[http]\nlisten = "127.0.0.1:${port}"\n`);
  }
  const mark = '\u0001';
  const typed = steps.map(({ command }) => command.replaceAll(':7433', `:${port}`));
  const script = typed.map((command) => `${command}\nprintf '\\n${mark}%s\\n${mark}' "$?"\n`).join('');
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, LANG: 'C.UTF-8' };
  const shell = spawn('bash', ['-c', `exec 2>&1\nset -m\n${script}\nwait`], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  shell.stdout.on('data', (chunk) => {
    out += chunk;
  });
  await once(shell, 'close');
  const parts = out.split(mark);
  return steps.map((_, at) => ({
    printed: (parts[2 * at] ?? '')
      .trim()
      .split('\n')
      .map((line) => line.trimEnd()),
    status: Number.parseInt(parts[2 * at + 1] ?? '', 10),
  }));
}

/** Whether the lines are what the page shows; a line `…` stands for any number of them. */
function agrees(printed: readonly string[], shown: readonly string[]): boolean {
  const escaped = (line: string) =>
    line
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('…', '.*')
      .replace(/ +/g, ' +');
  const pattern = shown.map((line) => (line === '…' ? '(?:.*\\n)*' : `${escaped(line)}\\n`)).join('');
  return new RegExp(`^${pattern}$`).test(printed.map((line) => `${line}\n`).join(''));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, 'close');
  return port;
}

describe('the quickstart', () => {
  test.concurrent.each(PAGES)('of the %s does what it shows', async (page) => {
    const steps = stepsOf(page);
    expect(steps.length).toBeGreaterThan(5);
    expect(steps.length).toBeLessThanOrEqual(MOST_COMMANDS);
    const ran = await run(steps, await freePort());
    for (const [at, { command, status, shown }] of steps.entries()) {
      const { printed = [], status: ended } = ran[at] ?? {};
      expect({ command, ended, printed: printed.join('\n') }).toMatchObject({ command, ended: status });
      if (shown.length > 0 && !agrees(printed, shown))
        expect({ command, printed }).toEqual({ command, printed: shown });
    }
  });

  test('is told from one that shows something else', () => {
    expect(agrees(['a 1', 'b', 'c'], ['a …', '…', 'c'])).toBe(true);
    expect(agrees(['a 1', 'c'], ['a …', '…', 'c'])).toBe(true);
    expect(agrees(['a 1', 'b', 'c'], ['a …', 'c'])).toBe(false);
    expect(agrees(['verified', 'NOT VERIFIED'], ['…', 'verified'])).toBe(false);
  });
});
