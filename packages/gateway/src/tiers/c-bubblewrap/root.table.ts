/** The root of a jail. Every path that is not in a row here, in the terms or the workspace is absent. */

export const JAIL_HOME = '/home/palisade';
export const JAIL_TMP = '/tmp';
/** Where some programs keep larger temporary files; a link to JAIL_TMP, unless something of the host is below it. */
export const JAIL_VAR_TMP = '/var/tmp';
/** The name of the user inside. */
export const JAIL_USER = 'palisade';
export const JAIL_SHELL = '/bin/sh';
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

/**
 * Files of the host's /etc that programs read; the rest of /etc is synthetic or absent. A row is for what a package
 * brings, belongs to root and can be read by all. Nothing here names users, hosts or this machine, and people keep no
 * credentials or proxies in it, as they do in gitconfig, npmrc, pip.conf, wgetrc, profile and maven/settings.xml. `*`
 * matches any name or part of one. Files are copied, directories are bound, which takes half a millisecond each.
 */
export const ETC_BINDS: readonly JailRow[] = [
  { path: '/etc/ld.so.cache', sentence: 'Where the dynamic loader finds libraries.' },
  { path: '/etc/alternatives', sentence: 'The links behind awk, cc, editor and their like.' },
  { path: '/etc/os-release', sentence: 'Which distribution this is.' },
  { path: '/etc/debian_version', sentence: 'The version of Debian and its relatives.' },
  { path: '/etc/redhat-release', sentence: 'The version of Fedora and its relatives.' },
  { path: '/etc/alpine-release', sentence: 'The version of Alpine.' },
  { path: '/etc/localtime', sentence: 'The time zone.' },
  { path: '/etc/timezone', sentence: 'The name of the time zone.' },
  { path: '/etc/locale.alias', sentence: 'Other names of locales.' },
  { path: '/etc/services', sentence: 'Names of ports.' },
  { path: '/etc/protocols', sentence: 'Names of protocols.' },
  { path: '/etc/mtab', sentence: 'A link to the mounts in /proc.' },
  { path: '/etc/mime.types', sentence: 'Types of files by their endings; Python and web servers read it.' },
  { path: '/etc/magic', sentence: 'Additions to the types that `file` recognises.' },
  { path: '/etc/manpath.config', sentence: 'Where manual pages are.' },
  { path: '/etc/fonts', sentence: 'Where fontconfig finds fonts; browsers and charts need it.' },
  { path: '/etc/chromium.d/default-flags', sentence: 'Flags without which Chromium does not start.' },
  { path: '/etc/chromium.d/dev-shm', sentence: 'Where it keeps shared memory.' },
  { path: '/etc/ImageMagick-*', sentence: 'Limits and formats of ImageMagick.' },
  { path: '/etc/texmf', sentence: 'Settings without which TeX does not start.' },
  { path: '/etc/dictionaries-common', sentence: 'What /usr/share/dict/words leads to.' },
  { path: '/etc/java-*', sentence: 'Settings without which a Java machine does not start.' },
  { path: '/etc/maven/m2.conf', sentence: 'The class path of Maven itself.' },
  { path: '/etc/maven/logging', sentence: 'How Maven logs.' },
  { path: '/etc/perl', sentence: 'A directory of the module path of Perl.' },
  { path: '/etc/python3.*', sentence: 'What sitecustomize.py of a packaged Python leads to.' },
  { path: '/etc/php/*/cli', sentence: 'php.ini of the command line.' },
  { path: '/etc/php/*/mods-available', sentence: 'The extensions that it loads.' },
  { path: '/etc/R/Renviron', sentence: 'Paths without which R does not start.' },
  { path: '/etc/R/ldpaths', sentence: 'Library paths of R.' },
  { path: '/etc/R/Makeconf', sentence: 'How R builds packages.' },
  { path: '/etc/ssl/certs', sentence: 'Certificates of authorities.' },
  { path: '/etc/ssl/cert.pem', sentence: 'The same in one file.' },
  { path: '/etc/ssl/openssl.cnf', sentence: 'What OpenSSL reads when it starts.' },
  { path: '/etc/ca-certificates/extracted', sentence: 'What the certificates on Arch link to.' },
  { path: '/etc/pki/tls/certs', sentence: 'Certificates of authorities on Fedora.' },
  { path: '/etc/pki/tls/openssl.cnf', sentence: 'What OpenSSL reads when it starts on Fedora.' },
  { path: '/etc/pki/java', sentence: 'The certificates of Java on Fedora.' },
  { path: '/etc/pki/ca-trust/extracted', sentence: 'What the certificates on Fedora link to.' },
  { path: '/etc/crypto-policies', sentence: 'Algorithms that the libraries on Fedora use.' },
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
