import { describe, expect, test } from 'vitest';
import { generateKey } from '../../packages/gateway/src/attest/key-files.ts';
import { skillAt } from '../../packages/gateway/src/skills/index/read.ts';
import { signPackage } from '../../packages/gateway/src/skills/package/pack.ts';
import { openHouse } from '../fixtures/skills/house.ts';
import {
  ACME,
  MALLORY,
  packed,
  publicDocument,
  sampleFiles,
  samplePackage,
} from '../fixtures/skills/sample.ts';

/* Packages of strangers, of keys that are no longer good, and old ones that somebody kept. */

const TOOL = 'acme.sample.plain';
const NEXT = generateKey(Date.UTC(2026, 5, 1));

describe('a package', () => {
  test('without a signature is refused', async () => {
    const house = await openHouse();
    await expect(house.install(packed(sampleFiles()))).rejects.toMatchObject({ code: 'skill/unsigned' });
    expect(house.stateOf('acme.sample', '1.0.0')).toBeNull();
  });

  test('signed by a stranger is refused', async () => {
    const house = await openHouse();
    await expect(house.install(samplePackage({}, MALLORY))).rejects.toMatchObject({
      code: 'skill/untrusted',
    });
  });

  test('signed by the key of another publisher is refused', async () => {
    const house = await openHouse();
    await house.trust('mallory', publicDocument(MALLORY));
    await expect(house.install(samplePackage({}, MALLORY))).rejects.toMatchObject({
      code: 'skill/untrusted',
    });
    expect((await house.install(samplePackage({ publisher: 'mallory' }, MALLORY))).isNew).toBe(true);
  });

  test('of an unknown publisher is refused unless the operator trusts first use, and then only the first key', async () => {
    const strict = await openHouse();
    const first = samplePackage({ publisher: 'newcomer' }, MALLORY);
    await expect(strict.install(first)).rejects.toMatchObject({ code: 'skill/untrusted' });
    const open = await openHouse({ config: '[skills]\nfirst_use = "trust"\n' });
    const { skill } = await open.install(first);
    expect(skill).toMatchObject({ trust: 'first-use', state: 'quarantined' });
    const second = samplePackage({ publisher: 'newcomer', version: '1.0.1' }, ACME);
    await expect(open.install(second)).rejects.toMatchObject({ code: 'skill/untrusted' });
  });

  test('is refused at the call when its key has expired since it was approved', async () => {
    const house = await openHouse();
    const soon = house.gateway.clock.nowMs() + 2_000;
    await house.trust('late', publicDocument(MALLORY), soon);
    await house.install(samplePackage({ publisher: 'late' }, MALLORY));
    await house.approve('late.sample');
    expect((await house.call('late.sample.plain')).code).toBe('ok');
    await new Promise((go) => setTimeout(go, soon - house.gateway.clock.nowMs() + 50));
    expect((await house.call('late.sample.plain')).code).toBe('skill/untrusted');
    expect(house.stateOf('late.sample', '1.0.0')).toBe('active');
  });

  test('signed by a key that was rotated away goes on, and a new one by that key does not come in', async () => {
    const house = await openHouse();
    await house.adopt();
    await house.rotate('acme', publicDocument(NEXT));
    expect((await house.call(TOOL)).code).toBe('ok');
    const old = samplePackage({ version: '1.1.0' }, ACME);
    await expect(house.install(old)).rejects.toMatchObject({ code: 'skill/untrusted' });
    expect((await house.install(samplePackage({ version: '1.1.0' }, NEXT))).isNew).toBe(true);
  });
});

describe('an old package', () => {
  test('is refused after a newer one was installed, also after that was removed', async () => {
    const house = await openHouse();
    await house.install(samplePackage({ version: '1.10.0' }));
    const old = samplePackage({ version: '1.9.0' });
    await expect(house.install(old)).rejects.toMatchObject({ code: 'skill/downgrade' });
    await house.change('remove', 'acme.sample', '1.10.0');
    await expect(house.install(old)).rejects.toMatchObject({ code: 'skill/downgrade' });
    expect((await house.install(old, true)).skill.state).toBe('quarantined');
  });

  test('with the version of another is refused', async () => {
    const house = await openHouse();
    await house.install(samplePackage());
    const other = samplePackage({
      prose: '---\nname: sample\ndescription: Another one.\n---\n\nOther words.\n',
    });
    await expect(house.install(other)).rejects.toMatchObject({ code: 'skill/conflict' });
  });

  test('that is installed twice changes nothing', async () => {
    const house = await openHouse();
    await house.adopt();
    const { isNew, skill } = await house.install(samplePackage());
    expect({ isNew, state: skill.state }).toEqual({ isNew: false, state: 'active' });
  });

  test('comes in once when many install it at the same time', async () => {
    const house = await openHouse();
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => house.install(samplePackage())));
    expect(all.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    expect(house.recordsOf('skill-installed')).toHaveLength(1);
    expect(skillAt(house.gateway.store, 'acme.sample', '1.0.0')?.state).toBe('quarantined');
  });
});

describe('a package that was re-signed', () => {
  test('with a trusted key is another package, and is in quarantine', async () => {
    const house = await openHouse();
    await house.trust('acme', publicDocument(NEXT));
    await house.adopt();
    const again = signPackage(samplePackage(), NEXT);
    await expect(house.install(again)).rejects.toMatchObject({ code: 'skill/conflict' });
  });
});
