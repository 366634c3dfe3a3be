import { describe, expect, it } from 'vitest';
import { ask, makeHost } from './sample.ts';

const FLOOR_C = { tiers: { floor: 'c', default: 'c' } } as const;
const DEFAULT_B = { tiers: { floor: 'b', default: 'b' } } as const;

describe('the tier of a command', () => {
  it.each([
    ['the default where it names none', {}, {}, 'c'],
    ['the default of the operator where it names none', DEFAULT_B, {}, 'b'],
    ['a stronger one than the default', DEFAULT_B, { tier: 'c' }, 'c'],
    ['the floor', FLOOR_C, { tier: 'c' }, 'c'],
    ['a weaker one that the floor allows', {}, { tier: 'b' }, 'b'],
  ] as const)('is %s', (_, settings, input, tier) => {
    expect(ask(makeHost(settings), { command: 'true', ...input })).toMatchObject({
      ok: true,
      facts: { tier },
    });
  });

  it('is never below the floor: the refusal names what to ask for and what would allow it', () => {
    expect(ask(makeHost(FLOOR_C), { command: 'true', tier: 'b' })).toMatchObject({
      code: 'runner/not-allowed',
      message:
        'Cannot run the command: it asks for tier "b", expected "c" or stronger, which process.tier_floor sets',
      remedy: 'Ask for tier "c" (--tier c), or set process.tier_floor = "b" in palisade.toml.',
    });
  });
});
