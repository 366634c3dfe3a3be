import { describe, expect, test } from 'vitest';
import { loadCedar, Workbench } from '../../src/policy/cedar.ts';
import { type CheckResult, checkPolicies } from '../../src/policy/check.ts';
import { POLICY_LIMITS } from '../../src/policy/limits.ts';
import type { PolicyProblem } from '../../src/policy/policy-set.ts';
import { makeTool, PERMIT_ALL, SLEEP, TOOLS } from './sample.ts';

const bench = new Workbench(loadCedar);
const check = (text: string, tools = TOOLS) => checkPolicies([{ name: 'test.cedar', text }], tools, bench);

function firstProblem(result: CheckResult): PolicyProblem {
  if (result.ok) throw new Error('the policies passed');
  const [problem] = result.problems;
  if (problem === undefined) throw new Error('refused without a problem');
  return problem;
}

describe('checkPolicies()', () => {
  test('names policies by their @id and the others by file and number', () => {
    const result = check(`${PERMIT_ALL} forbid(principal, action, resource) when { false };`);
    expect(result.ok && result.set.policies.map(({ id, effect }) => [id, effect])).toEqual([
      ['all', 'permit'],
      ['test.cedar#2', 'forbid'],
    ]);
  });

  test('keeps twelve policies in the order of the file, each with its own text', () => {
    const ids = Array.from({ length: 12 }, (_, i) => `p${i}`);
    const result = check(ids.map((id) => `@id("${id}") permit(principal, action, resource);`).join('\n'));
    expect(result.ok && result.set.policies.map(({ id }) => id)).toEqual(ids);
    expect(result.ok && result.set.policies.every(({ id, text }) => text.includes(`"${id}"`))).toBe(true);
  });

  test('gives the same digest whatever the files are called, and another for another text', () => {
    const digest = (name: string, text: string) => {
      const result = checkPolicies([{ name, text }], TOOLS, bench);
      return result.ok ? result.set.digest : null;
    };
    expect(digest('a.cedar', PERMIT_ALL)).toBe(digest('b.cedar', PERMIT_ALL));
    expect(digest('a.cedar', PERMIT_ALL)).not.toBe(digest('a.cedar', PERMIT_ALL.replace('permit', 'forbid')));
  });

  test('lets a policy about one tool use the arguments of that tool', () => {
    const text = `permit(principal, action == Action::"call", resource == Tool::"palisade.sleep") when { context.input.ms <= 1000 };`;
    expect(check(text)).toMatchObject({ ok: true, warnings: [] });
  });

  test('lets a policy about a category use an argument that all its tools have', () => {
    const text = `permit(principal, action == Action::"call", resource in Category::"builtin") when { context.input.ms <= 1000 };`;
    expect(check(text).ok).toBe(true);
  });

  test('refuses an unguarded argument in a policy about all tools, at its place, and tells how to guard it', () => {
    const text = `// äöü 😀\n@id("x") permit(principal == Agent::"äöü", action == Action::"call", resource)\n  when { "äöü" == "äöü" && context.input.ms <= 1000 };`;
    const problem = firstProblem(check(text));
    expect(problem).toMatchObject({ file: 'test.cedar', line: 3, column: 28, policy: 'x' });
    expect(problem.hint).toContain('context.input has ms');
  });

  test('lets a guarded argument pass in a policy about all tools', () => {
    const text = `permit(principal, action == Action::"call", resource) when { context.input has ms && context.input.ms <= 1000 };`;
    expect(check(text)).toMatchObject({ ok: true, warnings: [] });
  });

  test('refuses an optional argument without a guard even where the tool is named', () => {
    const tool = makeTool({ inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } });
    const text = `permit(principal, action == Action::"call", resource == Tool::"text.count") when { context.input.n == 1 };`;
    expect(firstProblem(check(text, [tool])).hint).toContain('context.input has n');
  });

  test('warns of a policy about a tool that is not registered', () => {
    const result = check(
      `${PERMIT_ALL}@id("gone") forbid(principal, action, resource == Tool::"gone") when { context.x };`,
    );
    expect(result.ok).toBe(true);
    expect(result.warnings.map(({ policy }) => policy)).toEqual(['gone']);
  });

  test('warns when nothing is permitted', () => {
    expect(check('').warnings[0]?.message).toContain('No policy permits anything');
  });

  test('warns of a policy that can never match', () => {
    const { warnings } = check(
      `${PERMIT_ALL}@id("never") permit(principal is Agent, action == Action::"approve", resource);`,
    );
    expect(warnings.some(({ policy }) => policy === 'never')).toBe(true);
  });

  const faulty: readonly [string, string, RegExp, number, number][] = [
    [
      'a syntax error',
      '// é\npermit(principal, action, resource) when { "é" == };',
      /unexpected token/,
      2,
      51,
    ],
    ['an unknown entity type', 'permit(principal == Robot::"x", action, resource);', /Robot/, 1, 21],
    [
      'an unknown attribute',
      'permit(principal, action, resource is Tool) when { resource.owner == "x" };',
      /owner/,
      1,
      52,
    ],
    [
      'a wrong type',
      'permit(principal, action == Action::"call", resource) when { context.hour == "8" };',
      /Cannot use policy/,
      1,
      62,
    ],
    ['a template', `${PERMIT_ALL}permit(principal == ?principal, action, resource);`, /template/, 2, 1],
    ['an @id that is used twice', `${PERMIT_ALL}${PERMIT_ALL}`, /same @id/, 2, 1],
    ['an @id without a value', '@id permit(principal, action, resource);', /@id/, 1, 1],
    ['an @id with a line break', '@id("a\\nb") permit(principal, action, resource);', /@id/, 1, 1],
    [
      'an @id that looks like a generated one',
      '@id("test.cedar#2") permit(principal, action, resource);',
      /@id/,
      1,
      1,
    ],
    ['an unfinished policy', `${PERMIT_ALL}forbid(principal`, /unexpected end/, 2, 17],
  ];
  test.each(faulty)('refuses %s at its place', (_, text, message, line, column) => {
    const problem = firstProblem(check(text));
    expect(problem.message).toMatch(message);
    expect(problem).toMatchObject({ line, column });
  });

  test('refuses more policies than the limit', () => {
    const text = 'permit(principal, action, resource);'.repeat(POLICY_LIMITS.policies + 1);
    expect(firstProblem(check(text)).message).toContain('at most 2000');
  });

  test('warns of a policy that fails on a plain request', () => {
    const text = `${PERMIT_ALL}@id("over") forbid(principal, action == Action::"call", resource) when { context.limits.wallMs * 9223372036854775807 == 1 };`;
    const result = check(text, [SLEEP]);
    expect(result.ok).toBe(true);
    expect(result.warnings).toMatchObject([{ policy: 'over', file: 'test.cedar' }]);
  });

  test('refuses the set when the validator or the evaluator breaks', () => {
    for (const broken of ['validate', 'statefulIsAuthorized'] as const) {
      const load = () => ({
        ...loadCedar(),
        [broken]: () => {
          throw new RangeError('Maximum call stack size exceeded');
        },
      });
      const result = checkPolicies([{ name: 'test.cedar', text: PERMIT_ALL }], TOOLS, new Workbench(load));
      expect(firstProblem(result).message).toMatch(/^Cannot (validate|evaluate) the policies/);
    }
  });
});
