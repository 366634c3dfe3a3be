import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { CodedError } from '../../src/core/coded-error.ts';
import type { Json } from '../../src/core/json.ts';
import { refuse } from '../../src/core/outcome.ts';
import { parseCases, runPolicyTests } from '../../src/policy/policy-test.ts';
import { checkedCall, engineWith, makeBed, NOON, TOOLS } from './sample.ts';

const options = {
  tenant: 'default',
  nowMs: NOON,
  check: (id: string, inputText: string) => {
    const tool = TOOLS.find((one) => one.id === id);
    return tool === undefined
      ? refuse('registry/unknown-tool', `Cannot find tool "${id}"`)
      : checkedCall(tool, JSON.parse(inputText) as Json);
  },
};

const GOOD = `
[[case]]
principal = "agent:ada"
tool = "text.count"
input = { text = "x" }
expected = "allow"
decided_by = ["agents-call-low-risk-tools"]

[[case]]
name = "long sleeps ask"
principal = "user:bob"
tool = "palisade.sleep"
input_json = '{"ms": 20000}'
expected = "ask"

[[case]]
name = "approved long sleeps run"
principal = "user:bob"
tool = "palisade.sleep"
input = { ms = 20_000 }
approved = true
expected = "allow"

[[case]]
principal = "agent:ada"
action = "approve"
tool = "disk.format"
input = { text = "" }
expected = "deny"

[[case]]
principal = "user:bob"
action = "readJournal"
expected = "allow"
`;

describe('runPolicyTests()', () => {
  test('passes what the live set answers as expected', async () => {
    const results = await runPolicyTests(
      makeBed(null).open(),
      parseCases(GOOD, 'cases.toml').slice(0, 3),
      options,
    );
    expect(results.map(({ message }) => message)).toEqual(['', '', '']);
    expect(results.map(({ passed, line }) => [passed, line])).toEqual([
      [true, 2],
      [true, 9],
      [true, 16],
    ]);
  });

  test('asks about acts too; an agent that approves is denied whatever the policies say', async () => {
    const results = await runPolicyTests(
      makeBed(null).open(),
      parseCases(GOOD, 'cases.toml').slice(3),
      options,
    );
    expect(results.map(({ passed, actual }) => [passed, actual])).toEqual([
      [true, 'deny'],
      [true, 'allow'],
    ]);
  });

  test('fails a wrong answer and a right answer by another policy, and says what happened', async () => {
    const cases = parseCases(
      GOOD.replace('"allow"', '"deny"').replace('"ask"', '"ask"\ndecided_by = ["other"]'),
      'c.toml',
    );
    const [first, second] = await runPolicyTests(makeBed(null).open(), cases, options);
    expect(first?.message).toBe(
      'Cannot pass "case 1": the answer is "allow" by "agents-call-low-risk-tools", expected "deny" by "agents-call-low-risk-tools"',
    );
    expect(second).toMatchObject({ passed: false, actual: 'ask', decidedBy: ['long-sleep-needs-approval'] });
  });

  test('judges with the time and the groups of the case', async () => {
    const engine = engineWith(
      `permit(principal in Group::"night", action == Action::"call", resource) when { context.hour == 3 };`,
    );
    const one = (more: string) =>
      `[[case]]\nprincipal = "agent:ada"\ntool = "text.count"\ninput = { text = "" }\n${more}\n`;
    const text = [
      one('at = "2026-01-01T03:00:00Z"\ngroups = ["night"]\nexpected = "allow"'),
      one('at = 2026-01-01T04:00:00+01:00\ngroups = ["night"]\nexpected = "allow"'),
      one('at = "2026-01-01T04:00:00Z"\ngroups = ["night"]\nexpected = "deny"'),
      one('at = "2026-01-01T03:00:00Z"\nexpected = "deny"'),
    ].join('\n');
    const results = await runPolicyTests(engine, parseCases(text, 'c.toml'), options);
    expect(results.map(({ message }) => message)).toEqual(['', '', '', '']);
  });

  test('never passes a case whose tool or input is not valid, whatever it expects', async () => {
    const text = '[[case]]\nprincipal = "agent:ada"\ntool = "gone"\nexpected = "deny"\n';
    const [result] = await runPolicyTests(makeBed(null).open(), parseCases(text, 'c.toml'), options);
    expect(result).toMatchObject({ passed: false, actual: 'error' });
    expect(result?.message).toContain('Cannot find tool "gone"');
  });
});

describe('a case about a skill', () => {
  const FOUR_EYES = `permit(principal, action in Action::"manageSkills", resource) when { resource.publisher == "acme" };
    @id("four-eyes") forbid(principal, action == Action::"approveSkill", resource)
    when { context has installedBy && context.installedBy == principal };
    @id("plain") forbid(principal, action == Action::"install", resource)
    when { context.hasWildcards || context.hosts.contains("evil.example") || context.state != "new" };`;
  const one = (principal: string, action: string, skill: string, expected: string) =>
    `[[case]]\nprincipal = "${principal}"\naction = "${action}"\nskill = ${skill}\nexpected = "${expected}"\n`;

  test('is put to the live set with what it says of the skill', async () => {
    const text = [
      one('user:bob', 'approveSkill', '{ id = "acme.text", installed_by = "user:grace" }', 'allow'),
      one('user:bob', 'approveSkill', '{ id = "acme.text", installed_by = "user:bob" }', 'deny'),
      one('user:bob', 'install', '{ id = "acme.text" }', 'allow'),
      one('user:bob', 'install', '{ id = "acme.text", publisher = "evil" }', 'deny'),
      one('user:bob', 'install', '{ id = "acme.text", has_wildcards = true }', 'deny'),
      one('user:bob', 'install', '{ id = "acme.text", hosts = ["evil.example"] }', 'deny'),
      one('user:bob', 'install', '{ id = "acme.text", state = "disabled" }', 'deny'),
      one('service:ci', 'install', '{ id = "acme.text" }', 'allow'),
      one('service:ci', 'approveSkill', '{ id = "acme.text" }', 'deny'),
      one('agent:ada', 'install', '{ id = "acme.text" }', 'deny'),
    ].join('\n');
    const results = await runPolicyTests(engineWith(FOUR_EYES), parseCases(text, 'c.toml'), options);
    expect(results.map(({ message }) => message)).toEqual(Array.from({ length: 10 }, () => ''));
  });

  const faulty: readonly [string, string, RegExp][] = [
    [
      'no skill',
      one('user:bob', 'install', '{}', 'allow'),
      /^c\.toml:4:9: .*it has no id, expected the key id/,
    ],
    [
      'an unknown key',
      one('user:bob', 'install', '{ id = "a.b", host = [] }', 'allow'),
      /the key "case\[0\]\.skill\.host": it is unknown/,
    ],
    [
      'no id',
      one('user:bob', 'install', '{ id = "a b" }', 'allow'),
      /case\[0\]\.skill\.id: it is "a b", expected a skill/,
    ],
    [
      'a word for true',
      one('user:bob', 'install', '{ id = "a.b", has_wildcards = "no" }', 'allow'),
      /true or false/,
    ],
    [
      'another verdict',
      one('user:bob', 'install', '{ id = "a.b", verdict = "fine" }', 'allow'),
      /case\[0\]\.skill\.verdict: /,
    ],
    [
      'nobody who installed it',
      one('user:bob', 'install', '{ id = "a.b", installed_by = "bob" }', 'allow'),
      /installed_by: it is "bob", expected "agent:NAME"/,
    ],
    [
      'a skill for another action',
      one('user:bob', 'administer', '{ id = "a.b" }', 'allow'),
      /expected none for/,
    ],
    [
      'a tool',
      `${one('user:bob', 'install', '{ id = "a.b" }', 'allow')}tool = "t"\n`,
      /it has the key tool, expected none/,
    ],
  ];
  test.each(faulty)('is refused with %s', (_, text, message) => {
    expect(() => parseCases(text, 'c.toml')).toThrow(message);
  });
});

describe('parseCases()', () => {
  const base = '[[case]]\nprincipal = "agent:ada"\ntool = "t"\nexpected = "allow"\n';
  const faulty: readonly [string, string, RegExp][] = [
    ['bad syntax', '[[case]]\nprincipal = \n', /^c\.toml:2:\d+: /],
    [
      'an unknown key',
      `${base}\n[[case]]\nprincipal = "agent:ada"\ntol = "t"\nexpected = "allow"`,
      /^c\.toml:8:1: .*the key "case\[1\]\.tol": it is unknown, .*\(did you mean "tool"\?\)/,
    ],
    [
      'an unknown table',
      `${base}[other]\n`,
      /^c\.toml:5:2: .*the key "other": it is unknown, expected one of case/,
    ],
    [
      'a missing answer',
      '[[case]]\nprincipal = "agent:ada"\ntool = "t"\n',
      /^c\.toml:1:3: .*it has no expected/,
    ],
    ['a missing tool', '[[case]]\nprincipal = "agent:ada"\nexpected = "deny"\n', /it has no tool/],
    [
      'a principal of no kind',
      base.replace('agent:ada', 'ada'),
      /^c\.toml:2:13: .*principal: it is "ada", expected "agent:NAME"/,
    ],
    [
      'an answer that does not exist',
      base.replace('allow', 'maybe'),
      /^c\.toml:4:12: .*it is "maybe", expected one of "allow"/,
    ],
    [
      'a word for true',
      `${base}approved = "true"`,
      /approved: it is "true", expected true or false \(write true without quotes\)/,
    ],
    ['a time without a zone', `${base}at = "2026-01-01T00:00:00"`, /at: it is .*, expected a time such as/],
    ['two inputs', `${base}input = {}\ninput_json = "{}"`, /both/],
    ['a date in the input', `${base}input = { at = 2026-01-01T00:00:00Z }`, /not JSON/],
    ['infinity in the input', `${base}input = { a = inf }`, /not JSON/],
    ['an integer beyond the safe range', `${base}input = { a = 9007199254740993 }`, /not JSON/],
  ];
  test.each(faulty)('refuses %s', (_, text, message) => {
    expect(() => parseCases(text, 'c.toml')).toThrow(message);
  });

  test('ends in cases or in a CodedError and in nothing else', () => {
    const line = fc.constantFrom(
      '[[case]]',
      'principal = "agent:a"',
      'tool = "t"',
      'expected = "allow"',
      'input = { a = [1] }',
      'action = "install"',
      'skill = { id = "a.b" }',
      'skill.__proto__ = 1',
      '[case]',
      '__proto__ = 1',
      'constructor = 1',
      'at = 1',
      'x = """',
      '"',
      'input.b = nan',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(line).map((lines) => lines.join('\n')),
          fc.string(),
        ),
        (text) => {
          try {
            for (const one of parseCases(text, 'c.toml')) expect(one.principal.name).not.toBe('');
          } catch (error) {
            expect(error).toBeInstanceOf(CodedError);
            expect((error as CodedError).message).toMatch(/^c\.toml:\d+:\d+: Cannot /);
          }
        },
      ),
      { numRuns: volume(500, 30) },
    );
  });
});
