import { describe, expect, test } from 'vitest';
import { guest, listOf, OFFSETS } from '../fixtures/modules/guest.ts';
import { type ModuleEnd, sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* Tenants use the same tool at the same time, in the same engines: none finds anything of another. */

const END = 16 * 65_536;
const NEWS = { channels: [{ name: 'news', publish: true, receive: true }] };
const NOTES = { storage: [{ read: ['/'], write: ['/'] }] };

/** Counts what in its memory is not as new, looks at its globals and its table, and then leaves its mark on all of them. */
const LEAVES_MARKS = `(local $found i32)
  (local.set $n (i32.const ${OFFSETS.answer}))
  (loop $again
    (if (i64.ne (i64.load (local.get $n)) (i64.const 0))
      (then (local.set $found (i32.add (local.get $found) (i32.const 1)))))
    (i64.store (local.get $n) (i64.load (i32.add (local.get $at) (i32.const 11))))
    (local.set $n (i32.add (local.get $n) (i32.const 8)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const ${END}))))
  (call $say (local.get $found))
  (call $say (global.get $mark))
  (call $say (i32.eqz (ref.is_null (table.get $marks (i32.const 1)))))
  (call $say (call $result_read (i32.const ${OFFSETS.answer}) (i32.const 65536)))
  (global.set $mark (i32.const 7))
  (table.set $marks (i32.const 1) (ref.func $tool))
  (drop (call $storage_list (i32.const 30000) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 10)))
  (if (i32.gt_u (local.get $length) (i32.const 30)) (then (unreachable)))
  (call $said)`;
const MARKED = {
  // As large at its end as at first: such a memory is cleared and used again.
  memory: '16 64',
  more: '(global $mark (mut i32) (i32.const 0)) (table $marks 2 funcref) (elem declare func $tool)',
};

/** Fills its memory with its tag, waits, and counts what has become another; the tag is in the input. */
const KEEPS_WATCH = `(local $tag i64) (local $other i32)
  (local.set $tag (i64.load (i32.add (local.get $at) (i32.const 8))))
  (local.set $n (i32.const ${OFFSETS.answer}))
  (loop $again
    (i64.store (local.get $n) (local.get $tag))
    (local.set $n (i32.add (local.get $n) (i32.const 8)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const 524288))))
  (drop (call $channel_receive (i32.const 40000) (i32.const 20)))
  (local.set $n (i32.const ${OFFSETS.answer}))
  (loop $again
    (if (i64.ne (i64.load (local.get $n)) (local.get $tag))
      (then (local.set $other (i32.add (local.get $other) (i32.const 1)))))
    (local.set $n (i32.add (local.get $n) (i32.const 8)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const 524288))))
  ${listOf('(local.get $other)', '(i64.eq (i64.load (i32.add (local.get $at) (i32.const 8))) (local.get $tag))')}`;

const PUTS = guest(({ bytes }) =>
  listOf(
    `(call $storage_put (i32.const 30000) ${bytes('canary')} (local.get $at) (local.get $length) (f64.const -1))`,
  ),
);
const GETS = guest(
  ({ bytes }) => `(call $told (call $storage_get (i32.const 30000) ${bytes('canary')}) (i32.const 8))`,
);
const LISTS = guest(
  ({ bytes }) =>
    `(call $told (call $storage_list (i32.const 30000) ${bytes('/')} ${bytes('')} (i32.const 100)) (i32.const 0))`,
);

const { call } = sharedModules(() => ({
  tools: [
    moduleTool('test.marks', guest(LEAVES_MARKS, MARKED), { grants: NOTES, limits: { fuel: 10_000_000 } }),
    moduleTool('test.watches', guest(KEEPS_WATCH), { grants: NEWS }),
    moduleTool('test.puts', PUTS, { grants: NOTES, skill: 'notes' }),
    moduleTool('test.gets', GETS, { grants: NOTES, skill: 'notes' }),
    moduleTool('test.lists', LISTS, { grants: NOTES, skill: 'notes' }),
    moduleTool(
      'test.sends',
      guest(listOf('(call $channel_publish (i32.const 40000) (local.get $at) (local.get $length))')),
      {
        grants: NEWS,
      },
    ),
    ...Object.entries({ 'test.waits': 20_000, 'test.listens': 800 }).map(([id, ms]) =>
      moduleTool(id, guest(`(call $body (call $channel_receive (i32.const 40000) (i32.const ${ms})))`), {
        grants: NEWS,
      }),
    ),
  ],
}));
const outputs = (ends: readonly ModuleEnd[]) => ends.map(({ output }) => output);

describe('the memory of a call', () => {
  test('is as new, also where the last guest on its place left something or fell', async () => {
    const ends: ModuleEnd[] = [];
    for (let round = 0; round < 12; round++) {
      const tenant = round < 8 ? 'alice' : 'bob';
      // Every fourth one falls at its end; its input is longer.
      const input = { canary: `${tenant.padEnd(8, '-')}${round % 4 === 3 ? 'x'.repeat(20) : ''}` };
      ends.push(await call('test.marks', input, { tenant }));
    }
    const [fell, ended] = [
      ends.filter((_, round) => round % 4 === 3),
      ends.filter((_, round) => round % 4 !== 3),
    ];
    expect(fell.map(({ code }) => code)).toEqual(fell.map(() => 'tier/trapped'));
    expect(outputs(ended)).toEqual(ended.map(() => [0, 0, 0, 0]));
  });

  test('belongs to it alone while others run', async () => {
    const calls = Array.from({ length: 40 }, (_, index) =>
      call('test.watches', { tag: `tenant-${index % 4}` }, { tenant: `tenant-${index % 4}` }),
    );
    expect(outputs(await Promise.all(calls))).toEqual(calls.map(() => [0, 1]));
  });
});

describe('what a tenant', () => {
  test('stores is found by its own calls and by nobody else’s', async () => {
    expect((await call('test.puts', { of: 'alice' }, { tenant: 'alice' })).output).toEqual([0]);
    const [own, others] = [
      await call('test.gets', {}, { tenant: 'alice' }),
      await Promise.all(
        ['bob', 'Alice', 'alice ', 'alicf', 'default'].flatMap((tenant) =>
          ['test.gets', 'test.lists'].map((tool) => call(tool, {}, { tenant })),
        ),
      ),
    ];
    expect(own.output).toEqual({ of: 'alice' });
    // A tenant whose name is none is refused before that.
    const nothing = [
      ['ok', [-2]],
      ['ok', []],
      ['door/invalid-call', null],
    ];
    for (const { output, code } of others) expect(nothing).toContainEqual([code, output]);
    expect((await call('test.lists', {}, { tenant: 'alice' })).output).toEqual(['canary']);
  });

  test('publishes is heard by its own calls and by nobody else’s', async () => {
    /** What a listener hears while alice publishes, until it has ended. */
    const receivedBy = async (tenant: string, tool: string) => {
      let isOver = false;
      const listening = call(tool, {}, { tenant }).finally(() => {
        isOver = true;
      });
      while (!isOver) await call('test.sends', { canary: 'of alice' }, { tenant: 'alice' });
      return (await listening).output;
    };
    expect(await receivedBy('alice', 'test.waits')).toEqual({ canary: 'of alice' });
    expect(await receivedBy('bob', 'test.listens')).toEqual([-2]);
  });
});
