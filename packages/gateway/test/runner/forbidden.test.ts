import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { isWithin, locationOf, type Mount, parseMounts } from '../../src/core/paths.ts';
import { judgeRoot, judgeWorkspace, prepareJudgement } from '../../src/runner/forbidden.ts';
import { type Place, SYSTEM_PLACES } from '../../src/runner/places.table.ts';

const STATE = '/srv/palisade/state';
const PLACES: readonly Place[] = [
  ...SYSTEM_PLACES,
  { path: STATE, reach: 'all', what: 'the state directory of palisade', mayLieInRoot: true },
  { path: '/data/people/ada', reach: 'home', what: 'a home directory' },
  { path: '/data/people/bob', reach: 'home', what: 'a home directory', mayLieInRoot: true },
];
const ONE_DISK = parseMounts('20 1 8:1 / / rw - ext4 /dev/sda1 rw\n');

function judged(path: string, mounts: readonly Mount[] = ONE_DISK) {
  const [opened, judgement] = [{ path, mountId: null }, prepareJudgement(PLACES, mounts)];
  return { workspace: judgeWorkspace(opened, judgement), root: judgeRoot(opened, judgement) };
}

describe('judgeWorkspace() and judgeRoot()', () => {
  it.each([
    ...[
      '/',
      '/etc',
      '/etc/ssh',
      '/usr',
      '/usr/bin',
      '/usr/local',
      '/usr/src',
      '/bin',
      '/lib64',
      '/boot',
      '/run/x',
    ],
    ...[
      '/dev',
      '/dev/shm/x',
      '/proc',
      '/proc/self',
      '/sys/fs',
      '/var',
      '/var/lib',
      '/var/lib/x',
      '/var/log/x',
    ],
    ...['/var/tmp', '/var/www', '/var/home', '/tmp', '/opt', '/srv', '/mnt', '/media', '/home', '/root'],
    ...[
      '/root/.ssh',
      '/root/.ssh/keys',
      '/home/eve',
      '/home/eve/.config',
      '/home/eve/.config/x',
      '/var/home/eve',
    ],
    ...[
      '/data/people/ada',
      '/data/people/ada/.aws',
      '/data/people/ada/.x/y',
      '/data/people/bob',
      '/data/people',
    ],
    ...['/data/people/bob/.ssh', STATE, `${STATE}/keys`],
  ])('refuse %s', (path) => {
    expect(judged(path).workspace).toMatch(/^(is|contains) /);
    expect(judged(path).root).toMatch(/^(is|contains) /);
  });

  it.each([
    ...[
      '/home/eve/project',
      '/home/eve/src/.hidden',
      '/root/project',
      '/data/people/ada/projects',
      '/data/x',
    ],
    ...[
      '/usr/src/app',
      '/usr/local/src/x',
      '/var/tmp/x',
      '/var/www/site',
      '/var/home/eve/project',
      '/var/srv/x',
    ],
    ...[
      '/run/media/eve/disk/x',
      '/tmp/x',
      '/opt/x',
      '/srv/x',
      '/mnt/disk/x',
      '/projects',
      '/builds/x',
      '/homestead',
      '/etcetera',
      '/srv/palisade/statement',
    ],
  ])('accept %s', (path) => {
    expect(judged(path)).toEqual({ workspace: null, root: null });
  });

  it('lets a root contain the state directory and the home of another user, and no workspace', () => {
    expect(judged('/srv/palisade')).toEqual({
      workspace: `contains "${STATE}", the state directory of palisade`,
      root: null,
    });
    expect(judged('/data')).toMatchObject({ root: expect.stringContaining('contains "/data/people/ada"') });
  });

  it.each([
    ['a home', '/data/people/ada', '/'],
    ['a dot-directory', '/root/.ssh', '/root/.ssh'],
    ['what lies in a dot-directory', '/root/.ssh', '/root/.ssh/x'],
    ['a directory of the system', '/etc', '/etc'],
    ['the whole disk', '/', '/'],
    ['the state directory', '/srv/palisade', '/srv/palisade/state'],
  ])('refuse %s under another name, by a bind mount', (_, root, path) => {
    const bind = `${ONE_DISK_TEXT}21 20 8:1 ${root} /projects/mounted rw - ext4 /dev/sda1 rw\n`;
    const inside = `/projects/mounted${path.slice(root.length)}`.replace(/\/$/, '');
    expect(judged(inside, parseMounts(bind)).workspace).toMatch(/by a mount$/);
    // The control: without the mount it is a directory like any other.
    expect(judged(inside).workspace).toBeNull();
  });

  it('refuse a workspace in which such a mount lies, and not one beside it', () => {
    const mounts = parseMounts(
      `${ONE_DISK_TEXT}21 20 8:1 /root/.ssh /projects/a/keys rw - ext4 /dev/sda1 rw\n`,
    );
    expect(judged('/projects/a', mounts).workspace).toContain(
      'contains the mount "/projects/a/keys", which is in "/root"',
    );
    expect(judged('/projects/ab', mounts).workspace).toBeNull();
  });

  it('refuse a bind mount of what is mounted in a forbidden place, and not what lies beside it', () => {
    const text = `${ONE_DISK_TEXT}21 20 0:9 / /run/user/7 rw - tmpfs x rw
22 20 0:9 / /projects/runtime rw - tmpfs x rw
23 20 8:3 /cache /root/.cache rw - ext4 x rw
24 20 8:3 /cache/deep /projects/cache rw - ext4 x rw
25 20 8:3 /project /projects/project rw - ext4 x rw
26 20 8:4 / /home/eve rw - nfs x rw
27 20 8:4 /.ssh /projects/ssh rw - nfs x rw
28 20 8:4 /src /projects/src rw - nfs x rw
29 20 8:5 / /var/tmp rw - tmpfs x rw
30 20 8:6 /pod/hosts /etc/hosts rw - ext4 x rw
31 20 8:6 /pod /projects/pod rw - ext4 x rw
`;
    const against = (path: string) => judged(path, parseMounts(text)).workspace;
    expect(against('/projects/runtime')).toBe('is a directory of the system, by a mount');
    expect(against('/projects/cache')).toBe('is in "/root/.cache", a home directory, by a mount');
    expect(against('/projects/ssh')).toContain('by a mount');
    for (const path of ['/projects/project', '/projects/src', '/home/eve/src', '/var/tmp/x', '/projects/pod'])
      expect(against(path), path).toBeNull();
  });

  it('accept the mount of another disk, and a project by a bind mount', () => {
    const text = `${ONE_DISK_TEXT}21 20 8:2 / /projects rw - ext4 /dev/sdb rw\n22 20 8:1 /root/project /p rw - ext4 x rw\n`;
    for (const path of ['/projects', '/projects/x', '/p', '/p/.git'])
      expect(judged(path, parseMounts(text)).workspace).toBeNull();
  });

  it('judge the mount that a directory was opened on, and not one that hides it now', () => {
    const text = `${ONE_DISK_TEXT}21 20 8:1 /root/.ssh /projects/x rw - ext4 x rw\n22 20 8:2 / /projects/x rw - ext4 y rw\n`;
    const judgement = prepareJudgement(PLACES, parseMounts(text));
    expect(judgeWorkspace({ path: '/projects/x', mountId: 21 }, judgement)).toMatch(/by a mount$/);
    expect(judgeWorkspace({ path: '/projects/x', mountId: 22 }, judgement)).toBeNull();
    expect(judgeWorkspace({ path: '/projects/x', mountId: 99 }, judgement)).toBeNull();
  });
});

const ONE_DISK_TEXT = '20 1 8:1 / / rw - ext4 /dev/sda1 rw\n';

/** Paths that come near the places, as links, mistakes and attackers do. */
const name = fc.constantFrom(
  'a',
  '.ssh',
  '.git',
  'ada',
  'bob',
  'people',
  'data',
  'home',
  'root',
  'etc',
  'tmp',
  'var',
  'srv',
  'palisade',
  'state',
);
const paths = fc.array(name, { maxLength: 6 }).map((parts) => `/${parts.join('/')}`);

describe('the judgement of any path', () => {
  it('never accepts a place, what contains one, or a dot-directory of a home', () => {
    fc.assert(
      fc.property(paths, (path) => {
        if (judged(path).workspace !== null) return;
        for (const place of PLACES)
          expect(isWithin(place.path, path), `${place.path} in ${path}`).toBe(false);
        expect(path).not.toMatch(/^(\/home\/[^/]+|\/root|\/data\/people\/(ada|bob))(\/\.|$)/);
        expect(path).not.toMatch(/^\/(etc|usr|proc|dev|run|srv\/palisade\/state)(\/|$)/);
      }),
      { numRuns: volume(2_000, 300) },
    );
  });

  it('is the same for a directory and for a bind mount of it anywhere, and never milder', () => {
    fc.assert(
      fc.property(paths, paths, (root, below) => {
        const mounts = parseMounts(`${ONE_DISK_TEXT}21 20 8:1 ${root} /projects/m rw - ext4 x rw\n`);
        const rest = below === '/' ? '' : below;
        const real = `${root === '/' ? '' : root}${rest}` || '/';
        const { workspace } = judged(`/projects/m${rest}`, mounts);
        expect(workspace === null, `${real}: ${workspace}`).toBe(judged(real, mounts).workspace === null);
      }),
      { numRuns: volume(2_000, 300) },
    );
  });

  it('accepts a root wherever it accepts a workspace', () => {
    fc.assert(
      fc.property(paths, (path) => {
        const { workspace, root } = judged(path);
        if (workspace === null) expect(root).toBeNull();
      }),
    );
  });
});

describe('parseMounts() and locationOf()', () => {
  it('read escaped names, skip what is not a mount, and take the last mount at a point', () => {
    const mounts = parseMounts(
      'x\n\n30 1 0:5 /a\\040b /m\\011n rw - x x x\n31 1 0:6 / /m\\011n rw - x x x\n',
    );
    expect(mounts).toHaveLength(2);
    expect(locationOf('/m\tn/c', mounts)).toBe('/0:6/c');
    expect(locationOf('/m\tn/c', mounts, 30)).toBe('/0:5/a b/c');
    expect(locationOf('/elsewhere', mounts)).toBe('/elsewhere');
  });
});
