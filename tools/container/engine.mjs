/**
 * Podman with a store of its own, for one folder of images. Where this machine has control groups of both versions, it
 * runs in a mount namespace that shows version 2 alone, since crun refuses a mix; nothing outside of it changes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from './base.mjs';

const MIXED = '/sys/fs/cgroup/unified';
const VERSION_2_ALONE =
  'umount --recursive /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"';

/** Starts the script again where podman can run; true where that is already so. */
export async function enterNamespace(script, words) {
  if (process.env.PALISADE_CONTAINER_NAMESPACE === '1') return true;
  const inner = existsSync(MIXED) ? ['sh', '-c', VERSION_2_ALONE, 'sh'] : [];
  const child = spawn('unshare', ['--mount', '--', ...inner, process.execPath, script, ...words], {
    stdio: 'inherit',
    env: { ...process.env, PALISADE_CONTAINER_NAMESPACE: '1' },
  });
  const [status] = await once(child, 'exit');
  process.exitCode = status ?? 1;
  return false;
}

const MOST = 4096;

/** The limits that podman would raise, which takes a privilege: within those of this machine instead. */
function limitWords() {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const within = (title) =>
    Math.min(MOST, Number(new RegExp(`^${title} +\\S+ +(\\d+)`, 'm').exec(limits)?.[1] ?? MOST));
  const [files, processes] = [within('Max open files'), within('Max processes')];
  return ['--ulimit', `nofile=${files}:${files}`, '--ulimit', `nproc=${processes}:${processes}`];
}

/** Podman in `folder`; each method throws with what podman said. */
export function makeEngine(folder) {
  const own = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')];
  const podman = (...words) =>
    must('podman', [...own, '--cgroup-manager', 'cgroupfs', '--runtime', 'crun', ...words], { cwd: folder });
  const build = (tag, context, ...words) =>
    podman('build', '--isolation', 'chroot', '--format', 'docker', '--tag', tag, ...words, context);
  const start = (name, image, words, command = []) =>
    podman(
      'run',
      '--detach',
      '--name',
      name,
      '--cgroups',
      'disabled',
      '--network',
      'none',
      ...limitWords(),
      ...words,
      image,
      ...command,
    );
  return { podman, build, start };
}
