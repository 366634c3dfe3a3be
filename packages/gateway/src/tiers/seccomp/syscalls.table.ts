/**
 * The system calls that a native command may not make, a row for each. Calls that are not listed are allowed, up to
 * LAST_CALL; a newer call does not exist for the command.
 *
 * EPERM means that the caller may not. ENOSYS means that this kernel does not have the call; it is the answer where
 * programs know such kernels and fall back (clone3 to clone, openat2 to openat, io_uring to epoll).
 *
 * Every argument that is checked is a 32-bit number in the kernel, so checking the low half of the register suffices.
 */
export type Answer = 'EPERM' | 'ENOSYS';

export type SyscallRule = {
  readonly name: string;
  /** The call's number on each architecture; null where it has none. */
  readonly x64: number | null;
  readonly arm64: number | null;
  readonly answer: Answer;
  readonly why: string;
  /** Denied only with such arguments; without it always. */
  readonly denied?: Denied;
};

export type Denied =
  /** Any of the bits is set in the argument; checked only if, where specified, another argument has a bit. */
  | {
      readonly kind: 'bits';
      readonly argument: number;
      readonly bits: number;
      readonly onlyIf?: ArgumentBits;
    }
  | { readonly kind: 'values'; readonly argument: number; readonly values: readonly number[] }
  | { readonly kind: 'other-values'; readonly argument: number; readonly values: readonly number[] }
  /** What SOCKETS does not allow. */
  | { readonly kind: 'socket' }
  /** What SOCKET_PAIRS does not allow. */
  | { readonly kind: 'socket-pair' };

type ArgumentBits = { readonly argument: number; readonly bits: number };

/** The newest call that this table covers (Linux 6.18). It is also below every number of the x32 ABI. */
export const LAST_CALL = 469;

/** CLONE_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET. clone() cannot request _NEWTIME. */
const NEW_NAMESPACES = 0x7e02_0000;

/** S_ISUID and S_ISGID. */
const SET_ID = 0o6000;

/** The bit that only S_IFCHR and S_IFBLK have among the kinds of file that mknod() makes. */
const DEVICE = 0o020000;

/** O_CREAT and the bit specific to O_TMPFILE; without them the mode is whatever the register contained. */
const MAKES_FILE = 0x40_0040;

/** TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD. */
const TERMINAL_REQUESTS = [0x5412, 0x541c, 0x541d, 0x5423];

/** PER_LINUX, ADDR_NO_RANDOMIZE (thread sanitizers restart themselves with it), and the query of the current one. */
const PERSONALITIES = [0, 0x4_0000, 0xffff_ffff];

export const RULES: readonly SyscallRule[] = [
  // Programs and code in the kernel.
  { name: 'bpf', x64: 321, arm64: 280, answer: 'EPERM', why: 'Loads programs into the kernel.' },
  {
    name: 'perf_event_open',
    x64: 298,
    arm64: 241,
    answer: 'EPERM',
    why: 'Watches other code; a wide surface.',
  },
  { name: 'userfaultfd', x64: 323, arm64: 282, answer: 'ENOSYS', why: 'Holds the kernel at a page fault.' },
  { name: 'io_uring_setup', x64: 425, arm64: 425, answer: 'ENOSYS', why: 'Does calls that no filter sees.' },
  { name: 'io_uring_enter', x64: 426, arm64: 426, answer: 'ENOSYS', why: 'Does calls that no filter sees.' },
  {
    name: 'io_uring_register',
    x64: 427,
    arm64: 427,
    answer: 'ENOSYS',
    why: 'Does calls that no filter sees.',
  },
  { name: 'kexec_load', x64: 246, arm64: 104, answer: 'EPERM', why: 'Starts another kernel.' },
  { name: 'kexec_file_load', x64: 320, arm64: 294, answer: 'EPERM', why: 'Starts another kernel.' },
  { name: 'create_module', x64: 174, arm64: null, answer: 'ENOSYS', why: 'Of kernels long gone.' },
  { name: 'init_module', x64: 175, arm64: 105, answer: 'EPERM', why: 'Loads code into the kernel.' },
  { name: 'finit_module', x64: 313, arm64: 273, answer: 'EPERM', why: 'Loads code into the kernel.' },
  { name: 'delete_module', x64: 176, arm64: 106, answer: 'EPERM', why: 'Takes code out of the kernel.' },
  { name: 'lsm_set_self_attr', x64: 460, arm64: 460, answer: 'ENOSYS', why: 'Changes a security label.' },

  // Other processes.
  {
    name: 'ptrace',
    x64: 101,
    arm64: 117,
    answer: 'EPERM',
    why: 'Takes over another process, or freezes it.',
  },
  {
    name: 'process_vm_readv',
    x64: 310,
    arm64: 270,
    answer: 'EPERM',
    why: 'Reads the memory of another process.',
  },
  {
    name: 'process_vm_writev',
    x64: 311,
    arm64: 271,
    answer: 'EPERM',
    why: 'Writes the memory of another process.',
  },
  {
    name: 'process_madvise',
    x64: 440,
    arm64: 440,
    answer: 'ENOSYS',
    why: 'Pages out the memory of another process.',
  },
  {
    name: 'pidfd_getfd',
    x64: 438,
    arm64: 438,
    answer: 'EPERM',
    why: 'Takes a descriptor of another process.',
  },
  { name: 'kcmp', x64: 312, arm64: 272, answer: 'EPERM', why: 'Orders addresses of the kernel.' },
  {
    name: 'prlimit64',
    x64: 302,
    arm64: 261,
    answer: 'EPERM',
    why: 'Sets the limits of another process of the same user, the gateway too; of oneself it is allowed.',
    denied: { kind: 'other-values', argument: 0, values: [0] },
  },

  // Keys, and access to files other than by name.
  { name: 'add_key', x64: 248, arm64: 217, answer: 'EPERM', why: 'Keyrings have no namespace.' },
  { name: 'request_key', x64: 249, arm64: 218, answer: 'EPERM', why: 'Keyrings have no namespace.' },
  { name: 'keyctl', x64: 250, arm64: 219, answer: 'EPERM', why: 'Keyrings have no namespace.' },
  {
    name: 'name_to_handle_at',
    x64: 303,
    arm64: 264,
    answer: 'EPERM',
    why: 'Makes a name for open_by_handle_at.',
  },
  {
    name: 'open_by_handle_at',
    x64: 304,
    arm64: 265,
    answer: 'EPERM',
    why: 'Opens files outside of the root.',
  },
  { name: 'fanotify_init', x64: 300, arm64: 262, answer: 'EPERM', why: 'Watches whole file systems.' },
  { name: 'fanotify_mark', x64: 301, arm64: 263, answer: 'EPERM', why: 'Watches whole file systems.' },
  {
    name: 'lookup_dcookie',
    x64: 212,
    arm64: 18,
    answer: 'ENOSYS',
    why: 'Gives paths of a profiler long gone.',
  },

  // The machine: its log, quotas, swap, name, clock and ports.
  { name: 'syslog', x64: 103, arm64: 116, answer: 'EPERM', why: 'Reads the log of the kernel.' },
  {
    name: 'acct',
    x64: 163,
    arm64: 89,
    answer: 'EPERM',
    why: 'Writes a record of every process into a file.',
  },
  { name: 'quotactl', x64: 179, arm64: 60, answer: 'EPERM', why: 'Changes quotas.' },
  { name: 'quotactl_fd', x64: 443, arm64: 443, answer: 'EPERM', why: 'Changes quotas.' },
  { name: 'swapon', x64: 167, arm64: 224, answer: 'EPERM', why: 'Changes where memory is paged out.' },
  { name: 'swapoff', x64: 168, arm64: 225, answer: 'EPERM', why: 'Changes where memory is paged out.' },
  { name: 'reboot', x64: 169, arm64: 142, answer: 'EPERM', why: 'Stops the machine.' },
  { name: 'sethostname', x64: 170, arm64: 161, answer: 'EPERM', why: 'Names the machine.' },
  { name: 'setdomainname', x64: 171, arm64: 162, answer: 'EPERM', why: 'Names the machine.' },
  { name: 'settimeofday', x64: 164, arm64: 170, answer: 'EPERM', why: 'Sets the clock.' },
  { name: 'clock_settime', x64: 227, arm64: 112, answer: 'EPERM', why: 'Sets the clock.' },
  { name: 'adjtimex', x64: 159, arm64: 171, answer: 'EPERM', why: 'Sets the speed of the clock.' },
  { name: 'clock_adjtime', x64: 305, arm64: 266, answer: 'EPERM', why: 'Sets the speed of the clock.' },
  { name: 'iopl', x64: 172, arm64: null, answer: 'EPERM', why: 'Opens the ports of the hardware.' },
  { name: 'ioperm', x64: 173, arm64: null, answer: 'EPERM', why: 'Opens the ports of the hardware.' },
  {
    name: 'modify_ldt',
    x64: 154,
    arm64: null,
    answer: 'ENOSYS',
    why: 'Segments of 16 bits; a source of holes.',
  },
  { name: 'vhangup', x64: 153, arm64: 58, answer: 'EPERM', why: 'Takes the terminal from others.' },

  // Obsolete calls that nothing needs.
  { name: 'nfsservctl', x64: 180, arm64: 42, answer: 'ENOSYS', why: 'Of kernels long gone.' },
  { name: 'uselib', x64: 134, arm64: null, answer: 'ENOSYS', why: 'Of kernels long gone.' },
  { name: 'ustat', x64: 136, arm64: null, answer: 'ENOSYS', why: 'Of kernels long gone.' },
  { name: 'sysfs', x64: 139, arm64: null, answer: 'ENOSYS', why: 'Of kernels long gone.' },
  { name: '_sysctl', x64: 156, arm64: null, answer: 'ENOSYS', why: 'Of kernels long gone.' },

  // NUMA placement of memory. A kernel for one node does not have these.
  { name: 'mbind', x64: 237, arm64: 235, answer: 'ENOSYS', why: 'Moves pages; a source of holes.' },
  { name: 'set_mempolicy', x64: 238, arm64: 237, answer: 'ENOSYS', why: 'Places pages; a source of holes.' },
  { name: 'set_mempolicy_home_node', x64: 450, arm64: 450, answer: 'ENOSYS', why: 'Places pages.' },
  {
    name: 'migrate_pages',
    x64: 256,
    arm64: 238,
    answer: 'ENOSYS',
    why: 'Moves the pages of other processes.',
  },
  { name: 'move_pages', x64: 279, arm64: 239, answer: 'ENOSYS', why: 'Moves the pages of other processes.' },

  // Mounts.
  { name: 'mount', x64: 165, arm64: 40, answer: 'EPERM', why: 'Changes what paths mean.' },
  { name: 'umount2', x64: 166, arm64: 39, answer: 'EPERM', why: 'Uncovers what a mount hides.' },
  { name: 'pivot_root', x64: 155, arm64: 41, answer: 'EPERM', why: 'Changes the root.' },
  { name: 'chroot', x64: 161, arm64: 51, answer: 'EPERM', why: 'Changes the root.' },
  { name: 'open_tree', x64: 428, arm64: 428, answer: 'ENOSYS', why: 'Mounts in the new way.' },
  { name: 'move_mount', x64: 429, arm64: 429, answer: 'ENOSYS', why: 'Mounts in the new way.' },
  { name: 'fsopen', x64: 430, arm64: 430, answer: 'ENOSYS', why: 'Mounts in the new way.' },
  { name: 'fsconfig', x64: 431, arm64: 431, answer: 'ENOSYS', why: 'Mounts in the new way.' },
  { name: 'fsmount', x64: 432, arm64: 432, answer: 'ENOSYS', why: 'Mounts in the new way.' },
  { name: 'fspick', x64: 433, arm64: 433, answer: 'ENOSYS', why: 'Mounts in the new way.' },
  { name: 'mount_setattr', x64: 442, arm64: 442, answer: 'ENOSYS', why: 'Mounts in the new way.' },
  { name: 'open_tree_attr', x64: 467, arm64: 467, answer: 'ENOSYS', why: 'Mounts in the new way.' },
  { name: 'statmount', x64: 457, arm64: 457, answer: 'ENOSYS', why: 'Shows where a mount comes from.' },
  { name: 'listmount', x64: 458, arm64: 458, answer: 'ENOSYS', why: 'Shows mounts of other places.' },

  // Namespaces: a new one confers capabilities, and with them the kernel's widest attack surface.
  { name: 'unshare', x64: 272, arm64: 97, answer: 'EPERM', why: 'Makes namespaces.' },
  { name: 'setns', x64: 308, arm64: 268, answer: 'EPERM', why: 'Enters namespaces.' },
  {
    name: 'clone',
    x64: 56,
    arm64: 220,
    answer: 'EPERM',
    why: 'Makes namespaces; processes and threads are allowed.',
    denied: { kind: 'bits', argument: 0, bits: NEW_NAMESPACES },
  },
  {
    name: 'clone3',
    x64: 435,
    arm64: 435,
    answer: 'ENOSYS',
    why: 'Its flags are in memory, where no filter sees.',
  },

  // Terminals, personalities, sockets.
  {
    name: 'ioctl',
    x64: 16,
    arm64: 29,
    answer: 'EPERM',
    why: 'Types into a terminal, pastes into it, takes the console, or loads a line discipline.',
    denied: { kind: 'values', argument: 1, values: TERMINAL_REQUESTS },
  },
  {
    name: 'personality',
    x64: 135,
    arm64: 92,
    answer: 'EPERM',
    why: 'Makes data executable, maps page zero, or changes what calls mean.',
    denied: { kind: 'other-values', argument: 0, values: PERSONALITIES },
  },
  {
    name: 'socket',
    x64: 41,
    arm64: 198,
    answer: 'EPERM',
    why: 'Families without a network namespace (vsock), and many that load a module on demand.',
    denied: { kind: 'socket' },
  },
  {
    name: 'socketpair',
    x64: 53,
    arm64: 199,
    answer: 'EPERM',
    why: 'One end of a pair of datagrams sends to any socket that it can name.',
    denied: { kind: 'socket-pair' },
  },

  // Files that run with the privileges of their owner, and devices.
  {
    name: 'chmod',
    x64: 90,
    arm64: null,
    answer: 'EPERM',
    why: 'Makes a set-id file.',
    denied: { kind: 'bits', argument: 1, bits: SET_ID },
  },
  {
    name: 'fchmod',
    x64: 91,
    arm64: 52,
    answer: 'EPERM',
    why: 'Makes a set-id file.',
    denied: { kind: 'bits', argument: 1, bits: SET_ID },
  },
  {
    name: 'fchmodat',
    x64: 268,
    arm64: 53,
    answer: 'EPERM',
    why: 'Makes a set-id file.',
    denied: { kind: 'bits', argument: 2, bits: SET_ID },
  },
  {
    name: 'fchmodat2',
    x64: 452,
    arm64: 452,
    answer: 'EPERM',
    why: 'Makes a set-id file.',
    denied: { kind: 'bits', argument: 2, bits: SET_ID },
  },
  {
    name: 'creat',
    x64: 85,
    arm64: null,
    answer: 'EPERM',
    why: 'Makes a set-id file.',
    denied: { kind: 'bits', argument: 1, bits: SET_ID },
  },
  {
    name: 'open',
    x64: 2,
    arm64: null,
    answer: 'EPERM',
    why: 'Makes a set-id file.',
    denied: { kind: 'bits', argument: 2, bits: SET_ID, onlyIf: { argument: 1, bits: MAKES_FILE } },
  },
  {
    name: 'openat',
    x64: 257,
    arm64: 56,
    answer: 'EPERM',
    why: 'Makes a set-id file.',
    denied: { kind: 'bits', argument: 3, bits: SET_ID, onlyIf: { argument: 2, bits: MAKES_FILE } },
  },
  {
    name: 'openat2',
    x64: 437,
    arm64: 437,
    answer: 'ENOSYS',
    why: 'Its mode is in memory, where no filter sees.',
  },
  {
    name: 'mknod',
    x64: 133,
    arm64: null,
    answer: 'EPERM',
    why: 'Makes a set-id file or a device.',
    denied: { kind: 'bits', argument: 1, bits: SET_ID | DEVICE },
  },
  {
    name: 'mknodat',
    x64: 259,
    arm64: 33,
    answer: 'EPERM',
    why: 'Makes a set-id file or a device.',
    denied: { kind: 'bits', argument: 2, bits: SET_ID | DEVICE },
  },
];

/** What a run may request beyond the rules. */
export type SeccompWish = {
  /** Sockets with a path or a name; pairs are always available. */
  readonly unixSockets: boolean;
  /** TCP and UDP. The network namespace decides what they can reach. */
  readonly inet: boolean;
};

type SocketRule = {
  readonly family: string;
  readonly number: number;
  /** The wish that allows the family. */
  readonly wish: keyof SeccompWish;
  /** The types and protocols that are allowed; null allows all. */
  readonly limits: { readonly types: readonly number[]; readonly protocols: readonly number[] } | null;
};

/** SOCK_STREAM and SOCK_DGRAM; the default protocol, IPPROTO_TCP and IPPROTO_UDP. */
const TCP_AND_UDP = { types: [1, 2], protocols: [0, 6, 17] };

/**
 * The sockets that a wish allows; there are no others. Netlink stays closed: name lookup works without it, only listing
 * interfaces fails. Raw sockets and SOCK_PACKET (a packet socket disguised as AF_INET) are not allowed types; ICMP,
 * SCTP, DCCP and MPTCP are not allowed protocols.
 */
export const SOCKETS: readonly SocketRule[] = [
  { family: 'AF_UNIX', number: 1, wish: 'unixSockets', limits: null },
  { family: 'AF_INET', number: 2, wish: 'inet', limits: TCP_AND_UDP },
  { family: 'AF_INET6', number: 10, wish: 'inet', limits: TCP_AND_UDP },
];

/**
 * Pairs are pipes between processes (node, python and curl need them) as long as both ends can only reach each other:
 * so streams and SOCK_SEQPACKET. SOCK_DGRAM and SOCK_RAW need the wish for Unix sockets, since they can send elsewhere.
 */
export const SOCKET_PAIRS = { family: 1, types: [1, 5], wishForAllTypes: 'unixSockets' } as const;
