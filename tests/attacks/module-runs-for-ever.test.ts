import { describe, expect, test } from 'vitest';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf, OFFSETS } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest that does not stop by itself is stopped by its fuel or its stack: at the same place each time, for one call. */

const FUEL = 3_000_000;
const AGAIN = '(loop $again (br $again)) (unreachable)';

/** Bodies of a tool, and more fields of their module. */
const LOOPS: Readonly<Record<string, readonly [body: string, more?: string]>> = {
  'does nothing in a loop': [AGAIN],
  'counts in a register, without a call or a look at its memory': [
    '(loop $again (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $again (i32.const 1))) (unreachable)',
  ],
  'goes round by a table of branches': [
    '(loop $again (br_table $again $again $again (local.get $n))) (unreachable)',
  ],
  'goes round inside of another loop that it leaves': [
    '(loop $out (loop $in (br_if $in (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 9)))) (local.set $n (i32.const 0)) (br $out)) (unreachable)',
  ],
  'calls itself in its own place': ['(return_call $tool (local.get $at) (local.get $length))'],
  'fills all of its memory again and again': [
    '(loop $again (memory.fill (i32.const 0) (i32.const 7) (i32.const 524288)) (br $again)) (unreachable)',
  ],
  'copies all of its memory again and again': [
    '(loop $again (memory.copy (i32.const 0) (i32.const 8) (i32.const 524280)) (br $again)) (unreachable)',
  ],
  'asks the host for something cheap again and again': [
    '(loop $again (drop (call $capability_count (i32.const 1))) (br $again)) (unreachable)',
  ],
  'loops before it is called, in its start function': [ECHO, `(func $first ${AGAIN}) (start $first)`],
};

const RECURSIONS: Readonly<Record<string, readonly [body: string, more?: string]>> = {
  'calls itself': ['(call $tool (local.get $at) (local.get $length))'],
  'calls another that calls it': [
    '(call $other (local.get $at))',
    '(func $other (param i32) (result i64) (call $tool (local.get 0) (local.get 0)))',
  ],
  'calls itself through a table': [
    '(call_indirect (type $shape) (local.get $at) (local.get $length) (i32.const 0))',
    '(type $shape (func (param i32 i32) (result i64))) (table funcref (elem $tool))',
  ],
  'calls itself in its start function': [ECHO, '(func $first (call $first)) (start $first)'],
};

/** Says where it is now and then, so that two runs can be told apart. */
const TALKS = `(loop $again
  (local.set $n (i32.add (local.get $n) (i32.const 1)))
  (if (i32.eqz (i32.rem_u (local.get $n) (i32.const 10000)))
    (then (i32.store (i32.const ${OFFSETS.said}) (i32.add (i32.const 0x30303030) (local.get $n)))
      (call $log (i32.const 1) (i32.const ${OFFSETS.said}) (i32.const 3))))
  (br $again)) (unreachable)`;
const STEPS =
  '(loop $again (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const STEPS))))';

const nameOf = (what: string) => `test.${what.replaceAll(/\W+/g, '-')}`;
const { call } = sharedModules(() => ({
  tools: [
    ...Object.entries({ ...LOOPS, ...RECURSIONS }).map(([what, [body, more = '']]) =>
      moduleTool(nameOf(what), guest(body, { more }), { limits: { fuel: FUEL } }),
    ),
    moduleTool('test.echo', guest(ECHO)),
    moduleTool('test.talks', guest(TALKS), { limits: { fuel: FUEL }, grants: { log: true } }),
    ...[1_000, 2_000, 3_000].map((steps) =>
      moduleTool(
        `test.steps-${steps}`,
        guest(`${STEPS.replace('STEPS', String(steps))} ${listOf('(local.get $n)')}`),
      ),
    ),
    moduleTool('test.alloc', guest(AGAIN), { limits: { fuel: 1 } }),
  ],
}));

/** Two runs of a tool, and whether the engine lived through the second. */
async function twice(tool: string) {
  const first = await call(tool);
  const [before] = engines();
  const second = await call(tool);
  return { first, second, isSameEngine: before !== undefined && before.pid === engines()[0]?.pid };
}

describe('a guest that', () => {
  test.each(Object.keys(LOOPS))('%s is stopped when its fuel is used up, to the last unit', async (what) => {
    const { first, second, isSameEngine } = await twice(nameOf(what));
    expect([first.code, second.code]).toEqual(['tier/out-of-fuel', 'tier/out-of-fuel']);
    expect([first.usage.fuel, second.usage.fuel]).toEqual([FUEL, FUEL]);
    expect(isSameEngine).toBe(true);
    expect(await call('test.echo', { still: 'here' })).toMatchObject({ output: { still: 'here' } });
  });

  test.each(Object.keys(RECURSIONS))('%s is stopped by its stack, at the same depth', async (what) => {
    const { first, second, isSameEngine } = await twice(nameOf(what));
    expect([first.code, second.code]).toEqual(['tier/trapped', 'tier/trapped']);
    expect(first.message).toContain('its stack is used up');
    expect(first.usage.fuel).toBeGreaterThan(1_000);
    expect(second.usage.fuel).toBe(first.usage.fuel);
    expect(isSameEngine).toBe(true);
    expect(await call('test.echo', { still: 'here' })).toMatchObject({ output: { still: 'here' } });
  });

  test('tells how far it came tells the same each time', async () => {
    const { first, second } = await twice('test.talks');
    expect(first.code).toBe('tier/out-of-fuel');
    expect(first.log.split('\n').length).toBeGreaterThan(10);
    expect(second.log).toBe(first.log);
  });

  test('has not even the fuel to begin does not begin', async () => {
    expect(await call('test.alloc')).toMatchObject({ code: 'tier/out-of-fuel', usage: { fuel: 1 } });
  });

  test('does stop by itself pays for what it did, in proportion', async () => {
    const runs = await Promise.all([1_000, 2_000, 3_000].map((steps) => call(`test.steps-${steps}`)));
    expect(runs.map(({ output }) => output)).toEqual([[1_000], [2_000], [3_000]]);
    const [one = 0, two = 0, three = 0] = runs.map(({ usage }) => usage.fuel);
    expect(one).toBeGreaterThan(1_000);
    expect(three - two).toBe(two - one);
  });
});
