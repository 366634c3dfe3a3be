import { readFileSync } from 'node:fs';
import type { Refused } from '../../core/outcome.ts';
import { isWithin } from '../../core/paths.ts';
import { type CommandTier, unenforceable } from './plan.ts';
import type { SandboxKit } from './sandbox.ts';

/** The mounts of the host, one character for each byte. */
export function readMounts(): string {
  return readFileSync('/proc/self/mountinfo', 'latin1');
}

/**
 * Returns null when a run in this tier can have the workspace. Boundary: decided before anything is started, because a
 * jail would show a mount in the workspace, or what it covers, and a command could write there at once. Without a jail
 * an ordinary user's command sees what that user sees.
 */
export function checkMounts(
  { name }: Pick<CommandTier, 'name'>,
  { runAs }: Pick<SandboxKit, 'runAs'>,
  workspace: string,
  mounts = readMounts(),
): Refused | null {
  const mount = name === 'c' || runAs !== null ? mountBelow(mounts, workspace) : null;
  if (mount === null) return null;
  return unenforceable(
    `Cannot use the workspace "${workspace}": "${mount}" is a mount point, expected a directory with no mount in it`,
    `Unmount it with \`umount\`, or choose a workspace without it.`,
  );
}

/** A mount point below a directory; null where there is none. */
export function mountBelow(mounts: string, directory: string): string | null {
  const points = mounts.split('\n').map((line) => pathOf(line.split(' ')[4] ?? ''));
  return points.find((point) => point !== '' && point !== directory && isWithin(point, directory)) ?? null;
}

/** The kernel writes white space and backslashes as \NNN. */
function pathOf(text: string): string {
  const bytes = text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
