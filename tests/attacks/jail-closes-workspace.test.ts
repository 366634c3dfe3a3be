import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
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

describe.each(users)('a command that leaves a trap and closes the door behind it, run by $who', ({ ids }) => {
  const program = heldGateway();
  test.each([
    ['the workspace', '.envrc', 'echo harm > .envrc; chmod 0 .'],
    ['a directory', 'sub/.envrc', 'mkdir sub; echo harm > sub/.envrc; chmod 0 sub'],
    ['two directories', 'a/b/.envrc', 'mkdir -p a/b; echo harm > a/b/.envrc; chmod 0 a/b; chmod 111 a'],
    [
      'what is in a directory',
      'sub/.envrc',
      'mkdir sub; echo harm > sub/.envrc; chmod 0 sub/.envrc; chmod 555 sub',
    ],
  ])('is kept from it: %s', async (_, trap, script) => {
    const directories = makeDirectories('');
    onTestFinished(() => rmSync(dirname(directories.stateDir), { recursive: true, force: true }));
    if (ids.uid !== undefined) handOver(directories, ids.uid);
    const input = { command: 'sh', args: ['-c', script], tier: 'c' };
    const gateway = await program();
    const words = [gateway, directories.stateDir, directories.workspace, JSON.stringify(input)];
    const held = spawnSync(nodeForAll(dirname(gateway)), words, { cwd: '/', encoding: 'utf8', ...ids });
    const [outcome] = outcomesIn(held.stdout);
    expect(outcome, held.stderr).toMatchObject({ code: 'ok' });
    const dangers = outcome?.output?.findings.filter(({ severity }) => severity === 'danger') ?? [];
    expect(dangers).toEqual([expect.objectContaining({ path: trap, why: 'set-aside' })]);
    expect(existsSync(join(directories.workspace, trap))).toBe(false);
  });

  test('is not kept from it where the call may write it', async () => {
    const directories = makeDirectories('[process]\nallow_writes = ["directory-scripts"]\n');
    onTestFinished(() => rmSync(dirname(directories.stateDir), { recursive: true, force: true }));
    if (ids.uid !== undefined) handOver(directories, ids.uid);
    const script = 'mkdir sub; echo harm > sub/.envrc; chmod 500 sub';
    const input = { command: 'sh', args: ['-c', script], tier: 'c', allow_writes: ['directory-scripts'] };
    const gateway = await program();
    const words = [gateway, directories.stateDir, directories.workspace, JSON.stringify(input)];
    const held = spawnSync(nodeForAll(dirname(gateway)), words, { cwd: '/', encoding: 'utf8', ...ids });
    expect(outcomesIn(held.stdout), held.stderr).toMatchObject([{ code: 'ok', output: { findings: [] } }]);
    expect(readFileSync(join(directories.workspace, 'sub/.envrc'), 'utf8')).toBe('harm\n');
  });
});
