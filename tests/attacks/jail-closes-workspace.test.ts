import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
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
    ['the workspace', 'echo harm > .envrc; chmod 0 .'],
    ['a directory', 'mkdir -p sub; echo harm > sub/.envrc; chmod 0 sub'],
  ])('is found out, or at least that nobody could look: %s', async (_, script) => {
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
    const where = script.includes('sub') ? 'sub' : '.';
    // Root looks through every door.
    const isRoot = ids.uid === undefined && process.getuid?.() === 0;
    const found = isRoot
      ? { path: join(where, '.envrc'), why: 'runs-later' }
      : { path: where, why: 'unseen' };
    expect(dangers).toEqual([expect.objectContaining(found)]);
    chmodSync(join(directories.workspace, where), 0o700);
    expect(readFileSync(join(directories.workspace, where, '.envrc'), 'utf8')).toBe('harm\n');
  });
});
