import { describe, expect, test } from 'vitest';
import { CALL_ATTRIBUTES, EVERYTHING, readsOf } from '../../src/policy/schema.ts';
import { STARTER_POLICIES } from '../../src/policy/starter.table.ts';

const when = (condition: string) => `permit(principal, action, resource) when { ${condition} };`;
const readsIn = (...texts: string[]) => [...readsOf(texts)].sort();

describe('readsOf()', () => {
  test('finds nothing where only the scope decides', () => {
    expect(readsIn('permit(principal == Agent::"ada", action == Action::"call", resource);')).toEqual([]);
    expect(readsIn()).toEqual([]);
  });

  const named: readonly [string, readonly string[]][] = [
    ['context.hour > 8', ['hour']],
    ['context\n\t. hour > 8 && context . door == "cli"', ['door', 'hour']],
    ['context["hour"] > 8 || context [ "run" ] == ""', ['hour', 'run']],
    ['context has approvedBy && context.approvedBy == principal', ['approvedBy']],
    ['context has"approvedBy"', ['approvedBy']],
    ['context has input.ms', ['input']],
    ['context.inputText like "*x*"', ['inputText']],
    ['context.budgetLeft.calls > 1', ['budgetLeft']],
    ['if 1==1then context.hour==1else context.weekday==1', ['hour', 'weekday']],
    ['context.unheard == 1', []],
  ];
  test.each(named)('finds the names in `%s`', (condition, names) => {
    expect(readsIn(when(condition))).toEqual(names);
  });

  test('finds the names of every policy of a set', () => {
    expect(readsIn(when('context.hour > 8'), when('context.paths.contains("a")'))).toEqual(['hour', 'paths']);
  });

  const larger: readonly [string, string, readonly string[]][] = [
    ['a comment', '// at any hour\n true', ['hour']],
    ['a string', 'resource.risk == "run"', ['run']],
    ['another record', 'resource.tier == "wasm"', ['tier']],
    ['behind a number', '1hour', ['hour']],
  ];
  test.each(larger)('takes a name in or on %s for read', (_, condition, names) => {
    expect(readsIn(when(condition))).toEqual(names);
  });

  test.each([
    'context == {"approved": false}',
    '{"approved": false} == context',
    '[{"approved": false}].contains(context)',
    '(context).hour == 1',
    '{all: context}.all.hour == 1',
    '(if true then context else context).hour == 1',
    'context.contains(1)',
    'context . isEmpty ( )',
    'context // a comment\n.hour == 1',
    'context["ho" + "ur"] == 1',
    'context hash',
    'context',
    '"the context of a call" == ""',
  ])('takes everything for read in `%s`', (condition) => {
    expect(readsOf([when('context.hour > 8'), when(condition)])).toBe(EVERYTHING);
  });

  test.each(['context["\\u{68}our"] == 1', 'context has "\\x68our"', 'context.run like "a\\*"'])(
    'takes everything for read where letters may be escaped: `%s`',
    (condition) => {
      expect(readsOf([when(condition)])).toBe(EVERYTHING);
    },
  );

  test('finds seven attributes in the starter policies, the name of a tool among them', () => {
    const live = Object.values(STARTER_POLICIES).map((text) => text.replace(/^\/\/.*$/gm, ''));
    expect(readsIn(...live)).toEqual([
      'approved',
      'capabilities',
      'hosts',
      'input',
      'process',
      'run',
      'tier',
    ]);
  });

  test('can find each attribute there is', () => {
    for (const name of CALL_ATTRIBUTES) expect(readsIn(when(`context has ${name}`))).toEqual([name]);
    expect([...EVERYTHING]).toEqual(CALL_ATTRIBUTES);
  });
});
