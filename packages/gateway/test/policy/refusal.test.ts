import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PolicyEvent } from '../../src/policy/engine.ts';
import { shorten } from '../../src/policy/policy-set.ts';
import { type Bed, makeBed, PERMIT_ALL } from './sample.ts';

type Refusal = Extract<PolicyEvent, { kind: 'policy-refused' }>;

const FORBID_ALL = '@id("none") forbid(principal, action, resource);\n';
const refusalsOf = ({ events }: Bed) =>
  events.filter((event): event is Refusal => event.kind === 'policy-refused');

/** Another process on the same state, after the one before has written all it had to. */
async function reopen(bed: Bed) {
  await bed.store.commit(() => undefined);
  return bed.open();
}

describe('a refusal', () => {
  test('quotes only the beginning of a text that cannot be read', () => {
    const bed = makeBed({ 'a.cedar': `permit ${'x'.repeat(200_000)}` });
    const engine = bed.open();
    const [refusal] = refusalsOf(bed);
    expect(refusal?.problems[0]?.message).toMatch(/^Cannot read the policies: .*x…$/);
    expect(JSON.stringify(refusal).length).toBeLessThan(1500);
    expect(engine.problems).toEqual(refusal?.problems);
  });

  test('tells the first problems and how many more there are', () => {
    const twice = (count: number) =>
      Array.from({ length: count }, (_, i) => `@id("p${i}") permit(principal, action, resource);\n`).join('');
    const bed = makeBed({ 'a.cedar': twice(300), 'b.cedar': twice(300) });
    bed.open();
    const [refusal] = refusalsOf(bed);
    expect(refusal?.problems).toHaveLength(20);
    expect(refusal?.more).toBe(280);
  });

  test('is told once for the same files, however many processes look at them', async () => {
    const bed = makeBed({ 'a.cedar': 'permit(' });
    bed.open();
    for (let i = 0; i < 3; i++) expect((await reopen(bed)).problems).not.toEqual([]);
    expect(refusalsOf(bed)).toHaveLength(1);
  });

  test('is told again for other files, for another problem and under another set', async () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    bed.open();
    const steps: readonly [string, () => void, number][] = [
      ['bad', () => bed.write('a.cedar', 'permit('), 1],
      ['bad in another way', () => bed.write('a.cedar', 'forbid('), 2],
      ['bad as at first', () => bed.write('a.cedar', 'permit('), 2],
      ['another good set', () => bed.write('a.cedar', PERMIT_ALL + FORBID_ALL), 2],
      ['bad as at first, under another set', () => bed.write('a.cedar', 'permit('), 3],
      ['not to be read', () => bed.write('Bad.cedar', ''), 4],
      ['gone', () => rmSync(bed.directory, { recursive: true }), 5],
    ];
    for (const [what, act, count] of steps) {
      act();
      await reopen(bed);
      expect([what, refusalsOf(bed).length]).toEqual([what, count]);
    }
  });
});

describe('shorten()', () => {
  test('gives a well-formed beginning of at most 300 characters, and a short text as it is', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 400, size: 'max' }),
      fc.tuple(fc.nat(2), fc.nat(400)).map(([shift, count]) => 'x'.repeat(shift) + '😀'.repeat(count)),
    );
    fc.assert(
      fc.property(text, (whole) => {
        const short = shorten(whole);
        expect(short.length).toBeLessThanOrEqual(300);
        expect(Buffer.from(short).toString()).toBe(short);
        if (whole.length <= 300) expect(short).toBe(whole);
        else expect(whole.startsWith(short.slice(0, -1)) && short.endsWith('…')).toBe(true);
      }),
    );
  });
});
