import { describe, expect, it } from 'vitest';
import { endingOf } from '../../../src/tiers/a-wasm/ending.ts';
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
