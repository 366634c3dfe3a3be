import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { heldGateway, outcomesIn } from '../fixtures/commands/held.ts';
import { makeDirectories, sharedGateway } from '../fixtures/commands/index.ts';

const PLANTED = ['bwrap', 'sh', 'git', 'true', 'python3', 'palisade-launcher', 'node', 'cc', 'env'];

function plant(workspace: string, mark: string): void {
  mkdirSync(join(workspace, 'bin'));
  for (const directory of [workspace, join(workspace, 'bin')]) {
    for (const name of PLANTED)
      writeFileSync(join(directory, name), `#!/bin/sh\necho hijacked > ${mark}\n`, { mode: 0o755 });
  }
}

describe('programs that are planted in the workspace under known names', () => {
  const program = heldGateway();
  const jail = sharedGateway();
  const mark = join(jail.workspace, 'hijacked');
  plant(jail.workspace, mark);

  test.each(['sh', 'git', 'true', 'python3'])(
    'do not run when %s is asked for by its name',
    async (command) => {
      const args = command === 'sh' ? ['-c', 'git --version && true && env > /dev/null'] : ['--version'];
      const end = await jail.run({ command, args, tier: 'c' });
      expect(end, end.message).toMatchObject({ code: 'ok' });
      expect(existsSync(mark)).toBe(false);
    },
  );

  test('run when they are asked for by their path, which is the control', async () => {
    const end = await jail.run({ command: './git', tier: 'c' });
    expect(end, end.message).toMatchObject({ code: 'ok' });
    expect(readFileSync(mark, 'utf8')).toBe('hijacked\n');
    rmSync(mark);
  });

  test('are not found by a search path or a loader that the caller brings', async () => {
    const variables = {
      PATH: `${jail.workspace}/bin`,
      LD_PRELOAD: './x.so',
      BASH_ENV: './x',
      GIT_EXEC_PATH: './bin',
    };
    for (const [name, value] of Object.entries(variables)) {
      const end = await jail.run({ command: 'sh', args: ['-c', 'git'], env: { [name]: value }, tier: 'c' });
      expect(end, name).toMatchObject({ code: 'runner/environment', output: null });
    }
    expect(existsSync(mark)).toBe(false);
  });

  test('are not what the receipt names', async () => {
    const { execution } = await jail.run({ command: 'true', tier: 'c' });
    const digest = createHash('sha256').update(readFileSync('/usr/bin/bwrap')).digest('hex');
    expect(execution?.isolation).toMatchObject({
      bwrapSha256: digest,
      launcherSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('do not run for a gateway that is started among them, with a search path that finds them first', async () => {
    const directories = makeDirectories('');
    const taken = join(directories.workspace, 'hijacked');
    plant(directories.workspace, taken);
    const words = [
      await program(),
      directories.stateDir,
      directories.workspace,
      '{"command":"true","tier":"c"}',
    ];
    const env = { PATH: `${directories.workspace}:.:${process.env.PATH ?? ''}` };
    const options = { cwd: directories.workspace, env, encoding: 'utf8' } as const;
    const [outcome] = outcomesIn(spawnSync(process.execPath, words, options).stdout);
    expect(outcome).toMatchObject({ status: 'ok' });
    expect(existsSync(taken)).toBe(false);
    spawnSync('sh', ['-c', 'bwrap --version'], options);
    expect(existsSync(taken)).toBe(true);
    rmSync(dirname(directories.stateDir), { recursive: true });
  });
});
