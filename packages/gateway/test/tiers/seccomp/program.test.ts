import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemble, MAX_INSTRUCTIONS, type Step } from '../../../src/tiers/seccomp/program.ts';
import { run } from './interpreter.ts';

const ALLOW: Step = { kind: 'return', value: 0x7fff0000 };
const DENY: Step = { kind: 'return', value: 0x00050001 };
const load: Step = { kind: 'load', value: 0 };
const to = (name: string): Step => ({ kind: 'jump', test: 'equal', value: 7, yes: name, no: null });
const at = (name: string): Step => ({ kind: 'place', name });
const filler = (count: number): Step[] => Array.from({ length: count }, () => load);

const answerTo = (program: Uint8Array, number: number) => run(program, { arch: 0, number, args: [] }).answer;

describe('assemble()', () => {
  it('writes struct sock_filter in little-endian', () => {
    const bytes = assemble([{ kind: 'load', value: 4 }, to('end'), DENY, at('end'), ALLOW]);
    expect([...bytes]).toEqual([
      ...[0x20, 0, 0, 0, 4, 0, 0, 0],
      ...[0x15, 0, 1, 0, 7, 0, 0, 0],
      ...[0x06, 0, 0, 0, 1, 0, 5, 0],
      ...[0x06, 0, 0, 0, 0, 0, 0xff, 0x7f],
    ]);
  });

  it.each<[string, readonly Step[], string]>([
    ['nothing', [], 'it has 0 instructions'],
    ['only a place', [at('here')], 'it has 0 instructions'],
    ['too much', [...filler(MAX_INSTRUCTIONS), ALLOW], `it has ${MAX_INSTRUCTIONS + 1} instructions`],
    ['an open end', [ALLOW, load], 'its end is open'],
    ['a jump to nowhere', [to('nowhere'), ALLOW], 'nothing is named "nowhere"'],
    ['a jump back', [at('start'), load, to('start'), ALLOW], '"start" is -2 instructions ahead'],
    ['a jump too far', [to('end'), ...filler(256), at('end'), ALLOW], '"end" is 256 instructions ahead'],
    ['a place named twice', [at('a'), load, at('a'), ALLOW], '"a" is named twice'],
    ['a negative operand', [{ kind: 'keep', value: -1 }, ALLOW], '-1 is not an operand'],
    ['a wide operand', [{ kind: 'return', value: 2 ** 32 }], '4294967296 is not an operand'],
    ['a broken operand', [{ kind: 'return', value: 0.5 }], '0.5 is not an operand'],
  ])('refuses %s', (_, steps, what) => {
    expect(() => assemble(steps)).toThrow(`Cannot assemble program: ${what}`);
  });

  it('takes the longest jump and the longest program', () => {
    const far = assemble([load, to('end'), ...filler(254), DENY, at('end'), ALLOW]);
    expect([answerTo(far, 7), answerTo(far, 8)]).toEqual(['allow', 'EPERM']);
    expect(assemble([...filler(MAX_INSTRUCTIONS - 1), ALLOW]).length).toBe(MAX_INSTRUCTIONS * 8);
  });

  it('means by each test what its name says', () => {
    const word = fc.oneof(fc.nat(0xffffffff), fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xffffffff));
    fc.assert(
      fc.property(word, word, word, (number, bits, value) => {
        const ask = (test: 'equal' | 'at-least' | 'any-bit') => {
          const jump: Step = { kind: 'jump', test, value, yes: null, no: 'no' };
          return (
            answerTo(assemble([load, { kind: 'keep', value: bits }, jump, ALLOW, at('no'), DENY]), number) ===
            'allow'
          );
        };
        const kept = BigInt(number) & BigInt(bits);
        expect(ask('equal')).toBe(kept === BigInt(value));
        expect(ask('at-least')).toBe(kept >= BigInt(value));
        expect(ask('any-bit')).toBe((kept & BigInt(value)) !== 0n);
      }),
    );
  });
});
