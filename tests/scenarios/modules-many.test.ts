import { describe, expect, test } from 'vitest';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf } from '../fixtures/modules/guest.ts';
import { standingModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

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

const { call, opened } = standingModules(() => ({
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

describe('modules', () => {
  test('of 20 tenants in 200 calls at once give each caller its own answer', async () => {
    await call('test.echo');
    const before = process.memoryUsage().rss;
    const asked = Array.from({ length: 200 }, (_, number) => ({
      tool: ['test.echo', 'test.sums', 'test.logs', 'test.stores'][number % 4] ?? '',
      tenant: `tenant-${number % TENANTS}`,
      input: { canary: `${number}-${'x'.repeat(number)}`, tenant: `tenant-${number % TENANTS}` },
    }));
    const ends = await Promise.all(asked.map(({ tool, input, tenant }) => call(tool, input, { tenant })));
    for (const [index, end] of ends.entries()) {
      const { tool, input, tenant } = asked[index] ?? { tool: '', input: {}, tenant: '' };
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

  test('in 2,000 calls in a row leave the gateway and its engines as large as after the first ones', async () => {
    /** Forty at a time, so that they share what they write to the disk. */
    const round = async (calls: number) => {
      for (let first = 0; first < calls; first += 40) {
        const inputs = Array.from({ length: 40 }, (_, index) => ({ number: first + index }));
        const ends = await Promise.all(inputs.map((input) => call('test.sums', input)));
        expect(ends.map(({ output }) => output)).toEqual(inputs.map((input) => [sumOf(input)]));
      }
    };
    await round(400);
    const [gateway, found] = [process.memoryUsage().rss, engines()];
    await round(1_600);
    const after = engines();
    expect(after.map(({ pid }) => pid)).toEqual(found.map(({ pid }) => pid));
    expect(process.memoryUsage().rss - gateway).toBeLessThan(200 * MIB);
    for (const [index, { rssBytes }] of after.entries())
      expect(rssBytes - (found[index]?.rssBytes ?? 0)).toBeLessThan(100 * MIB);
  });
});
