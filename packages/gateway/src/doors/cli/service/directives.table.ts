/* What the unit of the service says besides its command line: one row per directive, with the reason that is written above it. */

export type Scope = 'system' | 'user';

export type Directive = {
  readonly line: string;
  readonly scopes: readonly Scope[];
  readonly why: string;
};

const BOTH: readonly Scope[] = ['system', 'user'];
const SYSTEM: readonly Scope[] = ['system'];

/** The life of the process. */
export const LIFE: readonly Directive[] = [
  {
    line: 'NotifyAccess=main',
    scopes: BOTH,
    why: 'Only the gateway itself says how it is, and no command that it runs.',
  },
  {
    line: 'WatchdogSec=2min',
    scopes: BOTH,
    why: 'A gateway that answers nothing any more is started again.',
  },
  {
    line: 'Restart=on-failure',
    scopes: BOTH,
    why: 'Calls that were running are recorded as unknown by the next start.',
  },
  { line: 'RestartSec=2', scopes: BOTH, why: 'Not faster than a person can read the log.' },
  {
    line: 'TimeoutStartSec=15min',
    scopes: BOTH,
    why: 'An upgrade of a large state directory takes its time.',
  },
  {
    line: 'KillMode=mixed',
    scopes: BOTH,
    why: 'The gateway ends its runs itself; what is left after it is killed.',
  },
  {
    line: 'Delegate=cpu memory pids',
    scopes: BOTH,
    why: 'Each run gets a control group of its own below the one of the service.',
  },
  { line: 'OOMPolicy=continue', scopes: BOTH, why: 'A run that takes too much memory ends alone.' },
  { line: 'UMask=0077', scopes: BOTH, why: 'The state directory is for its owner alone.' },
];

/** What the gateway and all that it runs can never do. */
export const WALLS: readonly Directive[] = [
  { line: 'NoNewPrivileges=yes', scopes: BOTH, why: 'No setuid program gives more than the service has.' },
  { line: 'CapabilityBoundingSet=', scopes: SYSTEM, why: 'It needs none; tier C makes user namespaces.' },
  {
    line: 'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
    scopes: BOTH,
    why: 'Sockets for HTTP, for local clients, and for the loopback of a run.',
  },
  { line: 'RestrictRealtime=yes', scopes: BOTH, why: 'No run takes a processor for itself.' },
  { line: 'RestrictSUIDSGID=yes', scopes: BOTH, why: 'Nothing leaves a setuid program behind.' },
  { line: 'LockPersonality=yes', scopes: BOTH, why: 'Old system interfaces stay closed.' },
  {
    line: 'SystemCallArchitectures=native',
    scopes: BOTH,
    why: 'The filters of the runs know one architecture.',
  },
  {
    line: 'SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap',
    scopes: BOTH,
    why: 'What no gateway and no run needs; mounts and namespaces stay for tier C.',
  },
  { line: 'SystemCallErrorNumber=EPERM', scopes: BOTH, why: 'A program that tries it goes on.' },
  {
    line: 'ProtectSystem=strict',
    scopes: SYSTEM,
    why: 'Only the state directory and the workspaces can be written.',
  },
  { line: 'ProtectHome=tmpfs', scopes: SYSTEM, why: 'Homes are hidden but for the workspaces in them.' },
  { line: 'PrivateTmp=yes', scopes: SYSTEM, why: 'No one plants files for it in /tmp.' },
  { line: 'DevicePolicy=closed', scopes: SYSTEM, why: 'No disks and no consoles.' },
  { line: 'ProtectClock=yes', scopes: SYSTEM, why: 'The journal relies on the clock.' },
  { line: 'ProtectKernelModules=yes', scopes: SYSTEM, why: 'No code enters the kernel.' },
  { line: 'RemoveIPC=yes', scopes: SYSTEM, why: 'Shared memory of runs does not outlive the service.' },
  { line: 'KeyringMode=private', scopes: SYSTEM, why: 'No keys of other services.' },
];

/** Directives that would take tier C away, each with what it breaks; docs/service.md shows them. */
export const LEFT_OUT: readonly { readonly directive: string; readonly breaks: string }[] = [
  {
    directive: 'RestrictNamespaces=yes',
    breaks: 'bubblewrap makes namespaces; without them there is no tier C.',
  },
  { directive: 'MemoryDenyWriteExecute=yes', breaks: 'V8 compiles to memory that it then runs.' },
  {
    directive: 'PrivateDevices=yes',
    breaks:
      'The devices of a run would be read-only, which the proof of tier C refuses; DevicePolicy=closed holds instead.',
  },
  {
    directive: 'ProtectKernelTunables=yes, ProtectKernelLogs=yes, ProtectProc=invisible, ProcSubset=pid',
    breaks: 'They cover parts of /proc, and the kernel then refuses a new /proc in the namespaces of a run.',
  },
  { directive: 'ProtectControlGroups=yes', breaks: 'Runs get control groups of their own.' },
  { directive: 'ProtectHostname=yes', breaks: 'A run gets a host name of its own.' },
  {
    directive: 'PrivateUsers=yes, DynamicUser=yes',
    breaks: 'The owner of the state directory would be another user, or a link.',
  },
  { directive: 'IPAddressDeny=any', breaks: 'Hosts are decided by name, by the egress rules of each run.' },
];
