/** The root of a jail. Every path that is not in a row here, in the terms or the workspace is absent. */

export const JAIL_HOME = '/home/palisade';
export const JAIL_TMP = '/tmp';
/** Where scripts are copied to that are held to their digests; nothing outside reaches it. */
export const JAIL_COPIES = '/tmp/.palisade';
export const JAIL_SHM = '/dev/shm';
export const JAIL_LAUNCHER = '/.palisade/launcher';
/** The user and the group inside; outside they are those of the gateway or of the runs. */
export const JAIL_ID = 1000;
export const JAIL_HOST = 'sandbox';
export const JAIL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

type JailRow = {
  readonly path: string;
  readonly sentence: string;
  /** Only where the network is shared. */
  readonly network?: true;
  readonly writable?: true;
};

/** Parts of the system that are read-only inside: directories are bound, links are recreated with the same target. */
export const SYSTEM_ROOTS: readonly JailRow[] = [
  { path: '/usr', sentence: 'Programs and libraries.' },
  { path: '/bin', sentence: 'A link into /usr on most systems.' },
  { path: '/sbin', sentence: 'A link into /usr on most systems.' },
  { path: '/lib', sentence: 'A link into /usr on most systems.' },
  { path: '/lib32', sentence: 'Libraries of 32-bit programs.' },
  { path: '/lib64', sentence: 'Holds the dynamic loader that x64 programs name.' },
  { path: '/libx32', sentence: 'Libraries of x32 programs.' },
];

/** Files of the host's /etc that tools need and that contain no secret; the rest of /etc is synthetic or absent. */
export const ETC_BINDS: readonly JailRow[] = [
  { path: '/etc/ld.so.cache', sentence: 'Where the dynamic loader finds libraries.' },
  { path: '/etc/alternatives', sentence: 'The links behind awk, cc, editor and their like.' },
  { path: '/etc/localtime', sentence: 'The time zone.' },
  { path: '/etc/ssl/certs', sentence: 'Certificates of authorities.' },
  { path: '/etc/ssl/openssl.cnf', sentence: 'What OpenSSL reads when it starts.' },
  { path: '/etc/pki/tls/certs', sentence: 'Certificates of authorities on Fedora.' },
  { path: '/etc/pki/ca-trust/extracted', sentence: 'What the certificates on Fedora link to.' },
  { path: '/etc/ca-certificates/extracted', sentence: 'What the certificates on Arch link to.' },
  { path: '/etc/resolv.conf', network: true, sentence: 'Name servers; only where the network is shared.' },
];

/**
 * Paths that the jail creates itself. A workspace or a bind at, below or above one of them would cover it or be covered
 * by it.
 */
export const JAIL_PLACES: readonly JailRow[] = [
  { path: '/etc', sentence: 'Made up, with the binds above.' },
  { path: '/proc', sentence: 'New, shows the processes of the jail alone.' },
  { path: '/sys', sentence: 'Absent, and stays so.' },
  { path: '/dev', sentence: 'The few devices that every program expects.' },
  { path: '/.palisade', sentence: 'The launcher.' },
  { path: '/newroot', sentence: 'A name that bubblewrap uses while it builds the root.' },
  { path: '/oldroot', sentence: 'A name that bubblewrap uses while it builds the root.' },
  { path: JAIL_TMP, writable: true, sentence: 'In memory, sized, gone with the run.' },
  { path: JAIL_HOME, writable: true, sentence: 'In memory, sized, gone with the run.' },
];

/** Files of /proc that are the same for every process of the machine; here they cannot be read. */
export const HIDDEN_FILES: readonly JailRow[] = [
  { path: '/proc/cmdline', sentence: 'How the kernel was started.' },
  { path: '/proc/keys', sentence: 'Keys of the user outside.' },
  { path: '/proc/key-users', sentence: 'The users of the machine that have keys.' },
  { path: '/proc/sys/kernel/random/boot_id', sentence: 'Names the machine and its start.' },
];

/** The contents of a new /dev; the nodes are bound one by one and each shows as a mount that is not read-only. */
export const DEVICE_MOUNTS = '/dev/full /dev/null /dev/pts /dev/random /dev/tty /dev/urandom /dev/zero'.split(
  ' ',
);
