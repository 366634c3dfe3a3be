import { describe, expect, it } from 'vitest';
import type { CheckedCall } from '../../src/core/checked-call.ts';
import type { ProcessTerms, ProcessTierName } from '../../src/core/process.ts';
import { authorize } from '../../src/policy/authorize.ts';
import { explain } from '../../src/policy/explain.ts';
import { ADA, APPROVED, BOB, checkedCall, FACTS, makeBed, makeTool, preparedProcess } from './sample.ts';

const RUN = makeTool({
  id: 'palisade.process.run',
  category: 'process',
  risk: 'medium',
  inputSchema: {
    type: 'object',
    properties: { command: { type: 'string' }, tier: { type: 'string' } },
    required: ['command'],
  },
  capabilities: ['process'],
  tier: 'c',
  executor: { kind: 'process', prepare: async () => preparedProcess() },
});

/** A command of this kind in this tier, as the registry would have checked it. */
function command(tier: ProcessTierName, guard: string | null = null, principal = ADA): CheckedCall {
  const prepared = preparedProcess({ secrets: [] });
  const process = { ...prepared, facts: { ...prepared.facts, tier, guard } };
  return { ...checkedCall(RUN, { command: 'awk', tier }, principal), tier, process };
}

const CALLS = '@id("calls") permit (principal, action == Action::"call", resource);\n';
const INTERPRETERS =
  '@id("users-interpret") permit (principal is User, action == Action::"runInterpreter", resource);\n';

function decided(policies: string, checked: CheckedCall, facts = FACTS) {
  return authorize(makeBed({ 'a.cedar': policies }).open({ tools: () => [RUN] }), checked, facts);
}

describe('a program that tier b does not confine', () => {
  it('takes a second permit: one that calls are permitted by is not enough', () => {
    expect(decided(CALLS, command('b', 'runs code'))).toMatchObject({
      verdict: 'deny',
      refused: {
        code: 'policy/denied',
        message:
          'Cannot call "palisade.process.run" as agent:ada: "/usr/bin/git" runs code, which tier "b" does not confine, and no policy permits it',
        remedy: expect.stringMatching(
          /^Tier "c" would be allowed: .*process\.interpreters .*Action::"runInterpreter"/,
        ),
      },
    });
  });

  it('runs where a policy permits it, and the grant names both policies', () => {
    expect(decided(CALLS + INTERPRETERS, command('b', 'runs code', BOB))).toMatchObject({
      verdict: 'allow',
      grant: { decidedBy: ['calls', 'users-interpret'] },
    });
    expect(decided(CALLS + INTERPRETERS, command('b', 'runs code', ADA)).verdict).toBe('deny');
  });

  it('does not run by that permit alone', () => {
    expect(decided(INTERPRETERS, command('b', 'runs code', BOB)).verdict).toBe('deny');
  });

  it('runs where a policy permits every action, unless one forbids this one', () => {
    const all = '@id("all") permit (principal, action, resource);\n';
    expect(decided(all, command('b', 'runs code')).verdict).toBe('allow');
    const not = '@id("not") forbid (principal, action == Action::"runInterpreter", resource);\n';
    expect(decided(all + not, command('b', 'runs code'))).toMatchObject({
      verdict: 'deny',
      decidedBy: ['not'],
      refused: { message: expect.stringContaining('and policy "not" forbids it') },
    });
    expect(decided(all + not, command('b')).verdict).toBe('allow');
  });

  it('is not put before a person whose approval would not permit it', () => {
    const approved =
      '@id("approved") permit (principal, action == Action::"call", resource) when { context.approved };\n';
    expect(decided(approved, command('b')).verdict).toBe('ask');
    expect(decided(approved, command('b', 'runs code')).verdict).toBe('deny');
    expect(decided(approved, command('b', 'runs code'), APPROVED).verdict).toBe('deny');
    const both = `${approved}@id("i") permit (principal, action == Action::"runInterpreter", resource) when { context.approved };\n`;
    expect(decided(both, command('b', 'runs code')).verdict).toBe('ask');
    expect(decided(both, command('b', 'runs code'), APPROVED).verdict).toBe('allow');
  });
});

describe('a tier that the policies do not permit', () => {
  const floor =
    '@id("floor") forbid (principal is Agent, action == Action::"call", resource) when { context.tier == "b" };\n';

  it('is refused with the one that they would', () => {
    expect(decided(CALLS + floor, command('b'))).toMatchObject({
      verdict: 'deny',
      decidedBy: ['floor'],
      refused: { remedy: 'Tier "c" would be allowed: ask for it (`tier`, or --tier c).' },
    });
    expect(decided(CALLS + floor, command('c')).verdict).toBe('allow');
  });

  it('names none where no tier would be permitted', () => {
    const { refused } = decided(floor, command('b')) as { refused: { remedy: string } };
    expect(refused.remedy).not.toContain('Tier');
  });

  it('names the one without an approval beside the approval', () => {
    const asks = `${CALLS}@id("ask") forbid (principal, action == Action::"call", resource) when { context.tier == "b" } unless { context.approved };\n`;
    expect(decided(asks, command('b'))).toMatchObject({ verdict: 'ask', stronger: 'c' });
  });

  it('is explained with both, and with what the call can do', () => {
    const engine = makeBed({ 'a.cedar': CALLS }).open({ tools: () => [RUN] });
    const { verdict, capabilities, differences } = explain(engine, command('b', 'runs code'), FACTS);
    expect(verdict).toBe('deny');
    expect(capabilities).toEqual(['process', 'ProcessExec', 'Network', 'FilesystemWrite']);
    expect(differences.join('\n')).toContain('Tier "c" would be allowed');
  });
});

describe('context.capabilities', () => {
  it('is what is granted, whatever the tool declares', () => {
    const offline =
      '@id("offline") forbid (principal, action == Action::"call", resource) when { context.capabilities.contains("Network") };\n';
    const withTerms = (terms: Partial<ProcessTerms>) => ({
      ...command('c'),
      process: preparedProcess({ secrets: [], egressHosts: [], ...terms }),
    });
    expect(decided(CALLS + offline, withTerms({})).verdict).toBe('allow');
    expect(decided(CALLS + offline, withTerms({ egressHosts: ['a.example'] }))).toMatchObject({
      decidedBy: ['offline'],
    });
    expect(decided(CALLS + offline, withTerms({ egress: 'none' }))).toMatchObject({ decidedBy: ['offline'] });
  });
});
