import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import { loadCedar, Workbench } from '../../src/policy/cedar.ts';
import { checkPolicies } from '../../src/policy/check.ts';
import { SKILL_ACTS } from '../../src/policy/entities.ts';
import { POLICY_LIMITS } from '../../src/policy/limits.ts';
import { parseCases, runPolicyTests } from '../../src/policy/policy-test.ts';
import { PALISADE_SCHEMA } from '../../src/policy/schema.ts';
import { STARTER_POLICIES } from '../../src/policy/starter.table.ts';
import { checkedCall, makeBed, makeTool, NOON, SLEEP } from './sample.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../../docs/policy.md'), 'utf8');
const blocks = (language: string) =>
  [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text = '']) => text);

describe('docs/policy.md', () => {
  test('shows recipes that pass the check without a warning', () => {
    const echo = makeTool({ inputSchema: { type: 'object', properties: { message: { type: 'string' } } } });
    const text = blocks('cedar').join('\n');
    const result = checkPolicies([{ name: 'docs.cedar', text }], [SLEEP, echo], new Workbench(loadCedar));
    expect(result).toMatchObject({ ok: true, warnings: [] });
    expect(blocks('cedar').length).toBeGreaterThan(8);
  });

  test('shows the schema as it is', () => {
    expect(blocks('cedarschema')).toEqual([PALISADE_SCHEMA]);
  });

  const fieldsOf = (type: string) => {
    const [, context = ''] = new RegExp(`type ${type} = \\{([^}]*)\\}`).exec(PALISADE_SCHEMA) ?? [];
    return [...context.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name = '']) => name);
  };

  test('names every field of an act upon a skill and every such act', () => {
    const [, section = ''] = PAGE.split('### Context of actions on skills');
    const [table = ''] = section.split('###');
    expect(fieldsOf('SkillContext').length).toBeGreaterThan(9);
    for (const name of fieldsOf('SkillContext'))
      expect(table).toMatch(new RegExp(`^\\|.*\`${name}\`.* \\|`, 'm'));
    for (const act of SKILL_ACTS)
      expect(PAGE).toMatch(new RegExp(`^\\| .*\`${act}\`.* \\| \`Skill\` \\|`, 'm'));
  });

  test('names every field of the context of a call, every starter file and the limits', () => {
    const fields = fieldsOf('CallContext');
    expect(fields.length).toBeGreaterThan(10);
    for (const name of [...fields, ...Object.keys(STARTER_POLICIES)])
      expect(PAGE).toContain(`| \`${name}\` |`);
    const { files, policies, openBrackets, expressionDepth } = POLICY_LIMITS;
    for (const limit of [files, policies, openBrackets, expressionDepth]) {
      expect(PAGE).toContain(`at most ${limit.toLocaleString('en')}`);
    }
  });

  test('shows cases that pass under the starter set', async () => {
    const cases = parseCases(blocks('toml').join('\n'), 'docs.toml');
    const check = (_: string, text: string) => checkedCall(SLEEP, JSON.parse(text) as Json);
    const results = await runPolicyTests(makeBed(null).open(), cases, {
      check,
      tenant: 'default',
      nowMs: NOON,
    });
    expect(results.map(({ message }) => message)).toEqual(['', '', '', '', '']);
  });
});
