import { describe, expect, it } from 'vitest';
import { linkToWorld, WORLD_FUNCTIONS } from '../../../../src/tiers/a-wasm/engine/world.ts';
import { ALL_FUNCTIONS, callComponent, Gateway, guestBytes } from './component-call.ts';

const LIMITS = { fuel: 10_000_000, memoryBytes: 16_000_000, outputBytes: 1_000, logBytes: 10_000 };
const without = (...names: readonly string[]) => ALL_FUNCTIONS.filter((name) => !names.includes(name));

describe('the types of WASI', () => {
  it('are those of a component that imports every function that is there', () => {
    const { imports } = linkToWorld(guestBytes('every'));
    const named = new Set(imports.map(({ module, name }) => `${module}.${name}`));
    const expected = WORLD_FUNCTIONS.filter((row) => row.interface.startsWith('wasi:'));
    expect(named).toEqual(new Set(expected.map((row) => `${row.interface}@0.2.${row.name}`)));
  });
});

describe('what a component prints', () => {
  it('goes to the log in whole lines, those of stderr as warnings', async () => {
    const gateway = new Gateway();
    const args = ['he', 'llo$', '$', 'a', 'b', 'c', 'end', 'oops$'];
    expect(await callComponent('wasi', 'print', args, { gateway })).toMatchObject({ ending: 'returned' });
    expect(gateway.lines).toEqual([
      [1, 'hello'],
      [1, ''],
      [2, 'oops'],
      [1, 'abcend'],
    ]);
  });

  it('is kept when it traps, also without a new line', async () => {
    const gateway = new Gateway();
    expect(await callComponent('wasi', 'panic', [], { gateway })).toMatchObject({ code: 'unreachable' });
    expect(gateway.lines).toEqual([[2, 'it panics']]);
  });

  it('is cut at the quota of the log, a flood of empty lines too', async () => {
    const gateway = new Gateway();
    const limits = { ...LIMITS, logBytes: 100 };
    expect(await callComponent('wasi', 'lines', ['60000'], { gateway, limits })).toMatchObject({
      done: { isLogCut: true },
    });
    expect(gateway.lines).toHaveLength(10);
  });

  it('is passed on in pieces where no line ends', async () => {
    const gateway = new Gateway();
    await callComponent('wasi', 'zeroes', ['20000'], { gateway, limits: { ...LIMITS, logBytes: 64_000 } });
    expect(gateway.lines.map(([, text]) => text.length)).toEqual([8_192, 8_192, 3_616]);
    expect(await callComponent('wasi', 'zeroes', ['18446744073709551615'])).toMatchObject({ code: 'host' });
  });
});

describe('a component with WASI', () => {
  it('finds no input, no environment, no arguments, no directories and no terminal', async () => {
    expect(await callComponent('wasi', 'stdin')).toMatchObject({ output: 'closed' });
    expect(await callComponent('wasi', 'nothing')).toMatchObject({ output: [0, 0, 0, 0] });
  });

  it('has the clock of the call, and waits for nothing', async () => {
    const startedMs = 1_700_000_000_123;
    expect(await callComponent('wasi', 'clock', [], { startedMs })).toMatchObject({
      output: [1_700_000_000_123_000_000, 1_700_000_000, 123_000_000],
    });
    expect(await callComponent('wasi', 'wait')).toMatchObject({ output: 2 });
  });

  it('has the random bytes of the call', async () => {
    const { output } = await callComponent('wasi', 'random', ['100']);
    expect(output[0]).toBe(100);
    expect((await callComponent('wasi', 'random', ['100'])).output).toEqual(output);
    expect((await callComponent('wasi', 'random', ['100'], { seed: '33'.repeat(32) })).output).not.toEqual(
      output,
    );
    expect(await callComponent('wasi', 'random', ['18446744073709551615'])).toMatchObject({ code: 'host' });
  });

  it.each([
    ['0', 'success'],
    ['1', 'an error'],
  ])('that exits with %s has failed, and says so', async (status, word) => {
    const gateway = new Gateway();
    expect(await callComponent('wasi', 'exit', [status], { gateway })).toMatchObject({
      ending: 'failed',
      output: { code: 'exit', message: `it exited with ${word} before it returned` },
      done: { fuelUsed: expect.any(Number) },
    });
    expect(gateway.lines).toEqual([[1, 'bye']]);
  });

  it.each([
    ['log', '--grant log'],
    ['clock_ms', '--grant clock'],
    ['random', '--grant random'],
  ])('does not start without %s, and is told of %s', async (name, grant) => {
    await expect(callComponent('wasi', 'stdin', [], { functions: without(name) })).rejects.toMatchObject({
      code: 'link',
      message: expect.stringContaining(grant),
    });
  });
});

describe('a handle that was made up', () => {
  it.each([
    ['forged-write', '0'],
    ['forged-write', '1'],
    ['forged-write', '4'],
    ['forged-write', '4294967295'],
    ['forged-read', '2'],
    ['forged-block', '1'],
    ['forged-file', '0'],
    ['forged-file', '3'],
  ])('ends the call: %s %s', async (tool, handle) => {
    const gateway = new Gateway();
    expect(await callComponent('wasi', tool, [handle], { gateway })).toMatchObject({ code: 'host' });
    expect(gateway.lines).toEqual([]);
  });

  it('writes nothing without the grant, though its number is that of a stream', async () => {
    for (const handle of ['2', '3']) {
      const gateway = new Gateway();
      const functions = without('log');
      expect(await callComponent('forger', 'any', [handle], { gateway, functions })).toMatchObject({
        code: 'host',
      });
      expect(gateway.lines).toEqual([]);
      // With the grant, the very same component writes.
      expect(await callComponent('forger', 'any', [handle], { gateway })).toMatchObject({
        ending: 'returned',
      });
      expect(gateway.lines).toEqual([[Number(handle) - 1, 'forged']]);
    }
  });
});

describe('what is not there', () => {
  it.each([
    ['sockets', /"wasi:sockets\/.*there are no sockets/],
    ['files', /"wasi:filesystem\/types@0\.2\.12#\[method\]descriptor\.open-at".*storage: there are no files/],
  ])('is refused by its name, with what to use instead: %s', (name, message) => {
    expect(() => linkToWorld(guestBytes(name))).toThrow(
      expect.objectContaining({ code: 'link', message: expect.stringMatching(message) }),
    );
  });
});
