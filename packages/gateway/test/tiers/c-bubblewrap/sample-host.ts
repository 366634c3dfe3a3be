import type { JailHost, planC } from '../../../src/tiers/c-bubblewrap/plan.ts';
import { REQUIRED_OPTIONS } from '../../../src/tiers/c-bubblewrap/probe.ts';
import { SAMPLE_PASS } from '../../../src/tiers/network/plan.ts';

/** One instruction: let every call pass. */
export const ALLOW_ALL = Uint8Array.of(0x06, 0, 0, 0, 0, 0, 0xff, 0x7f);

/** A machine as Debian 12 sets it up. */
export function sampleHost(changes: Partial<JailHost> = {}): JailHost {
  return {
    bwrap: '/usr/bin/bwrap',
    bwrapVersion: [0, 8, 0],
    bwrapOptions: [...REQUIRED_OPTIONS, '--ro-bind-fd', '--disable-userns'],
    seccomp: ALLOW_ALL,
    cgroups: 0,
    asRoot: null,
    pass: SAMPLE_PASS,
    systemRoots: [
      { path: '/usr', linkTo: null },
      { path: '/bin', linkTo: 'usr/bin' },
      { path: '/sbin', linkTo: 'usr/sbin' },
      { path: '/lib', linkTo: 'usr/lib' },
      { path: '/lib64', linkTo: 'usr/lib64' },
    ],
    etc: [
      { path: '/etc/ld.so.cache', linkTo: null, isFile: true },
      { path: '/etc/services', linkTo: null, isFile: true },
      { path: '/etc/os-release', linkTo: '../usr/lib/os-release', isFile: true },
      { path: '/etc/alternatives', linkTo: null },
      { path: '/etc/localtime', linkTo: '/usr/share/zoneinfo/Etc/UTC' },
      { path: '/etc/ssl/certs', linkTo: null },
      { path: '/etc/resolv.conf', linkTo: '../run/systemd/resolve/stub-resolv.conf' },
    ],
    canConnect: true,
    hidden: [
      { path: '/proc/cmdline', linkTo: null },
      { path: '/proc/keys', linkTo: null },
    ],
    ...changes,
  };
}

/** The plan as a reviewer reads it: an option to a line. */
export function showPlan(planned: ReturnType<typeof planC>): string {
  if (!planned.ok) throw new Error(planned.problem.message);
  const plan = planned.value;
  const options = plan.args
    .join('\0')
    .replaceAll(/\0(?=--)/g, '\n')
    .replaceAll('\0', ' ');
  const roles = plan.descriptors.map((descriptor, index) => {
    const about =
      'path' in descriptor
        ? ` ${descriptor.path}`
        : 'name' in descriptor
          ? ` ${descriptor.name}`
          : 'index' in descriptor
            ? ` ${descriptor.index}`
            : '';
    return `${index + 3} ${descriptor.role}${about}`;
  });
  const equal = Object.entries(plan.expected.equal).map(([name, value]) => `${name} = ${value}`);
  const { newNamespaces, within } = plan.expected;
  return [
    `# words\n${plan.words.join(' ')}`,
    `# told\n${plan.told.join(' ')}`,
    `# options\n${options}`,
    `# descriptors\n${roles.join('\n')}`,
    `# expected facts\n${equal.join('\n')}\nnew namespaces = ${newNamespaces.join(' ')}`,
    `# expected writable mounts\n${within?.mounts_rw?.join('\n')}\n`,
  ].join('\n\n');
}
