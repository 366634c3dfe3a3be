import { join } from 'node:path';
import { canonicalize } from '@palisade/sdk';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import { digestValue } from '../../src/core/digest.ts';
import { epochOf, highestOf, ownerOfTool, pageOf, skillAt, versionsOf } from '../../src/skills/index/read.ts';
import { addVersion, changeVersion, dropVersion, type SkillChange } from '../../src/skills/index/write.ts';
import { SKILL_STATES, type SkillState, TRANSITIONS } from '../../src/skills/lifecycle.table.ts';
import { skillsMigrations } from '../../src/skills/tables.ts';
import { openStore } from '../budget/temp-store.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { bring, grantOf, newSkill, reportOn, step } from './index-sample.ts';

const STATES = Object.keys(SKILL_STATES) as SkillState[];

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof CodedError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'done';
}

function world(state: SkillState = 'active') {
  const directory = tempDir();
  const store = openStore(directory, skillsMigrations);
  const skill = store.transact((tx) => bring(tx, newSkill(), state));
  return {
    store,
    skill,
    change: (from: SkillState, to: SkillState, more: Partial<SkillChange> = {}) =>
      refusal(() => store.transact((tx) => changeVersion(tx, step(skill, from, to, more)))),
    look: () => refusal(() => skillAt(store, skill.id, skill.version)),
    /** What somebody does who has the file of the database. */
    meddle: (sql: string, values: unknown[] = []) => {
      const db = new Database(join(directory, 'palisade.db'));
      try {
        expect(db.prepare(sql).run(values).changes).toBe(1);
      } finally {
        db.close();
      }
    },
  };
}

describe('addVersion()', () => {
  it('refuses other bytes under an id and a version that are taken', () => {
    const { store, skill } = world();
    const before = [skillAt(store, skill.id, skill.version), epochOf(store)];
    const other = newSkill({ bytes: 'others' });
    expect(refusal(() => store.transact((tx) => addVersion(tx, other)))).toBe(
      `skill/conflict: Cannot install acme.text@1.0.0: it is installed with other bytes (sha256 ${skill.artifact}), expected a version of its own`,
    );
    expect([skillAt(store, skill.id, skill.version), epochOf(store)]).toEqual(before);
  });

  it('refuses a manifest that is too long to be kept', () => {
    const { store } = world();
    const huge = newSkill({ version: '2.0.0', manifest: { description: 'x'.repeat(9 * 1024 * 1024) } });
    expect(refusal(() => store.transact((tx) => addVersion(tx, huge)))).toMatch(
      /^skill\/invalid-package: Cannot keep the manifest of "acme.text": it has \d+ bytes, expected at most 8388608/,
    );
    expect(versionsOf(store, 'acme.text')).toHaveLength(1);
  });
});

describe('changeVersion()', () => {
  const wrong = STATES.filter((state) => state !== 'active');

  it.each(wrong)('refuses a step from %s when it is active by now', (from) => {
    const { store, skill, change } = world();
    const epoch = epochOf(store);
    const to = TRANSITIONS.find((row) => row.from === from && row.to !== null)?.to;
    if (to == null) expect(from).toBe('revoked');
    else {
      expect(change(from, to)).toContain('skill/conflict: Cannot ');
      expect(change(from, to)).toContain(`acme.text@1.0.0: it is active by now, expected ${from}`);
    }
    expect([skillAt(store, skill.id, skill.version)?.state, epochOf(store)]).toEqual(['active', epoch]);
  });

  it('refuses steps that no event makes', () => {
    const { store, skill } = world('quarantined');
    const pairs = STATES.flatMap((from) => STATES.map((to) => [from, to] as const)).filter(
      ([from, to]) => !TRANSITIONS.some((row) => row.from === from && row.to === to),
    );
    expect(pairs.length).toBeGreaterThan(20);
    for (const [from, to] of pairs) {
      expect(() => store.transact((tx) => changeVersion(tx, step(skill, from, to)))).toThrow(
        `no event leads from ${from} to ${to}`,
      );
    }
    expect(skillAt(store, skill.id, skill.version)?.state).toBe('quarantined');
  });

  it('refuses a version that is not installed', () => {
    expect(world().change('active', 'disabled', { version: '9.9.9' })).toBe(
      'skill/unknown: Cannot disable acme.text@9.9.9: it is not installed',
    );
  });

  it('refuses a second active version, and lets it come when the first has gone', () => {
    const { store, change } = world();
    const next = newSkill({ version: '2.0.0' });
    store.transact((tx) => bring(tx, next, 'approved'));
    const enable = () =>
      refusal(() => store.transact((tx) => changeVersion(tx, step(next, 'approved', 'active'))));
    expect(enable()).toBe(
      'skill/conflict: Cannot enable acme.text@2.0.0: version 1.0.0 is active, expected no other',
    );
    expect(change('active', 'disabled')).toBe('done');
    expect(enable()).toBe('done');
    expect(change('disabled', 'active')).toContain('version 2.0.0 is active');
  });

  it.each([
    ['without a grant', { grant: null }],
    ['by nobody', { approvedBy: [] }],
  ])('cannot approve %s', (_, more) => {
    const { store, skill } = world('quarantined');
    expect(() =>
      store.transact((tx) => changeVersion(tx, step(skill, 'quarantined', 'approved', more))),
    ).toThrow(/constraint/i);
    expect(skillAt(store, skill.id, skill.version)?.state).toBe('quarantined');
  });

  it('cannot approve what failed its audit', () => {
    const { store, skill, change } = world('quarantined');
    expect(change('quarantined', 'quarantined', { report: reportOn(skill, 'failed') })).toBe('done');
    expect(() => store.transact((tx) => changeVersion(tx, step(skill, 'quarantined', 'approved')))).toThrow(
      /constraint/i,
    );
    expect(change('quarantined', 'quarantined', { report: reportOn(skill, 'passed') })).toBe('done');
    expect(change('quarantined', 'approved')).toBe('done');
  });

  it('does not take the report on other bytes', () => {
    const { store, skill } = world();
    const report = reportOn(newSkill({ bytes: 'others' }), 'passed');
    expect(() =>
      store.transact((tx) => changeVersion(tx, step(skill, 'active', 'active', { report }))),
    ).toThrow('it is of other bytes');
  });
});

describe('dropVersion()', () => {
  it('refuses an active version and one that is not there', () => {
    const { store } = world();
    const drop = (version: string) =>
      refusal(() => store.transact((tx) => dropVersion(tx, 'acme.text', version)));
    expect(drop('1.0.0')).toBe(
      'skill/conflict: Cannot remove acme.text@1.0.0: it is active, expected it to be switched off',
    );
    expect(drop('2.0.0')).toBe('skill/unknown: Cannot remove acme.text@2.0.0: it is not installed');
    expect(versionsOf(store, 'acme.text')).toHaveLength(1);
  });
});

describe('the tables', () => {
  it.each([
    ['two active versions', "UPDATE skill_version SET state = 'active'"],
    ['a state that is none', "UPDATE skill_version SET state = 'trusted'"],
    ['an active version without a grant', "UPDATE skill_version SET granted = NULL WHERE state = 'active'"],
    ['an active version that failed', "UPDATE skill_version SET verdict = 'failed' WHERE state = 'active'"],
    ['a trust that is none', "UPDATE skill_version SET trust = 'full'"],
    ['a number for a text', "UPDATE skill_version SET publisher = x'00'"],
    ['a second row of one version', "UPDATE skill_version SET version = '1.0.0'"],
  ])('do not take %s', (_, sql) => {
    const { store, meddle } = world();
    store.transact((tx) => bring(tx, newSkill({ version: '2.0.0' }), 'disabled'));
    const before = versionsOf(store, 'acme.text');
    expect(() => meddle(sql)).toThrow(/constraint|cannot store/i);
    expect(versionsOf(store, 'acme.text')).toEqual(before);
  });
});

/** The grant of a skill that somebody wants to have more than was approved. */
function widened(): string {
  const grant = grantOf(newSkill());
  return JSON.stringify({ ...grant, wasm: { ...grant.wasm, http: ['*'] } });
}

describe('a row that was tampered with', () => {
  it('is read while nobody did', () => {
    expect(world().look()).toBe('done');
  });

  it.each([
    ['its grant', 'granted', widened()],
    ['its manifest', 'manifest', JSON.stringify(newSkill({ manifest: { name: 'Other' } }).manifest)],
    ['its package', 'artifact', newSkill({ bytes: 'others' }).artifact],
    ['its key', 'key_id', `sha256:${'c'.repeat(64)}`],
    ['its trust', 'trust', 'first-use'],
    ['its state', 'state', 'disabled'],
    ['its reviewers', 'approved_by', '["user:eve","user:mallory"]'],
    ['its report', 'report', canonicalize({ ...reportOn(newSkill(), 'passed'), findings: [] })],
    ['its version', 'version', '1.0.1'],
    ['its digest', 'digest', 'd'.repeat(64)],
  ])('in %s alone is refused', (_, column, value) => {
    const { store, meddle } = world();
    meddle(`UPDATE skill_version SET ${column} = ?`, [value]);
    const [found] = versionsOf(store, 'acme.text');
    expect(refusal(() => skillAt(store, 'acme.text', found?.version ?? ''))).toMatch(
      /^store\/corrupt: Cannot read the skill acme.text@1\.0\.[01]: its parts do not belong together/,
    );
  });

  const kept = {
    manifest: canonicalize(newSkill().manifest),
    granted: canonicalize(grantOf(newSkill())),
    report: canonicalize(reportOn(newSkill(), 'passed')),
    reviewers: '["user:eve"]',
  };
  /** Of the row with these texts in it, as somebody would make it who knows how. */
  const digestFor = (more: Partial<typeof kept>) => {
    const { id, version, artifact, keyId, trust } = newSkill();
    const { manifest, granted, report, reviewers } = { ...kept, ...more };
    const stand = ['active', reviewers];
    return digestValue([id, version, artifact, keyId, trust, ...stand, manifest, granted, report]);
  };
  const manifestText = JSON.stringify(newSkill().manifest);
  const grantText = JSON.stringify(grantOf(newSkill()));

  it.each([
    ['a manifest that is no JSON', { manifest: '{', granted: grantText }, 'its manifest cannot be read'],
    ['a manifest that is a list', { manifest: '[]', granted: grantText }, 'its manifest cannot be read'],
    [
      'a manifest with a key too many',
      { manifest: JSON.stringify({ ...newSkill().manifest, isTrusted: true }), granted: grantText },
      'its manifest cannot be read',
    ],
    [
      'a manifest with a key twice',
      { manifest: manifestText.replace('{', '{"id":"acme.text",'), granted: grantText },
      'its manifest cannot be read',
    ],
    [
      'the manifest of another skill',
      { manifest: JSON.stringify(newSkill({ id: 'acme.other' }).manifest), granted: grantText },
      'its manifest is that of another',
    ],
    [
      'a grant with a number for a host',
      { manifest: manifestText, granted: grantText.replace('"http":[', '"http":[7,') },
      'its grant cannot be read',
    ],
    [
      'a grant with a limit below zero',
      { manifest: manifestText, granted: grantText.replace('"wallMs":1000', '"wallMs":-1') },
      'its grant cannot be read',
    ],
    ['a grant that is a text', { manifest: manifestText, granted: '"all"' }, 'its grant cannot be read'],
  ])('into %s is refused although its digest fits', (_, texts, is) => {
    const { meddle, look } = world();
    meddle('UPDATE skill_version SET manifest = ?, granted = ?, digest = ?', [
      texts.manifest,
      texts.granted,
      digestFor(texts),
    ]);
    expect(look()).toContain(`store/corrupt: Cannot read the skill acme.text@1.0.0: ${is}`);
  });

  it.each([
    ['that is no report', '{}', 'its report cannot be read'],
    [
      'on another package',
      JSON.stringify(reportOn(newSkill({ bytes: 'others' }), 'passed')),
      'its report is that of another',
    ],
    [
      'that says otherwise than its row',
      JSON.stringify(reportOn(newSkill(), 'failed')),
      'its report is that of another',
    ],
  ])('to a report %s is refused although its digest fits', (_, report, is) => {
    const { meddle, look } = world();
    meddle('UPDATE skill_version SET report = ?, digest = ?', [report, digestFor({ report })]);
    expect(look()).toContain(`store/corrupt: Cannot read the skill acme.text@1.0.0: ${is}`);
  });

  it('to reviewers who are none is refused in lists as well', () => {
    const { store, meddle, look } = world();
    const reviewers = '{"a":1}';
    meddle('UPDATE skill_version SET approved_by = ?, digest = ?', [reviewers, digestFor({ reviewers })]);
    expect(look()).toContain('its list of reviewers cannot be read');
    expect(refusal(() => pageOf(store, { after: null, limit: 5, state: null }))).toContain('store/corrupt');
  });

  it('to a version that is none is refused where versions are ordered', () => {
    const { store, meddle } = world();
    store.transact((tx) => bring(tx, newSkill({ version: '2.0.0' }), 'quarantined'));
    meddle("UPDATE skill_version SET version = 'latest' WHERE state = 'active'");
    expect(refusal(() => versionsOf(store, 'acme.text'))).toContain('store/corrupt: Cannot order versions');
    expect(refusal(() => ownerOfTool(store, 'acme.text.words'))).toContain('store/corrupt');
    meddle("UPDATE skill_highest SET version = '0'");
    expect(refusal(() => highestOf(store, 'acme.text'))).toContain('store/corrupt');
  });

  it('can be taken out of use and goes nowhere else; nothing makes it fit again', () => {
    const { store, skill, meddle, change, look } = world();
    meddle('UPDATE skill_version SET manifest = ?', [
      JSON.stringify(newSkill({ manifest: { name: 'Evil' } }).manifest),
    ]);
    for (const to of ['active', 'disabled'] as const)
      expect(change('active', to)).toContain('store/corrupt: ');
    expect(change('active', 'quarantined')).toBe('done');
    expect(look()).toContain('its parts do not belong together');
    expect(change('quarantined', 'approved')).toContain('store/corrupt: ');
    expect(versionsOf(store, skill.id).map(({ state }) => state)).toEqual(['quarantined']);
    expect(change('quarantined', 'revoked')).toBe('done');
    expect(refusal(() => store.transact((tx) => dropVersion(tx, skill.id, skill.version)))).toBe('done');
    expect(versionsOf(store, skill.id)).toEqual([]);
  });

  it('moves the epoch on, so that nobody goes on with what was read before', () => {
    const { store, meddle } = world();
    const before = epochOf(store);
    meddle('UPDATE skill_version SET reason = ?', ['quietly']);
    expect(epochOf(store)).not.toBe(before);
  });
});
