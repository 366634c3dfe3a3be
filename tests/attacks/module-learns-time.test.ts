import { describe, expect, test } from 'vitest';
import { findRecording } from '../../packages/gateway/src/recordings/recordings.ts';
import { replay } from '../../packages/gateway/src/tiers/a-wasm/replay.ts';
import { guest, listOf, OFFSETS, packed } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest tries to measure time, or to guess what it should not: its clock stands still, its chance comes from a seed. */

/** Works for a while between two looks at the clock; says whether they differ, and what remains of a second. */
const WATCHES = `(local $first f64)
  (local.set $first (call $clock_ms))
  (local.set $n (i32.const 300000))
  (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
  (drop (call $channel_receive (i32.const 40000) (i32.const 50)))
  ${listOf(
    '(f64.eq (local.get $first) (call $clock_ms))',
    '(f64.eq (f64.floor (local.get $first)) (local.get $first))',
    '(i32.trunc_f64_u (f64.div (local.get $first) (f64.const 1000)))',
  )}`;
/** Eight numbers of chance, asked for in pieces. */
const DRAWS = `(call $random (i32.const ${OFFSETS.answer}) (i32.const 16))
  (call $random (i32.const ${OFFSETS.answer + 16}) (i32.const 16))
  ${listOf(...[0, 4, 8, 12, 16, 20, 24, 28].map((at) => `(i32.load (i32.const ${OFFSETS.answer + at}))`))}`;

const { call, opened } = sharedModules(() => ({
  tools: [
    moduleTool('test.watches', guest(WATCHES), {
      grants: { clock: true, channels: [{ name: 'news', publish: false, receive: true }] },
    }),
    moduleTool('test.draws', guest(DRAWS), { grants: { random: true } }),
    moduleTool(
      'test.overreaches',
      guest(`(call $random (i32.const 0) (i32.const -1)) ${packed('(i32.const 0)', '(i32.const 0)')}`),
      { grants: { random: true } },
    ),
    moduleTool(
      'test.drowns',
      guest(`(loop $again (call $random (i32.const 0) (i32.const 524288)) (br $again)) (unreachable)`),
      { grants: { random: true } },
    ),
  ],
}));

describe('the clock of a guest', () => {
  test('stands still while it works and while it waits, and shows whole milliseconds', async () => {
    const before = Math.floor(Date.now() / 1000);
    const end = await call('test.watches');
    const [isSame, isWhole, seconds] = end.output as number[];
    expect([isSame, isWhole]).toEqual([1, 1]);
    expect(seconds).toBeGreaterThanOrEqual(before);
    expect(seconds).toBeLessThanOrEqual(Date.now() / 1000);
    // There was something to be measured.
    expect(end.usage.wallMs).toBeGreaterThan(40);
  });
});

describe('the chance of a guest', () => {
  test('is another in every call', async () => {
    const draws = await Promise.all(Array.from({ length: 4 }, () => call('test.draws')));
    const numbers = draws.flatMap(({ output }) => output as number[]);
    expect(numbers).toHaveLength(32);
    expect(new Set(numbers).size).toBe(32);
  });

  test('is the same when a call is run again from its record', async () => {
    const { gateway } = opened();
    const { callId, usage, code } = await call('test.draws');
    const kept = findRecording(gateway.store, callId);
    if (kept === null) throw new Error('nothing was kept');
    const again = await replay(gateway, kept.recording, kept.module, new AbortController().signal);
    expect(again).toMatchObject({ code, fuel: usage.fuel, parting: null });
    const other = await call('test.draws');
    const [first, second] = [callId, other.callId].map(
      (id) => findRecording(gateway.store, id)?.recording.seed,
    );
    expect(first).not.toBe(second);
  });

  test('reaches no further than its memory, and is paid for', async () => {
    expect(await call('test.overreaches')).toMatchObject({ code: 'tier/out-of-fuel' });
    expect(await call('test.drowns')).toMatchObject({ code: 'tier/out-of-fuel' });
  });
});
