import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { answerApproval } from '../../packages/gateway/src/invoke/administer.ts';
import { KEEPER, KEEPS, MALLORY, publicDocument, samplePackage } from '../fixtures/skills/sample.ts';
import { actsOf, OLGA, sharedSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* What the policies do not let somebody do is done by the way of another act, or by somebody who is nobody. */

const skillGateway = sharedSkillGateway({ config: '[policy]\nreload_ms = 1\n' });
let made = 0;

const keeps = { tools: { keep: KEEPER }, capabilities: KEEPS };
const extra = () => join(skillGateway().stateDir, 'policies/extra.cedar');

function newId(): string {
  made += 1;
  return `acme.around-${made}`;
}

/** Changes the policies, and waits until the others are in force. */
async function change(act: () => void): Promise<void> {
  const { policy } = skillGateway().gateway;
  const before = policy.setDigest;
  act();
  await vi.waitFor(() => {
    policy.refresh();
    expect(policy.setDigest).not.toBe(before);
  });
}

/** A policy more for as long as the test runs. */
async function decree(text: string): Promise<void> {
  await change(() => writeFileSync(extra(), text));
  onTestFinished(() => change(() => rmSync(extra())));
}

describe('who may approve and not switch on', () => {
  test('approves without switching on, and not with it', async () => {
    const id = newId();
    await skillGateway().install(samplePackage({ id }));
    await decree('@id("no-enable") forbid (principal, action == Action::"enableSkill", resource);\n');
    await expect(skillGateway().approve(id)).rejects.toMatchObject({ code: 'policy/denied' });
    expect(skillGateway().stateOf(id, '1.0.0')).toBe('quarantined');
    expect(skillGateway().recordsOf('skill-refused').at(-1)).toMatchObject({
      skill: id,
      event: 'enableSkill',
    });
    expect((await skillGateway().approve(id, { enable: false })).skill.state).toBe('approved');
    await expect(skillGateway().change('enable', id)).rejects.toMatchObject({ code: 'policy/denied' });
  });

  test('is the first of two reviewers all the same', async () => {
    const id = newId();
    await skillGateway().install(samplePackage({ id, more: '[trust]\nreviewers = 2\n' }));
    await decree('@id("no-enable") forbid (principal, action == Action::"enableSkill", resource);\n');
    expect((await skillGateway().approve(id)).reviewersMissing).toBe(1);
    const otto = { by: { ...OLGA, name: 'otto' } };
    await expect(skillGateway().approve(id, otto)).rejects.toMatchObject({ code: 'policy/denied' });
    expect(skillGateway().stateOf(id, '1.0.0')).toBe('quarantined');
  });
});

describe('an approval that withholds what the policies forbid', () => {
  test('is let through, and one that does not is not', async () => {
    const id = newId();
    await skillGateway().install(samplePackage({ id, ...keeps }));
    await decree(
      '@id("no-storage") forbid (principal, action == Action::"approveSkill", resource) when { context.capabilities.contains("storage") };\n',
    );
    await expect(skillGateway().approve(id)).rejects.toMatchObject({ code: 'policy/denied' });
    expect((await skillGateway().approve(id, { withhold: ['storage'] })).skill.state).toBe('active');
    expect(await skillGateway().call(`${id}.keep`)).toMatchObject({ code: 'ok', output: [-1] });
  });
});

describe('the approval of a call', () => {
  test('is not one under a wider grant', async () => {
    const id = newId();
    await skillGateway().install(samplePackage({ id, ...keeps }));
    await skillGateway().approve(id, { withhold: ['storage:write'] });
    await decree(
      '@id("ask") forbid (principal, action == Action::"call", resource) unless { context.approved };\n',
    );
    const requested = await skillGateway().call(`${id}.keep`);
    const request = /apr_\w+/.exec(requested.message)?.[0] ?? '';
    await answerApproval(skillGateway().gateway, {
      id: request,
      verdict: 'approved',
      by: OLGA,
      note: null,
      door: 'cli',
      credential: 'process',
    });
    await skillGateway().change('quarantine', id);
    await skillGateway().approve(id);
    expect((await skillGateway().call(`${id}.keep`)).code).toBe('policy/approval-required');
    await skillGateway().change('quarantine', id);
    await skillGateway().approve(id, { withhold: ['storage:write'] });
    expect(await skillGateway().call(`${id}.keep`)).toMatchObject({ code: 'ok', output: [-1] });
  });
});

describe('an agent', () => {
  test('does nothing to a skill, although everything is permitted to everybody', async () => {
    const { id } = await skillGateway().adopt({ id: newId() });
    const waiting = newId();
    await skillGateway().install(samplePackage({ id: waiting }));
    const agent = actsOf(skillGateway(), { kind: 'agent', name: 'mallory' });
    const acts = [
      () => agent.install(samplePackage({ id: newId() })),
      () => agent.approve(waiting),
      () => agent.audit(id),
      () => agent.change('disable', id),
      () => agent.change('revoke', id),
      () => agent.change('remove', waiting),
      () => agent.trust('mallory', publicDocument(MALLORY)),
      () => agent.revokeKey(MALLORY.keyId),
    ];
    for (const act of acts) await expect(act()).rejects.toMatchObject({ code: 'policy/denied' });
    expect((await skillGateway().call(`${id}.plain`)).code).toBe('ok');
  });
});

describe('a key', () => {
  test.each(['palisade', 'local', 'test', 'Acme', '', 'a\u001b[2J'])(
    'is not trusted for a publisher that nobody can be: %j',
    async (publisher) => {
      await expect(skillGateway().trust(publisher, publicDocument(MALLORY))).rejects.toMatchObject({
        code: 'skill/untrusted',
      });
    },
  );
});
