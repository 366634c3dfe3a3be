import { describe, expect, test } from 'vitest';
import { checkMounts, mountBelow } from '../../../src/tiers/process/workspace-mounts.ts';

const line = (point: string) => `36 27 0:33 / ${point} rw,relatime - ext4 /dev/vda rw`;

describe('mountBelow()', () => {
  test.each([
    ['/project/inner', '/project/inner'],
    ['/project/a/b/c', '/project/a/b/c'],
    ['/project/a\\040b', '/project/a b'],
    ['/project/\u00c3\u00a9', '/project/é'],
  ])('finds %s', (point, found) => {
    expect(mountBelow([line('/'), line(point)].join('\n'), '/project')).toBe(found);
  });

  test.each(['/', '/project', '/workspace', '/other/project', ''])('passes over %j', (point) => {
    expect(mountBelow(`${line(point)}\n`, '/project')).toBeNull();
  });
});

describe('checkMounts()', () => {
  const mounts = line('/project/inner');
  const root = { runAs: { uid: 61_000, gid: 61_000 } };

  test.each<['b' | 'c', typeof root | { runAs: null }]>([
    ['c', { runAs: null }],
    ['c', root],
    ['b', root],
  ])('refuses it in tier %s where the run would see something else, as %j', (name, kit) => {
    expect(checkMounts({ name }, kit, '/project', mounts)).toMatchObject({
      code: 'tier/unenforceable',
      message: expect.stringContaining('"/project/inner" is a mount point'),
    });
    expect(checkMounts({ name }, kit, '/other', mounts)).toBeNull();
  });

  test('accepts it where the command sees the machine as its user does', () => {
    expect(checkMounts({ name: 'b' }, { runAs: null }, '/project', mounts)).toBeNull();
  });
});
