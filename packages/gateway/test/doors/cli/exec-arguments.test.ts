import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { volume } from '../../../../../tests/volume/volume.ts';
import { readLimits, timeOf } from '../../../src/doors/cli/quantities.ts';
import type { Invocation } from '../../../src/doors/cli/verb.ts';
import { runInside } from './fake-edge.ts';
import { orWrongUsage } from './wrong-usage.ts';

describe('readLimits()', () => {
  test.each([
    ['cpu_time_ms=500', { cpu_time_ms: 500 }],
    ['cpu_time_ms=500ms', { cpu_time_ms: 500 }],
    ['cpu_time_ms=10s', { cpu_time_ms: 10_000 }],
    ['wall_ms=2m', { wall_ms: 120_000 }],
    ['memory_bytes=512m', { memory_bytes: 536_870_912 }],
    ['output_bytes=64k', { output_bytes: 65_536 }],
    ['file_size_bytes=2g', { file_size_bytes: 2_147_483_648 }],
    ['processes=7', { processes: 7 }],
    ['open_files=32', { open_files: 32 }],
  ])('reads %s', (word, limits) => {
    expect(readLimits([word])).toEqual(limits);
  });

  test('reads several, each once', () => {
    expect(readLimits(['processes=1', 'wall_ms=1s'])).toEqual({ processes: 1, wall_ms: 1_000 });
    expect(orWrongUsage(() => readLimits(['processes=1', 'processes=2']))).toContain(
      'processes is given twice',
    );
  });

  test.each(['', '=', 'memory=1', 'memory_bytes', '__proto__=1', 'constructor=1', 'Memory_bytes=1'])(
    'refuses the key of "%s" with the list of all keys and their units',
    (word) => {
      const message = orWrongUsage(() => readLimits([word]));
      for (const key of ['cpu_time_ms (milliseconds, or 500ms', 'memory_bytes (bytes, or 64k', 'open_files'])
        expect(message).toContain(key);
    },
  );

  test.each([
    ['nothing', 'wall_ms='],
    ['zero', 'wall_ms=0'],
    ['zero with a unit', 'memory_bytes=0g'],
    ['a negative', 'wall_ms=-1'],
    ['a fraction', 'memory_bytes=1.5g'],
    ['an exponent', 'wall_ms=1e3'],
    ['a hexadecimal', 'wall_ms=0x10'],
    ['a space', 'wall_ms= 1'],
    ['infinity', 'wall_ms=Infinity'],
    ['more than a number holds', 'memory_bytes=9007199254740992'],
    ['more than a number holds, by its unit', 'memory_bytes=9007199254740991k'],
    ['the unit of another measure', 'memory_bytes=10s'],
    ['a unit for a count', 'processes=1k'],
    ['a unit of an object', 'memory_bytes=1constructor'],
    ['a capital unit', 'memory_bytes=1G'],
    ['a second line', 'wall_ms=1\n2'],
  ])('refuses %s', (_, word) => {
    expect(orWrongUsage(() => readLimits([word]))).toMatch(/^Cannot use --limit .*expected /s);
  });

  test('gives whole numbers from 1 that a double holds, or refuses, whatever it is given', () => {
    const keys = fc.constantFrom('cpu_time_ms', 'memory_bytes', 'output_bytes', 'wall_ms', 'processes', 'x');
    const digits = fc.stringMatching(/^[0-9]{0,18}$/);
    const unit = fc.constantFrom('', 'k', 'm', 'g', 's', 'ms', 'K', '-', '.5');
    const word = fc.oneof(
      fc.tuple(keys, digits, unit).map(([key, number, each]) => `${key}=${number}${each}`),
      fc.string({ unit: CHARACTER }),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 3 }), (words) => {
        const read = orWrongUsage(() => readLimits(words));
        if (typeof read === 'string') return read.startsWith('Cannot use --limit ');
        return Object.values(read).every((value) => Number.isSafeInteger(value) && value >= 1);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });
});

describe('timeOf()', () => {
  const withTimeout = (timeout: string) => ({ flags: { timeout } }) as unknown as Invocation;

  test('takes a day at most', () => {
    expect(timeOf(withTimeout('1440m'), 'timeout')).toBe(86_400_000);
    expect(orWrongUsage(() => timeOf(withTimeout('1441m'), 'timeout'))).toContain(
      'Cannot use --timeout "1441m"',
    );
  });
});

describe('palisade exec', () => {
  test.each([
    ['no command', ['exec'], 'expected COMMAND [ARGS...] after --'],
    ['a command before --', ['exec', 'ls'], 'expected COMMAND [ARGS...] after --'],
    ['words on both sides of --', ['exec', 'ls', '--', 'ls'], 'got 1, expected no argument'],
    ['an unknown flag', ['exec', '--root', '--', 'ls'], "Unknown option '--root'"],
    ['a flag that lost its value to --', ['exec', '--env', '--', 'ls'], '--env'],
    ['a tier that is none', ['exec', '--tier', 'a', '--', 'ls'], 'expected one of b, c'],
    ['an egress that is none', ['exec', '--egress', 'open', '--', 'ls'], 'one of strict, preflight, none'],
    ['a variable without a value', ['exec', '--env', 'LANG', '--', 'ls'], 'expected NAME=VALUE'],
    ['a variable without a name', ['exec', '--env', '=x', '--', 'ls'], 'expected NAME=VALUE'],
    ['a variable twice', ['exec', '--env', 'A=1', '--env', 'A=2', '--', 'ls'], '"A" is given twice'],
    ['a limit that is none', ['exec', '--limit', 'disk=1', '--', 'ls'], 'open_files (a whole number)'],
    ['a time that is none', ['exec', '--timeout', '1h', '--', 'ls'], 'expected milliseconds, or 500ms'],
    ['a tier twice', ['exec', '--tier', 'b', '--tier', 'c', '--', 'ls'], '--tier is given twice'],
    ['a receipt that cannot be written', ['exec', '--receipt', '/no/such/x', '--', 'ls'], 'Cannot write'],
  ])('refuses %s before it opens anything', async (_, argv, why) => {
    const { status, out, err } = await runInside(argv);
    expect(err).toContain(why);
    expect(out).toBe('');
    expect(status).toBe(64);
  });
});
