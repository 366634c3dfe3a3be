import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Cgroups, openCgroups } from '../../../src/tiers/cgroup/cgroups.ts';
import { FakeTrees } from './fake-tree.ts';

export const OUR_PID = 4242;
export const MIB = 1024 * 1024;
export const LIMITS = { memoryBytes: 100 * MIB, processes: 20 };

type Wishes = { readonly own?: string; readonly process?: string; readonly realStateDir?: string };

/** Version 2 alone, mounted at `cgroup`, with us in the group `own`. */
export function openV2(
  trees: Pick<FakeTrees, 'top' | 'files'>,
  { own = '/', process = 'p_1', realStateDir = 'here' }: Wishes = {},
): Cgroups {
  return openCgroups({
    mountinfo: `30 1 0:26 / ${join(trees.top, 'cgroup')} rw - cgroup2 cgroup2 rw\n`,
    selfCgroup: `0::${own}\n`,
    prefix: 'palisade',
    owner: { realStateDir, process },
    files: trees.files,
    pid: OUR_PID,
  });
}

/** Version 1, each controller mounted under its name; with `unified` in it, the tree of version 2 beside them. */
export function openV1(
  trees: FakeTrees,
  names: readonly string[],
  { own = '/', process = 'p_1' }: Wishes = {},
): Cgroups {
  const lines = names.map((name, index) => {
    const type = name === 'unified' ? 'cgroup2' : 'cgroup';
    return `${30 + index} 1 0:${26 + index} / ${join(trees.top, name)} rw - ${type} ${type} rw,${name}\n`;
  });
  const groups = names.map((name, index) =>
    name === 'unified' ? `0::${own}\n` : `${index + 1}:${name}:${own}\n`,
  );
  return openCgroups({
    mountinfo: lines.join(''),
    selfCgroup: groups.join(''),
    prefix: 'palisade',
    owner: { realStateDir: 'here', process },
    files: trees.files,
    pid: OUR_PID,
  });
}

export function v2Trees(): FakeTrees {
  const trees = new FakeTrees();
  trees.mount('cgroup', 2, ['cpu', 'memory', 'pids']);
  return trees;
}

export function v1Trees(names: readonly string[]): FakeTrees {
  const trees = new FakeTrees();
  for (const name of names)
    trees.mount(name, name === 'unified' ? 2 : 1, name === 'unified' ? [] : name.split(','));
  return trees;
}

/** The groups, of whatever name, in a directory of the trees. */
export function groupsIn({ top }: FakeTrees, path: string): string[] {
  return readdirSync(join(top, path), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  );
}
