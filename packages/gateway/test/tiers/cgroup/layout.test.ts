import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { volume } from '../../../../../tests/volume/volume.ts';
import { type CgroupLayout, findCgroups } from '../../../src/tiers/cgroup/layout.ts';
import * as sample from './sample.ts';

type Readable = { readonly controllers?: string };

function find({ mountinfo, selfCgroup }: sample.Machine, { controllers }: Readable = {}): CgroupLayout {
  return findCgroups((path) => {
    if (path === '/proc/self/mountinfo') return mountinfo;
    if (path === '/proc/self/cgroup') return selfCgroup;
    return path.endsWith('/cgroup.controllers') ? (controllers ?? null) : null;
  });
}

/** The layout with plain objects, to be compared. */
function plain(layout: CgroupLayout): unknown {
  return 'controllers' in layout
    ? { ...layout, controllers: Object.fromEntries(layout.controllers) }
    : layout;
}

const FULL = { controllers: 'cpuset cpu io memory hugetlb pids\n' };
const TOP = '/sys/fs/cgroup';
const SERVICE = '/system.slice/palisade.service';
const SESSION =
  '/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice/vte-spawn-1.scope';
const SEPARATE = {
  cpu: { mount: `${TOP}/cpu,cpuacct`, own: '/' },
  cpuacct: { mount: `${TOP}/cpu,cpuacct`, own: '/' },
  memory: { mount: `${TOP}/memory`, own: SERVICE },
  pids: { mount: `${TOP}/pids`, own: SERVICE },
  'name=systemd': { mount: `${TOP}/systemd`, own: SERVICE },
};

const machines: [string, sample.Machine, Readable, unknown][] = [
  ['a user session', sample.userSession, FULL, { kind: 'v2', unified: { mount: TOP, own: SESSION } }],
  ['version 1', sample.separate, {}, { kind: 'v1', controllers: SEPARATE }],
  [
    'both versions',
    sample.hybrid,
    { controllers: 'hugetlb\n' },
    { kind: 'hybrid', controllers: SEPARATE, unified: { mount: `${TOP}/unified`, own: SERVICE } },
  ],
  [
    'both versions with the limits in version 2',
    sample.hybrid,
    FULL,
    { kind: 'v2', unified: { mount: `${TOP}/unified`, own: SERVICE } },
  ],
  [
    'a container whose trees begin at its own group',
    sample.docker,
    {},
    {
      kind: 'v1',
      controllers: {
        memory: { mount: `${TOP}/memory`, own: '/inner' },
        pids: { mount: `${TOP}/pids`, own: '/' },
      },
    },
  ],
  ['a namespace', sample.namespaced, FULL, { kind: 'v2', unified: { mount: TOP, own: '/' } }],
  [
    'a tree from above the namespace',
    sample.aboveNamespace,
    FULL,
    { kind: 'v2', unified: { mount: TOP, own: null } },
  ],
  [
    'a process outside of its namespace',
    sample.outsideNamespace,
    FULL,
    { kind: 'v2', unified: { mount: TOP, own: null } },
  ],
  [
    'escaped names',
    sample.withSpaces,
    FULL,
    { kind: 'v2', unified: { mount: '/mnt/my groups\\x', own: '/c:d' } },
  ],
  ['two mounts of one tree', sample.twice, FULL, { kind: 'v2', unified: { mount: '/b', own: '/x' } }],
  ['our own group deleted', sample.deleted, FULL, { kind: 'v2', unified: { mount: TOP, own: null } }],
  [
    'version 2 without the controllers',
    sample.namespaced,
    { controllers: 'pids\n' },
    { kind: 'v2', unified: { mount: TOP, own: '/' } },
  ],
  ['nothing mounted', sample.unmounted, FULL, { kind: 'none', why: 'no cgroup file system is mounted' }],
  [
    'trees below another mount',
    sample.covered,
    {},
    { kind: 'none', why: 'no cgroup file system is mounted' },
  ],
  ['a mount on the tree', sample.stacked, FULL, { kind: 'none', why: 'no cgroup file system is mounted' }],
  [
    'no support in the kernel',
    sample.withoutKernelSupport,
    FULL,
    { kind: 'none', why: 'the kernel lists no control group of this process' },
  ],
];

/** Pieces that the real texts are made of, in any order. */
const piece = fc.oneof(
  fc.constantFrom(...Object.values(sample).flatMap((each) => (typeof each === 'string' ? [each] : []))),
  fc.constantFrom(
    ...Object.values(sample).flatMap((each) =>
      typeof each === 'string' ? [] : `${each.mountinfo}${each.selfCgroup}`.split(/(?<=[\n ,:/])/),
    ),
  ),
  fc.string({ unit: CHARACTER, maxLength: 12 }),
);
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

describe('findCgroups()', () => {
  it.each(machines)('understands %s', (_, machine, readable, expected) => {
    expect(plain(find(machine, readable))).toEqual(expected);
  });

  it('gives none where there is no /proc', () => {
    expect(findCgroups(() => null).kind).toBe('none');
  });

  it('never throws, and never gives a group of ours that leads out of its tree', () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (mountinfo, selfCgroup, limited) => {
        const layout = find({ mountinfo, selfCgroup }, limited ? FULL : {});
        const trees = [
          ...('controllers' in layout ? layout.controllers.values() : []),
          ...('unified' in layout ? [layout.unified] : []),
        ];
        for (const { mount, own } of trees) {
          expect(mount).not.toBe('');
          if (own === null) continue;
          expect(own.startsWith('/')).toBe(true);
          expect(own.split('/')).not.toContain('..');
        }
      }),
      { numRuns: volume(500, 30) },
    );
  });
});
