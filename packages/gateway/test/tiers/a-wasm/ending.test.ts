import { describe, expect, it } from 'vitest';
import { endingOf, readLocated } from '../../../src/tiers/a-wasm/ending.ts';
import type { DoneHead } from '../../../src/tiers/a-wasm/engine/protocol.ts';
import { DONE } from './fake-engine.ts';

const NOTHING = new Uint8Array(0);
const trapped = (code: string) =>
  endingOf({ ...DONE, ending: 'trapped', code, message: 'Cannot' } as DoneHead, NOTHING, 100);

describe('endingOf()', () => {
  it.each([
    ['fuel', 'tier/out-of-fuel'],
    ['memory', 'tier/out-of-memory'],
    ['unreachable', 'tier/trapped'],
    ['link', 'tier/invalid-module'],
  ])('calls a trap by "%s" %s', (code, expected) => {
    expect(trapped(code)).toMatchObject({ status: 'failed', code: expected });
  });

  it.each(['constructor', '__proto__', 'toString', ''])('knows no code of the name "%s"', (code) => {
    expect(trapped(code)).toMatchObject({ status: 'failed', code: 'tier/trapped' });
  });
});

describe('readLocated()', () => {
  const line = { file: 'src/skill.c', line: 3 };

  it('gives one place or none for each that was asked for', () => {
    expect(readLocated({ lines: [line, null] }, 2)).toEqual([line, null]);
    expect(readLocated({ lines: [{ file: 'x'.repeat(300), line: 3 }] }, 1)).toEqual([null]);
  });

  it.each([
    ['nothing', null],
    ['too few', { lines: [] }],
    ['no list', { lines: { length: 1 } }],
    ['a file that is no text', { lines: [{ file: 7, line: 3 }] }],
    ['a line that is no number of a line', { lines: [{ file: 'a', line: 0 }] }],
    ['a line that is a fraction', { lines: [{ file: 'a', line: 1.5 }] }],
    ['an undefined place', { lines: [undefined] }],
  ])('refuses %s', (_, raw) => {
    expect(readLocated(raw, 1)).toBe(null);
  });
});
