import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { heldGateway, outcomesIn } from '../fixtures/commands/held.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { answersIn } from '../fixtures/jail/index.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures/jail', import.meta.url));
const PROGRAM = 'types-into-terminal.py';

describe('a command of a gateway that was started in a terminal', () => {
  const program = heldGateway();
  const directories = makeDirectories('');
  const typed = join(dirname(directories.stateDir), 'typed');
  for (const name of ['attempt.py', PROGRAM])
    copyFileSync(join(FIXTURES, name), join(directories.workspace, name));
  afterAll(() => rmSync(dirname(directories.stateDir), { recursive: true, force: true }));

  /** Runs words in a new terminal and gives what the terminal showed. */
  const inTerminal = (words: readonly string[]) => {
    const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    spawnSync('script', ['--quiet', '--command', line, typed], {
      cwd: directories.workspace,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    return readFileSync(typed, 'utf8').replaceAll('\r', '');
  };

  test('has no part in it, and types nothing into it', async () => {
    const input = JSON.stringify({ command: '/usr/bin/python3', args: ['-B', PROGRAM], tier: 'c' });
    const words = [process.execPath, await program(), directories.stateDir, directories.workspace, input];
    const [outcome] = outcomesIn(inTerminal(words));
    expect(outcome).toMatchObject({ status: 'ok' });
    expect(answersIn(outcome?.output?.stdout ?? '')).toEqual({
      ...{
        'opens the terminal': 'ENXIO',
        'knows a terminal': '[]',
        'types into 0': 'EPERM',
        'types into 1': 'EPERM',
      },
      ...{ 'types into 2': 'EPERM', 'types into its own': 'EPERM', 'leads its session': 'True' },
    });
  });

  test('would have it without a jail', () => {
    const answers = answersIn(inTerminal(['/usr/bin/python3', '-B', PROGRAM]));
    expect(answers).toMatchObject({ 'opens the terminal': 'opened', 'knows a terminal': '[0, 1, 2]' });
  });
});
