import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { nodeForAll } from '../fixtures/commands/for-all.ts';
import { handOver, heldGateway, outcomesIn } from '../fixtures/commands/held.ts';
import { makeDirectories, openCommandGateway } from '../fixtures/commands/index.ts';
import { runScript } from '../fixtures/jail/index.ts';
import { PEOPLE } from '../fixtures/workspaces/machine.ts';

const MINE = 'export MINE=1\n';
const OWN_UID = process.getuid?.() ?? 0;
const made = heldGateway();

/** The words that start a gateway as this user, which makes these calls. */
async function wordsFor(
  uid: number,
  { stateDir, workspace }: { stateDir: string; workspace: string },
  scripts: readonly string[],
): Promise<string[]> {
  const program = await made();
  const inputs = scripts.map((stdin) => JSON.stringify({ command: 'bash', args: ['-s'], tier: 'c', stdin }));
  return [...as(uid), nodeForAll(dirname(program)), program, stateDir, workspace, ...inputs];
}

function as(uid: number): string[] {
  return uid === OWN_UID ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
}

function start([command = '', ...args]: readonly string[]): ChildProcess {
  return spawn(command, args, { cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] });
}

/** A gateway from its start to its end; gives what it printed. */
function complete([command = '', ...args]: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: '/', encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return stdout;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(5);
}

describe.each(PEOPLE)(
  'a command whose gateway, run by %s, is killed when it has planted its traps',
  (_, uid) => {
    const place = makeDirectories('');
    const { workspace, stateDir } = place;
    const sprung = join(dirname(stateDir), 'sprung');
    const git = (...words: string[]) => {
      const [command = '', ...args] = [
        ...as(uid),
        'git',
        '-c',
        'user.name=n',
        '-c',
        'user.email=n@x',
        ...words,
      ];
      const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent', GIT_CONFIG_GLOBAL: '/dev/null' };
      return spawnSync(command, args, { cwd: workspace, env, encoding: 'utf8' });
    };
    const commit = () => git('commit', '--quiet', '--allow-empty', '--message=x');
    const PLANTS = `
    git config core.fsmonitor 'touch ${sprung}; false'
    printf '#!/bin/sh\\ntouch ${sprung}\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
    echo '{"mcpServers":{}}' > .mcp.json
    echo evil > .envrc
    mkdir closed; echo evil > closed/.envrc; echo work > closed/work; chmod 0 closed
    echo work > work
    touch planted; sleep 600`;
    let config = '';
    beforeAll(async () => {
      if (uid !== OWN_UID) handOver(place, uid);
      expect(git('init', '--quiet').status).toBe(0);
      writeFileSync(join(workspace, '.envrc'), MINE, { mode: 0o640 });
      if (uid !== OWN_UID) handOver(place, uid);
      config = readFileSync(join(workspace, '.git/config'), 'utf8');
      const gateway = start(await wordsFor(uid, place, [PLANTS]));
      await until(() => existsSync(join(workspace, 'planted')) || gateway.exitCode !== null);
      gateway.kill('SIGKILL');
      await once(gateway, 'exit');
    });
    afterAll(() => rmSync(dirname(stateDir), { recursive: true, force: true }));

    test('leaves them until the next gateway starts: git on the host runs them', () => {
      expect(readFileSync(join(workspace, '.envrc'), 'utf8')).toBe('evil\n');
      expect(existsSync(join(workspace, '.mcp.json'))).toBe(true);
      for (const trap of [() => git('status'), commit]) {
        trap();
        expect(existsSync(sprung)).toBe(true);
        rmSync(sprung);
      }
    });

    test('leaves none when the next one has started, whose first command sees the files as they were', async () => {
      // As the command could have: its owner has to open it again.
      chmodSync(workspace, 0);
      const out = complete(await wordsFor(uid, place, ['cat .envrc']));
      expect(outcomesIn(out)).toMatchObject([{ status: 'ok', output: { stdout: MINE, findings: [] } }]);
      // The line of a removed entry may leave its indentation.
      expect(readFileSync(join(workspace, '.git/config'), 'utf8').trim()).toBe(config.trim());
      for (const path of ['.mcp.json', '.git/hooks/pre-commit', 'closed/.envrc'])
        expect(existsSync(join(workspace, path)), path).toBe(false);
      const { mode, uid: owner } = lstatSync(join(workspace, '.envrc'));
      expect([mode & 0o777, owner]).toEqual([0o640, uid]);
      git('status');
      expect(commit()).toMatchObject({ status: 0 });
      expect(existsSync(sprung)).toBe(false);
      for (const path of ['work', 'closed/work'])
        expect(readFileSync(join(workspace, path), 'utf8')).toBe('work\n');
    });

    test('has what it planted in the quarantine, and nothing else is left', () => {
      const [call = '', ...more] = readdirSync(join(stateDir, 'quarantine'));
      const folder = join(stateDir, 'quarantine', call);
      const lines = readFileSync(join(folder, 'index.jsonl'), 'utf8').trim().split('\n');
      const kept = new Map(lines.map((line) => [JSON.parse(line).path, JSON.parse(line).file]));
      const paths = ['.envrc', '.git/config', '.git/hooks/pre-commit', '.mcp.json', 'closed/.envrc'];
      expect([...kept.keys()].sort()).toEqual(paths);
      expect(readFileSync(join(folder, kept.get('.git/hooks/pre-commit')), 'utf8')).toContain(sprung);
      expect(more).toEqual([]);
      expect(readdirSync(join(stateDir, 'running'))).toEqual([]);
    });
  },
);

describe('a command that plants its traps under one of two gateways', () => {
  const plant = `echo evil > .envrc; echo evil > .mcp.json; touch planted
    while ! [ -e go ]; do sleep 0.01; done`;
  const open = async () => {
    const jail = await openCommandGateway();
    writeFileSync(join(jail.workspace, '.envrc'), MINE);
    const first = start(await wordsFor(OWN_UID, jail, [plant]));
    onTestFinished(() => void first.kill('SIGKILL'));
    await until(() => existsSync(join(jail.workspace, 'planted')) || first.exitCode !== null);
    const text = (path: string) => readFileSync(join(jail.workspace, path), 'utf8');
    return { jail, first, ended: once(first, 'exit'), text };
  };

  test('gains nothing by a command of the other one that begins and ends in between', async () => {
    const { jail, ended, text } = await open();
    expect(text('.envrc')).toBe('evil\n');
    const second = runScript(jail, 'touch begun; while ! [ -e gone ]; do sleep 0.01; done');
    await until(() => existsSync(join(jail.workspace, 'begun')));
    writeFileSync(join(jail.workspace, 'go'), '');
    await ended;
    expect(text('.envrc')).toBe(MINE);
    writeFileSync(join(jail.workspace, 'gone'), '');
    expect((await second).output?.findings).toEqual([]);
    expect(text('.envrc')).toBe(MINE);
    expect(existsSync(join(jail.workspace, '.mcp.json'))).toBe(false);
  });

  test('gains nothing when its own is killed and the other one runs on', async () => {
    const { jail, first, ended, text } = await open();
    first.kill('SIGKILL');
    await ended;
    expect(text('.envrc')).toBe('evil\n');
    const end = await runScript(jail, 'cat .envrc; ls .mcp.json');
    expect(end.output, end.message).toMatchObject({ stdout: MINE, findings: [] });
    expect(text('.envrc')).toBe(MINE);
    expect(readdirSync(join(jail.stateDir, 'running'))).toEqual([]);
  });
});
