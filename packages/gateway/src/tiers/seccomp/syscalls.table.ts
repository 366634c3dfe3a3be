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
  /** Not denied with this wish: the launcher needs the call, and denies it to the command itself. */
  readonly unless?: keyof SeccompWish;
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
  | { readonly kind: 'socket' }
  | { readonly kind: 'socket-pair' };

type ArgumentBits = { readonly argument: number; readonly bits: number };

/** The newest call that this table covers (Linux 6.18). It is also below every number of the x32 ABI. */
export const LAST_CALL = 469;

/** CLONE_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET. clone() cannot request _NEWTIME. */
const NEW_NAMESPACES = 0x7e02_0000;

/** S_ISUID and S_ISGID. */
const SET_ID = 0o6000;
const SET_ID_FILE = 'Makes a set-id file.';

/** The bit that only S_IFCHR and S_IFBLK have among the kinds of file that mknod() makes. */
const DEVICE = 0o020000;

/** O_CREAT and the bit specific to O_TMPFILE; without them the mode is whatever the register contained. */
const MAKES_FILE = 0x40_0040;

/** TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD. */
const TERMINAL_REQUESTS = [0x5412, 0x541c, 0x541d, 0x5423];

/** IN_ACCESS, IN_CLOSE_NOWRITE, IN_OPEN. */
const READING = 0x31;

/** F_SETLEASE, F_NOTIFY. */
const LEASES_AND_NOTES = [1024, 1026];

/** PER_LINUX, ADDR_NO_RANDOMIZE (thread sanitizers restart themselves with it), and the query of the current one. */
const PERSONALITIES = [0, 0x4_0000, 0xffff_ffff];

export const RULES: readonly SyscallRule[] = [
  // Programs and code in the kernel.
  deny('EPERM', 'Loads programs into the kernel.', { bpf: [321, 280] }),
  deny('EPERM', 'Watches other code; a wide surface.', { perf_event_open: [298, 241] }),
  deny('ENOSYS', 'Holds the kernel at a page fault.', { userfaultfd: [323, 282] }),
  deny('ENOSYS', 'Does calls that no filter sees.', {
    io_uring_setup: [425, 425],
    io_uring_enter: [426, 426],
    io_uring_register: [427, 427],
  }),
  deny('EPERM', 'Starts another kernel.', { kexec_load: [246, 104], kexec_file_load: [320, 294] }),
  deny('EPERM', 'Loads code into the kernel.', { init_module: [175, 105], finit_module: [313, 273] }),
  deny('EPERM', 'Takes code out of the kernel.', { delete_module: [176, 106] }),
  deny('ENOSYS', 'Changes a security label.', { lsm_set_self_attr: [460, 460] }),

  // Other processes.
  deny('EPERM', 'Takes over another process, or freezes it.', { ptrace: [101, 117] }),
  deny('EPERM', 'Reads the memory of another process.', { process_vm_readv: [310, 270] }),
  deny('EPERM', 'Writes the memory of another process.', { process_vm_writev: [311, 271] }),
  deny('ENOSYS', 'Pages out the memory of another process.', { process_madvise: [440, 440] }),
  deny('EPERM', 'Takes a descriptor of another process.', { pidfd_getfd: [438, 438] }).map(
    (rule): SyscallRule => ({ ...rule, unless: 'unixSockets' }),
  ),
  deny('EPERM', 'Orders addresses of the kernel.', { kcmp: [312, 272] }),
  deny(
    'EPERM',
    'Sets the limits of another process of the same user, the gateway too; of oneself it is allowed.',
    { prlimit64: [302, 261] },
    { kind: 'other-values', argument: 0, values: [0] },
  ),

  // Keys, and access to files other than by name.
  deny('EPERM', 'Keyrings have no namespace.', {
    add_key: [248, 217],
    request_key: [249, 218],
    keyctl: [250, 219],
  }),
  deny('EPERM', 'Makes a name for open_by_handle_at.', { name_to_handle_at: [303, 264] }),
  deny('EPERM', 'Opens files outside of the root.', { open_by_handle_at: [304, 265] }),
  deny(
    'EPERM',
    'Tells which programs others start, by the files of the system that they open; changes may be watched.',
    { inotify_add_watch: [254, 27] },
    { kind: 'bits', argument: 2, bits: READING },
  ),
  deny(
    'EPERM',
    'A lease delays those who open a file, and a note tells when others read a directory.',
    { fcntl: [72, 25] },
    { kind: 'values', argument: 1, values: LEASES_AND_NOTES },
  ),
  deny('EPERM', 'Watches whole file systems.', { fanotify_init: [300, 262], fanotify_mark: [301, 263] }),
  deny('ENOSYS', 'Gives paths of a profiler long gone.', { lookup_dcookie: [212, 18] }),

  // The machine: its log, quotas, swap, name, clock and ports.
  deny('EPERM', 'Reads the log of the kernel.', { syslog: [103, 116] }),
  deny('EPERM', 'Writes a record of every process into a file.', { acct: [163, 89] }),
  deny('EPERM', 'Changes quotas.', { quotactl: [179, 60], quotactl_fd: [443, 443] }),
  deny('EPERM', 'Changes where memory is paged out.', { swapon: [167, 224], swapoff: [168, 225] }),
  deny('EPERM', 'Stops the machine.', { reboot: [169, 142] }),
  deny('EPERM', 'Names the machine.', { sethostname: [170, 161], setdomainname: [171, 162] }),
  deny('EPERM', 'Sets the clock.', { settimeofday: [164, 170], clock_settime: [227, 112] }),
  deny('EPERM', 'Sets the speed of the clock.', { adjtimex: [159, 171], clock_adjtime: [305, 266] }),
  deny('EPERM', 'Opens the ports of the hardware.', { iopl: [172, null], ioperm: [173, null] }),
  deny('ENOSYS', 'Segments of 16 bits; a source of holes.', { modify_ldt: [154, null] }),
  deny('EPERM', 'Takes the terminal from others.', { vhangup: [153, 58] }),

  // Obsolete calls that nothing needs.
  deny('ENOSYS', 'Of kernels long gone.', {
    create_module: [174, null],
    nfsservctl: [180, 42],
    uselib: [134, null],
    ustat: [136, null],
    sysfs: [139, null],
    _sysctl: [156, null],
  }),

  // NUMA placement of memory. A kernel for one node does not have these.
  deny('ENOSYS', 'Moves pages; a source of holes.', { mbind: [237, 235] }),
  deny('ENOSYS', 'Places pages; a source of holes.', { set_mempolicy: [238, 237] }),
  deny('ENOSYS', 'Places pages.', { set_mempolicy_home_node: [450, 450] }),
  deny('ENOSYS', 'Moves the pages of other processes.', {
    migrate_pages: [256, 238],
    move_pages: [279, 239],
  }),

  // Mounts.
  deny('EPERM', 'Changes what paths mean.', { mount: [165, 40] }),
  deny('EPERM', 'Uncovers what a mount hides.', { umount2: [166, 39] }),
  deny('EPERM', 'Changes the root.', { pivot_root: [155, 41], chroot: [161, 51] }),
  deny('ENOSYS', 'Mounts in the new way.', {
    open_tree: [428, 428],
    move_mount: [429, 429],
    fsopen: [430, 430],
    fsconfig: [431, 431],
    fsmount: [432, 432],
    fspick: [433, 433],
    mount_setattr: [442, 442],
    open_tree_attr: [467, 467],
  }),
  deny('ENOSYS', 'Shows where a mount comes from.', { statmount: [457, 457] }),
  deny('ENOSYS', 'Shows mounts of other places.', { listmount: [458, 458] }),

  // Namespaces: a new one confers capabilities, and with them the kernel's widest attack surface.
  deny('EPERM', 'Makes namespaces.', { unshare: [272, 97] }),
  deny('EPERM', 'Enters namespaces.', { setns: [308, 268] }),
  deny(
    'EPERM',
    'Makes namespaces; processes and threads are allowed.',
    { clone: [56, 220] },
    { kind: 'bits', argument: 0, bits: NEW_NAMESPACES },
  ),
  deny('ENOSYS', 'Its flags are in memory, where no filter sees.', { clone3: [435, 435] }),

  // Terminals, personalities, sockets.
  deny(
    'EPERM',
    'Types into a terminal, pastes into it, takes the console, or loads a line discipline.',
    { ioctl: [16, 29] },
    { kind: 'values', argument: 1, values: TERMINAL_REQUESTS },
  ),
  deny(
    'EPERM',
    'Makes data executable, maps page zero, or changes what calls mean.',
    { personality: [135, 92] },
    { kind: 'other-values', argument: 0, values: PERSONALITIES },
  ),
  deny(
    'EPERM',
    'Families without a network namespace (vsock), and many that load a module on demand.',
    { socket: [41, 198] },
    { kind: 'socket' },
  ),
  deny(
    'EPERM',
    'One end of a pair of datagrams sends to any socket that it can name.',
    { socketpair: [53, 199] },
    { kind: 'socket-pair' },
  ),

  // Files that run with the privileges of their owner, and devices.
  deny(
    'EPERM',
    SET_ID_FILE,
    { chmod: [90, null], fchmod: [91, 52], creat: [85, null] },
    { kind: 'bits', argument: 1, bits: SET_ID },
  ),
  deny(
    'EPERM',
    SET_ID_FILE,
    { fchmodat: [268, 53], fchmodat2: [452, 452] },
    { kind: 'bits', argument: 2, bits: SET_ID },
  ),
  deny(
    'EPERM',
    SET_ID_FILE,
    { open: [2, null] },
    { kind: 'bits', argument: 2, bits: SET_ID, onlyIf: { argument: 1, bits: MAKES_FILE } },
  ),
  deny(
    'EPERM',
    SET_ID_FILE,
    { openat: [257, 56] },
    { kind: 'bits', argument: 3, bits: SET_ID, onlyIf: { argument: 2, bits: MAKES_FILE } },
  ),
  deny('ENOSYS', 'Its mode is in memory, where no filter sees.', { openat2: [437, 437] }),
  deny(
    'EPERM',
    'Makes a set-id file or a device.',
    { mknod: [133, null] },
    { kind: 'bits', argument: 1, bits: SET_ID | DEVICE },
  ),
  deny(
    'EPERM',
    'Makes a set-id file or a device.',
    { mknodat: [259, 33] },
    { kind: 'bits', argument: 2, bits: SET_ID | DEVICE },
  ),
].flat();

/** The number of a call on each architecture; null where it has none. */
type CallNumbers = readonly [x64: number | null, arm64: number | null];

function deny(
  answer: Answer,
  why: string,
  calls: Readonly<Record<string, CallNumbers>>,
  denied?: Denied,
): readonly SyscallRule[] {
  return Object.entries(calls).map(([name, [x64, arm64]]) => ({
    ...{ name, x64, arm64, answer, why },
    ...(denied && { denied }),
  }));
}

/** What a run may request beyond the rules. */
export type SeccompWish = {
  /** Sockets with a path or a name, where the launcher makes their connections; pairs are always available. */
  readonly unixSockets: boolean;
  /** TCP and UDP. The network namespace decides what they can reach. */
  readonly inet: boolean;
  /** Interfaces and routes of the network namespace can be listed; changing them takes a capability in it. */
  readonly interfaces: boolean;
};

type SocketRule = {
  readonly family: string;
  readonly number: number;
  readonly wish: keyof SeccompWish;
  readonly limits: { readonly types: readonly number[]; readonly protocols: readonly number[] };
};

/** SOCK_STREAM and SOCK_DGRAM; the default protocol, IPPROTO_TCP and IPPROTO_UDP. */
const TCP_AND_UDP = { types: [1, 2], protocols: [0, 6, 17] };

/** SOCK_STREAM and SOCK_SEQPACKET: a datagram names its receiver in each call, with no connection to supervise. */
const CONNECTED = { types: [1, 5], protocols: [0, 1] };

/** SOCK_DGRAM and SOCK_RAW, which mean the same here; NETLINK_ROUTE. */
const ROUTES = { types: [2, 3], protocols: [0] };

/**
 * The sockets that a wish allows; there are no others. Of netlink, only the family that getifaddrs() asks for the
 * interfaces: the others configure and watch the kernel (audit, uevents, netfilter, generic). Raw sockets and
 * SOCK_PACKET (a packet socket disguised as AF_INET) are not allowed types; ICMP, SCTP, DCCP and MPTCP are not allowed
 * protocols.
 */
export const SOCKETS: readonly SocketRule[] = [
  { family: 'AF_UNIX', number: 1, wish: 'unixSockets', limits: CONNECTED },
  { family: 'AF_INET', number: 2, wish: 'inet', limits: TCP_AND_UDP },
  { family: 'AF_INET6', number: 10, wish: 'inet', limits: TCP_AND_UDP },
  { family: 'AF_NETLINK', number: 16, wish: 'interfaces', limits: ROUTES },
];

/**
 * Pairs are pipes between processes (node, python and curl need them) as long as both ends can only reach each other:
 * so streams and SOCK_SEQPACKET. SOCK_DGRAM and SOCK_RAW can send elsewhere.
 */
export const SOCKET_PAIRS = { family: 1, types: CONNECTED.types } as const;
