import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sweepCgroups } from '../../../src/tiers/cgroup/sweep.ts';
import { groupsIn, LIMITS, openV1, openV2, v1Trees, v2Trees } from './fake-machine.ts';

describe('sweepCgroups()', () => {
  it('removes groups of processes that are gone, with the groups that runs made in them, and no others', async () => {
    const trees = v2Trees();
    openV2(trees, { process: 'p_gone' }).make('1', LIMITS);
    const [left = ''] = groupsIn(trees, 'cgroup');
    for (const path of [`cgroup/${left}/inner`, `cgroup/${left}/inner/deep`]) trees.group(path);
    openV2(trees, { process: 'p_alive' }).make('1', LIMITS);
    openV2(trees, { process: 'p_gone', house: 'elsewhere' }).make('1', LIMITS);
    for (const name of ['user.slice', 'palisade', 'palisade-gateway', 'palisade-p_gone-1']) {
      trees.group(`cgroup/${name}`);
    }
    const others = groupsIn(trees, 'cgroup').filter((name) => name !== left);
    expect(others).toHaveLength(6);

    const asked: string[] = [];
    const swept = await sweepCgroups(openV2(trees), (owner) => {
      asked.push(owner);
      return owner === 'p_gone';
    });
    expect(swept).toEqual({ removed: [left], left: [] });
    expect(asked.sort()).toEqual(['p_alive', 'p_gone']);
    expect(groupsIn(trees, 'cgroup')).toEqual(others);
  });

  it('does not follow a link that has the name of a group', async () => {
    const trees = v2Trees();
    const name = openV2(trees).make('1', LIMITS).facts().cgroup_path_v2;
    const target = join(trees.top, 'precious');
    mkdirSync(target);
    symlinkSync(target, join(trees.top, 'cgroup', `${name}2`));
    const swept = await sweepCgroups(openV2(trees), () => true);
    expect(swept.removed).toHaveLength(1);
    expect(existsSync(target)).toBe(true);
    expect(existsSync(join(trees.top, 'cgroup', `${name}2`))).toBe(true);
  });

  it('finds what was left in each tree, at the top and in our own group', async () => {
    const trees = v1Trees(['memory', 'pids']);
    for (const name of ['memory', 'pids']) trees.group(`${name}/ours`);
    openV1(trees, ['memory', 'pids'], { process: 'p_gone' }).make('1', LIMITS);
    trees.refuse('makeDirectory', /(memory|pids)\/palisade/, 'EACCES');
    openV1(trees, ['memory', 'pids'], { own: '/ours', process: 'p_gone' }).make('2', LIMITS);
    const swept = await sweepCgroups(openV1(trees, ['memory', 'pids'], { own: '/ours' }), () => true);
    expect(swept.removed).toHaveLength(2);
    expect(groupsIn(trees, 'memory')).toEqual(['ours']);
    expect(groupsIn(trees, 'pids/ours')).toEqual([]);
  });

  it('says which group the kernel still holds, and goes on with the others', async () => {
    const trees = v2Trees();
    const cgroups = openV2(trees);
    cgroups.make('held', LIMITS);
    cgroups.make('free', LIMITS);
    trees.refuse('removeDirectory', /held$/, 'EBUSY');
    const swept = await sweepCgroups(cgroups, () => true);
    expect(swept.removed).toEqual([expect.stringMatching(/-free$/)]);
    expect(swept.left).toEqual([
      expect.stringMatching(/^Cannot remove control group: ".+held" gives EBUSY, expected no process in it$/),
    ]);
  });
});
