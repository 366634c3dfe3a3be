import { describe, expect, test } from 'vitest';
import { authorize } from '../../packages/gateway/src/policy/authorize.ts';
import { explain } from '../../packages/gateway/src/policy/explain.ts';
import {
  COUNT,
  checkedCall,
  FACTS,
  makeBed,
  PERMIT_ALL,
  SLEEP,
} from '../../packages/gateway/test/policy/sample.ts';
import { sample } from '../volume/volume.ts';

/*
 * A policy text that is nested deeply enough kills the evaluator: some texts when they are parsed, some when they are
 * validated, some only when they are evaluated. None may reach the instance that decides.
 */

const BOMBS: Readonly<Record<string, (n: number) => string>> = {
  parentheses: (n) => `${'('.repeat(n)}true${')'.repeat(n)}`,
  sets: (n) => `${'['.repeat(n)}1${']'.repeat(n)} == []`,
  records: (n) => `${'{a:'.repeat(n)}1${'}'.repeat(n)} == {}`,
  negations: (n) => `${'!('.repeat(n)}true${')'.repeat(n)}`,
  'if-then': (n) => `${'if true then '.repeat(n)}true${' else false'.repeat(n)}`,
  'if-else': (n) => `${'if false then true else '.repeat(n)}true`,
  sums: (n) => `1${' + 1'.repeat(n)} == 1`,
  attributes: (n) => `context${'.a'.repeat(n)} == 1`,
  indexes: (n) => `context${'["a"]'.repeat(n)} == 1`,
  methods: (n) => `[1]${'.contains(1)'.repeat(n)}`,
  conjunctions: (n) => `true${' && true'.repeat(n)}`,
  disjunctions: (n) => `false${' || false'.repeat(n)}`,
  minuses: (n) => `${'-'.repeat(n)}1 == 1`,
};
const SIZES = [70, 150, 500, 15_000];
const all = SIZES.flatMap((size) => Object.keys(BOMBS).map((kind) => [kind, size] as const));
const rows = sample(all, 6);
const bombOf = (kind: string, size: number) =>
  `@id("bomb") permit(principal, action, resource) when { ${BOMBS[kind]?.(size)} };\n`;

describe('a nesting bomb in a policy file', () => {
  test.each(rows)('of %s, %i deep, is refused and changes no decision', (kind, size) => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const engine = bed.open();
    const allowed = checkedCall(COUNT, { text: '' });
    expect(authorize(engine, allowed, FACTS).verdict).toBe('allow');
    bed.write('bomb.cedar', bombOf(kind, size));
    engine.refresh();
    expect(engine.problems).toMatchObject([{ file: 'bomb.cedar' }]);
    expect(authorize(engine, allowed, FACTS).verdict).toBe('allow');
    expect(engine.set?.policies.map(({ id }) => id)).toEqual(['all']);
    bed.write('bomb.cedar', '@id("bomb") forbid(principal, action, resource);');
    engine.refresh();
    expect(authorize(engine, allowed, FACTS)).toMatchObject({ verdict: 'deny', decidedBy: ['bomb'] });
    expect(bed.events.some(({ kind }) => kind === 'policy-crashed')).toBe(false);
  });

  test.each(sample(Object.keys(BOMBS), 4))(
    'of %s next to a good file at the start denies everything and says why',
    (kind) => {
      const engine = makeBed({ 'a.cedar': PERMIT_ALL, 'bomb.cedar': bombOf(kind, 400) }).open();
      expect(engine.set).toBeNull();
      expect(engine.problems[0]?.file).toBe('bomb.cedar');
      const decision = authorize(engine, checkedCall(COUNT, { text: '' }), FACTS);
      expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/unavailable' } });
    },
  );

  test('that just fits the limits is loaded, decides and can be explained', () => {
    const text = `@id("deep") permit(principal, action == Action::"call", resource == Tool::"palisade.sleep") when { context.input.ms${' + 1'.repeat(35)} == 36 };`;
    const engine = makeBed({ 'a.cedar': text }).open();
    expect(engine.problems).toEqual([]);
    for (let i = 0; i < 20; i++) {
      expect(authorize(engine, checkedCall(SLEEP, { ms: 1 }), FACTS).verdict).toBe('allow');
      expect(authorize(engine, checkedCall(SLEEP, { ms: 2 }), FACTS).verdict).toBe('deny');
    }
    expect(explain(engine, checkedCall(SLEEP, { ms: 1 }), FACTS).verdict).toBe('allow');
  });
});
