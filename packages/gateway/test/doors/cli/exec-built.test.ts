import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { BIN, finish, palisade, start, useBuild } from './palisade.ts';

useBuild();
// Not below /tmp: a jail has its own.
const base = mkdtempSync('/var/tmp/palisade-exec-built-');
afterAll(() => rmSync(base, { recursive: true, force: true }));
const [state, work] = [join(base, 'state'), join(base, 'work')];
mkdirSync(work);
writeFileSync(join(work, 'Makefile'), '');

const words = (script: string) => ['exec', '--state', state, '--', 'sh', '-c', script];

/** How the last call ended, as the journal has it. */
async function lastEnding(): Promise<string> {
  const { out } = await palisade(['journal', 'search', '--kind', 'ended', '--limit', '1', '--state', state]);
  return out;
}

describe('the built palisade exec', () => {
  test('works in a new state directory, where it was started, with nothing configured', async () => {
    const ran = await palisade(words('echo here; echo there >&2; echo x > made; exit 5'), { cwd: work });
    expect(ran).toEqual({ status: 5, out: 'here\n', err: 'there\n' });
  });

  test('passes on what is printed as it comes, and Ctrl-C ends the command and records that', async () => {
    const child = start(words('echo begun; sleep 60; echo ended'), { cwd: work });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [first] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    expect(first.toString()).toBe('begun\n');
    child.kill('SIGINT');
    const { status, out, err } = await finish(child);
    expect(out).toBe('');
    expect(err).toContain('failed  tier/cancelled');
    expect(status).toBe(1);
    expect(await lastEnding()).toContain('tier/cancelled');
  });

  test('ends as by a broken pipe when nobody reads, and records that', async () => {
    const child = start(words('while :; do echo y; done'), { cwd: work });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout ?? child, 'data');
    child.stdout?.destroy();
    const { status, err } = await finish(child);
    expect({ status, err }).toEqual({ status: 141, err: '' });
    expect(await lastEnding()).toContain('tier/cancelled');
  });
});

test('examples/exec/tour.sh ends well and shows what it says', async () => {
  const bin = join(base, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'palisade'), `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`);
  chmodSync(join(bin, 'palisade'), 0o755);
  const script = resolve(import.meta.dirname, '../../../../../examples/exec/tour.sh');
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const { stdout, stderr } = await promisify(execFile)('bash', [script], { env });
  for (const line of ['the status is 3', 'kept out with 1', 'secret: unseen', 'ended with 1'])
    expect(stdout).toContain(`${line}\n`);
  expect(stdout).toMatch(/^allowed .* runs \/\S+touch$/m);
  expect(stderr).toMatch(/^→ \/\S+\/notes is outside the sandbox. Allow it with --read-only /m);
  expect(stderr).toContain('added   greeting\n');
  expect(stderr).toContain('! trap: ');
});
