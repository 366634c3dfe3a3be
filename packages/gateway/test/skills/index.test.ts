import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  activeOf,
  artifactsInUse,
  dueForAudit,
  epochOf,
  highestOf,
  isRevokedArtifact,
  ownerOfTool,
  pageOf,
  pageOfTools,
  skillAt,
  skillsOfKey,
  versionsOf,
} from '../../src/skills/index/read.ts';
import { addVersion, changeVersion, dropVersion } from '../../src/skills/index/write.ts';
import type { SkillState } from '../../src/skills/lifecycle.table.ts';
import { compareVersions } from '../../src/skills/semver.ts';
import { skillsMigrations } from '../../src/skills/tables.ts';
import type { Store } from '../../src/store/store.ts';
import { openStore } from '../budget/temp-store.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { artifactOf, bring, grantOf, KEY_ID, NOON, newSkill, reportOn, step } from './index-sample.ts';
import { toolWith } from './operate-manifest.ts';

const DAY_MS = 86_400_000;

function world() {
  const store = openStore(tempDir(), skillsMigrations);
  return {
    store,
    install: (id: string, version: string, state: SkillState = 'ingested') =>
      store.transact((tx) => bring(tx, newSkill({ id, version }), state)),
  };
}

/** All pages one after the other, as `id version`. */
function walk(store: Store, limit: number, state: SkillState | null = null): string[] {
  const seen: string[] = [];
  for (let after: string | null = null; ; ) {
    const { skills, next } = pageOf(store, { after, limit, state });
    seen.push(...skills.map(({ id, version }) => `${id} ${version}`));
    if (next === null) return seen;
    after = next;
  }
}

describe('a version', () => {
  it('is given back as it was installed', () => {
    const { store } = world();
    const skill = newSkill();
    const { manifest, artifact } = skill;
    const added = store.transact((tx) => addVersion(tx, skill));
    const expected = {
      ...{
        id: 'acme.text',
        version: '1.0.0',
        publisher: 'acme',
        name: 'Text tools',
        artifact,
        keyId: KEY_ID,
      },
      ...{ trust: 'operator', state: 'ingested', manifest, grant: null, report: null, reason: null },
      ...{ installedAtMs: NOON, installedBy: 'user:grace', changedAtMs: NOON, changedBy: 'user:grace' },
      ...{ approvedBy: [], auditedAtMs: null },
    };
    expect(added).toEqual({ skill: expected, isNew: true });
    expect(skillAt(store, 'acme.text', '1.0.0')).toEqual(expected);
    expect(skillAt(store, 'acme.text', '1.0.1')).toBeNull();
  });

  it('is given back with its grant and its report after each step', () => {
    const { store } = world();
    const skill = store.transact((tx) => bring(tx, newSkill(), 'quarantined'));
    store.transact((tx) =>
      changeVersion(
        tx,
        step(skill, 'quarantined', 'approved', { atMs: NOON + 9, reason: 'looked at it', by: 'user:ann' }),
      ),
    );
    expect(skillAt(store, 'acme.text', '1.0.0')).toMatchObject({
      ...{
        state: 'approved',
        grant: grantOf(skill),
        report: reportOn(skill, 'passed'),
        approvedBy: ['user:eve'],
      },
      ...{ reason: 'looked at it', changedAtMs: NOON + 9, changedBy: 'user:ann', auditedAtMs: NOON + 1 },
      ...{ installedAtMs: NOON, installedBy: 'user:grace' },
    });
  });

  it('keeps withheld capabilities in their places', () => {
    const { store } = world();
    const skill = store.transact((tx) => bring(tx, newSkill(), 'quarantined'));
    const whole = grantOf(skill);
    const grant = {
      ...whole,
      wasm: { ...whole.wasm, http: [null, 'GET https://files.example.com/v1/'] },
      limits: {},
    };
    store.transact((tx) => changeVersion(tx, step(skill, 'quarantined', 'approved', { grant })));
    expect(skillAt(store, 'acme.text', '1.0.0')?.grant).toEqual(grant);
  });

  it('changes nothing when the very same bytes are installed again, whatever became of them', () => {
    const { store } = world();
    const skill = store.transact((tx) => bring(tx, newSkill(), 'active'));
    const before = [skillAt(store, skill.id, skill.version), epochOf(store)];
    const again = {
      ...skill,
      installedAtMs: NOON + 99,
      installedBy: 'user:mallory',
      trust: 'first-use',
    } as const;
    expect(store.transact((tx) => addVersion(tx, again))).toEqual({ skill: before[0], isNew: false });
    expect([skillAt(store, skill.id, skill.version), epochOf(store)]).toEqual(before);
  });

  it('loses its grant and its approvals in quarantine, and keeps its report', () => {
    const { store } = world();
    const skill = store.transact((tx) => bring(tx, newSkill(), 'active'));
    store.transact((tx) =>
      changeVersion(tx, step(skill, 'active', 'quarantined', { reason: 'a file changed' })),
    );
    expect(skillAt(store, skill.id, skill.version)).toMatchObject({
      ...{ state: 'quarantined', grant: null, approvedBy: [], reason: 'a file changed' },
      report: reportOn(skill, 'passed'),
    });
  });

  it('gathers approvals while it is in quarantine', () => {
    const { store } = world();
    const skill = store.transact((tx) => bring(tx, newSkill(), 'quarantined'));
    const grant = grantOf(skill);
    const first = step(skill, 'quarantined', 'quarantined', { grant, approvedBy: ['user:ann'] });
    store.transact((tx) => changeVersion(tx, first));
    store.transact((tx) =>
      changeVersion(tx, step(skill, 'quarantined', 'quarantined', { report: reportOn(skill, 'passed') })),
    );
    expect(skillAt(store, skill.id, skill.version)).toMatchObject({
      ...{ state: 'quarantined', grant, approvedBy: ['user:ann'] },
    });
  });
});

describe('versions of a skill', () => {
  it('are in the order of SemVer, the newest first', () => {
    const { store, install } = world();
    const order = ['10.0.0', '2.0.0', '2.0.0-rc.11', '2.0.0-rc.2', '2.0.0-beta', '1.10.0', '1.9.0'];
    for (const version of [...order].sort()) install('acme.text', version);
    install('acme.other', '99.0.0');
    expect(versionsOf(store, 'acme.text').map(({ version }) => version)).toEqual(order);
    expect(versionsOf(store, 'acme.nothing')).toEqual([]);
  });

  it('have summaries without anything long', () => {
    const { store } = world();
    const skill = newSkill({ manifest: { tools: [toolWith(), toolWith({ id: 'lines' })] } });
    store.transact((tx) => bring(tx, skill, 'active'));
    const [summary] = versionsOf(store, 'acme.text');
    const { manifest: _, grant: __, report: ___, ...facts } = skillAt(store, 'acme.text', '1.0.0') ?? {};
    expect(summary).toEqual({ ...facts, tools: 2, verdict: 'passed' });
    expect(pageOf(store, { after: null, limit: 9, state: null }).skills).toEqual([summary]);
  });

  it('know the highest one, also when it is removed, and whatever comes later', () => {
    const { store, install } = world();
    expect(highestOf(store, 'acme.text')).toBeNull();
    install('acme.text', '1.9.0');
    install('acme.text', '1.10.0');
    install('acme.text', '1.2.0');
    store.transact((tx) => dropVersion(tx, 'acme.text', '1.10.0'));
    install('acme.text', '1.3.0');
    expect(versionsOf(store, 'acme.text').map(({ version }) => version)).toEqual(['1.9.0', '1.3.0', '1.2.0']);
    expect(highestOf(store, 'acme.text')).toBe('1.10.0');
    for (const version of ['1.9.0', '1.3.0', '1.2.0'])
      store.transact((tx) => dropVersion(tx, 'acme.text', version));
    expect([highestOf(store, 'acme.text'), highestOf(store, 'acme.other')]).toEqual(['1.10.0', null]);
  });

  it('know the active one', () => {
    const { store, install } = world();
    const old = install('acme.text', '1.0.0', 'active');
    install('acme.text', '2.0.0', 'approved');
    expect(activeOf(store, 'acme.text')).toBe('1.0.0');
    store.transact((tx) => changeVersion(tx, step(old, 'active', 'disabled')));
    expect(activeOf(store, 'acme.text')).toBeNull();
  });

  it('that were revoked stay so, also when they are removed', () => {
    const { store, install } = world();
    const { artifact } = install('acme.text', '1.0.0', 'revoked');
    store.transact((tx) => dropVersion(tx, 'acme.text', '1.0.0'));
    expect(skillAt(store, 'acme.text', '1.0.0')).toBeNull();
    expect(isRevokedArtifact(store, artifact)).toBe(true);
    expect(isRevokedArtifact(store, artifactOf('acme.text', '1.0.0', 'others'))).toBe(false);
    expect(() => install('acme.text', '1.0.0')).toThrow(
      expect.objectContaining({ code: 'skill/revoked', message: expect.stringContaining('were revoked') }),
    );
    // The same version with other bytes is another matter.
    store.transact((tx) => addVersion(tx, newSkill({ bytes: 'corrected' })));
    expect(skillAt(store, 'acme.text', '1.0.0')?.state).toBe('ingested');
  });
});

describe('ownerOfTool()', () => {
  it('names the active version first, then the newest', () => {
    const { store, install } = world();
    install('acme.text', '1.0.0', 'disabled');
    install('acme.text', '1.2.0', 'active');
    install('acme.text', '1.10.0', 'quarantined');
    const owners = ownerOfTool(store, 'acme.text.words');
    expect(owners).toEqual([
      { id: 'acme.text', version: '1.2.0', state: 'active', reason: null },
      { id: 'acme.text', version: '1.10.0', state: 'quarantined', reason: null },
      { id: 'acme.text', version: '1.0.0', state: 'disabled', reason: null },
    ]);
  });

  it('knows nobody for a tool that none has, or had', () => {
    const { store, install } = world();
    install('acme.text', '1.0.0', 'disabled');
    for (const id of ['acme.text', 'acme.text.lines', 'acme.text.words.x', '', 'acme.text.%'])
      expect(ownerOfTool(store, id)).toEqual([]);
    store.transact((tx) => dropVersion(tx, 'acme.text', '1.0.0'));
    expect(ownerOfTool(store, 'acme.text.words')).toEqual([]);
  });
});

describe('pages', () => {
  it('have every version once, by id and in the order of installing, whatever their size', () => {
    const { store, install } = world();
    const order = [
      'acme.a 1.0.0',
      'acme.b 2.0.0',
      'acme.b 1.0.0',
      'acme.b.c 1.0.0',
      'acme.c 1.0.0',
      'zeta.a 1.0.0',
    ];
    for (const name of [...order]
      .reverse()
      .sort((a, b) => Number(/b [12]/.test(b)) - Number(/b [12]/.test(a)))) {
      const [id = '', version = ''] = name.split(' ');
      install(id, version);
    }
    // Of acme.b, 1.0.0 was installed first.
    const expected = [order[0], order[2], order[1], ...order.slice(3)];
    for (const limit of [1, 2, 3, 5, 6, 7, 100]) expect(walk(store, limit)).toEqual(expected);
  });

  it('go on where they were when versions come and go in between', () => {
    const { store, install } = world();
    for (const id of ['acme.a', 'acme.c', 'acme.e', 'acme.g']) install(id, '1.0.0');
    const { next } = pageOf(store, { after: null, limit: 2, state: null });
    store.transact((tx) => dropVersion(tx, 'acme.c', '1.0.0'));
    install('acme.b', '1.0.0');
    install('acme.f', '1.0.0');
    const { skills } = pageOf(store, { after: next, limit: 9, state: null });
    expect(skills.map(({ id }) => id)).toEqual(['acme.e', 'acme.f', 'acme.g']);
  });

  it('can be of one state', () => {
    const { store, install } = world();
    install('acme.a', '1.0.0', 'active');
    install('acme.a', '2.0.0', 'quarantined');
    install('acme.b', '1.0.0', 'quarantined');
    expect(walk(store, 1, 'quarantined')).toEqual(['acme.a 2.0.0', 'acme.b 1.0.0']);
    expect(walk(store, 5, 'revoked')).toEqual([]);
  });

  it('are bounded and give nothing after a cursor that is none', () => {
    const { store, install } = world();
    install('acme.a', '1.0.0');
    install('acme.b', '1.0.0');
    for (const limit of [-1, 0, 0.5, Number.NaN, 1]) {
      expect(pageOf(store, { after: null, limit, state: null }).skills).toHaveLength(1);
    }
    expect(pageOf(store, { after: null, limit: 1e9, state: null }).skills).toHaveLength(2);
    for (const after of ['', 'x', 'acme.a', "acme.a:1' OR '1", 'acme.a:1:2', 'A:1'])
      expect(pageOf(store, { after, limit: 9, state: null })).toEqual({ skills: [], next: null });
  });

  it('of tools have those of active versions, by their ids', () => {
    const { store } = world();
    const add = (id: string, version: string, tools: readonly string[], state: SkillState) =>
      store.transact((tx) =>
        bring(
          tx,
          newSkill({ id, version, manifest: { tools: tools.map((tool) => toolWith({ id: tool })) } }),
          state,
        ),
      );
    add('acme.b', '1.0.0', ['x', 'a'], 'active');
    add('acme.b', '2.0.0', ['x', 'y'], 'quarantined');
    add('acme.a', '1.0.0', ['z'], 'active');
    add('acme.c', '1.0.0', ['z'], 'revoked');
    const all = ['acme.a.z', 'acme.b.a', 'acme.b.x'];
    expect(pageOfTools(store, { after: null, limit: 9 }).map(({ toolId }) => toolId)).toEqual(all);
    expect(pageOfTools(store, { after: 'acme.a.z', limit: 1 })).toEqual([
      { toolId: 'acme.b.a', id: 'acme.b', version: '1.0.0' },
    ]);
  });

  it('agree with a plain list, for any mix of skills, versions and states', () => {
    const state = fc.constantFrom<SkillState>('ingested', 'quarantined', 'disabled', 'revoked');
    const skill = fc.record({
      n: fc.integer({ min: 0, max: 4 }),
      minor: fc.integer({ min: 0, max: 20 }),
      state,
    });
    const list = fc.uniqueArray(skill, { maxLength: 12, selector: ({ n, minor }) => `${n} ${minor}` });
    fc.assert(
      fc.property(list, fc.integer({ min: 1, max: 5 }), (skills, limit) => {
        const { store, install } = world();
        for (const { n, minor, state: to } of skills) install(`acme.s${n}`, `1.${minor}.0`, to);
        const named = skills.map(({ n, minor }, order) => ({
          id: `acme.s${n}`,
          version: `1.${minor}.0`,
          order,
        }));
        const byId = [...named].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : a.order - b.order));
        expect(walk(store, limit)).toEqual(byId.map(({ id, version }) => `${id} ${version}`));
        for (const id of new Set(named.map((each) => each.id))) {
          const versions = named.filter((each) => each.id === id).map(({ version }) => version);
          expect(versionsOf(store, id).map(({ version }) => version)).toEqual(
            versions.sort((a, b) => compareVersions(b, a)),
          );
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe('dueForAudit()', () => {
  it('names what can run and was audited before, the longest ago first', () => {
    const { store } = world();
    const states: SkillState[] = [
      'ingested',
      'audited',
      'quarantined',
      'approved',
      'active',
      'disabled',
      'revoked',
    ];
    for (const [i, state] of states.entries()) {
      const skill = store.transact((tx) => bring(tx, newSkill({ id: `acme.${state}` }), state));
      if (!['approved', 'active', 'disabled'].includes(state)) continue;
      const report = reportOn(skill, 'passed');
      store.transact((tx) => changeVersion(tx, step(skill, state, state, { report, atMs: NOON + 100 - i })));
    }
    const due = (beforeMs: number, limit = 9) => dueForAudit(store, { beforeMs, limit }).map(({ id }) => id);
    expect(due(NOON + 1000)).toEqual(['acme.disabled', 'acme.active', 'acme.approved']);
    expect(due(NOON + 1000, 2)).toEqual(['acme.disabled', 'acme.active']);
    expect(due(NOON + 96)).toEqual(['acme.disabled']);
    expect(due(NOON + 95)).toEqual([]);
  });

  it('names what its own manifest wants sooner', () => {
    const { store } = world();
    const trust = { reviewers: 1, reauditDays: 2 };
    const skill = newSkill({ manifest: { trust } });
    store.transact((tx) => bring(tx, skill, 'active'));
    store.transact((tx) => bring(tx, newSkill({ id: 'acme.other' }), 'active'));
    const at = (nowMs: number) => dueForAudit(store, { beforeMs: 0, nowMs, limit: 9 });
    const dueMs = NOON + 1 + 2 * DAY_MS;
    expect(at(dueMs - 1)).toEqual([]);
    expect(at(dueMs)).toEqual([{ id: 'acme.text', version: '1.0.0' }]);
    store.transact((tx) =>
      changeVersion(tx, step(skill, 'active', 'active', { report: reportOn(skill, 'passed'), atMs: dueMs })),
    );
    expect(at(dueMs)).toEqual([]);
  });
});

describe('the index', () => {
  it('moves its epoch on with every change, and not with a look', () => {
    const { store } = world();
    const epochs = [epochOf(store)];
    const skill = newSkill();
    const acts = [
      () => store.transact((tx) => addVersion(tx, skill)),
      ...(['audited', 'quarantined', 'revoked'] as const).map((to, i) => () => {
        const from = (['ingested', 'audited', 'quarantined'] as const)[i] ?? 'ingested';
        store.transact((tx) => changeVersion(tx, step(skill, from, to)));
      }),
      () => store.transact((tx) => dropVersion(tx, skill.id, skill.version)),
    ];
    for (const act of acts) {
      act();
      epochs.push(epochOf(store));
      versionsOf(store, skill.id);
      pageOf(store, { after: null, limit: 5, state: null });
      expect(epochOf(store)).toBe(epochs.at(-1));
    }
    expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
  });

  it('moves it not at all when the transaction fails', () => {
    const { store } = world();
    const before = epochOf(store);
    const failing = () =>
      store.transact((tx) => {
        addVersion(tx, newSkill());
        throw new Error('on purpose');
      });
    expect(failing).toThrow('on purpose');
    expect([epochOf(store), skillAt(store, 'acme.text', '1.0.0')]).toEqual([before, null]);
  });

  it('knows which packages are needed, and what a key signed', () => {
    const { store, install } = world();
    const a = install('acme.text', '1.0.0');
    const b = install('acme.text', '2.0.0', 'revoked');
    expect(artifactsInUse(store)).toEqual(new Set([a.artifact, b.artifact]));
    store.transact((tx) => dropVersion(tx, 'acme.text', '1.0.0'));
    expect(artifactsInUse(store)).toEqual(new Set([b.artifact]));
    expect(skillsOfKey(store, KEY_ID)).toEqual([{ id: 'acme.text', version: '2.0.0' }]);
    expect(skillsOfKey(store, 'sha256:other')).toEqual([]);
  });
});

describe('an index from before skills could fail', () => {
  it('keeps its versions, their tools and their order, and counts changes as before', () => {
    const directory = tempDir();
    const old = openStore(directory, skillsMigrations.slice(0, 1));
    const states = ['active', 'quarantined', 'disabled', 'revoked'] as const;
    for (const state of states)
      old.transact((tx) => bring(tx, newSkill({ id: `acme.${state}`, version: '1.0.0' }), state));
    old.transact((tx) => bring(tx, newSkill({ id: 'acme.last', version: '1.0.0' }), 'ingested'));
    old.transact((tx) => dropVersion(tx, 'acme.last', '1.0.0'));
    const before = { page: pageOf(old, { after: null, limit: 10, state: null }), epoch: epochOf(old) };
    const skills = states.map((state) => skillAt(old, `acme.${state}`, '1.0.0'));
    const tools = pageOfTools(old, { after: null, limit: 10 });
    old.close();

    const store = openStore(directory, skillsMigrations);
    expect(pageOf(store, { after: null, limit: 10, state: null })).toEqual(before.page);
    expect(states.map((state) => skillAt(store, `acme.${state}`, '1.0.0'))).toEqual(skills);
    expect(pageOfTools(store, { after: null, limit: 10 })).toEqual(tools);
    expect(epochOf(store)).toBeGreaterThan(before.epoch);

    const active = newSkill({ id: 'acme.active', version: '1.0.0' });
    const epoch = epochOf(store);
    store.transact((tx) => changeVersion(tx, step(active, 'active', 'failed')));
    expect([skillAt(store, 'acme.active', '1.0.0')?.state, epochOf(store) > epoch]).toEqual(['failed', true]);
    store.transact((tx) => dropVersion(tx, 'acme.active', '1.0.0'));
    expect(ownerOfTool(store, tools[0]?.toolId ?? '')).toEqual([]);
    // The number of a version that was removed is not given again.
    store.transact((tx) => bring(tx, newSkill({ id: 'acme.new', version: '1.0.0' }), 'ingested'));
    const { next } = pageOf(store, { after: null, limit: 2, state: null });
    expect(next).toBe('acme.new:6');
  });
});
