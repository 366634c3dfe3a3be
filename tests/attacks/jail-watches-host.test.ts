import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { userGateway } from '../fixtures/commands/as-user.ts';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { type Answers, answersIn, tryInside, tryOutside } from '../fixtures/jail/index.ts';

/*
 * A command in a jail watches the directories of the system, which it shares with the machine: who opens a program there
 * is seen, with its name. And it reads the files of /proc that are the same for every process.
 */

const PROGRAM = 'watches-host.py';
const FIXTURES = fileURLToPath(new URL('../fixtures/jail/', import.meta.url));
const READING = ['reading 0x20', 'reading 0x3', 'reading 0x10', 'reading 0xfff'];
const OF_MACHINE = ['/proc/cmdline', '/proc/key-users', '/proc/sys/kernel/random/boot_id'];
const wish = { readable: OF_MACHINE };

const jail = sharedGateway();
const user = userGateway();
let outside: Answers = {};
beforeAll(() => {
  outside = tryOutside(PROGRAM, wish, jail.workspace);
});

const inJail = async () => (await tryInside(jail, PROGRAM, wish)).end;
const ofUser = async (): Promise<CommandEnd> => {
  for (const name of ['attempt.py', PROGRAM]) copyFileSync(join(FIXTURES, name), join(user.workspace, name));
  const input = {
    command: '/usr/bin/python3',
    args: ['-B', PROGRAM],
    tier: 'c',
    stdin: JSON.stringify(wish),
  };
  const [end] = await user.run({ shape: 'c', input });
  if (end === undefined) throw new Error('Cannot judge: nothing ran');
  return end;
};

describe.each([
  ['that may be root', inJail],
  ['that is an ordinary user', ofUser],
])('a command of a gateway %s', (_, runInside) => {
  let inside: Answers = {};
  beforeAll(async () => {
    const end = await runInside();
    expect(end, `${end.message} ${end.output?.stderr}`).toMatchObject({ code: 'ok' });
    inside = answersIn(end.output?.stdout ?? '');
  });

  test.each(READING)('does not see which programs others start, by %s', (probe) => {
    expect(inside[probe]).toBe('EPERM');
    // Outside it is the name of a program, of this one or of another that someone started meanwhile.
    expect(outside[probe]).toMatch(/^[^A-Z]+$/);
  });

  test('watches changes of its workspace, as tools do that build again', () => {
    expect([inside.changes, outside.changes]).toEqual(['made-here', 'made-here']);
  });

  test('neither delays those who open a file nor is told when a directory is read', () => {
    expect([inside.lease, inside.note]).toEqual(['EPERM', 'EPERM']);
    expect([outside.lease, outside.note]).toEqual(['leased', 'noted']);
  });

  test.each(OF_MACHINE)('does not read %s', (path) => {
    expect(inside[path]).toBe('EACCES');
    expect(outside[path]).not.toMatch(/^(E[A-Z]+)?$/);
  });
});
