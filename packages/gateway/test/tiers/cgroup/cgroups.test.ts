import { existsSync, fstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { CodedError } from '../../../src/core/coded-error.ts';
import { groupNames, openCgroups, sweepCgroups } from '../../../src/tiers/cgroup/cgroups.ts';
import { groupsIn, LIMITS, MIB, OUR_PID, openV1, openV2, v1Trees, v2Trees } from './fake-machine.ts';
import { FakeTrees } from './fake-tree.ts';

const SCOPE = 'systemd-run --user --scope -p Delegate=yes palisade';

function refusalOf(act: () => unknown): CodedError {
  try {
    act();
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
  throw new Error('Cannot get refusal: nothing was refused');
}

function readIn(directory: string, file: string): string {
  return readFileSync(join(directory, file), 'utf8').trim();
}

describe('the groups of a machine with version 2', () => {
  it('have both limits, no swap, and say what the kernel made of them', async () => {
    const trees = v2Trees();
    const cgroups = openV2(trees);
    expect(cgroups.probe()).toEqual({
      ok: true,
      value: { kind: 'v2', controllers: ['memory', 'pids', 'unified'] },
    });
    expect(groupsIn(trees, 'cgroup')).toEqual([]);

    const group = cgroups.make('call_1', { memoryBytes: 100 * MIB + 5, processes: 20 });
    const [name = ''] = groupsIn(trees, 'cgroup');
    const directory = join(trees.top, 'cgroup', name);
    expect(name).toMatch(/^palisade-[0-9a-f]{12}_p_1-call_1$/);
    expect(readIn(directory, 'memory.max')).toBe(String(100 * MIB));
    expect(readIn(directory, 'memory.swap.max')).toBe('0');
    expect(readIn(directory, 'pids.max')).toBe('20');
    expect(group.facts()).toEqual({
      cgroup_kind: 'v2',
      cgroup_path_v2: `/${name}`,
      memory_max_bytes: 100 * MIB,
      swap_max_bytes: 0,
      processes_max: 20,
    });
    await group.remove();
    expect(groupsIn(trees, 'cgroup')).toEqual([]);
  });

  it('tell what was used, also when they are gone', async () => {
    const trees = v2Trees();
    const group = openV2(trees).make('1', LIMITS);
    const directory = join(trees.top, 'cgroup', groupsIn(trees, 'cgroup')[0] ?? '');
    expect(group.usage()).toEqual({ peakMemoryBytes: 0, cpuUs: 0, oomKills: 0, pidsRefused: 0 });
    writeFileSync(join(directory, 'memory.peak'), '7340032\n');
    writeFileSync(join(directory, 'cpu.stat'), 'usage_usec 1234567\nuser_usec 1\n');
    writeFileSync(join(directory, 'memory.events'), 'oom 9\noom_kill 3\noom_group_kill 7\n');
    writeFileSync(join(directory, 'pids.events'), 'max 21\n');
    const used = { peakMemoryBytes: 7340032, cpuUs: 1234567, oomKills: 3, pidsRefused: 21 };
    expect(group.usage()).toEqual(used);
    await group.remove();
    expect(group.usage()).toEqual(used);
  });

  it('give null for a peak that the kernel does not keep', () => {
    const trees = v2Trees();
    const group = openV2(trees).make('1', LIMITS);
    const directory = join(trees.top, 'cgroup', groupsIn(trees, 'cgroup')[0] ?? '');
    writeFileSync(join(directory, 'memory.peak'), 'what\n');
    expect(group.usage().peakMemoryBytes).toBeNull();
  });

  it('are killed by the kernel at once, not process by process', async () => {
    const trees = v2Trees();
    const group = openV2(trees).make('1', LIMITS);
    const path = join('cgroup', groupsIn(trees, 'cgroup')[0] ?? '');
    writeFileSync(join(trees.top, path, 'cgroup.procs'), '777\n778\n');
    const spy = vi.spyOn(process, 'kill').mockReturnValue(true);
    expect(await group.kill()).toBe(true);
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
    expect(trees.processesIn(path)).toEqual([]);
  });

  it('close their descriptors when they are removed, once', async () => {
    const group = openV2(v2Trees()).make('1', LIMITS);
    const [descriptor = -1] = group.descriptors;
    expect(fstatSync(descriptor).isFile()).toBe(true);
    await Promise.all([group.remove(), group.remove()]);
    expect(() => fstatSync(descriptor)).toThrow(/EBADF/);
    expect(group.descriptors).toEqual([]);
  });

  it('are made in our own group when we are alone in it, after we have stepped into a leaf', () => {
    const trees = v2Trees();
    writeFileSync(join(trees.top, 'cgroup/cgroup.subtree_control'), 'memory pids');
    trees.group('cgroup/palisade.service', [OUR_PID]);
    const cgroups = openV2(trees, { own: '/palisade.service' });
    expect(cgroups.probe()).toMatchObject({ ok: true });
    expect(groupsIn(trees, 'cgroup/palisade.service')).toEqual(['palisade-gateway']);
    expect(trees.processesIn('cgroup/palisade.service/palisade-gateway')).toEqual([String(OUR_PID)]);

    cgroups.make('1', LIMITS);
    // A process that was started again from the leaf finds the same place.
    openV2(trees, { own: '/palisade.service/palisade-gateway' }).make('2', LIMITS);
    expect(groupsIn(trees, 'cgroup/palisade.service')).toHaveLength(3);
  });

  it('are made at the top when others are in our group, and those are not moved', () => {
    const trees = v2Trees();
    writeFileSync(join(trees.top, 'cgroup/cgroup.subtree_control'), 'memory pids');
    trees.group('cgroup/session.scope', [1, OUR_PID]);
    const cgroups = openV2(trees, { own: '/session.scope' });
    expect(cgroups.make('1', LIMITS).facts()).toMatchObject({
      cgroup_path_v2: expect.stringMatching(/^\/palisade-/),
    });
    expect(trees.processesIn('cgroup/session.scope')).toEqual(['1', String(OUR_PID)]);
    expect(groupsIn(trees, 'cgroup/session.scope')).toEqual([]);
  });

  it('cannot be made for a user in a session that was not given to him, and the fix says how', () => {
    const trees = v2Trees();
    writeFileSync(join(trees.top, 'cgroup/cgroup.subtree_control'), 'memory pids');
    trees.group('cgroup/session.scope', [1, OUR_PID]);
    trees.refuse('open', /./, 'EACCES');
    const cgroups = openV2(trees, { own: '/session.scope' });
    expect(cgroups.probe()).toEqual({
      ok: false,
      problem: {
        why: expect.stringContaining('session.scope" is not ours (EACCES)'),
        fix: expect.stringContaining(SCOPE),
      },
    });
    const refusal = refusalOf(() => cgroups.make('1', LIMITS));
    expect(refusal).toMatchObject({ code: 'tier/unenforceable', remedy: expect.stringContaining(SCOPE) });
    expect(groupsIn(trees, 'cgroup')).toEqual(['session.scope']);
  });

  it('cannot be made in a container among others, who stay where they are', () => {
    const trees = v2Trees();
    writeFileSync(join(trees.top, 'cgroup/cgroup.procs'), `1\n0\n${OUR_PID}\n`);
    expect(openV2(trees).probe()).toMatchObject({
      ok: false,
      problem: { why: expect.stringContaining('processes of others') },
    });
    expect(trees.processesIn('cgroup')).toEqual(['1', '0', String(OUR_PID)]);
    expect(groupsIn(trees, 'cgroup')).toEqual([]);
  });

  it('leave us where we were when stepping aside is of no use', () => {
    const trees = v2Trees();
    trees.group('cgroup/a.scope', [OUR_PID]);
    writeFileSync(join(trees.top, 'cgroup/a.scope/cgroup.controllers'), 'memory pids\n');
    writeFileSync(join(trees.top, 'cgroup/cgroup.controllers'), 'cpu\n');
    let writes = 0;
    const { write } = trees.files;
    const files = {
      ...trees.files,
      write: (path: string, text: string) => {
        if (path.endsWith('subtree_control') && ++writes === 2)
          throw Object.assign(new Error(), { code: 'ENOENT' });
        write(path, text);
      },
    };
    expect(openV2({ top: trees.top, files }, { own: '/a.scope' }).probe()).toMatchObject({ ok: false });
    expect(trees.processesIn('cgroup/a.scope')).toEqual([String(OUR_PID)]);
    expect(groupsIn(trees, 'cgroup/a.scope')).toEqual([]);
  });

  it.each([
    ['a read-only tree', 'EROFS', '/sys/fs/cgroup can be written'],
    ['a tree of root', 'EACCES', SCOPE],
  ])('cannot be made in %s', (_, errno, fix) => {
    const trees = v2Trees();
    trees.refuse('makeDirectory', /./, errno);
    expect(openV2(trees).probe()).toEqual({
      ok: false,
      problem: { why: expect.stringContaining(errno), fix: expect.stringContaining(fix) },
    });
  });

  it('cannot be made without the memory controller', () => {
    const trees = new FakeTrees();
    trees.mount('cgroup', 2, ['pids']);
    expect(openV2(trees).probe()).toEqual({
      ok: false,
      problem: {
        why: expect.stringContaining('lacks memory'),
        fix: expect.stringContaining('cgroup_enable=memory'),
      },
    });
  });

  it('can be made after the fix, without a restart', () => {
    const trees = v2Trees();
    writeFileSync(join(trees.top, 'cgroup/cgroup.procs'), '1\n');
    const cgroups = openV2(trees);
    expect(refusalOf(() => cgroups.make('1', LIMITS)).code).toBe('tier/unenforceable');
    writeFileSync(join(trees.top, 'cgroup/cgroup.procs'), '');
    expect(cgroups.make('1', LIMITS).facts()).toMatchObject({ processes_max: 20 });
  });
});

describe('the groups of a machine with version 1', () => {
  it('are one in each tree, at its top, with memory and swap limited together', async () => {
    const names = ['memory', 'pids', 'cpuacct'];
    const trees = v1Trees(names);
    const cgroups = openV1(trees, names);
    expect(cgroups.probe()).toEqual({ ok: true, value: { kind: 'v1', controllers: names } });
    const group = cgroups.make('1', LIMITS);
    expect(group.descriptors).toHaveLength(3);
    expect(group.facts()).toMatchObject({
      cgroup_kind: 'v1',
      memory_max_bytes: 100 * MIB,
      memory_and_swap_max_bytes: 100 * MIB,
      swappiness: 0,
      processes_max: 20,
    });
    const [name = ''] = groupsIn(trees, 'cpuacct');
    writeFileSync(join(trees.top, 'cpuacct', name, 'cpuacct.usage'), '1234567\n');
    writeFileSync(join(trees.top, 'memory', name, 'memory.max_usage_in_bytes'), '4096\n');
    writeFileSync(join(trees.top, 'memory', name, 'memory.oom_control'), 'oom_kill_disable 0\noom_kill 2\n');
    expect(group.usage()).toEqual({ peakMemoryBytes: 4096, cpuUs: 1234, oomKills: 2, pidsRefused: 0 });
    await group.remove();
    expect(names.flatMap((each) => groupsIn(trees, each))).toEqual([]);
  });

  it('are one where controllers are mounted together', () => {
    const trees = new FakeTrees();
    trees.mount('memory,pids', 1, ['memory', 'pids']);
    const group = openV1(trees, ['memory,pids']).make('1', LIMITS);
    expect(group.descriptors).toHaveLength(1);
    expect(group.facts()).toMatchObject({ memory_max_bytes: 100 * MIB, processes_max: 20 });
  });

  it('are counted in the unified tree where there is one, and can do without it', () => {
    const names = ['memory', 'pids', 'cpuacct', 'unified'];
    const trees = v1Trees(names);
    expect(openV1(trees, names).probe()).toEqual({
      ok: true,
      value: { kind: 'hybrid', controllers: ['unified', 'memory', 'pids'] },
    });
    trees.refuse('makeDirectory', /unified/, 'EACCES');
    expect(openV1(trees, names).probe()).toEqual({
      ok: true,
      value: { kind: 'v1', controllers: ['memory', 'pids', 'cpuacct'] },
    });
  });

  it('kill one by one where the kernel has no kill for groups, and never a process 0', async () => {
    const trees = v1Trees(['memory', 'pids']);
    const group = openV1(trees, ['memory', 'pids']).make('1', LIMITS);
    const [name = ''] = groupsIn(trees, 'pids');
    const directory = join(trees.top, 'pids', name);
    writeFileSync(join(directory, 'cgroup.procs'), '0\n777\n');
    writeFileSync(join(directory, 'pids.events'), 'max 5\n');
    const killed: unknown[] = [];
    const spy = vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      killed.push([pid, signal, readIn(directory, 'pids.max')]);
      writeFileSync(join(directory, 'cgroup.procs'), '');
      writeFileSync(join(directory, 'pids.events'), 'max 99\n');
      return true;
    });
    expect(await group.kill()).toBe(true);
    spy.mockRestore();
    expect(killed).toEqual([[777, 'SIGKILL', '0']]);
    expect(group.usage().pidsRefused).toBe(5);
    expect(group.facts()).toMatchObject({ processes_max: 20 });
  });

  it('are made in our own group by a user to whom it was given', () => {
    const trees = v1Trees(['memory', 'pids']);
    for (const name of ['memory', 'pids']) trees.group(`${name}/ours`, [1, OUR_PID]);
    trees.refuse('makeDirectory', /(memory|pids)\/palisade/, 'EACCES');
    openV1(trees, ['memory', 'pids'], { own: '/ours' }).make('1', LIMITS);
    expect(groupsIn(trees, 'memory/ours')).toHaveLength(1);
    expect(groupsIn(trees, 'pids/ours')).toHaveLength(1);
  });

  it('cannot be made where one tree is missing or not ours, and leave nothing in the others', () => {
    const trees = v1Trees(['memory', 'pids']);
    expect(openV1(trees, ['memory']).probe()).toMatchObject({
      ok: false,
      problem: { why: expect.stringContaining('pids') },
    });
    trees.refuse('makeDirectory', /pids/, 'EACCES');
    expect(openV1(trees, ['memory', 'pids']).probe()).toEqual({
      ok: false,
      problem: {
        why: expect.stringContaining('EACCES'),
        fix: expect.stringContaining('Start palisade as root'),
      },
    });
    expect(groupsIn(trees, 'memory')).toEqual([]);
  });
});

describe('Cgroups.make()', () => {
  it.each(['memory.max', 'pids.max', 'memory.swap.max'])('makes no group when %s is not taken', (file) => {
    const trees = v2Trees();
    const cgroups = openV2(trees);
    expect(cgroups.probe()).toMatchObject({ ok: true });
    trees.keep(new RegExp(`/${file}$`));
    const { message } = refusalOf(() => cgroups.make('1', LIMITS));
    expect(message).toMatch(/^Cannot make control group: ".+" says "max", expected at most \d+$/);
    expect(groupsIn(trees, 'cgroup')).toEqual([]);
  });

  it('makes no group when version 1 keeps its huge number', () => {
    const trees = v1Trees(['memory', 'pids']);
    trees.keep(/limit_in_bytes$/);
    expect(openV1(trees, ['memory', 'pids']).probe()).toMatchObject({
      ok: false,
      problem: { why: expect.stringMatching(/says "9223372036854771712", expected at most \d+/) },
    });
    expect([...groupsIn(trees, 'memory'), ...groupsIn(trees, 'pids')]).toEqual([]);
  });

  it('undoes what it has made when a later tree refuses', () => {
    const trees = v1Trees(['memory', 'pids']);
    const cgroups = openV1(trees, ['memory', 'pids']);
    expect(cgroups.probe()).toMatchObject({ ok: true });
    trees.refuse('open', /pids\/palisade/, 'EACCES');
    expect(refusalOf(() => cgroups.make('1', LIMITS)).message).toContain('EACCES');
    expect([...groupsIn(trees, 'memory'), ...groupsIn(trees, 'pids')]).toEqual([]);
  });

  it('never uses a group that is already there', () => {
    const cgroups = openV2(v2Trees());
    cgroups.make('1', LIMITS);
    expect(refusalOf(() => cgroups.make('1', LIMITS)).message).toContain('EEXIST');
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])('takes no limit of %d', (value) => {
    const trees = v2Trees();
    const cgroups = openV2(trees);
    expect(() => cgroups.make('1', { ...LIMITS, memoryBytes: value })).toThrow(/memoryBytes is/);
    expect(() => cgroups.make('1', { ...LIMITS, processes: value })).toThrow(/processes is/);
    expect(groupsIn(trees, 'cgroup')).toEqual([]);
  });

  it.each(['../x', '', 'a/b'])('takes no id %j', (id) => {
    expect(() => openV2(v2Trees()).make(id, LIMITS)).toThrow(TypeError);
  });

  it('refuses where there are no control groups at all', () => {
    const cgroups = openCgroups({
      mountinfo: null,
      selfCgroup: null,
      prefix: 'palisade',
      owner: { realStateDir: 'here', process: 'p_1' },
    });
    expect(cgroups.probe()).toMatchObject({
      ok: false,
      problem: { fix: expect.stringContaining('mount -t cgroup2') },
    });
    expect(cgroups.list()).toEqual([]);
    expect(refusalOf(() => cgroups.make('1', LIMITS)).code).toBe('tier/unenforceable');
  });
});

const OWNER = { realStateDir: '/var/lib/palisade', process: 'p_1' };
const names = groupNames('palisade', OWNER);
const word = fc.stringMatching(/^[a-zA-Z0-9_]{1,64}$/);

describe('the name of a group', () => {
  it('tells who made it, for every id', () => {
    fc.assert(
      fc.property(word, fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/), (process, id) => {
        const name = groupNames('palisade', { ...OWNER, process }).nameOf(id);
        expect(name).toMatch(/^palisade-[0-9a-f]{12}_[a-zA-Z0-9_]+-[a-zA-Z0-9_-]+$/);
        expect(name.length).toBeLessThanOrEqual(255);
        expect(names.processOf(name)).toBe(process);
      }),
    );
  });

  it('is foreign to a realStateDir with another state directory', () => {
    const other = groupNames('palisade', { ...OWNER, realStateDir: '/srv/palisade' });
    expect(names.processOf(other.nameOf('1'))).toBeNull();
    expect(other.processOf(names.nameOf('1'))).toBeNull();
  });

  it.each([
    '..',
    'palisade',
    'palisade-gateway',
    'palisade-p_1-1',
    `${names.nameOf('1')}/..`,
    `${names.nameOf('1')}\n`,
    `x${names.nameOf('1')}`,
    names.nameOf('1').slice(0, -1),
    names.nameOf('1').replace('p_1', ''),
    names.nameOf('1').replace('p_1', 'p.1'),
    names.nameOf('1').slice(0, 'palisade-'.length + 12 + 1),
    'user.slice',
  ])('is not %j', (name) => {
    expect(names.processOf(name)).toBeNull();
  });

  it.each(['', '.', '..', 'a/b', '../x', 'a b', 'a\0', 'a\n', 'ä', 'x'.repeat(65)])(
    'takes no id %j',
    (id) => {
      expect(() => names.nameOf(id)).toThrow(/^Cannot name a control group: its id is/);
    },
  );

  it.each(['', 'a-b', 'a/b', 'x'.repeat(65)])('takes no owner %j', (process) => {
    expect(() => groupNames('palisade', { ...OWNER, process })).toThrow(/its owner is/);
  });

  it.each(['', 'a-b', '../a', 'A'])('takes no prefix %j', (prefix) => {
    expect(() => groupNames(prefix, OWNER)).toThrow(/its prefix is/);
  });
});

describe('sweepCgroups()', () => {
  it('removes groups of processes that are gone, with the groups that runs made in them, and no others', async () => {
    const trees = v2Trees();
    openV2(trees, { process: 'p_gone' }).make('1', LIMITS);
    const [left = ''] = groupsIn(trees, 'cgroup');
    for (const path of [`cgroup/${left}/inner`, `cgroup/${left}/inner/deep`]) trees.group(path);
    openV2(trees, { process: 'p_alive' }).make('1', LIMITS);
    openV2(trees, { process: 'p_gone', realStateDir: 'elsewhere' }).make('1', LIMITS);
    for (const name of ['user.slice', 'palisade', 'palisade-gateway', 'palisade-p_gone-1']) {
      trees.group(`cgroup/${name}`);
    }
    const others = groupsIn(trees, 'cgroup').filter((name) => name !== left);
    expect(others).toHaveLength(6);

    const requested: string[] = [];
    const swept = await sweepCgroups(openV2(trees), (owner) => {
      requested.push(owner);
      return owner === 'p_gone';
    });
    expect(swept).toEqual({ removed: [left], left: [] });
    expect(requested.sort()).toEqual(['p_alive', 'p_gone']);
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
