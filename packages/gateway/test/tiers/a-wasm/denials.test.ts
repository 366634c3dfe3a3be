import { describe, expect, test } from 'vitest';
import { DENIALS } from '../../../src/tiers/a-wasm/denials.table.ts';
import { Denials } from '../../../src/tiers/a-wasm/denials.ts';

describe('the denials of a call', () => {
  test('are kept once each, with how often they happened and what the operator of the skill can do', () => {
    const denials = new Denials('acme.notes');
    for (let time = 0; time < 3; time++) denials.add('storage_put', { why: 'withheld', argument: 'notes/a' });
    denials.add('storage_put', { why: 'withheld', argument: 'notes/b' });
    expect(denials.list).toMatchObject([
      { function: 'storage_put', argument: 'notes/a', why: 'withheld', times: 3 },
      { argument: 'notes/b', times: 1 },
    ]);
    expect(denials.list[0]?.remedy).toContain('palisade skill approve');
    expect(denials.list[0]?.remedy).not.toContain('SKILL');
  });

  test('tell the author what to grant, where no skill is installed', () => {
    const denials = new Denials(null);
    denials.add('http_request', { why: 'withheld', argument: null });
    expect(denials.list[0]?.remedy).toContain('--grant');
  });

  test('are bounded, however many ways a guest is denied in', () => {
    const denials = new Denials('acme.notes');
    for (let key = 0; key < 100; key++)
      denials.add('storage_get', { why: 'withheld', argument: `notes/${key}` });
    denials.add('storage_get', { why: 'withheld', argument: 'x'.repeat(1_000_000) });
    expect(denials.list.length + denials.more).toBe(101);
    expect(JSON.stringify(denials.list).length).toBeLessThan(20_000);
  });

  test('have no argument once the guest has read a secret', () => {
    const denials = new Denials('acme.notes');
    denials.add('storage_get', { why: 'withheld', argument: 'before' });
    denials.hideArguments();
    denials.add('storage_get', { why: 'withheld', argument: 'canary-value' });
    expect(denials.list.map(({ argument }) => argument)).toEqual(['before', null]);
  });

  test('have a sentence and two remedies for each reason', () => {
    for (const { sentence, remedy, tried } of Object.values(DENIALS))
      for (const text of [sentence, remedy, tried]) expect(text).toMatch(/^[A-Z].*\.$/);
  });
});
