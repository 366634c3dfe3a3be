/** The root of a jail. Every path that is not in a row here, in the terms or the workspace is absent. */

export const JAIL_HOME = '/home/palisade';
export const JAIL_TMP = '/tmp';
export const JAIL_SHM = '/dev/shm';
export const JAIL_LAUNCHER = '/.palisade/launcher';
/** Where the workspace is mounted when its own path would cover a part of the jail. */
export const JAIL_WORKSPACE = '/workspace';
/** The user and the group inside; outside they are those of the gateway or of the runs. */
export const JAIL_ID = 1000;
export const JAIL_HOST = 'sandbox';
export const JAIL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Parts of the system that are read-only inside: directories are bound, links are recreated with the same target. */
export const SYSTEM_ROOTS = [
  { path: '/usr', sentence: 'Programs and libraries.' },
  { path: '/bin', sentence: 'A link into /usr on most systems.' },
  { path: '/sbin', sentence: 'A link into /usr on most systems.' },
  { path: '/lib', sentence: 'A link into /usr on most systems.' },
  { path: '/lib32', sentence: 'Libraries of 32-bit programs.' },
  { path: '/lib64', sentence: 'Holds the dynamic loader that x64 programs name.' },
  { path: '/libx32', sentence: 'Libraries of x32 programs.' },
] as const;

/** Files of the host's /etc that tools need and that contain no secret; the rest of /etc is synthetic or absent. */
export const ETC_BINDS = [
  { path: '/etc/ld.so.cache', network: false, sentence: 'Where the dynamic loader finds libraries.' },
  { path: '/etc/alternatives', network: false, sentence: 'The links behind awk, cc, editor and their like.' },
  { path: '/etc/localtime', network: false, sentence: 'The time zone.' },
  { path: '/etc/ssl/certs', network: false, sentence: 'Certificates of authorities.' },
  { path: '/etc/ssl/openssl.cnf', network: false, sentence: 'What OpenSSL reads when it starts.' },
  { path: '/etc/pki/tls/certs', network: false, sentence: 'Certificates of authorities on Fedora.' },
  {
    path: '/etc/pki/ca-trust/extracted',
    network: false,
    sentence: 'What the certificates on Fedora link to.',
  },
  {
    path: '/etc/ca-certificates/extracted',
    network: false,
    sentence: 'What the certificates on Arch link to.',
  },
  { path: '/etc/resolv.conf', network: true, sentence: 'Name servers; only where the network is shared.' },
] as const;

/**
 * Paths that the jail creates itself. A workspace or a bind at, below or above one of them would cover it or be covered
 * by it.
 */
export const JAIL_PLACES = [
  { path: '/etc', writable: false, sentence: 'Made up, with the binds above.' },
  { path: '/proc', writable: false, sentence: 'New, shows the processes of the jail alone.' },
  { path: '/sys', writable: false, sentence: 'Absent, and stays so.' },
  { path: '/dev', writable: false, sentence: 'The few devices that every program expects.' },
  { path: '/.palisade', writable: false, sentence: 'The launcher.' },
  { path: '/newroot', writable: false, sentence: 'A name that bubblewrap uses while it builds the root.' },
  { path: '/oldroot', writable: false, sentence: 'A name that bubblewrap uses while it builds the root.' },
  { path: JAIL_TMP, writable: true, sentence: 'In memory, sized, gone with the run.' },
  { path: JAIL_HOME, writable: true, sentence: 'In memory, sized, gone with the run.' },
] as const;

/** The contents of a new /dev; the nodes are bound one by one and each shows as a mount that is not read-only. */
export const DEVICE_MOUNTS = [
  '/dev/full',
  '/dev/null',
  '/dev/pts',
  '/dev/random',
  '/dev/tty',
  '/dev/urandom',
  '/dev/zero',
] as const;
