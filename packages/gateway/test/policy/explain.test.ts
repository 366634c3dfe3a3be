import { describe, expect, test } from 'vitest';
import { authorize } from '../../src/policy/authorize.ts';
import { explain } from '../../src/policy/explain.ts';
import {
  ADA,
  APPROVED,
  BOB,
  COUNT,
  checkedCall,
  DANGER,
  engineWith,
  FACTS,
  makeBed,
  PERMIT_ALL,
  SLEEP,
} from './sample.ts';

describe('explain()', () => {
  test('names the policies that decided, with file and text', () => {
    const engine = engineWith(PERMIT_ALL);
    const explanation = explain(engine, checkedCall(COUNT, { text: '' }), FACTS);
    expect(explanation).toMatchObject({ verdict: 'allow', setDigest: engine.setDigest, differences: [] });
    expect(explanation.decidedBy).toEqual([
      { id: 'all', file: 'test.cedar', effect: 'permit', text: PERMIT_ALL.trim() },
    ]);
  });

  test('tells which conjunct of a permit is false, in the words of the policy', () => {
    const text = `@id("short") permit(principal, action == Action::"call", resource == Tool::"palisade.sleep")
      when { context.hour >= 8 && context.input.ms <= 1000 && context.door == "cli" } unless { context.weekday > 6 };`;
    const explanation = explain(engineWith(text), checkedCall(SLEEP, { ms: 1001 }), FACTS);
    expect(explanation.verdict).toBe('deny');
    expect(explanation.policies[0]?.parts).toEqual([
      { kind: 'principal', text: 'principal', state: 'holds' },
      { kind: 'action', text: 'action == Action::"call"', state: 'holds' },
      { kind: 'resource', text: 'resource == Tool::"palisade.sleep"', state: 'holds' },
      { kind: 'when', text: 'context.hour >= 8', state: 'holds' },
      { kind: 'when', text: 'context.input.ms <= 1000', state: 'differs' },
      { kind: 'when', text: 'context.door == "cli"', state: 'holds' },
      { kind: 'unless', text: 'context.weekday > 6', state: 'holds' },
    ]);
    expect(explanation.differences).toEqual([
      'Permit "short" (test.cedar) would match if `context.input.ms <= 1000` were true.',
    ]);
  });

  test('tells which scope differs', () => {
    const text = `@id("bobs") permit(principal == User::"bob", action == Action::"call", resource == Tool::"disk.format");
      @id("other") permit(principal, action == Action::"approve", resource);`;
    const { differences, policies } = explain(engineWith(text), checkedCall(COUNT, { text: '' }, ADA), FACTS);
    expect(policies.map(({ id }) => id)).toEqual(['bobs']);
    expect(differences).toEqual([
      'Permit "bobs" (test.cedar) would match if the principal were `principal == User::"bob"` (it is agent:ada) and the tool were `resource == Tool::"disk.format"` (it is "text.count").',
    ]);
  });

  test('tells what a forbid stands on', () => {
    const text = `${PERMIT_ALL}@id("night") forbid(principal, action, resource is Tool) when { principal is Agent } unless { principal in Group::"owls" };`;
    const explanation = explain(engineWith(text), checkedCall(COUNT, { text: '' }), FACTS);
    expect(explanation).toMatchObject({ verdict: 'deny', decidedBy: [{ id: 'night' }] });
    expect(explanation.differences).toEqual([
      'Forbid "night" (test.cedar) would have to not match: one of these would have to end: `principal is Agent` is true; `principal in Group::"owls"` is false.',
    ]);
  });

  test('says that an approval would help, and nothing of the kind where it would not', () => {
    const engine = makeBed(null).open();
    const requested = explain(engine, checkedCall(DANGER, { text: '' }), FACTS);
    expect(requested).toMatchObject({ verdict: 'ask', approvalWouldHelp: true });
    expect(requested.differences[0]).toBe('A user would have to approve this call.');
    expect(explain(engine, checkedCall(DANGER, { text: '' }), APPROVED).verdict).toBe('allow');
    const denied = explain(engineWith(''), checkedCall(DANGER, { text: '' }, BOB), FACTS);
    expect(denied).toMatchObject({ verdict: 'deny', approvalWouldHelp: false });
    expect(denied.differences).toEqual(['A policy would have to permit calls: none does.']);
  });

  test('does not blame what stands behind a false guard', () => {
    const text = `@id("guarded") permit(principal, action == Action::"call", resource) when { context.input has ms && context.input.ms > 1 };`;
    const { differences } = explain(engineWith(text), checkedCall(COUNT, { text: '' }), FACTS);
    expect(differences).toEqual([
      'Permit "guarded" (test.cedar) would match if `context.input has ms` were true.',
    ]);
  });

  test('names the policy that failed', () => {
    const text = `${PERMIT_ALL}@id("over") forbid(principal, action == Action::"call", resource == Tool::"palisade.sleep") when { context.input.ms * 9223372036854775807 == 1 };`;
    const explanation = explain(engineWith(text), checkedCall(SLEEP, { ms: 2 }), FACTS);
    expect(explanation.verdict).toBe('error');
    expect(explanation.differences[0]).toMatch(/^Policy "over" would have to be corrected: integer overflow/);
  });

  test('agrees with authorize() and leaves it as it was', () => {
    const engine = makeBed(null).open();
    for (const [tool, input] of [
      [COUNT, { text: '' }],
      [SLEEP, { ms: 20_000 }],
      [DANGER, { text: '' }],
    ] as const) {
      const checked = checkedCall(tool, input);
      const before = authorize(engine, checked, FACTS).verdict;
      expect(explain(engine, checked, FACTS).verdict).toBe(before);
      expect(authorize(engine, checked, FACTS).verdict).toBe(before);
    }
  });

  test('says so when no set is loaded', () => {
    const explanation = explain(engineWith('permit('), checkedCall(COUNT, { text: '' }), FACTS);
    expect(explanation).toMatchObject({ verdict: 'error', setDigest: null });
    expect(explanation.differences[0]).toContain('palisade policy check');
  });
});
