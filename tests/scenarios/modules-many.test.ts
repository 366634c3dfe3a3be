import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';
import { volume } from '../volume/volume.ts';

/* Many tenants with modules, at once and for long: each gets its own answer, and nothing grows. */

const MIB = 1024 * 1024;
const TENANTS = 20;
const NOTES = { storage: [{ read: ['notes/'], write: ['notes/'] }] };

/** The sum of the bytes of its input. */
const SUMS = `(local $end i32) (local $sum i32)
  (local.set $n (local.get $at))
  (local.set $end (i32.add (local.get $at) (local.get $length)))
  (loop $again
    (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get $n))))
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if $again (i32.lt_u (local.get $n) (local.get $end))))
  ${listOf('(local.get $sum)')}`;
const LOGS = `(call $log (i32.const 1) (local.get $at) (local.get $length)) ${ECHO}`;
/** Stores its input and gives what is stored then. */
const STORES = guest(
  ({
    bytes,
  }) => `(drop (call $storage_put (i32.const 30000) ${bytes('notes/last')} (local.get $at) (local.get $length) (f64.const -1)))
    (call $told (call $storage_get (i32.const 30000) ${bytes('notes/last')}) (i32.const 8))`,
);

const { call, opened } = sharedModules(() => ({
  tools: [
    moduleTool('test.echo', guest(ECHO)),
    moduleTool('test.sums', guest(SUMS)),
    moduleTool('test.logs', guest(LOGS), { grants: { log: true } }),
    moduleTool('test.stores', STORES, { grants: NOTES }),
  ],
}));

function sumOf(input: object): number {
  return Buffer.from(JSON.stringify(input)).reduce((sum, byte) => sum + byte, 0);
}

/** What the gateway holds on to: the heap after everything else is collected, and the buffers beside it. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The time that all but one of a hundred took at most. */
function p99(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;
}

/** Ten thousand in a whole run. */
const CALLS = volume(10_000, 600);

describe('modules', () => {
  test('of 20 tenants in 200 calls at once give each caller its own answer', async () => {
    await call('test.echo');
    const before = process.memoryUsage().rss;
    const requested = Array.from({ length: 200 }, (_, number) => ({
      tool: ['test.echo', 'test.sums', 'test.logs', 'test.stores'][number % 4] ?? '',
      tenant: `tenant-${number % TENANTS}`,
      input: { canary: `${number}-${'x'.repeat(number)}`, tenant: `tenant-${number % TENANTS}` },
    }));
    const times: number[] = [];
    const beganMs = performance.now();
    const ends = await Promise.all(
      requested.map(async ({ tool, input, tenant }) => {
        const end = await call(tool, input, { tenant });
        times.push(performance.now() - beganMs);
        return end;
      }),
    );
    console.info(`200 calls at once: ${times.at(-1)?.toFixed()} ms, p99 ${p99(times).toFixed()} ms`);
    for (const [index, end] of ends.entries()) {
      const { tool, input, tenant } = requested[index] ?? { tool: '', input: {}, tenant: '' };
      expect(end.code).toBe('ok');
      if (tool === 'test.echo' || tool === 'test.logs') expect(end.output).toEqual(input);
      if (tool === 'test.sums') expect(end.output).toEqual([sumOf(input)]);
      // Another call of the same tenant may have stored its own in between.
      if (tool === 'test.stores') expect(end.output).toMatchObject({ tenant });
      expect(end.log).toBe(tool === 'test.logs' ? `info: ${JSON.stringify(input)}\n` : '');
    }
    expect(opened().gateway.engines.census).toMatchObject({ busy: 0, waiting: 0 });
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MIB);
    for (const { peakBytes } of engines()) expect(peakBytes).toBeLessThan(400 * MIB);
  });

  test('in many calls leave the gateway and its engines as large as after the first fifth', async () => {
    /** Forty at a time, so that they share what they write to the disk; of four agents, so that none uses up its hour. */
    const round = async (first: number, end: number) => {
      for (let from = first; from < end; from += 40) {
        const inputs = Array.from({ length: 40 }, (_, index) => ({ number: from + index }));
        const ends = await Promise.all(
          inputs.map((input) => call('test.sums', input, { agent: `agent-${input.number % 4}` })),
        );
        const expected = inputs.map((input) => ['ok', '', [sumOf(input)]]);
        expect(ends.map(({ code, message, output }) => [code, message, output])).toEqual(expected);
      }
    };
    await round(0, CALLS / 5);
    const [heap, found] = [heapBytes(), engines()];
    await round(CALLS / 5, CALLS);
    const after = engines();
    expect(found.length).toBeGreaterThan(0);
    expect(after.map(({ pid }) => pid)).toEqual(found.map(({ pid }) => pid));
    // It would be 2 KiB that each call leaves behind.
    expect(heapBytes() - heap).toBeLessThan(16 * MIB);
    for (const [index, { rssBytes }] of after.entries())
      expect(rssBytes - (found[index]?.rssBytes ?? 0)).toBeLessThan(64 * MIB);
  }, 300_000);
});
