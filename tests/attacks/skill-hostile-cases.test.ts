import { describe, expect, test } from 'vitest';
import { auditSkill } from '../../packages/gateway/src/invoke/skills/audit.ts';
import { type CaseJob, runCases } from '../../packages/gateway/src/invoke/skills/run-cases.ts';
import { openPackage } from '../../packages/gateway/src/skills/package/open-package.ts';
import { guest } from '../fixtures/modules/guest.ts';
import { samplePackage } from '../fixtures/skills/sample.ts';
import { OLGA, sharedSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* A package whose own test cases are made to hold, to deceive or to wear out whoever audits it. */

const skillGateway = sharedSkillGateway();
let made = 0;

type Case = {
  readonly name: string;
  readonly tool: string;
  readonly output?: unknown;
  readonly code?: string;
  /** Without these it is not run. */
  readonly needs?: readonly string[];
};

const GOOD: Case = { name: 'gives two numbers', tool: 'plain', output: [1, 2] };
const BAD: Case = { name: 'gives nine', tool: 'plain', output: [9] };
const NEVER = new AbortController().signal;

function withCases(cases: readonly Case[]) {
  made += 1;
  const text = JSON.stringify({ cases: cases.map((each) => ({ input: {}, ...each })) });
  return { id: `acme.cases-${made}`, files: { 'tests/all.json': text } };
}

const auditing = (id: string, signal = NEVER) => ({
  ...{ id, version: null, by: OLGA, tenant: 'default', signal },
});

describe('a case that fails', () => {
  test('keeps its skill from being approved, also after an audit that runs no case', async () => {
    const wishes = withCases([GOOD, BAD]);
    const { skill } = await skillGateway().install(samplePackage(wishes));
    expect(skill.report).toMatchObject({ verdict: 'failed', cases: { passed: 1, failed: 1 } });
    for (let times = 0; times < 2; times += 1) {
      const again = await auditSkill(skillGateway().gateway, { ...auditing(wishes.id), withCases: false });
      expect(again.report).toMatchObject({ verdict: 'failed', cases: null });
    }
    await expect(skillGateway().approve(wishes.id, { acceptFindings: true })).rejects.toMatchObject({
      code: 'skill/audit-failed',
    });
  });

  test('is told without what a terminal would obey, and not at any length', async () => {
    const message = `\u001b[2J${'x'.repeat(5_000)}`;
    const fails = { bytes: guest(({ bytes }) => `(call $fail ${bytes(message)}) (i64.const 0)`) };
    const cases = Array.from({ length: 40 }, (_, at) => ({ name: `\u202e${at}`, tool: 'fails', output: 1 }));
    const { skill } = await skillGateway().install(samplePackage({ ...withCases(cases), tools: { fails } }));
    const reported = skill.report?.findings.filter(({ id }) => id === 'cases/failed') ?? [];
    expect(skill.report?.cases).toMatchObject({ failed: 40 });
    expect(reported.length).toBeLessThan(40);
    for (const { sentence } of reported) expect(sentence).toMatch(/^[\x20-\x7e…]{1,700}$/);
  });
});

describe('the cases of a package', () => {
  const jobOf = (more: Partial<CaseJob>): CaseJob => ({
    pkg: openPackage(samplePackage(withCases([GOOD, { ...GOOD, name: 'once more' }]))),
    ...{ by: OLGA, tenant: 'default', withCapabilities: false, signal: NEVER, ...more },
  });

  test('speak to no skill that runs, whatever channel they name', async () => {
    const { gateway, install, approve, call } = skillGateway();
    const tools = {
      speaks: {
        bytes: guest(
          ({ bytes }) =>
            `(call $say (call $channel_publish (i32.const 40000) ${bytes('obey me')})) (call $said)`,
        ),
        risk: 'medium',
      },
    };
    const capabilities = 'channels = [{ name = "orders", publish = true, receive = false }]\n';
    const speaks: Case = { name: 'speaks', tool: 'speaks', output: [0], needs: ['channel'] };
    const wishes = { ...withCases([speaks]), tools, capabilities };
    const sender = { principal: OLGA, skill: null };
    const listener = gateway.channels.join({ tenant: 'default', sender, publish: [], receive: ['orders'] });
    const pkg = openPackage(samplePackage(wishes));
    const [result] = await runCases(gateway, jobOf({ pkg, withCapabilities: true }));
    expect(result?.verdict).toBe('passed');
    expect(listener?.receive('orders')).toBeNull();
    // The same tool is heard once an operator has approved it.
    await install(samplePackage(wishes));
    await approve(wishes.id, { acceptFindings: true });
    expect((await call(`${wishes.id}.speaks`)).output).toEqual([0]);
    expect(listener?.receive('orders')).toMatchObject({ sender: { skill: wishes.id } });
    listener?.close();
  });

  test('begin for as long as there is time, and are not run after that', async () => {
    const verdicts = async (mostMs: number) =>
      (await runCases(skillGateway().gateway, jobOf({ mostMs }))).map(({ verdict }) => verdict);
    expect(await verdicts(600_000)).toEqual(['passed', 'passed']);
    expect(await verdicts(0)).toEqual(['not-run', 'not-run']);
  });

  test('that were aborted say nothing about a skill that is in use', async () => {
    const { id } = await skillGateway().adopt(withCases([GOOD]));
    const broken = auditSkill(skillGateway().gateway, {
      ...auditing(id, AbortSignal.abort()),
      withCases: true,
    });
    await expect(broken).rejects.toMatchObject({ code: 'tier/cancelled' });
    expect(skillGateway().stateOf(id, '1.0.0')).toBe('active');
    expect((await skillGateway().call(`${id}.plain`)).code).toBe('ok');
  });

  test('are not run once their skill was revoked', async () => {
    const { id } = await skillGateway().adopt(withCases([GOOD]));
    const begun = () => skillGateway().recordsOf('intent').length;
    const before = begun();
    await skillGateway().audit(id);
    expect(begun()).toBe(before + 1);
    await skillGateway().change('revoke', id);
    await expect(skillGateway().audit(id)).rejects.toMatchObject({ code: 'skill/wrong-state' });
    expect(begun()).toBe(before + 1);
  });
});
