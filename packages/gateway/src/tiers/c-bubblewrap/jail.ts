/**
 * The jail itself, without the command in it: what bubblewrap is told, and the descriptors of all stages. It depends on
 * few of the terms, and a gateway asks for the same one again and again.
 */
import type { ProcessTerms } from '../../core/process.ts';
import { FIRST_DESCRIPTOR, layOutDescriptors, STATUS } from '../child/child.ts';
import { type NetworkPlan, networkWords, planNetwork, TRUST_FILE } from '../network/plan.ts';
import { portWords } from '../network/ports.ts';
import { groupWords, identityWords, streamWords, type TierPlan } from '../process/plan.ts';
import * as mounts from './mounts.ts';
import type { JailHost } from './plan.ts';
import { JAIL_HOST, JAIL_ID, JAIL_LAUNCHER } from './root.table.ts';

export type Jail = Pick<TierPlan, 'words' | 'args' | 'descriptors' | 'network'> & {
  readonly statusFd: number;
  readonly controlFd: number;
  /** The launcher's arguments for streams beside the standard streams. */
  readonly streams: readonly string[];
  /** Those for the ports that lead into it. */
  readonly ports: readonly string[];
};

/** The terms that a jail depends on: with the same ones it is the same jail. */
const JAIL_TERMS = [
  'workspace',
  'readOnly',
  'protectedPaths',
  'egress',
  'egressHosts',
  'gitIdentity',
  'ports',
] as const satisfies readonly (keyof ProcessTerms)[];
type JailTerms = Pick<ProcessTerms, (typeof JAIL_TERMS)[number]> & {
  readonly limits: Pick<ProcessTerms['limits'], 'memoryBytes'>;
};

const MOST_JAILS = 32;

/** The jail of these terms, which is laid out once. */
export function recallJail(terms: JailTerms, host: JailHost, place: mounts.WorkspacePlace): Jail {
  const { jails, pass, cgroups, asRoot, hasStreams } = host;
  // Certificates of one run are not those of another.
  if (jails === undefined || pass.trusted !== null) return layOutJail(terms, host, place);
  const key = JSON.stringify([
    JAIL_TERMS.map((name) => terms[name]),
    ...[terms.limits.memoryBytes, place, cgroups, asRoot, hasStreams === true],
  ]);
  const known = jails.get(key);
  if (known !== undefined) return known;
  const jail = layOutJail(terms, host, place);
  if (jails.size >= MOST_JAILS) jails.clear();
  jails.set(key, jail);
  return jail;
}

function layOutJail(terms: JailTerms, host: JailHost, place: mounts.WorkspacePlace): Jail {
  const descriptors = layOutDescriptors();
  const { add } = descriptors;
  const streams = streamWords(host.hasStreams, add);
  const argsFd = add({ role: 'args' });
  const network = planNetwork(terms, true);
  const { trusted } = host.pass;
  const args = [
    ...namespaceOptions(terms, host, network),
    // The launcher in the jail has no environment: the command's variables come with its arguments.
    '--clearenv',
    ...['--seccomp', String(add({ role: 'bytes', name: 'seccomp', bytes: host.seccomp }))],
    ...mounts.systemOptions(host.systemRoots),
    ...mounts.etcOptions(
      host.etc,
      {
        sharesNetwork: terms.egress !== 'strict',
        names: network?.names ?? [],
        gitIdentity: terms.gitIdentity,
      },
      add,
    ),
    ...(trusted === null ? [] : mounts.fileOptions({ path: TRUST_FILE, text: trusted }, add)),
    ...mounts.memoryOptions(terms.limits.memoryBytes, host.hidden),
    ...mounts.launcherOptions(add),
    ...mounts.bindOptions(terms, place, add),
    ...['--remount-ro', '/'],
    ...['--chdir', '/'],
  ];
  const wordsFd = add({ role: 'words' });
  const statusFd = add(STATUS);
  const controlFd = add({ role: 'control' });
  const ports = portWords(terms.ports, add);
  const words = [
    ...outerWords(host, descriptors, network),
    ...['--', host.bwrap, 'bwrap', '--args', String(argsFd), '--', JAIL_LAUNCHER, `words=${wordsFd}`],
  ];
  return { words, args, descriptors: descriptors.list, network, statusFd, controlFd, streams, ports };
}

/** A network with listeners is created before bubblewrap, which cannot create one; bubblewrap then stays in it. */
function namespaceOptions(
  terms: Pick<ProcessTerms, 'egress'>,
  host: JailHost,
  network: NetworkPlan | null,
): readonly string[] {
  return [
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup'],
    ...(terms.egress === 'strict' && network === null ? ['--unshare-net'] : []),
    ...(host.bwrapOptions.includes('--disable-userns') ? ['--disable-userns'] : []),
    ...['--uid', String(JAIL_ID), '--gid', String(JAIL_ID), '--hostname', JAIL_HOST],
    ...['--cap-drop', 'ALL', '--new-session', '--die-with-parent', '--as-pid-1'],
  ];
}

/** The stage before bubblewrap does what it cannot: ids, groups, an idmapped workspace, a network with listeners. */
function outerWords(
  { asRoot, cgroups }: JailHost,
  { list, add, numberOf }: ReturnType<typeof layOutDescriptors>,
  network: NetworkPlan | null,
): readonly string[] {
  const keep = list.map((_, index) => `keep=${FIRST_DESCRIPTOR + index}`);
  const identity = asRoot === null ? [] : identityWords(asRoot, numberOf('workspace'), add);
  const groups = groupWords(cgroups, add);
  const listeners = network === null ? [] : networkWords(network, add);
  // It reports only failures there; the launcher inside reports the rest.
  return ['mode=exec', `status=${numberOf('status')}`, ...identity, ...groups, ...listeners, ...keep];
}
