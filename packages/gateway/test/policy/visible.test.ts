import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import type { Principal } from '../../src/core/principal.ts';
import type { Tool } from '../../src/core/tool.ts';
import { authorize } from '../../src/policy/authorize.ts';
import { STARTER_POLICIES } from '../../src/policy/starter.table.ts';
import { visibility } from '../../src/policy/visible.ts';
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
  SLEEP,
  WORDS,
} from './sample.ts';

const GROUPS = new Map([['agent:ada', ['staff']]]);
/** Each is a policy set for Cedar to parse. */
const RUNS = volume(150, 10);
const ALL: readonly Tool[] = [SLEEP, COUNT, DANGER, WORDS];

function shown(text: string, principal: Principal = ADA): string[] {
  const engine = engineWith(text, { groups: GROUPS, tools: () => ALL });
  return ALL.filter(visibility(engine, principal, 'default')).map(({ id }) => id);
}

const idsOf = (tools: readonly Tool[]) => tools.map(({ id }) => id);

describe('visibility()', () => {
  test('shows nothing under an empty set and all under a permit for all', () => {
    expect(shown('')).toEqual([]);
    expect(shown(PERMIT_ALL)).toEqual(idsOf(ALL));
  });

  test('shows what could be permitted once it is approved, or with another argument', () => {
    const approved = 'permit(principal, action == Action::"call", resource) when { context.approved };';
    expect(shown(approved)).toEqual(idsOf(ALL));
    const short = `permit(principal, action == Action::"call", resource == Tool::"palisade.sleep") when { context.input.ms < 5 };`;
    expect(shown(short)).toEqual([SLEEP.id]);
  });

  test('hides what a forbid without conditions on the call takes away, and only that', () => {
    const forbid = (rest: string) =>
      `${PERMIT_ALL}forbid(principal, action == Action::"call", resource) ${rest};`;
    expect(shown(forbid('when { resource.risk == "high" }'))).not.toContain(DANGER.id);
    expect(shown(forbid('when { resource.risk == "high" } unless { context.approved }'))).toContain(
      DANGER.id,
    );
    expect(shown(forbid('unless { resource in Category::"text" }'))).toEqual([COUNT.id]);
    expect(shown(forbid('when { resource has skill }'))).not.toContain(WORDS.id);
    expect(shown(forbid('when { resource has skill && resource.skill.publisher == "other" }'))).toContain(
      WORDS.id,
    );
    expect(shown(forbid('when { resource has skill && resource.skill.publisher == "acme" }'))).not.toContain(
      WORDS.id,
    );
    expect(shown(forbid('when { ["a", "builtin"].contains(resource.tier) }'))).toEqual([]);
    expect(shown(forbid('when { context.hour > 8 }'))).toEqual(idsOf(ALL));
    expect(shown(forbid('when { context.hour > 8 || true }'))).toEqual([]);
  });

  test('knows principals by themselves, their kind, their groups and their tenant', () => {
    const permit = (who: string) => `permit(${who}, action == Action::"call", resource);`;
    const seenBy = (who: string) => [shown(permit(who)).length > 0, shown(permit(who), BOB).length > 0];
    expect(seenBy('principal == Agent::"ada"')).toEqual([true, false]);
    expect(seenBy('principal is User')).toEqual([false, true]);
    expect(seenBy('principal in Group::"staff"')).toEqual([true, false]);
    expect(seenBy('principal in Tenant::"default"')).toEqual([true, true]);
    expect(seenBy('principal in Tenant::"other"')).toEqual([false, false]);
    expect(seenBy('principal is Agent in Group::"staff"')).toEqual([true, false]);
  });

  test('does not take policies about other acts for policies about calls', () => {
    expect(shown('permit(principal, action == Action::"approve", resource);')).toEqual([]);
    expect(shown('permit(principal, action in [Action::"approve", Action::"call"], resource);')).toEqual(
      idsOf(ALL),
    );
  });

  test('shows no more than the starter policies could ever let a principal call, with an approval or without', () => {
    const medium = makeTool({ id: 'a.medium', risk: 'medium' });
    const tools = [...ALL, medium];
    const text = Object.values(STARTER_POLICIES).join('\n');
    const engine = engineWith(text, { tools: () => tools });
    const seen = (who: Principal) => idsOf(tools.filter(visibility(engine, who, 'default')));
    expect(seen(ADA)).toEqual([...idsOf(ALL), medium.id]);
    expect(seen(BOB)).toEqual([...idsOf(ALL), medium.id]);
    const risky = tools.filter(({ risk }) => risk !== 'low');
    expect(seen({ kind: 'service', name: 'ci' })).toEqual(idsOf(risky));
    expect(risky.length).toBeLessThan(tools.length);
  });

  test('never hides a tool of which Cedar permits a call', () => {
    const rules = fc.array(policyText, { minLength: 1, maxLength: 4 }).map((texts) => texts.join('\n'));
    const counts = { hidden: 0, permitted: 0 };
    const check = fc.property(rules, fc.constantFrom(ADA, BOB), (text, principal) => {
      const engine = engineWith(text, { groups: GROUPS, tools: () => ALL });
      const isShown = visibility(engine, principal, 'default');
      for (const tool of ALL) {
        const inputs = tool === SLEEP ? [{ ms: 1 }, { ms: 20_000 }] : [{ text: 'x' }];
        const permitted = inputs.some((input) =>
          [FACTS, APPROVED].some(
            (facts) => authorize(engine, checkedCall(tool, input, principal), facts).verdict !== 'deny',
          ),
        );
        if (permitted) counts.permitted += 1;
        if (!isShown(tool)) counts.hidden += 1;
        if (permitted) expect(isShown(tool), `${tool.id} under ${text}`).toBe(true);
      }
    });
    // As long as it takes to really see both sides.
    do fc.assert(check, { numRuns: RUNS });
    while (Math.min(counts.hidden, counts.permitted) === 0);
  });
});

const principals = [
  'principal',
  'principal is Agent',
  'principal == User::"bob"',
  'principal in Group::"staff"',
];
const resources = [
  'resource',
  'resource == Tool::"disk.format"',
  'resource in Category::"text"',
  'resource is Tool',
];
const atoms = [
  'resource.risk == "low"',
  'resource.risk != "high"',
  'resource has skill',
  'context.approved',
  'context.hour > 6',
  'principal is User',
  'principal in [Group::"staff", Group::"none"]',
  'resource in Skill::"acme.text"',
  '["c", "a"].contains(resource.tier)',
  'resource.capabilities.contains("x")',
  'true',
  'false',
];
const condition = fc.letrec<{ whole: string; atom: string }>((tie) => ({
  atom: fc.constantFrom(...atoms),
  whole: fc.oneof(
    { depthSize: 'small' },
    tie('atom'),
    fc.tuple(tie('whole'), tie('whole')).map(([a, b]) => `(${a}) && (${b})`),
    fc.tuple(tie('whole'), tie('whole')).map(([a, b]) => `(${a}) || (${b})`),
    tie('whole').map((a) => `!(${a})`),
    fc
      .tuple(tie('whole'), tie('whole'), tie('whole'))
      .map(([a, b, c]) => `(if (${a}) then (${b}) else (${c}))`),
  ),
})).whole;
const policyText = fc
  .record({
    effect: fc.constantFrom('permit', 'permit', 'forbid'),
    who: fc.constantFrom(...principals),
    what: fc.constantFrom(...resources),
    kind: fc.constantFrom('when', 'unless'),
    body: condition,
  })
  .map(
    ({ effect, who, what, kind, body }) =>
      `${effect}(${who}, action == Action::"call", ${what}) ${kind} { ${body} };`,
  );
