/** How the start of something harmless went, read from what the launcher reports and what bubblewrap prints. */
import type { ChildEnd } from '../child/child-plan.ts';
import { parseStatus } from '../child/status.ts';

export type Facts = Readonly<Record<string, string>>;

/** Where a start failed and what the system said; `errno` is null where nobody named one. */
export type Fault = { readonly step: string; readonly said: string; readonly errno: string | null };
export type Attempt =
  | { readonly ok: true; readonly facts: Facts }
  | { readonly ok: false; readonly fault: Fault };

/** The words of the C library for the errors that sandboxes end with; bubblewrap prints these. */
const ERRNO_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bE(?:PERM|ACCES|NOSPC|INVAL|NOSYS|AGAIN|NOENT)\b/, ''],
  [/operation not permitted|no permissions/i, 'EPERM'],
  [/permission denied/i, 'EACCES'],
  [/no space left/i, 'ENOSPC'],
  [/invalid argument/i, 'EINVAL'],
  [/function not implemented/i, 'ENOSYS'],
  [/resource temporarily unavailable/i, 'EAGAIN'],
  [/no such file/i, 'ENOENT'],
];
const MOST_SIGNS = 200;

/** What came of a start whose status is in `statusBytes`. */
export function attemptOf(end: ChildEnd, statusBytes: Uint8Array | undefined): Attempt {
  if (end.spawnError !== null) return failedAt('start', end.spawnError, end.spawnError);
  const parsed = parseStatus(statusBytes ?? new Uint8Array(0));
  if (!parsed.ok) return failedAt('report', parsed.message, null);
  const { failed, execError, exit, facts } = parsed.value;
  if (failed !== null) return failedAt(failed.step, failed.name, failed.name);
  if (execError !== null) return failedAt('execute', execError.name, execError.name);
  if (end.stopped !== null) return failedAt('end', `it was ${end.stopped}`, null);
  if (exit === 0) return { ok: true, facts };
  return exit === null ? unsaid(end) : failedAt('command', `exit status ${exit}`, null);
}

/** The launcher never came to speak: what came before it says why. */
function unsaid({ exitCode, signal, stderr }: ChildEnd): Attempt {
  const line = firstLine(stderr);
  const said = line === '' ? (signal ?? `exit status ${exitCode}`) : line;
  return failedAt('sandbox', said, errnoIn(said));
}

/** The first line of what a program printed, without signs that would change a terminal. */
export function firstLine(bytes: Uint8Array): string {
  const [line = ''] = Buffer.from(bytes).toString('latin1').trimStart().split('\n');
  return line.slice(0, MOST_SIGNS).replaceAll(/[^ -~]/g, '?');
}

function errnoIn(said: string): string | null {
  for (const [words, errno] of ERRNO_WORDS) {
    const [found] = words.exec(said) ?? [];
    if (found !== undefined) return errno === '' ? found : errno;
  }
  return null;
}

function failedAt(step: string, said: string, errno: string | null): Attempt {
  return { ok: false, fault: { step, said, errno } };
}

/** A fault as words: the step, and what was said there. */
export function faultWords({ step, said }: Fault): string {
  return `it failed at "${step}" with ${said}`;
}
