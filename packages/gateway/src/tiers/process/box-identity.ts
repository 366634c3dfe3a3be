/**
 * What a box is, as text: two boxes with the same text are the same to every command. It has the whole plan but for the
 * command, and of the host everything that a bind fixed when the box was made: a directory that another was put in the
 * place of, or a mount that came, went or was made read-only, shows in a new box and not in one that waits.
 */
import { lstatSync, readFileSync, statSync } from 'node:fs';
import type { ProcessTerms } from '../../core/process.ts';
import type { CommandPlan, Role } from './command-plan.ts';
import type { HeldWorkspace } from './held-workspace.ts';

const BINDS = ['--ro-bind', '--bind'];

export function identityOf(
  { words, args, descriptors }: CommandPlan,
  { terms, held }: { readonly terms: ProcessTerms; readonly held: HeldWorkspace },
): string {
  const { memoryBytes, processes } = terms.limits;
  const sources = args.filter((_, index) => BINDS.includes(args[index - 1] ?? ''));
  return JSON.stringify([
    ...[words, args, descriptors.map((role) => roleText(role, held)), memoryBytes, processes],
    ...[held.identity, sources.map((path) => fileText(() => statSync(path, { bigint: true })))],
    readFileSync('/proc/self/mountinfo', 'latin1'),
  ]);
}

/** Descriptors that carry bytes are told by them, and those of the workspace's own files by the files. */
function roleText(role: Role, { fd }: HeldWorkspace): unknown {
  if (role.role === 'seccomp') return Buffer.from(role.bytes).toString('base64');
  if (role.role !== 'pinned' && role.role !== 'protected') return role;
  return [role, fileText(() => lstatSync(`/proc/self/fd/${fd}/${role.path}`, { bigint: true }))];
}

function fileText(look: () => { readonly dev: bigint; readonly ino: bigint }): string {
  try {
    const { dev, ino } = look();
    return `${dev}:${ino}`;
  } catch {
    return 'gone';
  }
}
