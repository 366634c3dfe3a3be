/** What this machine has for commands: programs, namespaces, system directories. Looked at once, read-only. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import type { HostPath } from '../c-bubblewrap/mounts.ts';

/** Something that is missing, and what to do about it. */
export type Lack = { readonly ok: false; readonly why: string; readonly fix: string };
export type Program = { readonly ok: true; readonly path: string; readonly sha256: string };

const NAMESPACES = ['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup'];
const SHARED_WRITE = 0o022;

/** Our own namespaces by name, as the numbers that the kernel gives them. */
export function ownNamespaces(): Readonly<Record<string, string>> {
  const entries = NAMESPACES.map((name): [string, string] => {
    const [, number = ''] = /\[(\d+)\]/.exec(readlinkSync(`/proc/self/ns/${name}`)) ?? [];
    return [name, number];
  });
  return Object.fromEntries(entries);
}

/** The first of the paths that holds a program which nobody but its owner can change. */
export function findProgram(paths: readonly string[], missing: Omit<Lack, 'ok'>): Program | Lack {
  for (const raw of paths) {
    const path = realPath(raw);
    if (path === null) continue;
    const { mode, uid } = statSync(path);
    // Boundary: a sandbox that another user can replace holds nobody.
    const isOurs = uid === 0 || uid === process.getuid?.();
    if (!isOurs || (mode & SHARED_WRITE) !== 0)
      return {
        ok: false,
        why: `"${path}" can be changed by others`,
        fix: `chown root ${path}; chmod 755 ${path}`,
      };
    return { ok: true, path, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') };
  }
  return { ok: false, ...missing };
}

function realPath(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}

/** Which of these paths exist, and what they say where they are links. */
export function hostPaths(paths: readonly string[]): readonly HostPath[] {
  return paths.flatMap((path): HostPath[] => {
    try {
      const isLink = lstatSync(path).isSymbolicLink();
      // A link that leads nowhere is as good as absent.
      statSync(path);
      return [{ path, linkTo: isLink ? readlinkSync(path) : null }];
    } catch {
      return [];
    }
  });
}

/** How many threads a user has now; the kernel counts them all against a limit on processes. */
export function threadsOf(uid: number): number {
  let threads = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (statSync(`/proc/${name}`).uid === uid) threads += readdirSync(`/proc/${name}/task`).length;
    } catch {
      // It has ended while we looked.
    }
  }
  return threads;
}
