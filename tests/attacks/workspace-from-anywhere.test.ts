import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { heldGateway } from '../fixtures/commands/held.ts';
import { type Ending, KEY, type Machine, makeMachine, PEOPLE } from '../fixtures/workspaces/machine.ts';
import { sample } from '../volume/volume.ts';

/*
 * A client with windows starts palisade in the home or in /. An agent then names a directory as its workspace. With a
 * policy that permits everything, only the roots of the operator keep it from the keys.
 */

const program = heldGateway(new URL('../fixtures/workspaces/palisade.ts', import.meta.url));
const STEAL = 'cat key; echo planted > planted';
const steal = (workspace: string, more: object = {}) => ({
  ...{ command: 'sh', args: ['-c', STEAL], tier: 'c', workspace },
  ...more,
});

/** Who starts palisade, and where. */
const STARTS = PEOPLE.flatMap((person) =>
  (['home', '/'] as const).map((where) => [...person, where] as const),
);

describe.each(sample(STARTS))('an agent of %s (%i) whose palisade was started in %s', (_, uid, where) => {
  let machine: Machine;
  beforeAll(async () => {
    machine = makeMachine(await program(), uid);
  });
  afterAll(() => machine.remove());

  const expectNothing = (endings: readonly Ending[], inputs: readonly object[]) => {
    for (const [index, { code, output, message }] of endings.entries()) {
      const what = `${JSON.stringify(inputs[index])}: ${message}`;
      expect(code, what).toMatch(/^runner\/(invalid|outside)-workspace$/);
      expect(output, what).toBeNull();
    }
    machine.demandUntouched();
  };

  test('would read and write the keys without palisade', () => {
    expect(machine.runPlainly('cat key; echo x > new && rm new && echo written', machine.ssh)).toBe(
      `${KEY}written\n`,
    );
  });

  const started = () => (where === '/' ? '/' : machine.home);

  test.each(['MCP over stdio', 'HTTP', 'the command line'] as const)(
    'gets no directory that it names over %s, and a person is told how to grant one',
    async (door) => {
      const { home, ssh, project, state } = machine;
      const names = [ssh, home, '/', `${project}/../.ssh`, join(project, 'link'), '/root', state, project];
      // A process for each: the command line has its share.
      const all = names.flatMap((name) => [steal(name), steal(name, { tier: 'b' })]);
      const inputs = door === 'the command line' ? sample(all) : all;
      const endings = await machine.doors[door]({ cwd: started() }, inputs);
      expect(endings).toHaveLength(inputs.length);
      expectNothing(endings, inputs);
      for (const { remedy } of endings) {
        expect(remedy).toContain('process.workspaces = ["DIR"] in palisade.toml');
        expect(remedy).toContain('palisade connect CLIENT --workspace DIR');
        expect(remedy).toContain('--workspace DIR of `palisade mcp`');
      }
    },
  );

  test('works in a project that the operator granted, and reaches nothing else from there', async () => {
    const { home, ssh, project, state } = machine;
    const inputs = [
      ...[ssh, home, '/', `${project}/../.ssh`, join(project, 'link'), join(project, 'up'), '/root', state],
      ...[join(project, 'to-state'), `${home}/folder`, '/etc', '/proc/self/cwd', `/proc/self/root${ssh}`],
    ].flatMap((name) => [steal(name), steal(name, { tier: 'b' })]);
    const outside = [
      steal(project, { cwd: '../.ssh' }),
      steal(project, { cwd: 'link', tier: 'b' }),
      steal(project, { cwd: ssh, tier: 'b' }),
      steal(project, { command: 'cat', args: ['link/key'], tier: 'b' }),
      steal(project, { command: 'cat', args: [`${ssh}/key`], tier: 'b' }),
      steal(project, { command: 'cat', args: ['../.ssh/key'], tier: 'b' }),
    ];
    const control = steal(project, { args: ['-c', 'echo done > made; cat made'] });
    const unnamed = { ...control, workspace: undefined };
    const all = [...inputs, ...outside, control, unnamed];
    const flags = ['--workspace', project];
    const endings = await machine.doors['MCP over stdio']({ cwd: started(), flags }, all);
    expectNothing(endings.slice(0, -2), all);
    for (const end of endings.slice(-2))
      expect(end, end.message).toMatchObject({ code: 'ok', output: { stdout: 'done\n' } });
    expect(readFileSync(join(project, 'made'), 'utf8')).toBe('done\n');
  });

  test('works in a project that palisade was started in, and not around it', async () => {
    const { home, ssh, project } = machine;
    const all = [steal(ssh), steal(home), steal(project, { args: ['-c', 'echo done'] })];
    const endings = await machine.doors.HTTP({ cwd: project }, all);
    expectNothing(endings.slice(0, 2), all);
    expect(endings[2], endings[2]?.message).toMatchObject({ code: 'ok', output: { stdout: 'done\n' } });
  });

  test.each(sample(['home', 'ssh', 'base', 'state'] as const))(
    'is not served where the operator granted %s',
    async (name) => {
      const path = machine[name];
      const { status, out } = await machine.palisade({ cwd: '/', flags: ['--workspace', path] }, ['mcp']);
      expect(status).toBe(64);
      expect(out).toContain(`Cannot use --workspace "${path}": it `);
      expect(out).toContain('process.workspaces = ["DIR"]');
    },
  );

  test('has an operator who sees the roots, and why the directory is none', async () => {
    const { home, project } = machine;
    const inHome = await machine.palisade({ cwd: home }, ['doctor']);
    expect(inHome.out).toContain(
      `workspaces: commands may work nowhere; the working directory "${home}" is not a root: it is a home directory`,
    );
    const granted = await machine.palisade({ cwd: project }, ['doctor']);
    expect(granted.out).toContain(
      `workspaces: ${project}, granted by the project that palisade was started in`,
    );
  });
});
