import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openGateway, systemClock } from '../../../src/open.ts';
import { CHECKED } from '../../fixture/checked.ts';
import { makeTool } from '../../fixture/gateway.ts';
import { makeScratchHome, NOON } from './connect/scratch-home.ts';

const HOUR_MS = 3_600_000;
const PUSH = makeTool('test.push', async () => ({ pushed: true }), {
  risk: 'medium',
  inputSchema: {
    type: 'object',
    properties: {
      remote: { type: 'string' },
      force: { type: 'boolean' },
      refs: { type: 'array', items: { type: 'string' } },
      depth: { type: 'integer' },
      message: { type: 'string' },
    },
    required: ['remote'],
  },
});

/** Commands of one state directory under the starter policies, whose tool of medium risk an agent wants to call. */
function world() {
  const { run, state } = makeScratchHome();
  let nowMs = NOON;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const parts = {
    clock,
    openGateway: (options: Parameters<typeof openGateway>[0]) =>
      openGateway({ ...options, clock, checked: CHECKED, tools: [PUSH] }),
  };
  const palisade = (...args: string[]) => run(args, parts);
  const call = async (input: object, ...more: string[]) => {
    const words = ['call', 'test.push', '--input', JSON.stringify(input), '--as', 'agent:ada', '--json'];
    return JSON.parse((await palisade(...words, ...more)).out);
  };
  const asked = async (input: object, ...more: string[]): Promise<string> => {
    const { code, remedy } = await call(input, ...more);
    expect(code).toBe('policy/approval-required');
    return /apr_[0-9a-z]+/.exec(remedy)?.[0] ?? '';
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { palisade, call, asked, state, pass };
}

describe('a call of medium risk by an agent', () => {
  test('names a command that approves it, with the state directory that is not the default one', async () => {
    const { palisade, call, state } = world();
    const { remedy } = await call({ remote: 'origin' });
    const [, command = ''] = /`palisade ([^`]*)`/.exec(remedy) ?? [];
    expect(command).toMatch(new RegExp(`^approvals approve apr_\\w+ --state ${state}$`));
    const [verb = '', act = '', id = ''] = command.split(' ');
    expect((await palisade(verb, act, id)).status).toBe(0);
    expect((await call({ remote: 'origin' })).code).toBe('ok');
    expect((await call({ remote: 'origin' })).code).toBe('policy/approval-required');
  });

  test('is approved for an hour, or for its run, and for no other input', async () => {
    const { palisade, call, asked, pass } = world();
    const id = await asked({ remote: 'origin' });
    const { err } = await palisade('approvals', 'approve', id, '--for', '1h');
    expect(err).toContain(`withdraw it with \`palisade approvals deny ${id}\``);
    for (let i = 0; i < 3; i++) expect((await call({ remote: 'origin' })).code).toBe('ok');
    expect((await call({ remote: 'fork' })).code).toBe('policy/approval-required');
    pass(HOUR_MS);
    const next = await asked({ remote: 'mine' }, '--run', 'r1');
    await palisade('approvals', 'approve', next, '--for', 'run');
    expect((await call({ remote: 'mine' }, '--run', 'r1')).code).toBe('ok');
    expect((await call({ remote: 'mine' }, '--run', 'r1')).code).toBe('ok');
    expect((await call({ remote: 'mine' }, '--run', 'r2')).code).toBe('policy/approval-required');
    expect((await palisade('approvals', 'show', next)).out).toMatch(
      /for {6}every identical call of run ses_[0-9a-z]{25}\/r1$/m,
    );
    await palisade('approvals', 'deny', next);
    expect((await call({ remote: 'mine' }, '--run', 'r1')).code).toBe('policy/approval-required');
  });

  test.each([
    [['--for', '25h'], '"run", or a time of up to 24h'],
    [['--for', '1e3'], '"run", or a time of up to 24h'],
  ])('is not approved with %j', async (flags, why) => {
    const { palisade, asked, call } = world();
    const id = await asked({ remote: 'origin' });
    const { err, status } = await palisade('approvals', 'approve', id, ...flags);
    expect([status, err]).toEqual([64, expect.stringContaining(why)]);
    expect((await call({ remote: 'origin' })).code).toBe('policy/approval-required');
  });
});

describe('palisade approvals allow', () => {
  const HOSTILE = { remote: 'a"); permit (principal, action, resource); //', message: '\\"\n\u202e*’' };

  test('writes a policy for exactly that input, which ends with its time and then goes', async () => {
    const { palisade, call, asked, state, pass } = world();
    const id = await asked(HOSTILE);
    const { out, status } = await palisade('approvals', 'allow', id, '--yes', '--for', '30m');
    expect(status).toBe(0);
    expect(out).toContain(
      'permit (principal == Agent::"ada", action == Action::"call", resource == Tool::"test.push")',
    );
    const file = () => readFileSync(join(state, 'policies/80-allowed.cedar'), 'utf8');
    expect(out).toContain(file().slice(file().indexOf('@id')).trim());
    for (let i = 0; i < 2; i++) expect((await call(HOSTILE)).code).toBe('ok');
    for (const other of [{ ...HOSTILE, depth: 1 }, { remote: HOSTILE.remote }, { ...HOSTILE, unknown: 1 }])
      expect((await call(other)).code).toBe('policy/approval-required');
    pass(HOUR_MS / 2);
    const second = await asked(HOSTILE);
    await palisade('approvals', 'allow', second, '--yes');
    expect(file().match(/^@id/gm)).toHaveLength(1);
    expect((await palisade('policy', 'list')).out).toContain('80-allowed.cedar');
  });

  test('leaves fields free that the operator names, and no others', async () => {
    const { palisade, call, asked } = world();
    const input = { remote: 'origin', refs: ['main', 'next'], depth: 2, message: 'one' };
    const id = await asked(input);
    expect((await palisade('approvals', 'allow', id, '--yes', '--any', 'mesage')).err).toContain(
      '--any "mesage"',
    );
    expect((await palisade('approvals', 'allow', id, '--yes', '--any', 'message')).status).toBe(0);
    const { message: _, ...rest } = input;
    for (const same of [input, { ...input, message: 'two' }, rest])
      expect((await call(same)).code).toBe('ok');
    for (const other of [
      { ...input, remote: 'fork' },
      { ...input, force: true },
      { ...input, force: false },
      { ...input, refs: ['main'] },
      { ...input, depth: 3 },
      { remote: 'origin', message: 'one' },
    ])
      expect([other, (await call(other)).code]).toEqual([other, 'policy/approval-required']);
  });

  test('writes nothing without a yes', async () => {
    const { palisade, call, asked } = world();
    const id = await asked({ remote: 'origin' });
    const { status, err } = await palisade('approvals', 'allow', id);
    expect([status, err]).toEqual([64, expect.stringContaining('expected --yes')]);
    expect((await call({ remote: 'origin' })).code).toBe('policy/approval-required');
  });
});
