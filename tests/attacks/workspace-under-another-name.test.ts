import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { beginExchanges } from '../fixtures/commands/exchanger.ts';
import { heldGateway } from '../fixtures/commands/held.ts';
import { openCommandGateway } from '../fixtures/commands/index.ts';
import { type Ending, KEY, type Machine, makeMachine, PEOPLE } from '../fixtures/workspaces/machine.ts';
import { volume } from '../volume/volume.ts';

/* A forbidden directory that has another path: by a bind mount, by an exchange while calls run, by a rename. */

const program = heldGateway(new URL('../fixtures/workspaces/palisade.ts', import.meta.url));
const MAY_MOUNT = process.getuid?.() === 0;
const SCRIPT = 'cat key */key; echo planted > planted';

/** What is mounted, which workspace is asked for below the one that has the mount, and what the refusal says. */
const HIDDEN: readonly [what: string, source: (machine: Machine) => string, name: string, why: string][] = [
  ['the keys', ({ ssh }) => ssh, 'mounted', 'by a mount'],
  ['the home', ({ home }) => home, 'mounted', 'by a mount'],
  ['keys in a mounted home', ({ home }) => home, 'mounted/.ssh', 'by a mount'],
  ['the state directory', ({ state }) => state, 'mounted', 'by a mount'],
  ['a directory of the system', () => '/etc/ssl', 'mounted', 'by a mount'],
  ['a workspace in which the keys are mounted', ({ ssh }) => ssh, '.', 'contains the mount'],
];

/** Mounts a directory at another path; where only root may, and the tests are not, that it fails is the result. */
function bindMount(source: string, target: string): boolean {
  mkdirSync(target, { recursive: true });
  const { status } = spawnSync('mount', ['--bind', source, target]);
  if (status === 0) onTestFinished(() => void execFileSync('umount', [target]));
  return status === 0;
}

describe.each(PEOPLE)('an agent of %s', (_, uid) => {
  let machine: Machine;
  beforeAll(async () => {
    machine = makeMachine(await program(), uid);
  });
  afterAll(() => machine.remove());

  const ask = (workspaces: readonly string[]): Promise<readonly Ending[]> => {
    const inputs = workspaces.flatMap((workspace) =>
      ['b', 'c'].map((tier) => ({ command: 'sh', args: ['-c', SCRIPT], tier, workspace })),
    );
    const flags = ['--workspace', machine.project];
    return machine.doors['MCP over stdio']({ cwd: '/', flags }, inputs);
  };

  test('gets no bind mount of what is forbidden, and gets that of a project', async () => {
    const { project, base, ssh } = machine;
    const isMounted = HIDDEN.map(([, source], index) => {
      const target = join(project, `${index}/mounted`);
      const hasWorked = bindMount(source(machine), target);
      // The control: the path leads any program to the key.
      if (source(machine) === ssh)
        expect(machine.runPlainly('cat mounted/key', dirname(target))).toBe(hasWorked ? KEY : '');
      return hasWorked;
    });
    expect(isMounted).toEqual(HIDDEN.map(() => MAY_MOUNT));
    const [other, allowed] = [join(base, 'other'), join(project, 'allowed')];
    mkdirSync(other, { recursive: true });
    bindMount(other, allowed);
    writeFileSync(join(allowed, 'key'), 'of a project');
    const hidden = HIDDEN.map(([, , name], index) => join(project, `${index}`, name));
    const endings = await ask([...hidden, allowed]);
    for (const [index, { code, message, output }] of endings.slice(0, -2).entries()) {
      const [what = '', , , why = ''] = HIDDEN[Math.floor(index / 2)] ?? [];
      expect(output?.stdout ?? '', what).not.toContain(KEY);
      expect(code, `${what}: ${message}`).toBe(MAY_MOUNT ? 'runner/invalid-workspace' : code);
      expect(message, what).toContain(MAY_MOUNT ? why : '');
    }
    expect(endings.at(-1)?.output?.stdout, endings.at(-1)?.message).toContain('of a project');
    machine.demandUntouched();
  });

  test('gets nothing of a workspace that is exchanged for a link to the keys while calls run', async () => {
    const { project, ssh } = machine;
    const [here, link] = [join(project, 'src'), join(project, 'exchanged')];
    symlinkSync(ssh, link);
    // The first call says that the gateway is there: until then there is nothing to attack.
    const begun = join(project, 'begun');
    const exchanger = await beginExchanges(here, link, begun);
    const first = { command: 'touch', args: ['begun'], tier: 'c', workspace: project };
    const inputs = Array.from({ length: volume(24, 6) }, () => ({
      command: 'sh',
      args: ['-c', 'cat key; ls -a; echo planted > planted'],
      tier: 'c',
      workspace: here,
    }));
    const endings = await machine.doors['MCP over stdio']({ cwd: '/', flags: ['--workspace', project] }, [
      first,
      ...inputs,
    ]);
    await exchanger.untilBothSeen();
    await exchanger.stop();
    for (const { output, message } of endings) expect(output?.stdout ?? '', message).not.toContain(KEY);
    machine.demandUntouched();
    // The control: another workspace of the same gateway is one.
    expect(endings[0], endings[0]?.message).toMatchObject({ code: 'ok' });
    expect(existsSync(begun)).toBe(true);
  });

  test('starts nowhere else when its working directory is exchanged for a link to the keys', async () => {
    const { home, project, ssh } = machine;
    const [here, link] = [join(project, 'work'), join(project, 'to-keys')];
    mkdirSync(here);
    // The user of root's commands could read the key as well.
    for (const path of [here, home, project, ssh, join(ssh, 'key')]) chmodSync(path, 0o777);
    symlinkSync(ssh, link);
    const exchanger = await beginExchanges(here, link);
    const inputs = Array.from({ length: volume(48, 16) }, (__, round) => ({
      command: 'sh',
      args: ['-c', 'echo started; cat key; echo planted > planted'],
      tier: round % 4 === 3 ? 'c' : 'b',
      workspace: project,
      cwd: 'work',
    }));
    const door = machine.doors['MCP over stdio'];
    const endings = await door({ cwd: '/', flags: ['--workspace', project] }, inputs);
    await exchanger.untilBothSeen();
    await exchanger.stop();
    for (const { output, message } of endings) expect(output?.stdout ?? '', message).not.toContain(KEY);
    machine.demandUntouched();
    // The control: without an exchange it starts there.
    if (lstatSync(here).isSymbolicLink()) {
      renameSync(here, `${link}-again`);
      renameSync(link, here);
    }
    const calm = await door({ cwd: '/', flags: ['--workspace', project] }, inputs.slice(2, 4));
    for (const { output, message } of calm) expect(output?.stdout, message).toBe('started\n');
  });
});

describe('a root around the state directory', () => {
  test('gives its other directories, and neither the state nor anything around it', async () => {
    const { run, stateDir, workspace } = await openCommandGateway(
      (base) => `[process]\nworkspaces = ["${base}"]\n`,
    );
    const root = dirname(stateDir);
    symlinkSync('../state', join(workspace, 'link'));
    renameSync(workspace, join(root, 'renamed'));
    symlinkSync('renamed', workspace);
    const sh = (directory: string) =>
      run({ command: 'sh', args: ['-c', 'ls; echo x > palisade.toml'], workspace: directory, tier: 'c' });
    for (const path of [stateDir, root, join(stateDir, 'keys'), `${workspace}/link`, `${workspace}/../state`])
      expect(await sh(path), path).toMatchObject({ code: 'runner/invalid-workspace', output: null });
    expect(await sh(workspace)).toMatchObject({ code: 'ok' });
    expect(readFileSync(join(root, 'renamed/palisade.toml'), 'utf8')).toBe('x\n');
    expect(readFileSync(join(stateDir, 'palisade.toml'), 'utf8')).toContain('workspaces = ');
  });

  test('is refused when it is loaded if it is a forbidden directory itself', async () => {
    await expect(openCommandGateway('[process]\nworkspaces = ["/root"]\n')).rejects.toMatchObject({
      code: 'config/invalid',
      message:
        'Cannot use process.workspaces "/root": it is a home directory, expected the directory of a project',
    });
    await expect(openCommandGateway('[process]\nworkspaces = ["/var/tmp"]\n')).rejects.toMatchObject({
      code: 'config/invalid',
    });
    const upstream = '[[upstream]]\nname = "x"\ncommand = ["true"]\nworkspace = "/root/.ssh"\n';
    await expect(openCommandGateway(upstream)).rejects.toMatchObject({ code: 'config/invalid' });
    await expect(openCommandGateway(upstream.replace('/root/.ssh', '/srv/x'))).resolves.toBeDefined();
  });
});
