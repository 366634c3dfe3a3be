/**
 * Programs of the system that the tests start for real: a sandbox that was never started has proved nothing. What is
 * missing is installed where that needs no confirmation; otherwise it is named with the command that installs it.
 */
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.mjs';

/** The program, and the Debian packages that it takes. */
export const PROGRAMS = [
  ['bwrap', 'bubblewrap'],
  ['cc', 'gcc', 'libc6-dev'],
  ['musl-gcc', 'musl-tools'],
  // The release has a launcher for each platform.
  ['aarch64-linux-gnu-gcc', 'gcc-aarch64-linux-gnu', 'libc6-dev-arm64-cross'],
  ['make', 'make'],
  ['git', 'git'],
  ['python3', 'python3'],
  ['perl', 'perl'],
  ['awk', 'mawk'],
  ['tar', 'tar'],
  ['curl', 'curl'],
  ['openssl', 'openssl'],
  ['rg', 'ripgrep'],
  ['sqlite3', 'sqlite3'],
  ['jq', 'jq'],
  ['bc', 'bc'],
  ['file', 'file'],
  ['patch', 'patch'],
  ['ps', 'procps'],
  ['ip', 'iproute2'],
  ['column', 'bsdextrautils'],
  ['xxd', 'xxd'],
  ['zip', 'zip'],
  ['unzip', 'unzip'],
  ['bzip2', 'bzip2'],
  ['xz', 'xz-utils'],
  ['zstd', 'zstd'],
  ['ssh-keygen', 'openssh-client'],
  ['busybox', 'busybox'],
  ['vi', 'vim-tiny'],
  ['ed', 'ed'],
  ['rsync', 'rsync'],
  ['pip3', 'python3-pip', 'python3-venv'],
  ['clang', 'clang'],
  ['wasm-ld', 'lld'],
  ['docker-registry', 'docker-registry'],
  ['setpriv', 'util-linux'],
  ['go', 'golang-go'],
  // Its programs judge the units of the service; nothing of it is started on the machine.
  ['systemd-analyze', 'systemd'],
  ['mandoc', 'mandoc'],
  ['zsh', 'zsh'],
  ['fish', 'fish'],
  ['rustc', 'rustc'],
  ['../sbin/fstab-decode', 'sysvinit-utils'],
  ['../sbin/logsave', 'e2fsprogs'],
  // The standard library of the target is a folder beside the programs.
  ['../lib/rustlib/wasm32-unknown-unknown', 'libstd-rust-dev-wasm32'],
];

/** What `npm run prove` alone starts: what the MCP servers work with that it wraps, and another processor. */
export const SERVICES = [
  ['qemu-aarch64-static', 'qemu-user-static'],
  ['redis-server', 'redis-server'],
  ['chromium', 'chromium'],
  ['pg_lsclusters', 'postgresql'],
];

/** What `npm run container` builds and starts an image with. */
export const CONTAINER = [
  ['podman', 'podman'],
  ['crun', 'crun'],
  ['mmdebstrap', 'mmdebstrap'],
];

const PLACES = ['/usr/local/bin', '/usr/bin', '/bin'];

/** The packages of the programs that are not there; `has` tells whether a path can be executed. */
export function missingPackages(has = canExecute, programs = PROGRAMS) {
  const missing = programs.filter(([name]) => !PLACES.some((place) => has(join(place, name))));
  return missing.flatMap(([, ...packages]) => packages);
}

/** Installs what is missing, as root on Debian and its relatives; anywhere else it throws with what to type. */
export async function ensurePrograms(say, programs = PROGRAMS) {
  if (process.platform !== 'linux') return;
  const missing = missingPackages(canExecute, programs);
  if (missing.length === 0) return;
  const words = ['install', '-y', '--no-install-recommends', ...missing];
  const asRoot = process.getuid?.() === 0 && canExecute('/usr/bin/apt-get');
  if (!asRoot)
    throw new Error(`Cannot test here: ${missing.join(', ')} missing. Run: sudo apt-get ${words.join(' ')}`);
  say(`installing ${missing.join(', ')} (apt-get)`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = [...OTHERS_FIRST, ...words];
  await withoutServices(async () => {
    const first = await run('/usr/bin/apt-get', install, { env });
    if (first.ok) return;
    // The lists of packages may never have been read on this machine.
    await run('/usr/bin/apt-get', ['update'], { env });
    const { ok, output } = await run('/usr/bin/apt-get', install, { env });
    if (!ok) throw new Error(`Cannot install ${missing.join(', ')}:\n${output}`);
  });
}

/** Another installation on this machine ends before ours begins. */
const OTHERS_FIRST = ['-o', 'DPkg::Lock::Timeout=300'];

/** Where Debian asks whether a package that is being installed may start its service. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

/** Tests start what they need themselves: no package that they need starts a service of the machine. */
async function withoutServices(act) {
  const isOurs = !existsSync(SERVICE_POLICY);
  if (isOurs) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await act();
  } finally {
    if (isOurs) rmSync(SERVICE_POLICY, { force: true });
  }
}

function canExecute(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
