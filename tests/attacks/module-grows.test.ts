import { describe, expect, test } from 'vitest';
import { isSupported } from '../../packages/wasm/src/index.ts';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest takes memory, tables or globals: never more than its call may have, whatever its module declares. */

const MIB = 1024 * 1024;
const PAGE = 65_536;
const CAP = 4 * MIB;
const CAP_PAGES = CAP / PAGE;
const AT_FIRST = 8;
/** Of 64 MiB each, more than an engine promises at once. */
const MANY = 75;

/** Grows page by page until that fails, and says how many there are then; every page is written to. */
const GROWS = `(loop $again
    (local.set $n (memory.grow (i32.const 1)))
    (if (i32.ge_s (local.get $n) (i32.const 0))
      (then (i32.store8 (i32.mul (local.get $n) (i32.const ${PAGE})) (i32.const 1)) (br $again))))
  ${listOf('(local.get $n)', '(memory.size)')}`;
const LEAPS = listOf(
  ...[65_535, 2 ** 31, -1, CAP_PAGES - AT_FIRST + 1].map((pages) => `(memory.grow (i32.const ${pages}))`),
  '(memory.size)',
  `(memory.grow (i32.const ${CAP_PAGES - AT_FIRST}))`,
);
/** Touches all that it can have: 64 MiB. */
const TOUCHES = `(drop (memory.grow (i32.sub (i32.const 1024) (memory.size))))
  (loop $again
    (i32.store8 (local.get $n) (i32.const 1))
    (local.set $n (i32.add (local.get $n) (i32.const 4096)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const ${64 * MIB}))))
  ${listOf('(memory.size)')}`;

const table = (size: string) => `(table $t ${size} funcref)`;
const TABLES = listOf(
  '(table.grow $t (ref.null func) (i32.const 100001))',
  '(table.grow $t (ref.null func) (i32.const -1))',
  '(table.size $t)',
  '(table.grow $t (ref.null func) (i32.const 99990))',
);
const globals = (count: number) => '(global i32 (i32.const 0))'.repeat(count);

/** By what they declare: more than may be, and next to it what may be. */
const TOO_MUCH = {
  'memory: a page more than the cap at first': [guest(ECHO, { memory: `${CAP_PAGES + 1}` }), 'memoryBytes'],
  'memory: 4 GiB at first': [guest(ECHO, { memory: '65536' }), 'memoryBytes'],
  'table: ten million at first': [guest(ECHO, { more: table('10000000') }), 'tableElements'],
  'tables: many, together': [guest(ECHO, { more: '(table 20000 funcref)'.repeat(6) }), 'tableElements'],
  'globals: tens of thousands': [guest(ECHO, { more: globals(60_000) }), 'globals'],
} as const;
const AS_MUCH_AS_MAY_BE = {
  memory: guest(ECHO, { memory: `${CAP_PAGES}` }),
  table: guest(ECHO, { more: table('99000') }),
  tables: guest(ECHO, { more: '(table 20000 funcref)'.repeat(4) }),
  globals: guest(ECHO, { more: globals(10_000) }),
};

/** Two memories that grow in turn until neither can. */
const TWO = guest(
  `(loop $again (br_if $again (i32.ge_s (i32.or (memory.grow 0 (i32.const 1)) (memory.grow 1 (i32.const 1))) (i32.const 0))))
   ${listOf('(i32.add (memory.size 0) (memory.size 1))')}`,
  { more: '(memory $second 8)' },
);

const nameOf = (what: string) => `test.${what.replaceAll(/\W+/g, '-')}`;
const small = { limits: { memoryBytes: CAP } };
const { call } = sharedModules(() => ({
  tools: [
    ...Object.entries(TOO_MUCH).map(([what, [bytes]]) => moduleTool(nameOf(what), bytes, small)),
    ...Object.entries(AS_MUCH_AS_MAY_BE).map(([what, bytes]) => moduleTool(nameOf(what), bytes, small)),
    ...['8', '8 65536', '8 64'].flatMap((memory) => [
      moduleTool(nameOf(`grows ${memory}`), guest(GROWS, { memory }), small),
      moduleTool(nameOf(`leaps ${memory}`), guest(LEAPS, { memory }), small),
    ]),
    moduleTool('test.grows-table', guest(TABLES, { more: table('10') })),
    moduleTool('test.two', TWO, small),
    moduleTool('test.touches', guest(TOUCHES, { memory: '8' })),
    ...Array.from({ length: MANY }, (_, number) =>
      moduleTool(
        `test.many-${number}`,
        guest(ECHO, { memory: '8', more: `(global i32 (i32.const ${number}))` }),
      ),
    ),
  ],
}));

describe('a guest that grows its memory', () => {
  test.each(['8', '8 65536', '8 64'])(
    'page by page, with the declaration "%s", gets what its call may have and then -1',
    async (memory) => {
      const end = await call(nameOf(`grows ${memory}`));
      expect(end).toMatchObject({ code: 'ok', output: [-1, CAP_PAGES] });
      expect(end.isolation).toMatchObject({ peakMemoryBytes: CAP });
    },
  );

  test.each(['8', '8 65536', '8 64'])(
    'at once, with the declaration "%s", gets -1 for what is too much and keeps what it has',
    async (memory) => {
      const { output } = await call(nameOf(`leaps ${memory}`));
      expect(output).toEqual([-1, -1, -1, -1, AT_FIRST, AT_FIRST]);
    },
  );

  test('has one cap for all of its memories', async () => {
    const end = await call('test.two');
    // A V8 that knows one memory only never sees the module.
    if (isSupported('multi-memory')) expect(end).toMatchObject({ code: 'ok', output: [CAP_PAGES] });
    else
      expect(end).toMatchObject({ code: 'tier/invalid-module', message: expect.stringContaining('memor') });
  });

  test('to the most, call after call, leaves the engine as large as it was', async () => {
    for (let round = 0; round < 30; round++) {
      const end = await call('test.touches');
      expect(end).toMatchObject({ output: [1024], isolation: { peakMemoryBytes: 64 * MIB } });
    }
    const found = engines();
    // Its own, and at most the one that made the module ready.
    expect([1, 2]).toContain(found.length);
    for (const { peakBytes } of found) expect(peakBytes).toBeLessThan(900 * MIB);
  });
});

describe('a module that declares', () => {
  test.each(Object.entries(TOO_MUCH))('%s is refused before it runs', async (what, [, limit]) => {
    const end = await call(nameOf(what));
    expect(end).toMatchObject({ code: 'tier/invalid-module', usage: { fuel: 0 } });
    expect(end.message).toContain(`its "${limit}" would be`);
    const [kind = ''] = what.split(':');
    expect(await call(nameOf(kind), { a: 1 })).toMatchObject({ code: 'ok', output: { a: 1 } });
  });
});

test('a guest that grows a table gets -1 for what is too much', async () => {
  expect((await call('test.grows-table')).output).toEqual([-1, -1, 10, 10]);
});

test('more modules than an engine has places for all get one, whatever memory each could take', async () => {
  const before = engines().map(({ pid }) => pid);
  const ends = [];
  for (let number = 0; number < MANY; number++) ends.push(await call(`test.many-${number}`, { number }));
  expect(ends.map(({ output }) => output)).toEqual(ends.map((_, number) => ({ number })));
  expect(await call('test.many-0', { again: 1 })).toMatchObject({ output: { again: 1 } });
  expect(engines().map(({ pid }) => pid)).toEqual(before);
});
