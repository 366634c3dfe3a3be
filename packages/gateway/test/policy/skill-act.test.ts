import { describe, expect, test } from 'vitest';
import type { Principal } from '../../src/core/principal.ts';
import { authorizeAct } from '../../src/policy/authorize.ts';
import { loadCedar, Workbench } from '../../src/policy/cedar.ts';
import { checkPolicies } from '../../src/policy/check.ts';
import { SKILL_ACTS, type SkillAct } from '../../src/policy/entities.ts';
import { ADA, BOB, engineWith, PERMIT_ALL, skillFacts, TOOLS } from './sample.ts';

const CI: Principal = { kind: 'service', name: 'ci' };
const bench = new Workbench(loadCedar);
const check = (text: string) => checkPolicies([{ name: 'test.cedar', text }], TOOLS, bench);
const others = SKILL_ACTS.filter((act) => act !== 'approveSkill');

describe('an act upon a skill', () => {
  test.each(SKILL_ACTS)('that is to %s is never for an agent, whatever is permitted', (act) => {
    const engine = engineWith(PERMIT_ALL);
    const { allowed, message } = authorizeAct(engine, ADA, act, skillFacts());
    expect(allowed).toBe(false);
    expect(message).toMatch(/^Cannot \w+ skill "acme.text" as agent:ada: .*`Agent` is not valid/);
    expect(authorizeAct(engine, BOB, act, skillFacts()).allowed).toBe(true);
  });

  test.each(others)('that is to %s is for a service where the policies permit it', (act) => {
    const engine = engineWith(`permit(principal == Service::"ci", action == Action::"${act}", resource);`);
    expect(authorizeAct(engine, CI, act, skillFacts()).allowed).toBe(true);
    expect(authorizeAct(engine, { kind: 'service', name: 'cd' }, act, skillFacts()).allowed).toBe(false);
  });

  test('is never an approval by a service, whatever is permitted', () => {
    const { allowed, message } = authorizeAct(engineWith(PERMIT_ALL), CI, 'approveSkill', skillFacts());
    expect(allowed).toBe(false);
    expect(message).toContain('`Service` is not valid');
  });

  test('is permitted by its group, and other acts are not', () => {
    const engine = engineWith('permit(principal is User, action in Action::"manageSkills", resource);');
    for (const act of SKILL_ACTS) expect(authorizeAct(engine, BOB, act, skillFacts()).allowed).toBe(true);
    const { tenant, nowMs } = skillFacts();
    expect(authorizeAct(engine, BOB, 'administer', { tenant, nowMs }).allowed).toBe(false);
  });

  test('is judged by skill and by publisher', () => {
    const engine =
      engineWith(`permit(principal, action == Action::"install", resource) when { resource.publisher == "acme" };
      permit(principal, action == Action::"enableSkill", resource == Skill::"acme.text");
      permit(principal, action == Action::"removeSkill", resource in Skill::"acme.text");`);
    const facts = skillFacts();
    const evil = { ...facts, skill: { ...facts.skill, id: 'evil.text', publisher: 'evil' } };
    for (const act of ['install', 'enableSkill', 'removeSkill'] as const) {
      expect(authorizeAct(engine, BOB, act, facts).allowed).toBe(true);
      expect(authorizeAct(engine, BOB, act, evil).allowed).toBe(false);
    }
  });

  const contexts: readonly [string, string][] = [
    ['the state', 'context.state == "quarantined"'],
    ['what it asks for', 'context.capabilities == ["http"] && context.hosts == ["api.example.com"]'],
    ['that nothing stands for more than it names', '!context.hasWildcards'],
    ['what the audit said', 'context.verdict == "passed" && context.findings.isEmpty()'],
    ['who installed it', 'context has installedBy && context.installedBy == User::"grace"'],
    ['the groups of who installed it', 'context has installedBy && context.installedBy in Group::"leads"'],
    ['the time', 'context.hour == 12 && context.weekday == 5 && context.now > datetime("2026-01-01")'],
    ['the skill', 'resource.version == "1.2.0" && resource.trust == "operator"'],
  ];
  test.each(contexts)('tells Cedar %s', (_, condition) => {
    const groups = new Map([['user:grace', ['leads']]]);
    const text = `permit(principal, action in Action::"manageSkills", resource) when { ${condition} };`;
    const engine = engineWith(text, { groups });
    for (const act of SKILL_ACTS) expect(authorizeAct(engine, BOB, act, skillFacts()).allowed).toBe(true);
  });

  test('is judged where the one who acts is the one who installed it', () => {
    const text =
      'permit(principal, action, resource) when { context has installedBy && context.installedBy == principal };';
    const engine = engineWith(text);
    expect(authorizeAct(engine, BOB, 'removeSkill', skillFacts({ installedBy: 'user:bob' })).allowed).toBe(
      true,
    );
    expect(authorizeAct(engine, BOB, 'removeSkill', skillFacts()).allowed).toBe(false);
  });

  test.each(['bob', 'robot:bob', 'user:', ''])(
    'is denied where "%s" is said to have installed it',
    (installedBy) => {
      const { allowed, message } = authorizeAct(
        engineWith(PERMIT_ALL),
        BOB,
        'approveSkill',
        skillFacts({ installedBy }),
      );
      expect(allowed).toBe(false);
      expect(message).toContain('Cannot tell who installed the skill');
    },
  );

  test('fails closed where a forbid fails', () => {
    const text = `${PERMIT_ALL}@id("over") forbid(principal, action == Action::"approveSkill", resource) when { context.hour * 9223372036854775807 == 1 };`;
    const engine = engineWith(text);
    expect(authorizeAct(engine, BOB, 'approveSkill', skillFacts())).toMatchObject({ allowed: false });
    expect(authorizeAct(engine, BOB, 'install', skillFacts()).allowed).toBe(true);
  });
});

describe('a policy about acts upon skills', () => {
  test('of the time when there was only `install` still loads and decides', () => {
    const text = `@id("old") permit (principal is User, action == Action::"install", resource)
      when { resource.publisher == "acme" && resource.trust != "none" && context.hour < 13 };`;
    expect(check(text)).toMatchObject({ ok: true, warnings: [] });
    expect(authorizeAct(engineWith(text), BOB, 'install', skillFacts())).toMatchObject({
      allowed: true,
      decidedBy: ['old'],
    });
  });

  const good: readonly [string, string][] = [
    ['a skill that is not installed', 'action == Action::"install", resource == Skill::"acme.later"'],
    [
      'all in a skill that is not installed',
      'action in Action::"manageSkills", resource in Skill::"acme.later"',
    ],
    ['every skill', 'action, resource is Skill'],
  ];
  test.each(good)('may be about %s, without a warning', (_, scope) => {
    expect(check(`permit(principal, ${scope}) when { resource.publisher == "acme" };`)).toMatchObject({
      ok: true,
      warnings: [],
    });
  });

  const bad: readonly [string, SkillAct, string, RegExp][] = [
    ['an attribute that no act tells', 'approveSkill', 'context.reviewers > 1', /reviewers/],
    ['an attribute that no skill has', 'install', 'resource.owner == "x"', /owner/],
    ['the input of a call', 'install', 'context.input has text', /input/],
    ['an attribute of another type', 'install', 'context.hosts == "api.example.com"', /Cannot use policy/],
    [
      'an optional attribute without a guard',
      'approveSkill',
      'context.installedBy == principal',
      /installedBy/,
    ],
  ];
  test.each(bad)('is refused for %s', (_, act, condition, message) => {
    const text = `permit(principal, action == Action::"${act}", resource == Skill::"acme.later") when { ${condition} };`;
    const result = check(text);
    expect(result.ok ? [] : result.problems.map((problem) => problem.message)).toEqual([
      expect.stringMatching(message),
    ]);
  });

  test('is refused for an act that does not exist', () => {
    expect(check('permit(principal, action == Action::"updateSkill", resource);').ok).toBe(false);
  });

  test('is worth a warning where it would let an agent or a service approve', () => {
    for (const kind of ['Agent', 'Service']) {
      const { warnings } = check(
        `${PERMIT_ALL}@id("never") permit(principal is ${kind}, action == Action::"approveSkill", resource);`,
      );
      expect([...new Set(warnings.map(({ policy }) => policy))]).toEqual(['never']);
    }
  });

  test('is tried before it decides, and one that can fail is a warning', () => {
    for (const act of SKILL_ACTS) {
      const { warnings } = check(
        `${PERMIT_ALL}@id("over") forbid(principal, action == Action::"${act}", resource) when { (context.hour + 2) * 9223372036854775807 == 1 };`,
      );
      expect(warnings).toMatchObject([{ policy: 'over' }]);
    }
  });
});
