import { describe, expect, test } from 'vitest';
import type { Principal } from '../../src/core/principal.ts';
import { authorize, authorizeAct } from '../../src/policy/authorize.ts';
import { loadCedar } from '../../src/policy/cedar.ts';
import { checkPolicies } from '../../src/policy/check.ts';
import { STARTER_POLICIES } from '../../src/policy/starter.table.ts';
import { Workbench } from '../../src/policy/workbench.ts';
import {
  ADA,
  APPROVED,
  BOB,
  COUNT,
  checkedCall,
  DANGER,
  FACTS,
  makeBed,
  makeTool,
  preparedProcess,
  SLEEP,
  TOOLS,
} from './sample.ts';

const CI: Principal = { kind: 'service', name: 'ci' };
const MEDIUM = makeTool({ id: 'medium', risk: 'medium' });
const COMMANDS = makeTool({ id: 'palisade.process.run', category: 'process', risk: 'medium', tier: 'c' });
const ALL_TOOLS = [...TOOLS, COMMANDS];
const FETCH = makeTool({ id: 'fetch', hosts: () => ['169.254.169.254'] });

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
      text: text.replace(/^\/\/ (?=@id|permit|forbid|when|unless)/gm, ''),
    }));
    const result = checkPolicies(on, ALL_TOOLS, new Workbench(loadCedar));
    expect(result).toMatchObject({ ok: true, warnings: [] });
    expect(result.ok && result.set.policies.length).toBeGreaterThan(14);
  });

  const short = { ms: 10_000 };
  const long = { ms: 10_001 };
  const text = { text: '' };
  const rows = [
    ['an agent calls a low-risk tool', COUNT, text, ADA, 'allow'],
    ['an agent calls a medium-risk tool', MEDIUM, text, ADA, 'deny'],
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
    const engine = makeBed(null).open();
    expect(authorize(engine, checkedCall(tool, input, principal), FACTS).verdict).toBe(expected);
  });

  test.each(rows.filter(([, , , , expected]) => expected === 'ask'))(
    'allow it once approved, when %s',
    (_, tool, input, principal) => {
      const engine = makeBed(null).open();
      expect(authorize(engine, checkedCall(tool, input, principal), APPROVED).verdict).toBe('allow');
    },
  );

  test.each([
    ['c', 'strict', 'allow'],
    ['b', 'strict', 'ask'],
    ['c', 'preflight', 'ask'],
    ['c', 'none', 'ask'],
  ] as const)('when anybody runs a command in tier %s with egress %s', (tier, egress, expected) => {
    const engine = makeBed(null).open();
    for (const principal of [ADA, BOB]) {
      const call = { ...checkedCall(COMMANDS, text, principal), tier, process: preparedProcess({ egress }) };
      expect(authorize(engine, call, FACTS).verdict).toBe(expected);
    }
  });

  test('let users approve, read, administer and install, and agents none of it', () => {
    const engine = makeBed(null).open();
    const facts = { tenant: 'default', nowMs: 0 };
    const skill = { id: 's', publisher: 'p', version: '1.0.0', trust: 'signed' };
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
        authorizeAct(engine, principal, 'install', { ...facts, skill }),
        authorizeAct(engine, principal, 'readJournal', facts),
        authorizeAct(engine, principal, 'administer', facts),
      ];
      expect(allowed.map((act) => act.allowed)).toEqual([expected, expected, expected, expected]);
    }
  });
});
