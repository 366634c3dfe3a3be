/** What a profile allows of macOS itself, and what it names as denied. Everything that is in no row is denied. */

/** Directories that every program needs to read; none holds files of a user. */
export const SYSTEM_READS = [
  { path: '/usr/bin', sentence: 'Programs.' },
  { path: '/usr/sbin', sentence: 'Programs.' },
  { path: '/usr/lib', sentence: 'Libraries and the dynamic loader.' },
  { path: '/usr/libexec', sentence: 'Programs that programs start.' },
  { path: '/usr/share', sentence: 'Time zones, terminals, locales.' },
  { path: '/bin', sentence: 'Programs.' },
  { path: '/sbin', sentence: 'Programs.' },
  { path: '/System/Library', sentence: 'Frameworks.' },
  { path: '/System/Cryptexes', sentence: 'Libraries that are updated on their own.' },
  { path: '/System/Volumes/Preboot/Cryptexes', sentence: 'Where the cache of the dynamic loader is.' },
  { path: '/Library/Apple', sentence: 'Parts of the system outside its sealed volume.' },
  { path: '/Library/Developer/CommandLineTools', sentence: 'git, clang and make.' },
  { path: '/Library/Frameworks', sentence: 'Frameworks of installed programs.' },
  { path: '/private/etc/ssl', sentence: 'Certificates of authorities.' },
  { path: '/private/var/db/dyld', sentence: 'The cache of the dynamic loader on older versions.' },
  { path: '/private/var/db/timezone', sentence: 'Time zones.' },
] as const;

/** Single files to read. */
export const SYSTEM_FILES = [
  { path: '/', sentence: 'The root itself, not what is below.' },
  { path: '/dev/random', sentence: 'Randomness.' },
  { path: '/dev/urandom', sentence: 'Randomness.' },
  { path: '/private/etc/hosts', sentence: 'The name of this host.' },
  { path: '/private/etc/localtime', sentence: 'The time zone.' },
  { path: '/private/etc/passwd', sentence: 'Names of system users; holds no password.' },
  { path: '/private/var/select/sh', sentence: 'Which shell /bin/sh is.' },
  { path: '/private/var/select/developer_dir', sentence: 'Where the developer tools are.' },
] as const;

/** Links at the root, whose own paths are looked at before they are followed. */
export const SYSTEM_LINKS = ['/etc', '/tmp', '/var'] as const;

/** Devices that every program expects to read and write. */
export const DEVICES = [
  '/dev/null',
  '/dev/zero',
  '/dev/dtracehelper',
  '/dev/fd',
  '/dev/stdout',
  '/dev/stderr',
] as const;

/** Services that a program cannot do without and that act for nobody else. */
export const SERVICES = [
  { name: 'com.apple.system.opendirectoryd.libinfo', sentence: 'The name of the user.' },
  { name: 'com.apple.system.notification_center', sentence: 'The change of the time zone.' },
  { name: 'com.apple.system.logger', sentence: 'The system log.' },
  { name: 'com.apple.logd', sentence: 'The system log.' },
] as const;

/** Services for names and certificates; only where the network is shared. */
export const NETWORK_SERVICES = [
  { name: 'com.apple.SystemConfiguration.configd', sentence: 'Name servers and proxies.' },
  { name: 'com.apple.trustd', sentence: 'Whether a certificate is good.' },
  { name: 'com.apple.trustd.agent', sentence: 'Whether a certificate is good.' },
] as const;

/** Services that would act outside on behalf of the run. Denied by default, and once more by name, after all else. */
export const DENIED_SERVICES = [
  { name: 'com.apple.coreservices.launchservicesd', sentence: 'Opens programs outside of the sandbox.' },
  { name: 'com.apple.coreservices.appleevents', sentence: 'Tells other programs what to do.' },
  { name: 'com.apple.coreservices.quarantine-resolver', sentence: 'Opens programs outside of the sandbox.' },
  { name: 'com.apple.lsd.mapdb', sentence: 'Finds programs to open.' },
  { name: 'com.apple.lsd.modifydb', sentence: 'Changes which program opens what.' },
  { name: 'com.apple.lsd.open', sentence: 'Opens programs outside of the sandbox.' },
  { name: 'com.apple.xpc.launchd.domain.user', sentence: 'Starts services of the user.' },
  { name: 'com.apple.pasteboard.1', sentence: 'What the user copied.' },
  { name: 'com.apple.SecurityServer', sentence: 'The keychain.' },
  { name: 'com.apple.securityd', sentence: 'The keychain.' },
  { name: 'com.apple.securityd.xpc', sentence: 'The keychain.' },
  { name: 'com.apple.secd', sentence: 'The keychain.' },
  { name: 'com.apple.security.agent', sentence: 'Asks the user for passwords.' },
  { name: 'com.apple.tccd', sentence: 'Asks the user for access.' },
] as const;

/** Services that resolve names; denied by name where there is to be no network. */
export const NAME_SERVICES = [
  { name: 'com.apple.dnssd.service', sentence: 'Resolves names.' },
  { name: 'com.apple.mDNSResponder', sentence: 'Resolves names.' },
  { name: 'com.apple.networkd', sentence: 'Opens connections for programs.' },
  { name: 'com.apple.nsurlsessiond', sentence: 'Loads addresses for programs.' },
] as const;

/** The socket of the resolver. */
export const RESOLVER_SOCKET = '/private/var/run/mDNSResponder';
