import { describe, expect, it } from 'vitest';
import { readDoneHead } from '../../../src/tiers/a-wasm/ending.ts';
import { DONE } from './fake-engine.ts';

const LIMITS = { fuel: 100, memoryBytes: 100, outputBytes: 100, logBytes: 100 };
const ENGINE = { meter: 3, form: 'thread', isDeterministic: true };
const read = (engine: unknown) => readDoneHead({ ...DONE, engine }, LIMITS);

describe('what an engine says of how it counts', () => {
  it('is taken where it makes sense, and may be left out', () => {
    expect(read(ENGINE)?.engine).toEqual(ENGINE);
    expect(read(undefined)).not.toBeNull();
  });

  it.each([
    ['nothing', null],
    ['a list', []],
    ['a version that is none', { ...ENGINE, meter: -1 }],
    ['half a version', { ...ENGINE, meter: 0.5 }],
    ['a form as long as it likes', { ...ENGINE, form: 'x'.repeat(17) }],
    ['half a character', { ...ENGINE, form: '\ud800' }],
    ['no yes and no no', { ...ENGINE, isDeterministic: 1 }],
    ['more than was asked', { ...ENGINE, more: 'x'.repeat(60_000) }],
    ['less than was asked', { meter: 3, form: 'thread' }],
  ])('is the end of it when it is %s', (_, engine) => {
    expect(read(engine)).toBeNull();
  });
});
