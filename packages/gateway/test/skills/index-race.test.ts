import { describe, expect, it } from 'vitest';
import { activeOf, epochOf, skillAt, versionsOf } from '../../src/skills/index/read.ts';
import { addVersion, changeVersion } from '../../src/skills/index/write.ts';
import type { SkillState } from '../../src/skills/lifecycle.table.ts';
import { skillsMigrations } from '../../src/skills/tables.ts';
import { race } from '../budget/race.ts';
import { openStore } from '../budget/temp-store.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { bring, newSkill, step } from './index-sample.ts';

function twoConnections() {
  const directory = tempDir();
  const stores = [openStore(directory, skillsMigrations), openStore(directory, skillsMigrations)] as const;
  return { directory, stores };
}

function codesOf(endings: readonly PromiseSettledResult<unknown>[]): string[] {
  return endings
    .map((ending) => (ending.status === 'fulfilled' ? 'done' : (ending.reason as { code: string }).code))
    .sort();
}

describe('two connections', () => {
  it.each<[SkillState, SkillState, SkillState]>([
    ['approved', 'active', 'disabled'],
    ['active', 'quarantined', 'disabled'],
    ['quarantined', 'approved', 'revoked'],
    ['disabled', 'active', 'active'],
  ])('do not both take a step from %s, to %s and to %s', async (from, first, second) => {
    const { stores } = twoConnections();
    const [one, two] = stores;
    const skill = one.transact((tx) => bring(tx, newSkill(), from));
    const seen = epochOf(two);
    const endings = await Promise.allSettled([
      one.commit((tx) => changeVersion(tx, step(skill, from, first, { by: 'user:one' }))),
      two.commit((tx) => changeVersion(tx, step(skill, from, second, { by: 'user:two' }))),
    ]);
    expect(codesOf(endings)).toEqual(['done', 'skill/conflict']);
    const isFirst = endings[0].status === 'fulfilled';
    for (const store of stores) {
      expect(skillAt(store, skill.id, skill.version)).toMatchObject({
        ...{ state: isFirst ? first : second, changedBy: isFirst ? 'user:one' : 'user:two' },
      });
      expect(epochOf(store)).toBeGreaterThan(seen);
    }
  });

  it('do not both make their version the active one', async () => {
    const { stores } = twoConnections();
    const skills = ['1.0.0', '2.0.0'].map((version) =>
      stores[0].transact((tx) => bring(tx, newSkill({ version }), 'approved')),
    );
    const endings = await Promise.allSettled(
      skills.map((skill, i) =>
        stores[i % 2]?.commit((tx) => changeVersion(tx, step(skill, 'approved', 'active'))),
      ),
    );
    expect(codesOf(endings)).toEqual(['done', 'skill/conflict']);
    expect(
      versionsOf(stores[0], 'acme.text')
        .map(({ state }) => state)
        .sort(),
    ).toEqual(['active', 'approved']);
  });

  it('install the very same bytes once', async () => {
    const { stores } = twoConnections();
    const added = await Promise.all(stores.map((store) => store.commit((tx) => addVersion(tx, newSkill()))));
    expect(added.map(({ isNew }) => isNew).sort()).toEqual([false, true]);
    expect(added[0]?.skill).toEqual(added[1]?.skill);
  });

  it('do not both install different bytes under one version', async () => {
    const { stores } = twoConnections();
    const endings = await Promise.allSettled(
      stores.map((store, i) => store.commit((tx) => addVersion(tx, newSkill({ bytes: `of ${i}` })))),
    );
    expect(codesOf(endings)).toEqual(['done', 'skill/conflict']);
    expect(versionsOf(stores[1], 'acme.text')).toHaveLength(1);
  });
});

describe('four processes on one index', () => {
  it('win each skill once, whatever they do with it at the same time', async () => {
    const times = 25;
    const directory = tempDir();
    const store = openStore(directory, skillsMigrations);
    store.transact((tx) => {
      for (let i = 0; i < times; i++) bring(tx, newSkill({ id: `acme.ready${i}` }), 'approved');
    });
    const argsOf = Array.from({ length: 4 }, (_, i) => [directory, `bytes ${i}`, String(times)]);
    const lines = await race(new URL('./fixtures/install-together.ts', import.meta.url), argsOf);
    const endings = lines.map((line) => JSON.parse(line) as Record<'same' | 'other' | 'enabled', string[]>);
    for (let i = 0; i < times; i++) {
      const of = (what: 'same' | 'other' | 'enabled') => endings.map((each) => each[what][i]).sort();
      expect(of('same')).toEqual(['same', 'same', 'same', 'won']);
      expect(of('other')).toEqual(['skill/conflict', 'skill/conflict', 'skill/conflict', 'won']);
      expect(of('enabled')).toEqual(['skill/conflict', 'skill/conflict', 'skill/conflict', 'won']);
      expect(versionsOf(store, `acme.same${i}`)).toHaveLength(1);
      expect(versionsOf(store, `acme.other${i}`)).toHaveLength(1);
      expect(activeOf(store, `acme.ready${i}`)).toBe('1.0.0');
    }
  }, 120_000);
});
