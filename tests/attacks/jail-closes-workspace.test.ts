import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { nodeForAll } from '../fixtures/commands/for-all.ts';
import { handOver, heldGateway, outcomesIn } from '../fixtures/commands/held.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { asNobody } from '../fixtures/jail/index.ts';

const users = [
  { who: 'the user of the tests', ids: {} },
  ...(process.getuid?.() === 0 ? [{ who: 'nobody', ids: asNobody() }] : []),
];

/** What is closed: the trap, and the script that leaves it there. */
const TRAPS: Readonly<Record<string, readonly [trap: string, script: string]>> = {
  'the workspace': ['.envrc', 'echo harm > .envrc; chmod 0 .'],
  'a directory': ['sub/.envrc', 'mkdir sub; echo harm > sub/.envrc; chmod 0 sub'],
  'a directory to all but a list of its names': [
    'sub/.envrc',
    'mkdir sub; echo harm > sub/.envrc; chmod 600 sub',
  ],
  'two directories': ['a/b/.envrc', 'mkdir -p a/b; echo harm > a/b/.envrc; chmod 0 a/b; chmod 111 a'],
  'what is in a directory': [
    'sub/.envrc',
    'mkdir sub; echo harm > sub/.envrc; chmod 0 sub/.envrc; chmod 555 sub',
  ],
};

describe.each(users)('a command that leaves a trap and closes the door behind it, run by $who', ({ ids }) => {
  const program = heldGateway();

  /** Runs scripts, each in a project of its own and with its name as its output, by one gateway. */
  async function runIn(config: string, scripts: Readonly<Record<string, string>>, more: object = {}) {
    const directories = makeDirectories(config);
    onTestFinished(() => rmSync(dirname(directories.stateDir), { recursive: true, force: true }));
    const projectOf = (name: string) => join(directories.workspace, name);
    for (const name of Object.keys(scripts)) mkdirSync(projectOf(name));
    if (ids.uid !== undefined) handOver(directories, ids.uid);
    const inputs = Object.entries(scripts).map(([name, script]) =>
      JSON.stringify({
        command: 'sh',
        args: ['-c', `printf '%s' '${name}'; ${script}`],
        tier: 'c',
        workspace: projectOf(name),
        ...more,
      }),
    );
    const gateway = await program();
    const words = [gateway, directories.stateDir, directories.workspace, ...inputs];
    const held = spawnSync(nodeForAll(dirname(gateway)), words, { cwd: '/', encoding: 'utf8', ...ids });
    return { projectOf, outcomes: outcomesIn(held.stdout), told: held.stdout + held.stderr };
  }

  test('is kept from it', async () => {
    const scripts = Object.entries(TRAPS).map(([name, [, script]]) => [name, script]);
    const { projectOf, outcomes, told } = await runIn('', Object.fromEntries(scripts));
    for (const [name, [trap]] of Object.entries(TRAPS)) {
      const outcome = outcomes.find(({ output }) => output?.stdout === name);
      expect(outcome, `${name}: ${told}`).toMatchObject({ code: 'ok' });
      const dangers = outcome?.output?.findings.filter(({ severity }) => severity === 'danger') ?? [];
      expect(dangers, name).toEqual([expect.objectContaining({ path: trap, why: 'set-aside' })]);
      expect(existsSync(join(projectOf(name), trap)), name).toBe(false);
    }
  });

  test('is not kept from it where the call may write it', async () => {
    const { projectOf, outcomes, told } = await runIn(
      '[process]\nallow_writes = ["directory-scripts"]\n',
      { permitted: 'mkdir sub; echo harm > sub/.envrc; chmod 500 sub' },
      { allow_writes: ['directory-scripts'] },
    );
    expect(outcomes, told).toMatchObject([{ code: 'ok', output: { findings: [] } }]);
    expect(readFileSync(join(projectOf('permitted'), 'sub/.envrc'), 'utf8')).toBe('harm\n');
  });
});
