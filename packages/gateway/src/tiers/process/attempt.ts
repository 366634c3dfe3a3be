/** Starts something harmless and reads the result, from what the launcher reports and what bubblewrap prints. */
import type { Clock } from '../../core/clock.ts';
import { digestBytes } from '../../core/digest.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { type ChildEnd, STATUS } from '../child/child.ts';
import { runChild } from '../child/run-child.ts';
import { isGateShut, parseStatus } from '../child/status.ts';
import { HARMLESS, machineText, type Program, textOf } from './machine.ts';
import type { Facts, ProbeOptions } from './tier.ts';

const SAID_BYTES = 65_536;
const PATIENCE_MS = 5_000;
const STATUS_FD = 3;

/** Where a start failed and what the system reported; `errno` is null where none was named. */
export type Fault = {
  readonly step: string;
  readonly said: string;
  readonly errno: string | null;
  /** Where the launcher did not start the command because of one of these. */
  readonly facts?: Facts;
};
export type Attempt = Result<Facts, Fault>;

/** The messages of the C library for the errors that sandboxes end with; bubblewrap prints these. */
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

/** The result of a start whose status is in `statusBytes`. */
export function attemptOf(end: ChildEnd, statusBytes: Uint8Array | undefined): Attempt {
  if (end.spawnError !== null) return failedAt('start', end.spawnError, end.spawnError);
  const parsed = parseStatus(statusBytes ?? new Uint8Array(0));
  if (!parsed.ok) return failedAt('report', parsed.problem, null);
  const { failed, execError, exit, facts } = parsed.value;
  if (isGateShut(parsed.value)) return reject({ step: 'gate', said: 'EPERM', errno: null, facts });
  if (failed !== null) return failedAt(failed.step, failed.name, failed.name);
  if (execError !== null) return failedAt('execute', execError.name, execError.name);
  if (end.stopped !== null) return failedAt('end', `it was ${end.stopped}`, null);
  if (exit === 0) return accept(facts);
  return exit === null ? unsaid(end) : failedAt('command', `exit status ${exit}`, null);
}

/** The launcher reported nothing: standard error or the exit status has the reason. */
function unsaid({ exitCode, signal, stderr }: ChildEnd): Attempt {
  const line = firstLine(stderr);
  const said = line === '' ? (signal ?? `exit status ${exitCode}`) : line;
  return failedAt('sandbox', said, errnoIn(said));
}

/** The first line of what a program printed, without control characters. */
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
  return reject({ step, said, errno });
}

/** A fault as text: the step, and the message. */
export function faultWords({ step, said }: Fault): string {
  return `it failed at "${step}" with ${said}`;
}

/** Whether new user, PID, mount and IPC namespaces can be created. */
export function tryNamespaces(launcher: string, options: ProbeOptions): Promise<Attempt> {
  return tryLauncher(launcher, options, 'ns=1');
}

/** Whether the kernel has Landlock; the facts say which ABI. */
export function tryLandlock(launcher: string, options: ProbeOptions): Promise<Attempt> {
  return tryLauncher(launcher, options, 'ro=/');
}

/** The highest setting of Yama with which a process may look at those that it started. */
const MOST_PTRACE_SCOPE = 1;

/** The name under which it is kept that the launcher could. */
const CONNECTED = 'connected';

/**
 * Whether the launcher can make the connections of a command: it is asked for each, and looks at the caller. Where it
 * could once, it is not tried again until the machine has restarted or a run could not be set up: each run proves its
 * isolation anyway.
 */
export async function canConnect(
  { path, sha256 }: Program,
  options: Pick<ProbeOptions, 'clock' | 'runAs' | 'said'>,
): Promise<boolean> {
  const scope = Number(textOf('/proc/sys/kernel/yama/ptrace_scope') ?? 0);
  if (scope > MOST_PTRACE_SCOPE) return false;
  const { said, runAs } = options;
  const machine = machineText();
  const here = machine === null ? null : digestBytes(JSON.stringify([sha256, runAs, machine]));
  if (here !== null && (await said?.read(CONNECTED))?.toString() === here) return true;
  const { ok } = await tryLauncher(path, options, 'connects=1');
  if (ok && here !== null) void said?.write(CONNECTED, Buffer.from(here));
  return ok;
}

/** After this, of whatever process, it is tried again. */
export async function doubtConnections({ said }: Pick<ProbeOptions, 'said'>): Promise<void> {
  await said?.remove(CONNECTED);
}

/** Starts a command that does nothing with exactly this argument of the launcher. */
async function tryLauncher(
  launcher: string,
  options: Pick<ProbeOptions, 'clock' | 'runAs'>,
  wish: string,
): Promise<Attempt> {
  const { clock, runAs } = options;
  const ids = runAs === null ? [] : [`uid=${runAs.uid}`, `gid=${runAs.gid}`];
  const words = [...ids, wish, `status=${STATUS_FD}`, 'facts=1', '--', HARMLESS.file, ...HARMLESS.argv];
  const end = await run(clock, launcher, ['palisade-launcher', ...words]);
  return attemptOf(end, end.read[0]);
}

/** The standard output of a program. */
export async function say(clock: Clock, file: string, args: readonly string[]): Promise<string> {
  return Buffer.from((await run(clock, file, args)).stdout).toString();
}

function run(clock: Clock, file: string, args: readonly string[]) {
  const plan = {
    ...{ file, args, env: {}, cwd: '/', stdin: null },
    descriptors: [STATUS],
    outputBytes: SAID_BYTES,
    wallMs: PATIENCE_MS,
    graceMs: PATIENCE_MS,
  };
  return runChild(plan, { signal: new AbortController().signal, clock });
}
