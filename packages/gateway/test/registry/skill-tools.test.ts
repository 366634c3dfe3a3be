import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/core/digest.ts';
import { SkillTools } from '../../src/registry/skill-tools.ts';
import { Artifacts } from '../../src/skills/artifacts.ts';
import { narrowGrant, type SkillGrant } from '../../src/skills/grant.ts';
import { changeVersion, type NewSkill } from '../../src/skills/index/write.ts';
import { writeArchive } from '../../src/skills/package/archive.ts';
import { skillsMigrations } from '../../src/skills/tables.ts';
import { addKey } from '../../src/skills/trust/keys.ts';
import { openStore } from '../budget/temp-store.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { bring, NOON, newSkill, step } from '../skills/index-sample.ts';
import { toolWith } from '../skills/operate-manifest.ts';
import { moduleBy } from '../skills/package/sample.ts';

/** Active skills, each of a publisher of its own whose key expires when it says. */
function world() {
  const directory = tempDir();
  const store = openStore(directory, skillsMigrations);
  const artifacts = new Artifacts(join(directory, 'skills'));
  const clock = { nowMs: () => now.ms, monotonicMs: () => 0 };
  const now = { ms: NOON };
  const tools = new SkillTools({ reader: store, artifacts, clock, onMisfit: async () => undefined });
  const activate = (publisher: string, more: { expiresAtMs?: number; tools?: number } = {}): NewSkill => {
    const { expiresAtMs = null, tools: count = 1 } = more;
    const bytes = writeArchive(new Map([['text.wasm', moduleBy(publisher, '1')]]));
    const publicKey = Buffer.alloc(32, publisher);
    const keyId = `sha256:${digestBytes(publicKey)}`;
    const named = Array.from({ length: count }, (_, at) => toolWith({ id: `t${at}` }));
    const made = newSkill({ id: `${publisher}.text`, manifest: { tools: named } });
    const skill = { ...made, keyId, artifact: digestBytes(bytes) };
    artifacts.write(bytes, skill.artifact);
    store.transact((tx) => {
      addKey(tx, {
        ...{ publisher, keyId, publicKey, addedAtMs: NOON, addedBy: 'user:eve' },
        ...{ origin: 'operator', expiresAtMs },
      });
      bring(tx, skill, 'active');
    });
    return skill;
  };
  const ids = (after: string | null, limit: number) => tools.page(after, limit).map(({ id }) => id);
  return { directory, store, now, tools, activate, ids };
}

describe('SkillTools.page()', () => {
  it('is full for as long as there are tools, however many before them cannot run', () => {
    const { activate, ids, now } = world();
    activate('aaa', { tools: 5, expiresAtMs: NOON + 1 });
    activate('bbb', { tools: 2 });
    activate('ccc');
    expect(ids(null, 3)).toEqual(['aaa.text.t0', 'aaa.text.t1', 'aaa.text.t2']);
    now.ms += 1;
    expect(ids(null, 2)).toEqual(['bbb.text.t0', 'bbb.text.t1']);
    expect(ids('bbb.text.t1', 2)).toEqual(['ccc.text.t0']);
    expect(ids('ccc.text.t0', 2)).toEqual([]);
  });
});

describe('SkillTools.find()', () => {
  const grantsOf = ({ tools }: ReturnType<typeof world>, id: string) => {
    const found = tools.find(id);
    if (found === undefined || !('tool' in found) || found.tool.executor.kind !== 'wasm') return null;
    return found.tool.executor.program.grants;
  };

  it('goes by the grant of the last approval, although the clock stood still meanwhile', () => {
    const there = world();
    const skill = there.activate('acme');
    expect(grantsOf(there, 'acme.text.t0')?.http).toEqual(skill.manifest.asks.http);
    const nothing: SkillGrant = narrowGrant(skill.manifest, { withhold: ['all'], limits: {}, config: {} });
    there.store.transact((tx) => {
      changeVersion(tx, step(skill, 'active', 'quarantined'));
      changeVersion(tx, step(skill, 'quarantined', 'approved', { grant: nothing }));
      changeVersion(tx, step(skill, 'approved', 'active'));
    });
    expect(grantsOf(there, 'acme.text.t0')?.http).toEqual([null, null]);
  });

  it('does not hold a tool of an epoch that is over', () => {
    const { tools, store, activate } = world();
    const skill = activate('acme');
    const found = tools.find('acme.text.t0');
    if (found === undefined || !('tool' in found)) throw new Error('Cannot go on: the tool is not there');
    expect(tools.holds(store, found.tool)).toBe(true);
    store.transact((tx) => changeVersion(tx, step(skill, 'active', 'disabled')));
    expect(tools.holds(store, found.tool)).toBe(false);
    expect(tools.find('acme.text.t0')).toMatchObject({ refused: { code: 'skill/disabled' } });
    expect(tools.holds(store, found.tool)).toBe(false);
  });

  it('refuses a package that everybody may write, and takes it once that is put right', () => {
    const there = world();
    const { artifact } = there.activate('acme');
    const path = join(there.directory, 'skills', artifact);
    chmodSync(path, 0o666);
    expect(there.tools.find('acme.text.t0')).toMatchObject({ refused: { code: 'skill/changed' } });
    chmodSync(path, 0o600);
    expect(grantsOf(there, 'acme.text.t0')).not.toBeNull();
  });
});
