import { describe, expect, test } from 'vitest';
import { digestBytes } from '../../src/core/digest.ts';
import type { Principal } from '../../src/core/principal.ts';
import { allowSkillPolicy, withAllowedSkill, withoutAllowedSkill } from '../../src/policy/allow-policy.ts';
import { authorize, authorizeAct } from '../../src/policy/authorize.ts';
import { type Cedar, loadCedar, Workbench } from '../../src/policy/cedar.ts';
import { checkPolicies } from '../../src/policy/check.ts';
import { viewTool } from '../../src/policy/entities.ts';
import { explain } from '../../src/policy/explain.ts';
import {
  ACME_TEXT,
  ADA,
  BOB,
  COUNT,
  checkedCall,
  engineWith,
  FACTS,
  makeTool,
  NOON,
  PERMIT_ALL,
  TOOLS,
  WORDS,
} from './sample.ts';

const bench = new Workbench(loadCedar);
const check = (text: string, tools = TOOLS) => checkPolicies([{ name: 'test.cedar', text }], tools, bench);
const call = (tool = WORDS, by: Principal = ADA) => checkedCall(tool, { text: 'x' }, by);
const OTHER = makeTool({
  id: 'evil.text.words',
  category: 'skill',
  tier: 'a',
  skill: { ...ACME_TEXT, id: 'evil.text', publisher: 'evil', version: '1.0.0', trust: 'first-use' },
});

describe('a tool of a skill', () => {
  const conditions: readonly [string, string][] = [
    ['by its skill', 'resource in Skill::"acme.text"'],
    ['by the publisher', 'resource has skill && resource.skill.publisher == "acme"'],
    ['by the version', 'resource has skill && resource.skill.version like "1.2.*"'],
    ['by the trust in its key', 'resource has skill && resource.skill.trust == "operator"'],
    ['by its skill as a thing', 'resource has skill && resource.skill == Skill::"acme.text"'],
  ];
  test.each(conditions)('is told apart %s', (_, condition) => {
    const engine = engineWith(`permit(principal, action == Action::"call", resource) when { ${condition} };`);
    expect(engine.problems).toEqual([]);
    const verdicts = [WORDS, OTHER, COUNT].map((tool) => authorize(engine, call(tool), FACTS).verdict);
    expect(verdicts).toEqual(['allow', 'deny', 'deny']);
  });

  test('is matched by a scope that names its skill or its category', () => {
    const scopes = ['resource in Skill::"acme.text"', 'resource is Tool in Skill::"acme.text"'];
    for (const scope of scopes) {
      const engine = engineWith(`permit(principal, action == Action::"call", ${scope});`);
      expect(authorize(engine, call(), FACTS).verdict).toBe('allow');
      expect(authorize(engine, call(OTHER), FACTS).verdict).toBe('deny');
    }
    const engine = engineWith('permit(principal, action == Action::"call", resource in Category::"skill");');
    expect(authorize(engine, call(OTHER), FACTS).verdict).toBe('allow');
    expect(authorize(engine, call(COUNT), FACTS).verdict).toBe('deny');
  });

  test('is known by its skill when a call of it is to be approved', () => {
    const engine = engineWith(
      'permit(principal, action == Action::"approve", resource in Skill::"acme.text") when { resource has skill && resource.skill.publisher == "acme" };',
    );
    const requested = { tenant: 'default', nowMs: NOON, asker: 'agent:ada', inputText: '{}' };
    expect(authorizeAct(engine, BOB, 'approve', { ...requested, tool: WORDS }).allowed).toBe(true);
    expect(authorizeAct(engine, BOB, 'approve', { ...requested, tool: OTHER }).allowed).toBe(false);
  });

  test('is explained in the words of the policy, though the check has never seen it', () => {
    const engine = engineWith(
      `@id("acme") permit(principal, action == Action::"call", resource in Skill::"acme.text") when { resource has skill && resource.skill.trust == "first-use" };`,
    );
    expect(explain(engine, call(), FACTS).differences).toEqual([
      'Permit "acme" (test.cedar) would match if `resource.skill.trust == "first-use"` were true.',
    ]);
    expect(explain(engine, call(OTHER), FACTS).differences).toEqual([
      'Permit "acme" (test.cedar) would match if the tool were `resource in Skill::"acme.text"` (it is "evil.text.words").',
    ]);
  });

  test('is denied where a policy about all tools fails on its input, and others go on', () => {
    const text = `${PERMIT_ALL}@id("long") forbid(principal, action == Action::"call", resource) when { context.input has ms && context.input.ms > 9 };`;
    const engine = engineWith(text);
    const odd = makeTool({
      ...WORDS,
      inputSchema: { type: 'object', properties: { ms: { type: 'string' } }, required: ['ms'] },
    });
    const decision = authorize(engine, checkedCall(odd, { ms: 'x' }), FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
    expect(authorize(engine, call(), FACTS).verdict).toBe('allow');
  });
});

describe('a tool without a skill', () => {
  test('is asked about with no entity more than before', () => {
    const requested: unknown[][] = [];
    const load = (): Cedar => {
      const cedar = loadCedar();
      const statefulIsAuthorized: Cedar['statefulIsAuthorized'] = (question) => {
        requested.push(question.entities as unknown[]);
        return cedar.statefulIsAuthorized(question);
      };
      return { ...cedar, statefulIsAuthorized };
    };
    const engine = engineWith(PERMIT_ALL, { load });
    authorize(engine, call(COUNT), FACTS);
    expect(requested.at(-1)).toHaveLength(2);
    authorize(engine, call(WORDS), FACTS);
    expect(requested.at(-1)).toHaveLength(3);
    const { attrs, parents } = viewTool(COUNT).entity;
    expect([Object.keys(attrs), parents]).toEqual([
      ['risk', 'tier', 'capabilities'],
      [{ type: 'Category', id: 'text' }],
    ]);
  });
});

describe('a policy about tools of skills', () => {
  const scope = 'principal, action == Action::"call", resource';

  test('may use the arguments of the one tool or the one skill that it names', () => {
    const text = `permit(${scope} == Tool::"acme.text.words") when { context.input.text == "x" };
      permit(${scope} in Skill::"acme.text") when { context.input.text == "x" };`;
    expect(check(text, [...TOOLS, WORDS])).toMatchObject({ ok: true, warnings: [] });
    const numbers = makeTool({ id: 'acme.text.sum', skill: ACME_TEXT, inputSchema: { type: 'object' } });
    const result = check(text, [...TOOLS, WORDS, numbers]);
    expect(result.ok ? [] : result.problems.map(({ policy }) => policy)).toEqual(['test.cedar#2']);
  });

  test('is a warning where there is no such tool or skill', () => {
    const text = `${PERMIT_ALL}permit(${scope} == Tool::"acme.gone.words") when { context.input.text == "x" };
      permit(${scope} in Skill::"acme.gone") when { context.input.text == "x" };`;
    const result = check(text);
    expect(result.ok).toBe(true);
    expect(result.warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('Tool::"acme.gone.words"'),
      expect.stringContaining('Skill::"acme.gone"'),
    ]);
  });

  test('as a whole is checked without any of them: an argument needs a guard', () => {
    const text = (condition: string) => `permit(${scope} in Category::"skill") when { ${condition} };`;
    expect(check(text('context.input has text && context.input.text == "x"'))).toMatchObject({
      ok: true,
      warnings: [],
    });
    const spread = `permit(${scope}) when { resource has skill && context.input has url && context.input.url == "x" };`;
    expect(check(spread)).toMatchObject({ ok: true, warnings: [] });
    const result = check(text('context.input.text == "x"'));
    expect(result.ok ? null : result.problems[0]?.hint).toBe(
      'not every input of a tool has it: guard it with `context.input has text`, or name one tool in the scope',
    );
    expect(check(text('context.unheard == 1')).ok).toBe(false);
  });

  const bad: readonly [string, RegExp][] = [
    ['resource.skill.publisher == "acme"', /skill/],
    ['resource has skill && resource.skill.owner == "acme"', /owner/],
    ['resource has skill && resource.skill == "acme.text"', /Cannot use policy/],
  ];
  test.each(bad)('is refused for `%s`', (condition, message) => {
    const result = check(`permit(${scope}) when { ${condition} };`);
    expect(result.ok ? '' : result.problems[0]?.message).toMatch(message);
  });

  test('is still a warning where it can never match, whatever tools there are', () => {
    const text = `${PERMIT_ALL}@id("never") permit(principal is Agent, action == Action::"approve", resource in Skill::"acme.text");`;
    expect(check(text, [WORDS]).warnings.map(({ policy }) => policy)).toContain('never');
  });

  test('is tried on a tool of a skill, though none is there', () => {
    const text = `${PERMIT_ALL}@id("over") forbid(${scope}) when { resource has skill && (context.hour + 2) * 9223372036854775807 == 1 };`;
    expect(check(text).warnings).toMatchObject([{ policy: 'over' }]);
  });
});

describe('a policy that lets agents call a skill', () => {
  const text = allowSkillPolicy({
    ...{ skill: ACME_TEXT, tools: [WORDS.id], to: 'agents', by: 'user:grace', nowMs: 0 },
  });
  const other = (changed: object) => makeTool({ ...WORDS, skill: { ...ACME_TEXT, ...changed } });
  const verdict = (tool = WORDS, by: Principal = ADA, policy = text) => {
    const engine = engineWith(policy);
    expect(engine.problems).toEqual([]);
    return authorize(engine, call(tool, by), FACTS).verdict;
  };

  test('permits these tools of these bytes under this grant, to agents', () => {
    expect(verdict()).toBe('allow');
    expect(verdict(WORDS, BOB)).toBe('deny');
    expect(verdict(makeTool({ ...WORDS, id: 'acme.text.other' }))).toBe('deny');
  });

  test('permits nothing of another version, other bytes, or the same bytes under another grant', () => {
    expect(verdict(other({ version: '1.2.1' }))).toBe('deny');
    expect(verdict(other({ artifact: digestBytes('other bytes') }))).toBe('deny');
    expect(verdict(other({ grant: digestBytes('a wider grant') }))).toBe('deny');
    expect(verdict(OTHER)).toBe('deny');
  });

  test('can be for one agent, whatever its name has in it', () => {
    const one = (name: string) => {
      const to = { kind: 'agent', name } as const;
      return allowSkillPolicy({ skill: ACME_TEXT, tools: [WORDS.id], to, by: 'user:grace', nowMs: 0 });
    };
    expect(verdict(WORDS, ADA, one('ada'))).toBe('allow');
    expect(verdict(WORDS, ADA, one('eve"), action, resource) when { true }; //'))).toBe('deny');
  });

  test('replaces the one before it, stays beside others, and is removed by its skill', () => {
    const of = (id: string, version = '1.2.0') =>
      allowSkillPolicy({
        ...{ skill: { ...ACME_TEXT, id, version }, tools: [`${id}.words`], to: 'agents' },
        ...{ by: 'user:grace', nowMs: 0 },
      });
    const mine = '@id("mine") permit (principal is User, action == Action::"call", resource);';
    const both = withAllowedSkill(withAllowedSkill(mine, of('acme.text')), of('acme.text.more'));
    const updated = withAllowedSkill(both, of('acme.text', '1.3.0'));
    expect(updated.match(/@id/g)).toHaveLength(3);
    expect(updated).toContain('"1.3.0"');
    const left = withoutAllowedSkill(updated, 'acme.text') ?? '';
    expect(left).toContain(mine);
    expect(left).toContain('acme.text.more');
    expect(left).not.toContain('Skill::"acme.text")');
    expect(withoutAllowedSkill(left, 'acme.text')).toBeNull();
  });
});
