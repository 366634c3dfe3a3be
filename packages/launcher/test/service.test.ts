import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { shipped } from './launch.ts';

/* What a service of systemd is started by. tests/scenarios/service-activation.test.ts has it speak to a manager. */

function start(env: Readonly<Record<string, string>>, words: readonly string[]) {
  return spawnSync(shipped, ['mode=service', ...words], { env, encoding: 'utf8' });
}

describe('palisade-launcher mode=service', () => {
  test('becomes the program with its arguments and its environment', () => {
    const program = ['/bin/sh', '-c', 'echo "$0 $1 $A $$"', 'name', 'a b'];
    const { stdout, pid } = start({ A: 'kept' }, ['--', ...program]);
    expect(stdout).toBe(`name a b kept ${pid}\n`);
  });

  test('has no descriptor of a manager where there is none, whatever the environment says', () => {
    const env = { PALISADE_NOTIFY_FD: '7', NOTIFY_SOCKET: '' };
    expect(start(env, ['--', '/usr/bin/env']).stdout).toBe('NOTIFY_SOCKET=\n');
  });

  test.each([
    [{ NOTIFY_SOCKET: 'relative' }, ['--', '/bin/true'], 125, 'is not the name of a socket'],
    [{ NOTIFY_SOCKET: `/${'x'.repeat(200)}` }, ['--', '/bin/true'], 125, 'is not the name of a socket'],
    [{ NOTIFY_SOCKET: '/nowhere/notify' }, ['--', '/bin/true'], 125, 'ENOENT'],
    [{}, [], 125, 'names no program'],
    [{}, ['/bin/true'], 125, 'names no program'],
    [{}, ['--', '/nowhere'], 127, 'exec ended with ENOENT'],
    [{}, ['--', '/etc/passwd'], 126, 'exec ended with EACCES'],
  ])('refuses %j %j', (env, words, status, why) => {
    const ended = start(env, words);
    expect(ended.status).toBe(status);
    expect(ended.stderr).toContain(why);
  });
});
