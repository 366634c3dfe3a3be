/** What the operator can do about a failed start, one row for each cause; the first matching row is the fix. */
import type { Fault } from './attempt.ts';

/** Settings of the kernel that forbid user namespaces, and the value that does. */
export const NAMESPACE_SETTINGS = [
  {
    path: '/proc/sys/kernel/unprivileged_userns_clone',
    forbids: '0',
    why: 'kernel.unprivileged_userns_clone is 0',
    fix: 'Allow user namespaces: `sysctl -w kernel.unprivileged_userns_clone=1`, and the same line in /etc/sysctl.d/palisade.conf to keep it.',
  },
  {
    path: '/proc/sys/user/max_user_namespaces',
    forbids: '0',
    why: 'user.max_user_namespaces is 0',
    fix: 'Allow user namespaces: `sysctl -w user.max_user_namespaces=16384`, and the same line in /etc/sysctl.d/palisade.conf to keep it.',
  },
  {
    path: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    forbids: '1',
    why: 'AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)',
    fix: 'Write an AppArmor profile with the line `userns,` for bubblewrap and for the launcher (the text is in docs/sandbox.md) and load it with `apparmor_parser -r`.',
  },
] as const;

/** Steps that fail where user namespaces cannot be created or confer no privileges. */
const NAMESPACE_STEPS = ['namespaces', 'user-namespace', 'user-map', 'private-mounts', 'sandbox'];

type FixRow = {
  readonly steps: readonly string[];
  /** Left out: it matches every one. */
  readonly errnos?: readonly string[];
  readonly fix: string;
};

export const FIXES: readonly FixRow[] = [
  {
    steps: NAMESPACE_STEPS,
    errnos: ['ENOSPC'],
    fix: 'This is inside a sandbox that allows no further user namespaces: start palisade outside of it.',
  },
  {
    steps: NAMESPACE_STEPS,
    errnos: ['EPERM', 'EACCES'],
    fix: 'In a container its filters forbid namespaces: start it with `--security-opt seccomp=seccomp.json --security-opt apparmor=unconfined` and the filter of docs/container.md, or run palisade on the host.',
  },
  {
    steps: ['proc'],
    fix: 'In a container a masked /proc forbids a new one: start it with `--security-opt systempaths=unconfined` (podman: `unmask=ALL`; Kubernetes: `procMount: Unmasked`), or run palisade on the host.',
  },
  {
    steps: ['workspace-idmap', 'workspace-clone', 'workspace-map', 'workspace-mount'],
    fix: 'Put the workspace on a file system with idmapped mounts (ext4, xfs, btrfs; tmpfs from Linux 6.3), or start palisade as an ordinary user.',
  },
  {
    steps: ['net', 'lo'],
    fix: 'The run gets no network of its own: allow user and network namespaces (`sysctl -w user.max_net_namespaces=16384`), or set `egress_hosts` of the call to [].',
  },
  {
    steps: ['listen', 'handles'],
    fix: 'The proxy of the run cannot be reached from its network: raise the limit of open files with `ulimit -n`, or list fewer hosts in `process.egress_hosts`.',
  },
  {
    steps: ['landlock', 'landlock-path', 'landlock-rule'],
    fix: 'Use Linux 5.13 or newer and boot it with `landlock` among the names of `lsm=`.',
  },
  {
    steps: ['seccomp', 'seccomp-read'],
    fix: 'Use a kernel that is built with CONFIG_SECCOMP_FILTER.',
  },
  {
    steps: ['rlimit'],
    fix: 'The limits that palisade was started with are lower than those of commands: raise them with `ulimit`, or lower `process.*` in palisade.toml.',
  },
  {
    steps: ['cgroup'],
    fix: 'The control group cannot be joined: start palisade with `systemd-run --user --scope -p Delegate=yes palisade …`.',
  },
  {
    steps: ['start'],
    errnos: ['EACCES', 'ENOEXEC', 'ENOENT'],
    fix: 'The launcher is for another machine or may not be executed: install it again (in a clone, `npm run setup`), on a file system without `noexec`.',
  },
];

/** Where no row matches. */
const OTHER_FIX = 'Look the step up in docs/sandbox.md, and install the updates of your system.';

/** Reads a small file of the kernel; null where it does not exist. */
export type ReadSetting = (path: string) => string | null;

/** The fix for a fault. A setting of the kernel that forbids namespaces comes first, as it explains the rest. */
export function fixOf(fault: Fault, read: ReadSetting): string {
  const { errno } = fault;
  const step = stepOf(fault);
  const setting = NAMESPACE_STEPS.includes(step) ? forbiddingSetting(read) : null;
  const row = FIXES.find(
    ({ steps, errnos }) =>
      steps.includes(step) && (errnos === undefined || (errno !== null && errnos.includes(errno))),
  );
  return setting?.fix ?? row?.fix ?? OTHER_FIX;
}

/** Bubblewrap takes many steps, and says in its message which of them failed. */
function stepOf({ step, said }: Fault): string {
  return step === 'sandbox' && said.includes("Can't mount proc") ? 'proc' : step;
}

/** Which setting of the kernel forbids user namespaces; null where none does. */
export function forbiddingSetting(read: ReadSetting): (typeof NAMESPACE_SETTINGS)[number] | null {
  return NAMESPACE_SETTINGS.find(({ path, forbids }) => read(path)?.trim() === forbids) ?? null;
}
