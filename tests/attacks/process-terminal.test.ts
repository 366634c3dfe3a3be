import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { userGateway } from '../fixtures/commands/as-user.ts';
import { printedBy } from '../fixtures/commands/probe.ts';

/* A gateway that was started in a terminal: its commands type into it, take it over, or read what a person types. */

const { workspace, runInTerminal } = userGateway();

/** Tries to reach the terminal through every name and descriptor it could have. */
const TYPE = `
import fcntl, json, os, termios
found = {}
def attempt(name, act):
    try: act(); found[name] = 'done'
    except OSError as e: found[name] = type(e).__name__ + ' ' + str(e.errno)
def push(fd): fcntl.ioctl(fd, termios.TIOCSTI, b'#')
attempt('tty', lambda: os.close(os.open('/dev/tty', os.O_RDWR)))
attempt('steal', lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 1))
for fd in (0, 1, 2):
    attempt(f'push {fd}', lambda: push(fd))
    attempt(f'linux {fd}', lambda: fcntl.ioctl(fd, 0x541C, b'\\x0b'))
found['terminals'] = [fd for fd in (0, 1, 2) if os.isatty(fd)]
print(json.dumps(found))
`;

describe.each(['b', 'c', 'b-landlock'] as const)('shape %s', (shape) => {
  test('gives a command no terminal and no way to type into one', async () => {
    writeFileSync(join(workspace, 'type.py'), TYPE, { mode: 0o644 });
    const tier = shape === 'c' ? 'c' : 'b';
    const [end] = await runInTerminal({
      shape,
      input: { command: '/usr/bin/python3', args: ['type.py'], tier },
    });
    if (end === undefined) throw new Error('Cannot judge: nothing ran');
    const found = printedBy(end);
    expect(found.terminals).toEqual([]);
    for (const name of ['tty', 'steal', 'push 0', 'push 1', 'push 2', 'linux 0', 'linux 1', 'linux 2']) {
      expect([name, found[name]]).toEqual([
        name,
        expect.stringMatching(/^(PermissionError|OSError|FileNotFoundError) /),
      ]);
    }
  });
});

test('a program that is started in a terminal without a guard has it', () => {
  writeFileSync(join(workspace, 'type.py'), TYPE, { mode: 0o644 });
  const words = ['-qec', `/usr/bin/python3 ${join(workspace, 'type.py')}`, '/dev/null'];
  const { stdout } = spawnSync('/usr/bin/script', words, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Before what it prints stands what it has typed.
  const found = JSON.parse(/\{.*\}/.exec(stdout)?.[0] ?? '');
  expect(found).toMatchObject({ tty: 'done', terminals: [0, 1, 2] });
});
