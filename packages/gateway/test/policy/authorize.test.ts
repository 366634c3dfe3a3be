import { describe, expect, test } from 'vitest';
import type { ApprovalFact } from '../../src/core/checked-call.ts';
import type { Principal } from '../../src/core/principal.ts';
import { authorize, authorizeAct, spend } from '../../src/policy/authorize.ts';
import {
  ADA,
  APPROVED,
  BOB,
  COUNT,
  checkedCall,
  DANGER,
  engineWith,
  FACTS,
  makeTool,
  PERMIT_ALL,
  PLENTY,
  SLEEP,
} from './sample.ts';

const SHORT_SLEEP = `@id("short") permit(principal, action == Action::"call", resource == Tool::"palisade.sleep") when { context.input.ms <= 1000 };`;

describe('authorize()', () => {
  test('allows what a permit matches and names it in the grant', () => {
    const engine = engineWith(SHORT_SLEEP);
    const checked = checkedCall(SLEEP, { ms: 1000 });
    const decision = authorize(engine, checked, FACTS);
    if (decision.verdict !== 'allow') throw new Error(decision.verdict);
    expect(decision.grant).toMatchObject({
      decidedBy: ['short'],
      setDigest: engine.setDigest,
      approval: null,
    });
    expect(spend(decision.grant)).toEqual(checked);
  });

  test('denies the same call with another argument', () => {
    const decision = authorize(engineWith(SHORT_SLEEP), checkedCall(SLEEP, { ms: 1001 }), FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', decidedBy: [], refused: { code: 'policy/denied' } });
  });

  test('denies everything under an empty set', () => {
    expect(authorize(engineWith(''), checkedCall(SLEEP, { ms: 1 }), FACTS).verdict).toBe('deny');
  });

  test('denies by the @id of the forbid that matched, whatever is permitted', () => {
    const engine = engineWith(
      `${PERMIT_ALL}@id("no-ada") forbid(principal == Agent::"ada", action, resource);`,
    );
    const decision = authorize(engine, checkedCall(COUNT, { text: '' }), APPROVED);
    expect(decision).toMatchObject({ verdict: 'deny', decidedBy: ['no-ada'] });
    expect(decision.verdict === 'deny' && decision.refused.message).toContain('"no-ada"');
  });

  test('denies when a forbid fails, though a permit matches', () => {
    const text = `${PERMIT_ALL}@id("over") forbid(principal, action == Action::"call", resource == Tool::"palisade.sleep") when { context.input.ms * 9223372036854775807 == 1 };`;
    const engine = engineWith(text);
    const decision = authorize(engine, checkedCall(SLEEP, { ms: 2 }), FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
    expect(decision.verdict === 'deny' && decision.refused.message).toContain('"over"');
    expect(authorize(engine, checkedCall(SLEEP, { ms: 1 }), FACTS).verdict).toBe('allow');
  });

  test('denies an input that does not fit the declared type', () => {
    const decision = authorize(engineWith(PERMIT_ALL), checkedCall(SLEEP, { ms: '5' }), FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
  });

  test('denies when the tool cannot say which hosts an input names', () => {
    const hosts = () => {
      throw new Error('no such host');
    };
    const tool = makeTool({ hosts });
    const decision = authorize(engineWith(PERMIT_ALL), checkedCall(tool, { text: '' }), FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
  });

  test('judges under the policies of the groups and the tenant of the principal', () => {
    const text = `permit(principal in Group::"staff", action == Action::"call", resource in Category::"text") when { principal in Tenant::"default" };`;
    const engine = engineWith(text, { groups: new Map([['agent:ada', ['staff']]]) });
    const eve: Principal = { kind: 'agent', name: 'eve' };
    const user: Principal = { kind: 'user', name: 'ada' };
    expect(authorize(engine, checkedCall(COUNT, { text: '' }, ADA), FACTS).verdict).toBe('allow');
    expect(authorize(engine, checkedCall(COUNT, { text: '' }, eve), FACTS).verdict).toBe('deny');
    expect(authorize(engine, checkedCall(COUNT, { text: '' }, user), FACTS).verdict).toBe('deny');
    expect(authorize(engine, checkedCall(SLEEP, { ms: 1 }, ADA), FACTS).verdict).toBe('deny');
  });

  const contexts: readonly [string, string][] = [
    ['the canonical input', 'context.inputText == "{\\"text\\":\\"x\\"}"'],
    ['run and door', 'context.run == "nightly" && context.door == "cli"'],
    ['the tier and the capabilities', 'context.tier == "builtin" && context.capabilities == ["net"]'],
    ['hosts and paths', 'context.hosts.contains("a.example") && context.paths == ["p"]'],
    [
      'the time',
      'context.now == datetime("2026-05-01T12:00:00.000Z") && context.hour == 12 && context.weekday == 5',
    ],
    ['the budget left', 'context.budgetLeft.calls == 1000 && context.budgetLeft.egressBytes == 1000000000'],
    ['the limits', 'context.limits.memoryBytes == 67108864'],
    [
      'the tool',
      'resource.risk == "low" && resource.tier == "builtin" && resource.capabilities.contains("net")',
    ],
    ['no approver', '!context.approved && !(context has approvedBy)'],
  ];
  test.each(contexts)('tells Cedar %s', (_, condition) => {
    const tool = makeTool({ capabilities: ['net'], hosts: () => ['a.example'], paths: () => ['p'] });
    const engine = engineWith(`permit(principal, action == Action::"call", resource) when { ${condition} };`);
    expect(authorize(engine, checkedCall(tool, { text: 'x' }), FACTS).verdict).toBe('allow');
  });

  test('takes a budget without end as the largest number and a debt as nothing', () => {
    const text = `permit(principal, action == Action::"call", resource) when { context.budgetLeft.calls == 9007199254740991 && context.budgetLeft.fuel == 0 };`;
    const budgetLeft = { ...PLENTY, calls: Number.POSITIVE_INFINITY, fuel: -5 };
    expect(
      authorize(engineWith(text), checkedCall(COUNT, { text: '' }), { ...FACTS, budgetLeft }).verdict,
    ).toBe('allow');
  });

  test('refuses with policy/unavailable when there never was a good set', () => {
    const engine = engineWith('permit(');
    const decision = authorize(engine, checkedCall(COUNT, { text: '' }), FACTS);
    expect(decision).toMatchObject({
      verdict: 'deny',
      setDigest: null,
      refused: { code: 'policy/unavailable' },
    });
  });
});

describe('an approval', () => {
  const NEEDS = `@id("ok") permit(principal, action == Action::"call", resource) when { resource.risk == "low" };
    @id("careful") permit(principal, action == Action::"call", resource) when { resource.risk == "high" && context.approved };
    @id("never") forbid(principal == Agent::"eve", action, resource);`;
  const call = (name: string) => checkedCall(DANGER, { text: '' }, { kind: 'agent', name });

  test('is asked for when it would turn the denial into a permission', () => {
    const engine = engineWith(NEEDS);
    expect(authorize(engine, call('ada'), FACTS)).toEqual({
      verdict: 'ask',
      stronger: null,
      decidedBy: ['careful'],
      setDigest: engine.setDigest,
    });
  });

  test('is not asked for when a forbid would still win, and does not override it', () => {
    const engine = engineWith(NEEDS);
    expect(authorize(engine, call('eve'), FACTS)).toMatchObject({ verdict: 'deny', decidedBy: ['never'] });
    expect(authorize(engine, call('eve'), APPROVED)).toMatchObject({ verdict: 'deny', decidedBy: ['never'] });
  });

  test('is a fact that the policies judge and the grant carries', () => {
    const decision = authorize(engineWith(NEEDS), call('ada'), APPROVED);
    expect(decision).toMatchObject({ verdict: 'allow', grant: { approval: APPROVED.approval } });
  });

  test('tells who approved, with the groups of that user', () => {
    const text = `permit(principal, action == Action::"call", resource) when { context has approvedBy && context.approvedBy in Group::"leads" };`;
    const engine = engineWith(text, { groups: new Map([['user:bob', ['leads']]]) });
    const by = (who: string): ApprovalFact => ({ id: 'a', by: who, atMs: 0 });
    expect(authorize(engine, call('bob'), { ...FACTS, approval: by('user:bob') }).verdict).toBe('allow');
    expect(
      authorize(engine, checkedCall(DANGER, { text: '' }, BOB), { ...FACTS, approval: by('user:bob') })
        .verdict,
    ).toBe('allow');
    expect(authorize(engine, call('ada'), { ...FACTS, approval: by('user:eve') }).verdict).toBe('deny');
  });

  test.each(['agent:ada', 'service:ci', 'bob', ''])('by "%s", who is no user, denies', (by) => {
    const decision = authorize(engineWith(PERMIT_ALL), call('ada'), {
      ...FACTS,
      approval: { id: 'a', by, atMs: 0 },
    });
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
    expect(decision.verdict === 'deny' && decision.refused.message).toContain('is not a user');
  });
});

describe('authorizeAct()', () => {
  const tenant = { tenant: 'default', nowMs: FACTS.nowMs };
  const requested = { ...tenant, tool: DANGER, asker: 'user:bob', inputText: '{}' };

  test('lets a user approve where the policies permit it', () => {
    const text = `@id("leads") permit(principal in Group::"leads", action == Action::"approve", resource) when { context.asker == "user:bob" };`;
    const engine = engineWith(text, { groups: new Map([['user:lea', ['leads']]]) });
    expect(authorizeAct(engine, { kind: 'user', name: 'lea' }, 'approve', requested)).toMatchObject({
      allowed: true,
      decidedBy: ['leads'],
    });
    expect(authorizeAct(engine, BOB, 'approve', requested)).toMatchObject({ allowed: false });
  });

  test.each([ADA, { kind: 'service', name: 'ci' } as const])(
    'never lets $kind approve, whatever is permitted',
    (principal) => {
      const engine = engineWith(PERMIT_ALL);
      expect(authorizeAct(engine, principal, 'approve', requested).allowed).toBe(false);
      expect(authorizeAct(engine, BOB, 'approve', requested).allowed).toBe(true);
    },
  );

  test('lets policies demand four eyes', () => {
    const text = `${PERMIT_ALL}@id("four-eyes") forbid(principal, action == Action::"approve", resource) when { context has askerUser && context.askerUser == principal };`;
    const engine = engineWith(text);
    expect(authorizeAct(engine, BOB, 'approve', requested)).toMatchObject({
      allowed: false,
      decidedBy: ['four-eyes'],
    });
    expect(authorizeAct(engine, BOB, 'approve', { ...requested, asker: 'agent:bob' }).allowed).toBe(true);
  });

  test('judges reading and administering by tenant', () => {
    const engine = engineWith(
      'permit(principal, action in [Action::"readJournal", Action::"administer"], resource == Tenant::"default");',
    );
    expect(authorizeAct(engine, BOB, 'readJournal', tenant).allowed).toBe(true);
    expect(authorizeAct(engine, BOB, 'administer', { ...tenant, tenant: 'other' }).allowed).toBe(false);
  });
});
