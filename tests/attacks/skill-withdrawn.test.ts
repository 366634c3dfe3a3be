import { describe, expect, test, vi } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { openGateway } from '../../packages/gateway/src/open.ts';
import { ACME, KEEPER, KEEPS, PLAIN, samplePackage, WAITER, WAITS } from '../fixtures/skills/sample.ts';
import { actsOf, openSkillGateway, type SkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* A skill that was taken out of use is called all the same: by its cached tool, in flight, or through another gateway. */

const TOOL = 'acme.sample.plain';

describe('a skill that nobody approved', () => {
  test('is refused with the reason in every state before it is active', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.install(samplePackage());
    const quarantined = await skillGateway.call(TOOL);
    expect(quarantined).toMatchObject({ code: 'skill/quarantined' });
    expect(quarantined.message).toContain('acme.sample@1.0.0 is quarantined');
    await skillGateway.approve('acme.sample', { enable: false });
    expect((await skillGateway.call(TOOL)).code).toBe('skill/disabled');
    await skillGateway.change('enable', 'acme.sample');
    expect((await skillGateway.call(TOOL)).code).toBe('ok');
  });

  test('has no tool in the list', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.install(samplePackage());
    const ids = () => skillGateway.gateway.registry.page(null, 100).map(({ id }) => id);
    expect(ids()).not.toContain(TOOL);
    await skillGateway.approve('acme.sample');
    expect(ids()).toContain(TOOL);
  });
});

const WAYS: Readonly<
  Record<string, readonly [act: (skillGateway: SkillGateway) => Promise<unknown>, code: string]>
> = {
  quarantined: [(skillGateway) => skillGateway.change('quarantine', 'acme.sample'), 'skill/quarantined'],
  disabled: [(skillGateway) => skillGateway.change('disable', 'acme.sample'), 'skill/disabled'],
  revoked: [(skillGateway) => skillGateway.change('revoke', 'acme.sample'), 'skill/revoked'],
  'signed by a key that was revoked': [
    (skillGateway) => skillGateway.revokeKey(ACME.keyId),
    'skill/quarantined',
  ],
};

describe('a skill that ran a moment ago', () => {
  test.each(Object.keys(WAYS))('does not run once it is %s', async (way) => {
    const [act, code] = WAYS[way] ?? [async () => undefined, ''];
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt();
    expect((await skillGateway.call(TOOL)).code).toBe('ok');
    await act(skillGateway);
    expect((await skillGateway.call(TOOL)).code).toBe(code);
  });

  test('does not run here once another process has revoked it', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt();
    expect((await skillGateway.call(TOOL)).code).toBe('ok');
    const { stateDir } = skillGateway;
    const other = await openGateway({ stateDir, env: readEnvironment({}), version: '0.0.0' });
    await actsOf({ ...skillGateway, gateway: other }).change('revoke', 'acme.sample');
    await other.close();
    expect((await skillGateway.call(TOOL)).code).toBe('skill/revoked');
  });

  test('does not run on the approval of its older version', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt();
    await skillGateway.install(samplePackage({ version: '1.1.0' }));
    expect((await skillGateway.call(TOOL)).code).toBe('ok');
    await skillGateway.change('disable', 'acme.sample', '1.0.0');
    expect((await skillGateway.call(TOOL)).code).toBe('skill/quarantined');
    await expect(skillGateway.change('enable', 'acme.sample', '1.1.0')).rejects.toMatchObject({
      code: 'skill/wrong-state',
    });
  });

  test('stays revoked when the same bytes are installed anew', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt();
    await skillGateway.change('revoke', 'acme.sample');
    await skillGateway.change('remove', 'acme.sample');
    await expect(skillGateway.install(samplePackage())).rejects.toMatchObject({ code: 'skill/revoked' });
  });
});

describe('a call that runs', () => {
  const waits = { tools: { wait: WAITER, plain: PLAIN }, capabilities: WAITS };

  test.each(['revoke', 'quarantine'] as const)('is ended when its skill is told to %s', async (event) => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt(waits);
    const running = skillGateway.call('acme.sample.wait');
    await vi.waitFor(() => expect(skillGateway.recordsOf('intent').length).toBe(1));
    await skillGateway.change(event, 'acme.sample');
    expect(await running).toMatchObject({ code: 'tier/withdrawn' });
  });

  test('is ended when another process revokes its skill', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt(waits);
    const running = skillGateway.call('acme.sample.wait');
    await vi.waitFor(() => expect(skillGateway.recordsOf('intent').length).toBe(1));
    const other = await openGateway({
      stateDir: skillGateway.stateDir,
      env: readEnvironment({}),
      version: '0.0.0',
    });
    await actsOf({ ...skillGateway, gateway: other }).change('revoke', 'acme.sample');
    await other.close();
    expect(await running).toMatchObject({ code: 'tier/withdrawn' });
  });

  test('is ended when its skill is revoked in the very moment in which it begins', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt({ ...waits, id: 'acme.other' });
    await skillGateway.adopt(waits);
    await skillGateway.call(TOOL);
    const stop = new AbortController();
    // Another call runs already, so that somebody looks at what runs as soon as the revocation is written.
    const other = skillGateway.call('acme.other.wait', {}, { signal: stop.signal });
    await vi.waitFor(() => expect(skillGateway.recordsOf('intent').length).toBe(2));
    const running = skillGateway.call('acme.sample.wait');
    // Until both are about to be written together.
    for (let turns = 0; turns < 8; turns += 1) await null;
    await skillGateway.change('revoke', 'acme.sample');
    expect((await running).code).toMatch(/^(?:tier\/withdrawn|skill\/revoked)$/);
    stop.abort();
    expect((await other).code).toBe('tier/cancelled');
  });

  test('does not begin when its skill was revoked after it was admitted', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt();
    expect((await skillGateway.call(TOOL)).code).toBe('ok');
    const { gateway } = skillGateway;
    const commit = gateway.store.commit.bind(gateway.store);
    // The first thing that the call writes is its intent; the revocation is written just before.
    const commits = vi.spyOn(gateway.store, 'commit').mockImplementationOnce(async (work) => {
      await skillGateway.change('revoke', 'acme.sample');
      return commit(work);
    });
    const refused = await skillGateway.call(TOOL);
    expect(commits.mock.calls.length).toBeGreaterThan(2);
    expect(refused).toMatchObject({ code: 'skill/revoked' });
    expect(skillGateway.recordsOf('intent')).toHaveLength(1);
  });

  test('goes on to its end when its skill is only switched off', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt({ ...waits, more: '[capabilities.quotas]\nwall_clock_ms = 1500\n' });
    const running = skillGateway.call('acme.sample.wait');
    await vi.waitFor(() => expect(skillGateway.recordsOf('intent').length).toBe(1));
    await skillGateway.change('disable', 'acme.sample');
    expect((await running).code).toBe('tier/timed-out');
  });
});

describe('a grant that is narrower than the request', () => {
  const keeps = { tools: { keep: KEEPER, plain: PLAIN }, capabilities: KEEPS };

  test('lets the tool run and denies what was withheld', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.install(samplePackage(keeps));
    await skillGateway.approve('acme.sample', { withhold: ['storage:write'] });
    expect(await skillGateway.call('acme.sample.keep')).toMatchObject({ code: 'ok', output: [-1] });
    expect(await skillGateway.call(TOOL)).toMatchObject({ code: 'ok' });
  });

  test('is the positive control when nothing is withheld', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt(keeps);
    expect(await skillGateway.call('acme.sample.keep')).toMatchObject({ code: 'ok', output: [0] });
  });
});
