import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildBoth, identity, makeFolder, removeFolder, runScript, shipped } from './launch.ts';

/* Facts that must hold before the command is started. */

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const user = identity(60_131);

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterAll(() => removeFolder(folder));

describe.each(['shipped', 'sanitized'] as const)('the %s launcher', (kind) => {
  const run = (...expectations: readonly string[]) =>
    runScript(built[kind], [...user, 'facts=1', 'nofile=55', ...expectations], 'echo ran');

  test('starts a command whose facts are all as expected', async () => {
    const mounts = (await run()).status.get('fact.mounts_rw') ?? '';
    const end = await run(
      ...['expect=nnp=1', 'expect=rlimit.nofile=55', 'differ=ns.pid=1', `within=mounts_rw=/odd,${mounts}`],
    );
    expect([end.code, end.stdout.toString()]).toEqual([0, 'ran\n']);
  });

  test.each([
    ['expect=nnp=0', 'nnp'],
    ['expect=nnp=', 'nnp'],
    ['expect=nnp=11', 'nnp'],
    ['expect=unheard_of=1', 'unheard_of'],
    ['differ=nnp=1', 'nnp'],
    ['differ=unheard_of=1', 'unheard_of'],
    ['within=mounts_rw=', 'mounts_rw'],
    ['within=mounts_rw=/,/dev', 'mounts_rw'],
    ['within=unheard_of=1', 'unheard_of'],
  ])('does not start one with %s, and reports the facts', async (expectation, name) => {
    const end = await run('expect=rlimit.nofile=55', expectation);
    expect([end.code, end.stdout.toString()]).toEqual([125, '']);
    expect(end.status.get('failed')).toBe(`fact.${name} errno=1 EPERM`);
    expect(end.status.get('fact.nnp')).toBe('1');
    expect(end.status.has('pid')).toBe(false);
  });

  test('starts none whose facts are not reported', async () => {
    const end = await runScript(built[kind], [...user, 'expect=nnp=1'], 'echo ran');
    expect([end.code, end.stdout.toString()]).toEqual([125, '']);
  });

  test.each([['expect=nnp'], [Array.from({ length: 65 }, () => 'expect=nnp=1')].flat()])(
    'refuses %s',
    async (...expectations) => {
      const end = await run(...expectations);
      expect([end.code, end.lines]).toEqual([125, []]);
    },
  );
});
