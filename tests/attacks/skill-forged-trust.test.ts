import { describe, expect, test } from 'vitest';
import { generateKey } from '../../packages/gateway/src/attest/key-files.ts';
import { skillAt } from '../../packages/gateway/src/skills/index/read.ts';
import { signPackage } from '../../packages/gateway/src/skills/package/pack.ts';
import {
  ACME,
  MALLORY,
  packed,
  publicDocument,
  sampleFiles,
  samplePackage,
} from '../fixtures/skills/sample.ts';
import { openSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* Packages of strangers, of keys that are no longer good, and old ones that somebody kept. */

const TOOL = 'acme.sample.plain';
const NEXT = generateKey(Date.UTC(2026, 5, 1));

describe('a package', () => {
  test('without a signature is refused', async () => {
    const skillGateway = await openSkillGateway();
    await expect(skillGateway.install(packed(sampleFiles()))).rejects.toMatchObject({
      code: 'skill/unsigned',
    });
    expect(skillGateway.stateOf('acme.sample', '1.0.0')).toBeNull();
  });

  test('signed by a stranger is refused', async () => {
    const skillGateway = await openSkillGateway();
    await expect(skillGateway.install(samplePackage({}, MALLORY))).rejects.toMatchObject({
      code: 'skill/untrusted',
    });
  });

  test('signed by the key of another publisher is refused', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.trust('mallory', publicDocument(MALLORY));
    await expect(skillGateway.install(samplePackage({}, MALLORY))).rejects.toMatchObject({
      code: 'skill/untrusted',
    });
    expect((await skillGateway.install(samplePackage({ publisher: 'mallory' }, MALLORY))).isNew).toBe(true);
  });

  test('of an unknown publisher is refused unless the operator trusts first use, and then only the first key', async () => {
    const strict = await openSkillGateway();
    const first = samplePackage({ publisher: 'newcomer' }, MALLORY);
    await expect(strict.install(first)).rejects.toMatchObject({ code: 'skill/untrusted' });
    const open = await openSkillGateway({ config: '[skills]\nfirst_use = "trust"\n' });
    const { skill } = await open.install(first);
    expect(skill).toMatchObject({ trust: 'first-use', state: 'quarantined' });
    const second = samplePackage({ publisher: 'newcomer', version: '1.0.1' }, ACME);
    await expect(open.install(second)).rejects.toMatchObject({ code: 'skill/untrusted' });
  });

  test('is refused at the call when its key has expired since it was approved', async () => {
    const skillGateway = await openSkillGateway();
    const soon = skillGateway.gateway.clock.nowMs() + 2_000;
    await skillGateway.trust('late', publicDocument(MALLORY), soon);
    await skillGateway.install(samplePackage({ publisher: 'late' }, MALLORY));
    await skillGateway.approve('late.sample');
    expect((await skillGateway.call('late.sample.plain')).code).toBe('ok');
    await new Promise((go) => setTimeout(go, soon - skillGateway.gateway.clock.nowMs() + 50));
    expect((await skillGateway.call('late.sample.plain')).code).toBe('skill/untrusted');
    expect(skillGateway.stateOf('late.sample', '1.0.0')).toBe('active');
  });

  test('signed by a key that was rotated away goes on, and a new one by that key does not come in', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt();
    await skillGateway.rotate('acme', publicDocument(NEXT));
    expect((await skillGateway.call(TOOL)).code).toBe('ok');
    const old = samplePackage({ version: '1.1.0' }, ACME);
    await expect(skillGateway.install(old)).rejects.toMatchObject({ code: 'skill/untrusted' });
    expect((await skillGateway.install(samplePackage({ version: '1.1.0' }, NEXT))).isNew).toBe(true);
  });
});

describe('an old package', () => {
  test('is refused after a newer one was installed, also after that was removed', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.install(samplePackage({ version: '1.10.0' }));
    const old = samplePackage({ version: '1.9.0' });
    await expect(skillGateway.install(old)).rejects.toMatchObject({ code: 'skill/downgrade' });
    await skillGateway.change('remove', 'acme.sample', '1.10.0');
    await expect(skillGateway.install(old)).rejects.toMatchObject({ code: 'skill/downgrade' });
    expect((await skillGateway.install(old, true)).skill.state).toBe('quarantined');
  });

  test('with the version of another is refused', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.install(samplePackage());
    const other = samplePackage({
      prose: '---\nname: sample\ndescription: Another one.\n---\n\nOther words.\n',
    });
    await expect(skillGateway.install(other)).rejects.toMatchObject({ code: 'skill/conflict' });
  });

  test('that is installed twice changes nothing', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.adopt();
    const { isNew, skill } = await skillGateway.install(samplePackage());
    expect({ isNew, state: skill.state }).toEqual({ isNew: false, state: 'active' });
  });

  test('comes in once when many install it at the same time', async () => {
    const skillGateway = await openSkillGateway();
    const all = await Promise.allSettled(
      Array.from({ length: 8 }, () => skillGateway.install(samplePackage())),
    );
    expect(all.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    expect(skillGateway.recordsOf('skill-installed')).toHaveLength(1);
    expect(skillAt(skillGateway.gateway.store, 'acme.sample', '1.0.0')?.state).toBe('quarantined');
  });
});

describe('a package that was re-signed', () => {
  test('with a trusted key is another package, and is in quarantine', async () => {
    const skillGateway = await openSkillGateway();
    await skillGateway.trust('acme', publicDocument(NEXT));
    await skillGateway.adopt();
    const again = signPackage(samplePackage(), NEXT);
    await expect(skillGateway.install(again)).rejects.toMatchObject({ code: 'skill/conflict' });
  });
});
