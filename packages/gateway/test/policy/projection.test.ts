import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { digestBytes } from '../../src/core/digest.ts';
import { authorize } from '../../src/policy/authorize.ts';
import { type Cedar, loadCedar } from '../../src/policy/cedar.ts';
import { Decider } from '../../src/policy/decider.ts';
import { callSchemaOf, Directory, viewTool } from '../../src/policy/entities.ts';
import type { PolicySet } from '../../src/policy/policy-set.ts';
import { type AskedFacts, callQuestion } from '../../src/policy/request.ts';
import {
  CALL_ATTRIBUTES,
  type CallAttribute,
  callSchemaFor,
  EVERYTHING,
  type Reads,
} from '../../src/policy/schema.ts';
import {
  APPROVED,
  COUNT,
  checkedCall,
  FACTS,
  makeBed,
  makeTool,
  PERMIT_ALL,
  preparedProcess,
  SLEEP,
} from './sample.ts';

const TOOL = makeTool({ capabilities: ['net'], hosts: () => ['a.example'], paths: () => ['p'] });
const PROCESS = preparedProcess();
const SOURCE = { credential: 'process', device: 'laptop', channel: 'editor' };
const PLAIN = checkedCall(TOOL, { text: 'x' });
const CHECKED = {
  ...PLAIN,
  call: { ...PLAIN.call, source: SOURCE, session: 'ses_1' },
  process: PROCESS,
};
const processOf = (kind: string) =>
  `{executable: "/usr/bin/git", executableSha256: "${PROCESS.terms.executableSha256}", kind: "${kind}", arguments: ["status"], commandLine: "git status", workspace: "/w", workspaceRoot: "/w", cwd: "/w", egress: "strict", egressHosts: ["a.example"], secrets: ["github"]}`;
const DIRECTORY = new Directory(new Map());

/** A literal that each attribute equals under the facts, and one of its type that it does not. */
const LITERALS: Readonly<Record<CallAttribute, readonly [string, string]>> = {
  input: ['{text: "x"}', '{text: "y"}'],
  inputText: ['"{\\"text\\":\\"x\\"}"', '"{}"'],
  run: ['"nightly"', '""'],
  door: ['"cli"', '"mcp"'],
  device: ['"laptop"', '"kiosk"'],
  channel: ['"editor"', '"kiosk"'],
  session: ['"ses_1"', '"ses_2"'],
  tier: ['"builtin"', '"wasm"'],
  capabilities: ['["net"]', '["fs"]'],
  hosts: ['["a.example"]', '["b.example"]'],
  paths: ['["p"]', '["q"]'],
  pathsTruncated: ['false', 'true'],
  process: [processOf('plain'), processOf('shell')],
  now: ['datetime("2026-05-01T12:00:00.000Z")', 'datetime("2000-01-01")'],
  hour: ['12', '0'],
  weekday: ['5', '7'],
  budgetLeft: ['context.budgetLeft', '{calls: 1}'],
  limits: ['context.limits', '{fuel: 1}'],
  approved: ['false', 'true'],
  approvedBy: ['User::"bob"', 'User::"eve"'],
};

const name = fc.constantFrom(...CALL_ATTRIBUTES);
const gap = fc.constantFrom('', '', '', ' ', '\n\t', ' // the hour is late\n');
const withEscape = (text: string, at: number) => {
  const index = at % text.length;
  const code = text.charCodeAt(index).toString(16);
  return `${text.slice(0, index)}\\u{${code}}${text.slice(index + 1)}`;
};
const rarely = <T>(common: fc.Arbitrary<T>, rare: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: common }, { weight: 1, arbitrary: rare });
const record = rarely(
  fc.constant('context'),
  fc.constantFrom('(context)', '{r: context}.r', '(if 1 == 1 then context else context)'),
);
const quoted = (spelt: string) =>
  rarely(
    fc.constant(`"${spelt}"`),
    fc.nat(20).map((at) => `"${withEscape(spelt, at)}"`),
  );

const read = fc.tuple(record, gap, gap, name).chain(([from, before, after, attribute]) =>
  fc.oneof(
    fc.constant(`${from}${before}.${after}${attribute}`),
    quoted(attribute).map((text) => `${from}${before}[${after}${text}]`),
  ),
);
const has = fc.tuple(record, name).chain(([from, attribute]) =>
  fc.oneof(
    fc.constant(`${from} has ${attribute}`),
    quoted(attribute).map((text) => `${from} has ${text}`),
    fc.constant(`${from} has ${attribute}.text`),
  ),
);
const literal = fc
  .tuple(name, fc.constantFrom(0, 0, 1))
  .map(([attribute, which]) => LITERALS[attribute][which]);
const equals = fc
  .tuple(name, fc.constantFrom(0, 0, 1), gap)
  .map(([attribute, which, space]) => `context.${attribute} ==${space} ${LITERALS[attribute][which]}`);
const guarded = fc
  .tuple(name, fc.constantFrom('&&', '||'))
  .map(
    ([attribute, and]) =>
      `(context has ${attribute} ${and} context.${attribute} == ${LITERALS[attribute][0]})`,
  );
const whole = fc
  .tuple(fc.subarray([...CALL_ATTRIBUTES], { maxLength: 3 }), fc.boolean())
  .map(([attributes, isMember]) => {
    const fields = attributes.map((attribute) => `${attribute}: ${LITERALS[attribute][0]}`);
    return isMember ? `[{${fields.join(', ')}}].contains(context)` : `context == {${fields.join(', ')}}`;
  });
const mixed = fc.tuple(read, literal).map(([left, right]) => `${left} == ${right}`);
const leaf = rarely(fc.oneof(equals, equals, guarded, guarded, has, mixed), whole);
const condition = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    tie('node').map((inner) => `!(${inner})`),
    fc
      .tuple(tie('node'), fc.constantFrom('&&', '||'), tie('node'))
      .map(([left, and, right]) => `(${left} ${and} ${right})`),
    fc
      .tuple(tie('node'), tie('node'), tie('node'))
      .map(([test, yes, no]) => `(if ${test} then ${yes} else ${no})`),
  ),
})).node;
const policy = fc
  .record({
    effect: fc.constantFrom('permit', 'permit', 'forbid'),
    action: fc.constantFrom(
      'action',
      'action == Action::"call"',
      'action in [Action::"approve", Action::"call"]',
      'action == Action::"approve"',
    ),
    resource: fc.constantFrom(
      ...['resource', 'resource', `resource == Tool::"${CHECKED.tool.id}"`, 'resource == Tool::"other.tool"'],
      `resource // == Tool::"other.tool")\n`,
      'resource in Category::"text"',
    ),
    before: fc.constantFrom(
      '',
      '@note("resource == Tool::(") ',
      '// (principal, resource == Tool::"other.tool")\n',
    ),
    kind: fc.constantFrom('when', 'unless'),
    condition,
  })
  .map(
    ({ before, effect, action, resource, kind, condition }) =>
      `${before}${effect}(principal, ${action}, ${resource}) ${kind} { ${condition} };`,
  );

function setOf(texts: readonly string[]): PolicySet {
  const policies = texts.map((text, at) => ({ id: `p${at}`, file: 'a', effect: 'permit' as const, text }));
  return { digest: digestBytes(texts.join('\n')), policies };
}

function deciderOf(...texts: string[]): Decider {
  const decider = new Decider(loadCedar);
  decider.use(setOf(texts));
  return decider;
}

/** The answers to the same call told whole and told as far as it is read. */
function bothAnswers(decider: Decider, facts: AskedFacts = FACTS) {
  const whole = decider.ask(callQuestion(DIRECTORY, CHECKED, facts));
  const ask = (reads: Reads) => decider.ask(callQuestion(DIRECTORY, CHECKED, facts, reads));
  const ofTool = decider.readsFor(CHECKED.tool.id);
  // Told for all tools, told for this one, and asked once more, which is answered from memory.
  const [projected, ...same] = [ask(decider.reads), ask(ofTool), ask(ofTool)];
  for (const answer of same) expect(answer).toEqual(projected);
  return { whole, projected };
}

describe('a call that is told as far as it is read', () => {
  test('has the answer of the call told whole, under any policies', () => {
    const runs = volume(600, 150);
    const decider = deciderOf();
    const seen = new Map<string, number>();
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
    const facts = fc.constantFrom<AskedFacts>(FACTS, APPROVED, { ...FACTS, approval: 'assumed' });
    fc.assert(
      fc.property(fc.array(policy, { minLength: 1, maxLength: 3 }), facts, (texts, facts) => {
        decider.use(setOf(texts));
        const { whole, projected } = bothAnswers(decider, facts);
        expect(projected).toEqual(whole);
        count(whole.verdict);
        count(decider.reads === EVERYTHING ? 'told whole' : 'told in part');
      }),
      { numRuns: runs },
    );
    // None of them is rare, or the property would say little.
    for (const what of ['allow', 'deny', 'error', 'told in part', 'told whole'])
      expect(seen.get(what) ?? 0, what).toBeGreaterThan(runs / 30);
  }, 60_000);

  test.each([
    'context == {"approved": false}',
    '[{"approved": false}].contains(context)',
    '{"approved": false, "all": 1} == {"approved": context, "all": 1}',
  ])('is not mistaken for a smaller record: `%s`', (condition) => {
    const { whole, projected } = bothAnswers(
      deciderOf(`permit(principal, action, resource) when { ${condition} };`),
    );
    expect(whole.verdict).toBe('deny');
    expect(projected).toEqual(whole);
  });

  test.each(['context has "\\u{68}our"', 'context["\\u{68}our"] == 12', 'context has "\\x68our"'])(
    'keeps an attribute whose name is escaped: `%s`',
    (condition) => {
      const forbid = `forbid(principal, action, resource) when { ${condition} };`;
      const { whole, projected } = bothAnswers(deciderOf(PERMIT_ALL, forbid));
      expect(whole).toMatchObject({ verdict: 'deny', decidedBy: ['p1'] });
      expect(projected).toEqual(whole);
    },
  );

  test('is told no input where only a policy about another tool reads it', () => {
    const decider = deciderOf(
      PERMIT_ALL,
      '@id("a") forbid (principal, action == Action::"call", resource == Tool::"other.tool") when { context.input.ms > 1 };',
    );
    expect([...decider.readsFor(CHECKED.tool.id)]).toEqual([]);
    expect([...decider.readsFor('other.tool')]).toEqual(['input']);
    expect([...decider.reads]).toEqual(['input']);
  });

  test('is refused by a set that it was not written for', () => {
    const decider = deciderOf(PERMIT_ALL);
    const question = callQuestion(DIRECTORY, CHECKED, FACTS, decider.reads);
    expect(decider.ask(question).verdict).toBe('allow');
    decider.use(setOf([PERMIT_ALL, 'forbid(principal, action, resource) when { context has hour };']));
    expect(decider.ask(question).verdict).toBe('error');
    expect(bothAnswers(decider).projected).toMatchObject({ verdict: 'deny', decidedBy: ['p1'] });
  });

  test.each([
    ['a clock beyond all years', CHECKED, { ...FACTS, nowMs: Date.UTC(10_000, 0) }],
    ['no clock', CHECKED, { ...FACTS, nowMs: Number.NaN }],
    ['an input of another type', checkedCall(SLEEP, { ms: 0.5 }), FACTS],
    ['an unspeakable path', checkedCall(makeTool({ paths: unspeakable }), { text: '' }), FACTS],
  ])('is refused for %s, though no policy reads it', (_, checked, facts) => {
    const decision = authorize(makeBed({ 'a.cedar': PERMIT_ALL }).open(), checked, facts);
    expect(decision).toMatchObject({ verdict: 'deny', refused: { code: 'policy/evaluation-error' } });
  });
});

function unspeakable(): never {
  throw new Error('no such path');
}

describe('the deciding instance', () => {
  /** What Cedar was asked last. */
  function watching() {
    const requested: { context: string[]; schema: string }[] = [];
    const load = (): Cedar => {
      const cedar = loadCedar();
      const statefulIsAuthorized: Cedar['statefulIsAuthorized'] = (call) => {
        requested.push({ context: Object.keys(call.context), schema: call.preparsedSchemaName ?? '' });
        return cedar.statefulIsAuthorized(call);
      };
      return { ...cedar, statefulIsAuthorized };
    };
    return { load, last: () => requested.at(-1) };
  }

  test('is told what the set reads, and with another set what that one reads', () => {
    const bed = makeBed({ 'a.cedar': PERMIT_ALL });
    const { load, last } = watching();
    const engine = bed.open({ load });
    const verdict = () => authorize(engine, checkedCall(COUNT, { text: '' }), FACTS).verdict;
    expect(verdict()).toBe('allow');
    expect(last()?.context).toEqual([]);
    const late = '@id("late") forbid(principal, action, resource) when { context.hour == 12 };';
    bed.write('a.cedar', PERMIT_ALL + late);
    expect(verdict()).toBe('allow');
    engine.refresh();
    authorize(engine, checkedCall(COUNT, { text: '' }), APPROVED);
    expect(last()?.context).toEqual(['hour']);
    expect(verdict()).toBe('deny');
    bed.write('a.cedar', `${PERMIT_ALL + late}permit(`);
    engine.refresh();
    expect(verdict()).toBe('deny');
    expect(last()?.context).toEqual(['hour']);
  });

  test('needs one schema for all tools where no policy reads the input, and one for each type where one does', () => {
    const reads = (...names: CallAttribute[]) => new Set(names);
    const [hour, input] = [reads('hour'), reads('hour', 'input')];
    const nameOf = (tool: typeof COUNT, of: Reads) => callSchemaOf(viewTool(tool), of).name;
    expect(nameOf(COUNT, hour)).toBe(nameOf(SLEEP, hour));
    expect(nameOf(COUNT, hour)).toBe(nameOf(COUNT, reads('hour')));
    const distinct = [
      nameOf(COUNT, hour),
      nameOf(COUNT, input),
      nameOf(SLEEP, input),
      nameOf(COUNT, reads()),
    ];
    expect(new Set([...distinct, nameOf(COUNT, EVERYTHING)]).size).toBe(5);
    expect(callSchemaOf(viewTool(COUNT), EVERYTHING)).toBe(viewTool(COUNT).schema);
  });

  test('gets a schema that Cedar takes, whatever is read', () => {
    const cedar = loadCedar();
    fc.assert(
      fc.property(fc.subarray([...CALL_ATTRIBUTES]), (names) => {
        const text = callSchemaFor('{ "a"?: Long }', new Set(names));
        expect(cedar.checkParseSchema(text)).toEqual({ type: 'success' });
      }),
    );
  });
});
