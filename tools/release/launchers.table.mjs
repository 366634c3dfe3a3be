/**
 * The platforms that a release has a launcher for: the number of the processor in the headers of programs, the compiler,
 * the packages of Debian that it takes, the C library that is linked in, and where Debian keeps the licence of that.
 */
export const PLATFORMS = [
  {
    platform: 'linux',
    arch: 'x64',
    machine: 62,
    compiler: 'musl-gcc',
    // musl-gcc does not search the headers of the kernel.
    headers: ['/usr/include', '/usr/include/x86_64-linux-gnu'],
    debian: ['musl-tools', 'gcc', 'linux-libc-dev'],
    library: { name: 'musl', debian: 'musl-dev', licence: 'MIT', text: '/usr/share/doc/musl-dev/copyright' },
  },
  {
    platform: 'linux',
    arch: 'arm64',
    machine: 183,
    compiler: 'aarch64-linux-gnu-gcc',
    headers: [],
    debian: ['gcc-aarch64-linux-gnu', 'linux-libc-dev-arm64-cross'],
    library: {
      name: 'glibc',
      debian: 'libc6-dev-arm64-cross',
      licence: 'LGPL-2.1-or-later',
      text: '/usr/share/doc/libc6-dev-arm64-cross/copyright',
    },
  },
];

/** The file in each package; the gateway looks for this name. */
export const LAUNCHER_FILE = 'palisade-launcher';

/** The name of a platform's package. */
export function packageOf({ platform, arch }) {
  return `@palisade/launcher-${platform}-${arch}`;
}
