import { describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { authorize } from '../../packages/gateway/src/policy/authorize.ts';
import { checkedCall, engineWith, FACTS, makeTool } from '../../packages/gateway/test/policy/sample.ts';

/*
 * In Cedar's JSON `{"__entity": …}` is an entity and `{"__extn": …}` a function call. An input that is passed on as it
 * came could so claim to be a user, or call a function. Here every object of an input is built from declared names.
 */

const OPEN = makeTool({
  id: 'open',
  inputSchema: {
    type: 'object',
    properties: {
      who: {},
      note: { type: 'string' },
      deep: { type: 'object', properties: { note: { type: 'string' } } },
      __entity: { type: 'object', properties: { type: { type: 'string' }, id: { type: 'string' } } },
      __extn: {},
      constructor: { type: 'string' },
    },
  },
});
const POLICIES = `
  @id("quiet") permit(principal, action == Action::"call", resource == Tool::"open")
  unless { context.input has note && context.input.note == "boss" };
  @id("no-boss") forbid(principal, action == Action::"call", resource == Tool::"open")
  when { context.input has who && context.input.who like "*boss*" };`;

const parse = (text: string) => JSON.parse(text) as Json;
const decide = (input: Json) =>
  authorize(engineWith(POLICIES, { tools: () => [OPEN] }), checkedCall(OPEN, input), FACTS);

describe('an input that tries to escape', () => {
  test('is seen by a forbid as the text it is', () => {
    expect(decide({ who: { __entity: { type: 'User', id: 'boss' } } })).toMatchObject({
      verdict: 'deny',
      decidedBy: ['no-boss'],
    });
    expect(decide({ who: { __entity: { type: 'User', id: 'bob' } } }).verdict).toBe('allow');
  });

  const harmless: readonly [string, Json][] = [
    ['an entity in place of the whole input', { __entity: { type: 'User', id: 'boss' } }],
    ['an extension function in place of the whole input', { __extn: { fn: 'datetime', arg: 'x' } }],
    ['an expression in a nested object', { deep: { __expr: 'principal' } }],
    ['a prototype', parse('{"__proto__": {"note": "boss"}}')],
    ['a prototype in a nested object', parse('{"deep": {"__proto__": {"note": 1}}}')],
    ['names of the prototype', parse('{"constructor": "x", "toString": 1, "hasOwnProperty": true}')],
  ];
  test.each(harmless)('with %s changes nothing', (_, input) => {
    expect(decide(input).verdict).toBe('allow');
    expect(({} as { note?: string }).note).toBeUndefined();
  });

  const refused: readonly [string, Json][] = [
    ['an entity where a text is declared', { note: { __entity: { type: 'User', id: 'x' } } }],
    ['an entity where an object is declared', { deep: [{ __entity: { type: 'User', id: 'x' } }] }],
    ['half a character', { note: '\ud800' }],
  ];
  test.each(refused)('with %s is denied', (_, input) => {
    const call = { ...checkedCall(OPEN, {}), input };
    const decision = authorize(engineWith(POLICIES, { tools: () => [OPEN] }), call, FACTS);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
  });

  test('reads no field from the prototype of another object', () => {
    Object.defineProperty(Object.prototype, 'note', { value: 'boss', configurable: true });
    try {
      expect(decide({ deep: {} }).verdict).toBe('allow');
    } finally {
      Reflect.deleteProperty(Object.prototype, 'note');
    }
  });
});
