import { describe, expect, test } from 'vitest';
import {
  type ComponentOptions,
  component,
  ECHO,
  gives,
  OFFSETS,
  skillImport,
  type Words,
} from '../fixtures/components/guest.ts';
import { engines } from '../fixtures/modules/engines.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A component passes what is no value of its type, or gives room where there is none: that ends its call, and nothing else. */

const END = 8 * 65_536;
const FUEL = 3_000_000;
const AGAIN = '(loop $again (br $again)) (unreachable)';
const NOT_UTF8: Readonly<Record<string, readonly number[]>> = {
  'a byte that begins nothing': [0x22, 0xff, 0x22],
  'a character that is cut off': [0x22, 0xe2, 0x82],
  'half of a pair': [0xed, 0xa0, 0x80],
  'a character that is spelt too long': [0xc0, 0xaf],
  'a character beyond the last': [0xf4, 0x90, 0x80, 0x80],
};

/** Returns these words as the result of `run`: its case, then the places and lengths of texts. */
const ends = (...words: readonly (number | string)[]) =>
  `${words.map((word, at) => `(i32.store (i32.const ${OFFSETS.ending + 4 * at}) ${typeof word === 'number' ? `(i32.const ${word})` : word})`).join(' ')}
   (i32.const ${OFFSETS.ending})`;
/** One argument of a pair. */
const [first, second] = [0, 1].map((index) => (pair: string) => pair.split(/(?<=\)) /)[index] ?? '');

const RESULTS: Readonly<Record<string, string | ((words: Words) => string)>> = {
  'a place outside of its memory': '(i32.const -4)',
  'a place that begins behind its memory': `(i32.const ${END})`,
  'a place whose end lies outside': `(i32.const ${END - 16})`,
  'a place that is not aligned': `(i32.const ${OFFSETS.ending + 1})`,
  'a case that is not there': ends(2, 0, 0),
  'the last case that a byte can name': ends(255, 0, 0),
  'a text outside of its memory': ends(0, END, 1),
  'a text whose end lies outside': ends(0, END - 1, 2),
  'a text whose end is a small number again': ends(0, -1, 2),
  'a text that is longer than any': ends(0, 0, -1),
  'a failure whose code lies outside': ends(1, END, 1, 0, 0),
  'a failure whose reason lies outside': ends(1, 0, 0, END - 1, 2),
  ...Object.fromEntries(
    Object.entries(NOT_UTF8).flatMap(([what, text]) => [
      [`a text with ${what}`, ({ bytes }: Words) => gives(bytes(Uint8Array.from(text)))],
      [
        `a reason with ${what}`,
        ({ bytes }: Words) => {
          const reason = bytes(Uint8Array.from(text));
          return ends(1, 0, 0, first?.(reason) ?? '', second?.(reason) ?? '');
        },
      ],
    ]),
  ),
};

const ALL = ['log.write', 'storage.put', 'storage.get', 'storage.keys', 'http.send', 'capabilities.count'];
const GRANTS = {
  ...{ log: true, random: true, http: ['127.0.0.1:9'] },
  storage: [{ read: ['/'], write: ['/'] }],
};
const PUT = '(call $storage_put (i32.const 30000)';
const none = (count: number) => Array(count).fill('(i32.const 0)').join(' ');
/** A request but for its headers, whether there is a secret, and where the answer goes. */
const sends = (headers: string, hasSecret: number, place: number) =>
  `(call $http_send (i32.const 10000) ${none(4)} ${headers} ${none(2)} (i32.const ${hasSecret}) ${none(5)} (i32.const ${place}))`;
const { answer } = OFFSETS;

/** What is passed to functions of the host; each is one call. */
const ARGUMENTS: Readonly<Record<string, (words: Words) => string>> = {
  'a level that is not there': ({ bytes }) => `(call $log_write (i32.const 4) ${bytes('x')})`,
  'a level below zero': ({ bytes }) => `(call $log_write (i32.const -1) ${bytes('x')})`,
  'a kind that is not there': () => '(drop (call $capabilities_count (i32.const 256)))',
  'a line outside of its memory': () => `(call $log_write (i32.const 1) (i32.const ${END}) (i32.const 1))`,
  'a line whose end is a small number again': () =>
    '(call $log_write (i32.const 1) (i32.const -1) (i32.const 9))',
  'a line that is longer than any': () => '(call $log_write (i32.const 1) (i32.const 0) (i32.const -1))',
  ...Object.fromEntries(
    Object.entries(NOT_UTF8).map(([what, text]) => [
      `a line with ${what}`,
      ({ bytes }: Words) => `(call $log_write (i32.const 1) ${bytes(Uint8Array.from(text))})`,
    ]),
  ),
  'a key outside of its memory': ({ bytes }) =>
    `${PUT} (i32.const ${END}) (i32.const 1) ${bytes('1')} (i32.const 0) (i64.const 0) (i32.const ${answer}))`,
  'a value whose end lies outside': ({ bytes }) =>
    `${PUT} ${bytes('bad-value')} (i32.const ${END - 1}) (i32.const 2) (i32.const 0) (i64.const 0) (i32.const ${answer}))`,
  'a condition that is not there': ({ bytes }) =>
    `${PUT} ${bytes('bad-condition')} ${bytes('1')} (i32.const 3) (i64.const 0) (i32.const ${answer}))`,
  'a place for the answer outside of its memory': ({ bytes }) =>
    `${PUT} ${bytes('bad-place')} ${bytes('1')} (i32.const 0) (i64.const 0) (i32.const ${END - 1}))`,
  'a place for the answer that is not aligned': ({ bytes }) =>
    `(call $storage_get (i32.const 30000) ${bytes('stored')} (i32.const ${answer + 4}))`,
  'a list outside of its memory': () => sends(`(i32.const ${END}) (i32.const 1)`, 0, answer),
  'a list whose end lies outside': () => sends(`(i32.const ${END - 16}) (i32.const 2)`, 0, answer),
  'a list that is not aligned': () => sends('(i32.const 2) (i32.const 1)', 0, answer),
  'a list whose length makes a small number of bytes again': () =>
    sends('(i32.const 0) (i32.const 0x10000001)', 0, answer),
  'an option that is neither': () => sends(none(2), 2, answer),
};

/** Puts a value, and says which keys there are. */
const PUTS = component(
  ({ bytes }) =>
    `${PUT} ${bytes('stored')} ${bytes('1')} (i32.const 0) (i64.const 0) (i32.const ${answer})) ${ECHO}`,
  { imports: ALL.map(skillImport) },
);
/** The text of the first key, as a string; there is a second one only if a lie was believed. */
const KEYS = component(
  ({
    bytes,
  }) => `(call $storage_keys (i32.const 30000) ${bytes('/')} ${bytes('')} (i32.const 10) (i32.const ${answer}))
    (i32.store8 (i32.const 8) (i32.add (i32.const 48) (i32.load (i32.const ${answer + 8}))))
    ${gives('(i32.const 8) (i32.const 1)')}`,
  { imports: [skillImport('storage.keys')] },
);

type Lies = { readonly realloc: string; readonly code: string; readonly says: string };

/** Bodies of an allocator, and how a call with it ends. */
const ROOMS: Readonly<Record<string, Lies>> = {
  'gives a place outside of its memory': {
    realloc: '(i32.const -1)',
    code: 'tier/trapped',
    says: 'outside of the memory',
  },
  'gives a place behind its memory': {
    realloc: `(i32.const ${END})`,
    code: 'tier/trapped',
    says: 'outside of the memory',
  },
  'gives a place whose end lies outside': {
    realloc: `(i32.const ${END - 1})`,
    ...{ code: 'tier/trapped', says: 'outside of the memory' },
  },
  traps: { realloc: '(unreachable)', code: 'tier/trapped', says: 'unreachable' },
  'calls the host': {
    realloc: '(call $log_write (i32.const 1) (i32.const 0) (i32.const 0)) (i32.const 65536)',
    ...{ code: 'tier/trapped', says: 'expected it to return first' },
  },
  exits: {
    realloc: '(call $exit (i32.const 0)) (i32.const 65536)',
    code: 'tier/trapped',
    says: 'expected it to return first',
  },
  'runs for ever': { realloc: AGAIN, code: 'tier/out-of-fuel', says: `its fuel of ${FUEL}` },
  'calls itself': {
    realloc: '(call $realloc (local.get $old) (local.get $size_old) (local.get $align) (local.get $size))',
    ...{ code: 'tier/trapped', says: 'its stack is used up' },
  },
  'grows until there is no more, and gives what it gets then': {
    realloc:
      '(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (i32.mul (memory.grow (i32.const 1)) (i32.const 65536))',
    ...{ code: 'tier/trapped', says: 'outside of the memory' },
  },
};
const EXIT = { as: 'exit', interface: 'wasi:cli/exit@0.2.3', name: 'exit' };
const WITH_HOST: ComponentOptions = {
  imports: [skillImport('log.write'), skillImport('random.bytes'), EXIT],
};

/** Asks for so many random bytes; the allocator lies for those alone. */
const ASKED = 77;
const ASKS = `(call $random_bytes (i32.const ${ASKED}) (i32.const ${answer})) ${ECHO}`;
const onlyThen = (realloc: string) => `
  (if (result i32) (i32.eq (local.get $size) (i32.const ${ASKED}))
    (then ${realloc})
    (else (i32.add (i32.const 65536) (i32.mul (local.get $size) (i32.const 16)))))`;

const STARTS: Readonly<Record<string, Omit<Lies, 'realloc'> & { readonly start: string }>> = {
  'runs for ever': { start: AGAIN, code: 'tier/out-of-fuel', says: 'ran out' },
  traps: { start: '(unreachable)', code: 'tier/trapped', says: 'unreachable' },
  'calls itself': { start: '(call $first)', code: 'tier/trapped', says: 'its stack is used up' },
  'lies to the host': {
    start: `(call $log_write (i32.const 1) (i32.const ${END}) (i32.const 1))`,
    ...{ code: 'tier/trapped', says: 'outside of the memory' },
  },
};
const started = (start: string) =>
  component(ECHO, { ...WITH_HOST, more: `(func $first ${start}) (start $first)` });

const nameOf = (what: string) => `test.${what.replaceAll(/\W+/g, '-')}`;
const wishes = { grants: GRANTS, limits: { fuel: FUEL } };
const storing = { ...wishes, skill: 'storing' };
const { call } = sharedModules(() => ({
  tools: [
    moduleTool('test.echo', component(ECHO)),
    moduleTool(
      'test.fails',
      component(({ bytes }) => ends(1, 0, 0, ...[first, second].map((of) => of?.(bytes('why')) ?? ''))),
    ),
    moduleTool('test.puts', PUTS, storing),
    moduleTool('test.keys', KEYS, storing),
    ...Object.entries(RESULTS).map(([what, body]) => moduleTool(nameOf(what), component(body))),
    ...Object.entries(ARGUMENTS).map(([what, body]) =>
      moduleTool(
        nameOf(what),
        component(
          (words) => `${body(words)} (call $log_write (i32.const 1) ${words.bytes('it went on')}) ${ECHO}`,
          { imports: ALL.map(skillImport) },
        ),
        storing,
      ),
    ),
    ...Object.entries(ROOMS).flatMap(([what, { realloc }]) => [
      moduleTool(nameOf(`input ${what}`), component(ECHO, { ...WITH_HOST, realloc }), wishes),
      moduleTool(
        nameOf(`answer ${what}`),
        component(ASKS, { ...WITH_HOST, realloc: onlyThen(realloc) }),
        wishes,
      ),
    ]),
    moduleTool('test.asks', component(ASKS, WITH_HOST), wishes),
    moduleTool(
      'test.odd-room',
      component(
        ({ bytes }) =>
          `(call $storage_keys (i32.const 30000) ${bytes('/')} ${bytes('')} (i32.const 10) (i32.const ${answer})) ${ECHO}`,
        { imports: [skillImport('storage.keys')], realloc: '(i32.const 70001)' },
      ),
      storing,
    ),
    moduleTool('test.one-room', component(ECHO, { realloc: '(i32.const 70000)' })),
    moduleTool(
      'test.grows',
      component(ECHO, { realloc: '(i32.mul (memory.grow (i32.const 1)) (i32.const 65536))' }),
    ),
    ...Object.entries(STARTS).map(([what, { start }]) =>
      moduleTool(nameOf(`start ${what}`), started(start), wishes),
    ),
    moduleTool(
      'test.starts',
      started(
        `(call $random_bytes (i32.const 8) (i32.const ${answer})) (call $log_write (i32.const 1) (i32.const 0) (i32.const 3))`,
      ),
      wishes,
    ),
  ],
}));

/** A call that ends its guest and not the engine, which has the next call do what it does. */
async function ended(tool: string) {
  await call('test.echo', {});
  const before = engines().map(({ pid }) => pid);
  const end = await call(tool, { a: 1 });
  expect(await call('test.echo', { still: 'here' })).toMatchObject({ output: { still: 'here' } });
  expect(engines().map(({ pid }) => pid)).toEqual(expect.arrayContaining(before));
  return end;
}

describe('a component that returns', () => {
  test.each(Object.keys(RESULTS))('%s has returned nothing', async (what) => {
    const end = await ended(nameOf(what));
    expect(end).toMatchObject({ code: 'tier/trapped', output: null });
    expect(end.message).toMatch(/^Cannot pass value: /);
    expect(end.usage.fuel).toBeGreaterThan(0);
  });

  test('what its type says is believed', async () => {
    expect(await call('test.echo', { a: 'ü語' })).toMatchObject({ code: 'ok', output: { a: 'ü語' } });
    const { code, message } = await call('test.fails');
    expect([code, message]).toEqual(['tier/tool-error', expect.stringContaining('"why"')]);
  });
});

describe('a component that passes', () => {
  test.each(Object.keys(ARGUMENTS))('%s ends there, and nothing was done for it', async (what) => {
    expect((await call('test.puts', { a: 1 })).code).toBe('ok');
    const end = await ended(nameOf(what));
    expect(end).toMatchObject({ code: 'tier/trapped', output: null, log: '' });
    expect(end.message).toMatch(/^Cannot pass value: /);
    // Nothing was stored but what the honest one did store.
    expect((await call('test.keys')).output).toBe(1);
  });
});

describe('a component whose allocator', () => {
  test.each(Object.entries(ROOMS))('%s ends where it is used', async (what, { code, says }) => {
    for (const when of ['input', 'answer']) {
      const end = await ended(nameOf(`${when} ${what}`));
      expect(end).toMatchObject({ code, output: null, log: '' });
      expect(end.message).toContain(says);
      if (code === 'tier/out-of-fuel') expect(end.usage.fuel).toBe(FUEL);
    }
    expect(await call('test.asks', { a: 1 })).toMatchObject({ code: 'ok', output: { a: 1 } });
  });

  test('gives a place that is not aligned ends there', async () => {
    expect((await call('test.puts', { a: 1 })).code).toBe('ok');
    const end = await ended('test.odd-room');
    expect(end).toMatchObject({ code: 'tier/trapped' });
    expect(end.message).toContain('70001 is not a multiple of 4');
  });

  test('gives one place twice has only itself to blame', async () => {
    expect(await ended('test.one-room')).toMatchObject({ code: 'ok', output: { a: 1 } });
  });

  test('grows its memory finds what it was given in what is new', async () => {
    const end = await ended('test.grows');
    expect(end).toMatchObject({ code: 'ok', output: { a: 1 } });
    expect(end.isolation).toMatchObject({ peakMemoryBytes: END + 2 * 65_536 });
  });
});

describe('a component whose start function', () => {
  test.each(Object.entries(STARTS))('%s ends before it is called', async (what, { code, says }) => {
    const end = await ended(nameOf(`start ${what}`));
    expect(end).toMatchObject({ code, output: null, log: '' });
    expect(end.message).toContain(says);
    if (code === 'tier/out-of-fuel') expect(end.usage.fuel).toBe(FUEL);
  });

  test('asks the host for something has it', async () => {
    const end = await call('test.starts', { a: 1 });
    expect(end).toMatchObject({ code: 'ok', output: { a: 1 } });
    expect(end.log).toMatch(/^info: /);
  });
});
