import { describe, expect, test } from 'vitest';
import type { Principal } from '../../src/core/principal.ts';
import { authorize, authorizeAct, type SkillActFacts } from '../../src/policy/authorize.ts';
import { loadCedar, Workbench } from '../../src/policy/cedar.ts';
import { checkPolicies } from '../../src/policy/check.ts';
import type { PolicyEngine } from '../../src/policy/engine.ts';
import { SKILL_ACTS } from '../../src/policy/entities.ts';
import { scan } from '../../src/policy/parse.ts';
import { STARTER_POLICIES } from '../../src/policy/starter.table.ts';
import { CHECKED } from '../fixture/checked.ts';
import {
  ACME_TEXT,
  ADA,
  APPROVED,
  BOB,
  COUNT,
  checkedCall,
  DANGER,
  engineWith,
  FACTS,
  makeBed,
  makeTool,
  PERMIT_ALL,
  preparedProcess,
  SLEEP,
  skillFacts,
  TOOLS,
  WORDS,
} from './sample.ts';

const CI: Principal = { kind: 'service', name: 'ci' };
const MEDIUM = makeTool({ id: 'medium', risk: 'medium' });
const COMMANDS = makeTool({ id: 'palisade.process.run', category: 'process', risk: 'medium', tier: 'c' });
const ALL_TOOLS = [...TOOLS, COMMANDS];
/** What switches a recipe off. */
const SWITCH = /^\/\/ (?=@id|permit|forbid|when|unless)/gm;
const FETCH = makeTool({ id: 'fetch', hosts: () => ['169.254.169.254'] });

/** A new state directory; the check of its policies is made once for all tests. */
const starters = () => makeBed(null).open({ checked: CHECKED });

describe('the starter policies', () => {
  const files = Object.entries(STARTER_POLICIES).map(([name, text]) => ({ name, text }));

  test('pass the check without a warning and all have an @id', () => {
    const result = checkPolicies(files, ALL_TOOLS, new Workbench(loadCedar));
    expect(result).toMatchObject({ ok: true, warnings: [] });
    expect(result.ok && result.set.policies.filter(({ id }) => id.includes('#'))).toEqual([]);
  });

  test('are valid with every recipe switched on', () => {
    const on = files.map(({ name, text }) => ({
      name,
      text: text.replace(SWITCH, ''),
    }));
    const result = checkPolicies(on, [...ALL_TOOLS, WORDS], new Workbench(loadCedar));
    expect(result).toMatchObject({ ok: true, warnings: [] });
    expect(result.ok && result.set.policies.length).toBeGreaterThan(22);
  });

  const short = { ms: 10_000 };
  const long = { ms: 10_001 };
  const text = { text: '' };
  const rows = [
    ['an agent calls a low-risk tool', COUNT, text, ADA, 'allow'],
    ['an agent calls a medium-risk tool', MEDIUM, text, ADA, 'ask'],
    ['a user calls a medium-risk tool', MEDIUM, text, BOB, 'allow'],
    ['a service calls a low-risk tool', COUNT, text, CI, 'deny'],
    ['an agent calls a high-risk tool', DANGER, text, ADA, 'ask'],
    ['a user calls a high-risk tool', DANGER, text, BOB, 'ask'],
    ['an agent sleeps shortly', SLEEP, short, ADA, 'allow'],
    ['an agent sleeps long', SLEEP, long, ADA, 'ask'],
    ['a user sleeps long', SLEEP, long, BOB, 'ask'],
    ['a user reaches for cloud metadata', FETCH, text, BOB, 'deny'],
  ] as const;
  test.each(rows)('when %s', (_, tool, input, principal, expected) => {
    const engine = starters();
    expect(authorize(engine, checkedCall(tool, input, principal), FACTS).verdict).toBe(expected);
  });

  test.each(rows.filter(([, , , , expected]) => expected === 'ask'))(
    'allow it once approved, when %s',
    (_, tool, input, principal) => {
      const engine = starters();
      expect(authorize(engine, checkedCall(tool, input, principal), APPROVED).verdict).toBe('allow');
    },
  );

  test.each([
    ['c', 'strict', 'allow'],
    ['b', 'strict', 'ask'],
    ['c', 'preflight', 'ask'],
    ['c', 'none', 'ask'],
  ] as const)('when anybody runs a command in tier %s with egress %s', (tier, egress, expected) => {
    const engine = starters();
    for (const principal of [ADA, BOB]) {
      const process = preparedProcess({ egress, secrets: [] });
      const call = { ...checkedCall(COMMANDS, text, principal), tier, process };
      expect(authorize(engine, call, FACTS).verdict).toBe(expected);
    }
  });

  test('let an agent use a secret of the operator in a command only when that is approved', () => {
    const engine = starters();
    const verdictWith = (secrets: readonly string[]) => {
      const process = preparedProcess({ egress: 'strict', secrets });
      return authorize(engine, { ...checkedCall(COMMANDS, text, ADA), tier: 'c', process }, FACTS).verdict;
    };
    expect([verdictWith(['github']), verdictWith([])]).toEqual(['ask', 'allow']);
  });

  test('let users approve, read and administer, and agents none of it', () => {
    const engine = starters();
    const facts = { tenant: 'default', nowMs: 0 };
    for (const [principal, expected] of [
      [BOB, true],
      [ADA, false],
    ] as const) {
      const allowed = [
        authorizeAct(engine, principal, 'approve', {
          ...facts,
          tool: DANGER,
          asker: 'agent:ada',
          inputText: '{}',
        }),
        authorizeAct(engine, principal, 'readJournal', facts),
        authorizeAct(engine, principal, 'administer', facts),
      ];
      expect(allowed.map((act) => act.allowed)).toEqual([expected, expected, expected]);
    }
  });

  test.each(SKILL_ACTS)('let users %s, by one policy, and agents and services not', (act) => {
    const engine = starters();
    expect(authorizeAct(engine, BOB, act, skillFacts())).toMatchObject({
      allowed: true,
      decidedBy: ['users-manage-skills'],
    });
    expect(authorizeAct(engine, ADA, act, skillFacts()).allowed).toBe(false);
    expect(authorizeAct(engine, CI, act, skillFacts()).allowed).toBe(false);
  });
});

describe('the recipes for skills', () => {
  const recipe = (id: string) => {
    const text = Object.values(STARTER_POLICIES).join('\n').replace(SWITCH, '');
    const policy = scan(text).pieces.find((piece) => piece.text.startsWith(`@id("${id}")`));
    if (policy === undefined) throw new Error(`there is no recipe "${id}"`);
    return engineWith(`${PERMIT_ALL}${policy.text}`, { tools: () => [...TOOLS, WORDS] });
  };
  const approve = (engine: PolicyEngine, facts: SkillActFacts, by = BOB) =>
    authorizeAct(engine, by, 'approveSkill', facts);

  test('keep who installed a skill from approving it, and nobody else', () => {
    const engine = recipe('four-eyes-for-skills');
    const own = approve(engine, skillFacts({ installedBy: 'user:bob' }));
    expect(own).toMatchObject({ allowed: false, decidedBy: ['four-eyes-for-skills'] });
    expect(own.message).toBe(
      'Cannot approve skill "acme.text" as user:bob: policy "four-eyes-for-skills" forbids it',
    );
    for (const installedBy of ['user:grace', 'service:bob', null])
      expect(approve(engine, skillFacts({ installedBy })).allowed).toBe(true);
  });

  test('keep skills with wildcards or findings from being approved', () => {
    const engine = recipe('no-doubtful-skills');
    expect(approve(engine, skillFacts({ hasWildcards: true })).allowed).toBe(false);
    expect(approve(engine, skillFacts({ findings: ['prose/instructions'] })).allowed).toBe(false);
    expect(approve(engine, skillFacts()).allowed).toBe(true);
  });

  test('let skills of known publishers in', () => {
    const engine = recipe('skills-of-known-publishers');
    const facts = skillFacts();
    const evil = { ...facts, skill: { ...facts.skill, publisher: 'evil' } };
    expect(authorizeAct(engine, BOB, 'install', facts).allowed).toBe(true);
    expect(authorizeAct(engine, BOB, 'install', evil).allowed).toBe(false);
    expect(approve(engine, evil).allowed).toBe(false);
    expect(authorizeAct(engine, BOB, 'removeSkill', evil).allowed).toBe(true);
  });

  test('let agents call the tools of one skill, and other tools as before', () => {
    const engine = recipe('agents-call-one-skill');
    const other = makeTool({ id: 'acme.other.words', skill: { ...ACME_TEXT, id: 'acme.other' } });
    const verdict = (tool: typeof WORDS, by = ADA) =>
      authorize(engine, checkedCall(tool, { text: '' }, by), FACTS).verdict;
    expect(verdict(WORDS)).toBe('allow');
    expect(verdict(other)).toBe('deny');
    expect(verdict(other, BOB)).toBe('allow');
    expect(verdict(COUNT)).toBe('allow');
  });
});
