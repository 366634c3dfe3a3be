import { describe, expect, test } from 'vitest';
import type { WasmGrants } from '../../packages/gateway/src/core/wasm.ts';
import { guest, listOf, type Words } from '../fixtures/modules/guest.ts';
import { PATIENCE, sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest makes handles up, or uses those of another call: what it was not granted is denied, and counted. */

const DENIED = -1;
/** The length of an answer: the version, and the canary. */
const STORED = 8 + '"canary"'.length;
const [INT_MIN, INT_MAX] = [-(2 ** 31), 2 ** 31 - 1];

/** Two of each kind. */
const GRANTS: Partial<WasmGrants> = {
  http: ['127.0.0.1:9', '127.0.0.1:10'],
  secrets: [
    { name: 'first', mayReveal: true, hosts: [] },
    { name: 'second', mayReveal: true, hosts: [] },
  ],
  storage: [
    { read: ['notes/'], write: ['notes/'] },
    { read: ['more/'], write: ['more/'] },
  ],
  channels: [
    { name: 'news', publish: true, receive: true },
    { name: 'mail', publish: true, receive: true },
  ],
};
const FIRSTS = { http: 10_000, secret: 20_000, storage: 30_000, channel: 40_000 } as const;

/** Every function that takes a handle: a call of it with the handle left open, and what the right one is answered. */
const ASKS: Readonly<
  Record<string, readonly [kind: keyof typeof FIRSTS, words: (words: Words) => string, right: number]>
> = {
  http_request: [
    'http',
    ({ bytes }) => `${bytes('{"url":"http://127.0.0.1:9/"}')} (i32.const 0) (i32.const 0)`,
    -7,
  ],
  secret_read: ['secret', () => '', -2],
  storage_get: ['storage', ({ bytes }) => bytes('notes/none'), -2],
  storage_put: ['storage', ({ bytes }) => `${bytes('notes/a')} ${bytes('1')} (f64.const -1)`, 0],
  storage_delete: ['storage', ({ bytes }) => `${bytes('notes/a')} (f64.const -1)`, 0],
  storage_list: ['storage', ({ bytes }) => `${bytes('notes')} ${bytes('')} (i32.const 10)`, 2],
  channel_publish: ['channel', ({ bytes }) => bytes('1'), 0],
  channel_receive: ['channel', () => '(i32.const 0)', -2],
};

/** What a forger would try for a kind. */
function forgeries(kind: keyof typeof FIRSTS): readonly number[] {
  const first = FIRSTS[kind];
  const others = Object.values(FIRSTS).filter((each) => each !== first);
  return [
    ...[0, 1, -1, 3, INT_MIN, INT_MAX, first - 1, first + 2, first + 10_000, -first, first + 65_536],
    ...others,
    ...others.map((each) => each + 1),
  ];
}

const READ = 'notes/kept';
const READ_ONLY: Partial<WasmGrants> = {
  storage: [{ read: ['notes/'], write: [] }],
  channels: [
    { name: 'news', publish: false, receive: true },
    { name: 'mail', publish: true, receive: false },
  ],
  secrets: [{ name: 'first', mayReveal: false, hosts: [] }],
};

const { call } = sharedModules(() => ({
  tools: [
    ...Object.entries(ASKS).map(([name, [kind, words]]) =>
      moduleTool(
        `test.${name}`,
        guest((each) =>
          listOf(
            ...[...forgeries(kind), FIRSTS[kind]].map(
              (handle) => `(call $${name} (i32.const ${handle}) ${words(each)})`,
            ),
          ),
        ),
        { grants: GRANTS },
      ),
    ),
    moduleTool(
      'test.rights',
      guest(({ bytes }) =>
        listOf(
          `(call $storage_put (i32.const 30000) ${bytes(READ)} ${bytes('1')} (f64.const -1))`,
          `(call $storage_delete (i32.const 30000) ${bytes(READ)} (f64.const -1))`,
          `(call $storage_get (i32.const 30000) ${bytes(READ)})`,
          `(call $channel_publish (i32.const 40000) ${bytes('1')})`,
          '(call $channel_receive (i32.const 40001) (i32.const 0))',
          '(call $channel_receive (i32.const 40000) (i32.const 0))',
          `(call $channel_publish (i32.const 40001) ${bytes('1')})`,
          '(call $secret_read (i32.const 20000))',
        ),
      ),
      { grants: READ_ONLY },
    ),
    // The same skill with two spaces and with one: the handles of the first mean nothing in a call of the second.
    ...[GRANTS.storage ?? [], GRANTS.storage?.slice(0, 1) ?? []].map((storage, index) =>
      moduleTool(
        `test.spaces-${2 - index}`,
        guest(({ bytes }) =>
          listOf(
            '(call $capability_count (i32.const 3))',
            '(call $capability_handle (i32.const 3) (i32.const 1))',
            `(call $storage_put (i32.const 30001) ${bytes('more/a')} ${bytes('"canary"')} (f64.const -1))`,
            `(call $storage_get (i32.const 30001) ${bytes('more/a')})`,
            `(call $storage_get (i32.const 30000) ${bytes('more/a')})`,
          ),
        ),
        { grants: { storage }, skill: 'spaces' },
      ),
    ),
    moduleTool(
      'test.waits',
      guest(({ bytes }) =>
        listOf(
          `(call $storage_put (i32.const 30001) ${bytes('more/b')} ${bytes('"canary"')} (f64.const -1))`,
          '(call $channel_receive (i32.const 40000) (i32.const 60000))',
        ),
      ),
      { grants: GRANTS, skill: 'spaces' },
    ),
    moduleTool(
      'test.finds',
      guest(({ bytes }) => listOf(`(call $storage_get (i32.const 30001) ${bytes('more/b')})`)),
      { grants: GRANTS, skill: 'spaces' },
    ),
    moduleTool(
      'test.peeks',
      guest(({ bytes }) =>
        listOf(
          ...Array.from(
            { length: 20 },
            (_, at) => `(call $storage_get (i32.const ${30_001 + at}) ${bytes('more/b')})`,
          ),
        ),
      ),
      { grants: { storage: GRANTS.storage?.slice(0, 1) ?? [] }, skill: 'spaces' },
    ),
  ],
}));

/** Begins a call that has stored something under its second handle and waits then; gives what ends it. */
async function storing(tenant: string): Promise<() => Promise<unknown>> {
  const stop = new AbortController();
  const running = call('test.waits', {}, { tenant, signal: stop.signal });
  const found = async () => (await call('test.finds', {}, { tenant })).output;
  await expect.poll(found, PATIENCE).toEqual([STORED]);
  return () => {
    stop.abort();
    return running;
  };
}

describe('a forged handle', () => {
  test.each(Object.entries(ASKS))(
    'is worth nothing to %s, and the right one is',
    async (name, [kind, , right]) => {
      const forged = forgeries(kind);
      const end = await call(`test.${name}`);
      expect(end.output).toEqual([...forged.map(() => DENIED), right]);
      expect(end.isolation).toMatchObject({ hostCallsDenied: forged.length });
    },
  );

  test('of a call that has ended is worth nothing in the next one', async () => {
    expect((await call('test.spaces-2')).output).toEqual([2, 30_001, 0, STORED, DENIED]);
    expect((await call('test.spaces-1')).output).toEqual([1, -2, DENIED, DENIED, DENIED]);
  });

  test('of a call that runs at this moment is worth nothing in another one', async () => {
    const end = await storing('default');
    expect((await call('test.peeks')).output).toEqual(Array(20).fill(DENIED));
    await end();
  });
});

test('a handle that is right does not do what was not granted with it', async () => {
  const end = await call('test.rights');
  expect(end.output).toEqual([DENIED, DENIED, -2, DENIED, DENIED, -2, 0, DENIED]);
  expect(end.isolation).toMatchObject({ hostCallsDenied: 5 });
});

test('the very same handle of another tenant leads to what is its own', async () => {
  const end = await storing('alice');
  expect((await call('test.finds', {}, { tenant: 'bob' })).output).toEqual([-2]);
  await end();
});
