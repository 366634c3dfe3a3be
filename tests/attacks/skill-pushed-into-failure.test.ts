import { describe, expect, test } from 'vitest';
import { guest, listOf } from '../fixtures/modules/guest.ts';
import { PLAIN, type SampleTool, samplePackage } from '../fixtures/skills/sample.ts';
import { actsOf, sharedSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/*
 * A skill that traps again and again is taken out of use. An agent that has found inputs which trap a skill of others
 * tries to have that done to them, cheaply and unseen, and then to bring back one that has failed.
 */

const trap = (): SampleTool => ({ bytes: guest('(unreachable)') });
/** Ends at a limit that its input could have used up. */
const LOOPS: SampleTool = { bytes: guest('(loop $l (br $l)) (unreachable)') };
const DESCENDS: SampleTool = {
  bytes: guest('(call $down) (i64.const 0)', { more: '(func $down (call $down))' }),
};
const REPORTS: SampleTool = {
  bytes: guest(
    ({ bytes }) =>
      `(call $fail ${bytes('{"code":"no","message":"not like this"}')}) ${listOf('(i32.const 1)')}`,
  ),
};
const TRAPS = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`trap-${name}`, trap()]));

/** Three different calls that trap, within a minute. */
const skillGateway = sharedSkillGateway({ config: '[skills]\nfail_after_traps = 3\nfail_window = "1m"\n' });
let made = 0;

async function adopted(tools: Readonly<Record<string, SampleTool>>): Promise<string> {
  made += 1;
  const id = `acme.failing-${made}`;
  await skillGateway().adopt({ id, tools: { plain: PLAIN, ...tools } });
  return id;
}

const codeOf = async (tool: string, agent = 'mallory') =>
  (await skillGateway().call(tool, {}, { agent })).code;
const stateOf = (id: string) => skillGateway().stateOf(id, '1.0.0');

async function trapAll(id: string, names: readonly string[], agent = 'mallory'): Promise<void> {
  for (const name of names) expect(await codeOf(`${id}.trap-${name}`, agent)).toBe('tier/trapped');
}

describe('a skill that traps on different inputs without a success', () => {
  test('fails: it is hidden and refused with the way back, and the record names the calls and their callers', async () => {
    const id = await adopted(TRAPS);
    await trapAll(id, ['a', 'b']);
    expect(stateOf(id)).toBe('active');
    await trapAll(id, ['c'], 'eve');
    expect(stateOf(id)).toBe('failed');
    const { gateway, call, recordsOf } = skillGateway();
    const refused = await call(`${id}.plain`);
    expect(refused.code).toBe('skill/failed');
    expect(refused.message).toContain('trapped on 3 different inputs');
    expect(gateway.registry.find(`${id}.plain`)).toBeUndefined();
    const record = recordsOf('skill-changed').at(-1);
    expect(record).toMatchObject({ skill: id, event: 'fail', from: 'active', to: 'failed' });
    const traps = record?.traps as { principal: string; call: string }[];
    expect(traps.map(({ principal }) => principal)).toEqual(['agent:mallory', 'agent:mallory', 'agent:eve']);
    expect(traps.every(({ call: each }) => each.startsWith('call_'))).toBe(true);
  });

  test('is brought back by the operator alone, and then counts anew', async () => {
    const id = await adopted(TRAPS);
    await trapAll(id, ['a', 'b', 'c']);
    const agent = actsOf(skillGateway(), { kind: 'agent', name: 'mallory' });
    await expect(agent.change('enable', id)).rejects.toMatchObject({ code: 'policy/denied' });
    expect(stateOf(id)).toBe('failed');
    // Installing it again does not bring it back either.
    const { isNew } = await skillGateway().install(samplePackage({ id, tools: { plain: PLAIN, ...TRAPS } }));
    expect([isNew, stateOf(id)]).toEqual([false, 'failed']);
    await skillGateway().change('enable', id);
    expect(await codeOf(`${id}.plain`)).toBe('ok');
    await trapAll(id, ['a', 'b']);
    expect(stateOf(id)).toBe('active');
  });
});

describe('an agent that wants a skill of others to fail', () => {
  test('does not get there by repeating one call', async () => {
    const id = await adopted(TRAPS);
    for (let time = 0; time < 8; time++) await trapAll(id, ['a']);
    expect(stateOf(id)).toBe('active');
  });

  test('does not get there while the skill works for others', async () => {
    const id = await adopted(TRAPS);
    for (let round = 0; round < 3; round++) {
      await trapAll(id, ['a', 'b']);
      expect(await codeOf(`${id}.plain`, 'ada')).toBe('ok');
      await trapAll(id, ['c', 'd']);
      expect(await codeOf(`${id}.plain`, 'ada')).toBe('ok');
    }
    expect(stateOf(id)).toBe('active');
  });

  test('does not get there by using up fuel or the stack, or with errors that the tools report', async () => {
    const id = await adopted({ ...TRAPS, loops: LOOPS, descends: DESCENDS, reports: REPORTS });
    for (let time = 0; time < 3; time++)
      for (const name of ['loops', 'descends', 'reports'])
        expect(await codeOf(`${id}.${name}`)).not.toBe('ok');
    expect(stateOf(id)).toBe('active');
    // Nor do they end the count: what they are in between of still counts.
    await trapAll(id, ['a', 'b']);
    expect(await codeOf(`${id}.descends`)).toBe('tier/trapped');
    await trapAll(id, ['c']);
    expect(stateOf(id)).toBe('failed');
  });
});
