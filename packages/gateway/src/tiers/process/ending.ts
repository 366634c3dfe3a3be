/**
 * The result of a command that has ended: the outcome, its usage, and its isolation. Pure: its input is what ran and
 * what the kernel counted, which `verdictOf` maps to the code table.
 */

import type { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';
import { NO_USAGE } from '../../core/limits.ts';
import type { FailedCode } from '../../core/outcome.ts';
import {
  type LimitName,
  OUTPUT_FLOOD_BYTES,
  type ProcessLimits,
  type ProcessTerms,
} from '../../core/process.ts';
import type { GroupUsage } from '../cgroup/run-group.ts';
import type { ChildEnd } from '../child/child.ts';
import { outputOf } from '../child/output.ts';
import { signalName } from '../child/starter-protocol.ts';
import { isGateShut, type LauncherStatus } from '../child/status.ts';
import type { RunNetwork } from '../network/networks.ts';
import { type RunPorts, reportPorts } from '../network/ports.ts';
import { reportOf } from '../network/report.ts';
import type { RunResult } from '../tier.ts';
import { hintsOf, type Switches, withNetworkHint } from './hints.ts';
import type { LeftBehind } from './left-behind.ts';
import type { CommandTier } from './plan.ts';
import { limitsHeld } from './proof.ts';
import type { Ready } from './sandbox.ts';

/** Everything that is known about a run once it is over; null: unknown. */
export type Ran = {
  readonly end: ChildEnd;
  readonly status: LauncherStatus | null;
  readonly group: GroupUsage | null;
  readonly limits: ProcessLimits;
};

/** Why a run failed, and which limit it reached. */
export type Verdict = {
  readonly code: FailedCode;
  readonly message: string;
  readonly limit: LimitName | null;
};

/** A command that has ended, and what its launcher reported. */
export type Started = { readonly end: ChildEnd; readonly status: LauncherStatus | null };

type Finished = Started & {
  readonly ready: Ready;
  readonly terms: ProcessTerms;
  readonly left: LeftBehind;
  readonly network: RunNetwork | null;
  readonly ports: RunPorts;
};

/** The result of a command that ran, or started to; the switches are those that its operator would use. */
export function resultOf(tier: CommandTier, finished: Finished, switches: Switches): RunResult {
  const { end, status, terms, left, network } = finished;
  const { sandbox, isWarm } = finished.ready;
  const { group } = sandbox;
  const ran: Ran = { end, status, group: group?.usage() ?? null, limits: terms.limits };
  const verdict = withNetworkHint(proven(finished) ?? verdictOf(ran), finished);
  const report = reportOf(terms, network?.facts() ?? null);
  const forwarded = reportPorts(finished.ports.facts());
  // Only a jail keeps anything from a command.
  const hints = tier.name === 'c' ? hintsOf({ ...finished, hasFailed: verdict !== null }, switches) : [];
  const output = {
    ...outputOfRun(ran, verdict?.limit ?? null),
    ...left.output,
    ...report.output,
    ...forwarded.output,
    ...(hints.length === 0 ? {} : { hints }),
  };
  const isolation = {
    ...tier.about,
    started: isWarm ? 'warm' : 'cold',
    ...report.isolation,
    ...forwarded.isolation,
    ...left.isolation,
    ...limitsHeld(group),
    limit_output: terms.outputOverflow,
    ...status?.facts,
  };
  const cpuMs = cpuMsCharged(ran);
  return {
    ending:
      verdict === null
        ? { status: 'ok', output, ...(isTruncated(ran) ? { truncated: true } : {}) }
        : failedWith(verdict, output, isTruncated(ran)),
    usage: {
      ...{ ...NO_USAGE, calls: 1, wallMs: Math.ceil(end.wallMs), cpuMs },
      // Notes of what was left out are not the command's.
      ...{ outputBytes: Math.min(end.outputBytes, terms.limits.outputBytes), egressBytes: report.bytes },
    },
    execution: { tier: tier.name, executor: tier.executor, isolation },
    ...(report.record === null ? {} : { egress: report.record }),
  };
}

function failedWith({ code, message }: Pick<Verdict, 'code' | 'message'>, output: Json, truncated: boolean) {
  return { status: 'failed', code, message, output, truncated } as const;
}

/** Boundary: a command that ran without its isolation being reported never counts as a success, whatever it says. */
function proven({ status, ready }: Finished): Verdict | null {
  if (status === null) return null;
  // A command that failed to start, at another step than the comparison of its facts, has nothing to vouch for.
  if (!isGateShut(status) && (status.pid === null || status.failed !== null)) return null;
  const gap = ready.plan.missing(status.facts)?.text ?? status.failed?.step;
  if (gap === undefined) return null;
  const message = `Cannot vouch for the sandbox: ${gap}${status.pid === null ? '; the command was not started' : ''}`;
  return { code: 'tier/unproven', message, limit: null };
}

/** It never started: the queue was too long, or the machine no longer provides what was planned. */
export function unstarted(tier: CommandTier, error: CodedError, wallMs: number): RunResult {
  const isKnown = error.code === 'tier/cancelled' || error.code === 'tier/timed-out';
  const code: FailedCode = isKnown ? (error.code as FailedCode) : 'tier/not-started';
  return {
    ending: failedWith({ code, message: error.message }, null, false),
    usage: { ...NO_USAGE, calls: 1, wallMs },
    execution: { tier: tier.name, executor: tier.executor, isolation: { boundary: 'never started' } },
  };
}

const SIGXCPU = 24;
const SIGXFSZ = 25;

/** What ended the run; null when it succeeded. A limit takes precedence over the signal that enforced it. */
export function verdictOf(ran: Ran): Verdict | null {
  const { end } = ran;
  const started = notStarted(ran);
  if (started !== null) return started;
  // The launcher cannot distinguish a cancelled call from our own timeout or from a kill of its parent.
  if (end.stopped === 'cancelled') {
    return isOutOfCpu(ran)
      ? outOfCpu(ran)
      : failed('tier/cancelled', 'Cannot finish command: the caller cancelled it');
  }
  return overLimit(ran) ?? exited(ran);
}

function notStarted({ end, status }: Ran): Verdict | null {
  if (end.spawnError !== null)
    return failed('tier/not-started', `Cannot start command: the system reports ${end.spawnError}`);
  if (status?.failed) {
    const { step, name } = status.failed;
    if (isSwapped(status))
      return failed(
        'tier/not-started',
        `Cannot start command: ${SWAPPED[step]} is not the one that was judged`,
      );
    return failed('tier/not-started', `Cannot start command: its sandbox failed at "${step}" with ${name}`);
  }
  if (status?.execError) {
    return failed(
      'tier/not-started',
      `Cannot start command: executing it fails with ${status.execError.name}`,
    );
  }
  return null;
}

/** What another file or directory can be found in place of. */
const SWAPPED: Readonly<Record<string, string>> = {
  executable: 'its program',
  cwd: 'its working directory',
  'landlock-path': 'its workspace',
};

/** The launcher found another file or directory than the one that was judged: no fault of the sandbox. */
function isSwapped({ failed }: LauncherStatus): boolean {
  return failed?.name === 'ESTALE' && Object.hasOwn(SWAPPED, failed.step);
}

/** A run that was ended by the watch of its group has used up its time, whether or not the launcher noticed. */
function isOutOfCpu({ group, limits }: Ran): boolean {
  return (group?.cpuUs ?? 0) >= limits.cpuMs * 1000;
}

function outOfCpu({ limits }: Ran): Verdict {
  return failed('tier/out-of-cpu', `Cannot finish command: it used ${limits.cpuMs} ms of CPU time`, 'cpu');
}

function overLimit(ran: Ran): Verdict | null {
  const { end, status, group, limits } = ran;
  if (end.stopped === 'timed-out' || status?.limit === 'wall')
    return failed('tier/timed-out', `Cannot finish command: it ran longer than ${limits.wallMs} ms`, 'wall');
  if (end.stopped === 'output' || status?.limit === 'output') {
    return failed('tier/output-exceeded', outputMessage(ran), 'output');
  }
  if (status?.limit === 'cpu' || status?.signal === SIGXCPU) return outOfCpu(ran);
  // A child process that ran out of memory only matters if the command fails with it.
  if ((group?.oomKills ?? 0) > 0 && status?.exit !== 0) {
    const message = `Cannot finish command: it needs more than ${limits.memoryBytes} bytes of memory`;
    return failed('tier/out-of-memory', message, 'memory');
  }
  return null;
}

/** Where the middle of the output is left out, the run went on until that was too much as well. */
function outputMessage({ status, limits }: Ran): string {
  const { stdout, stderr } = status?.dropped ?? { stdout: 0, stderr: 0 };
  if (stdout + stderr === 0)
    return `Cannot return output: the command wrote more than ${limits.outputBytes} bytes`;
  return `Cannot finish command: it wrote more than ${OUTPUT_FLOOD_BYTES} bytes beyond its ${limits.outputBytes} bytes of output`;
}

function exited({ end, status, group, limits }: Ran): Verdict | null {
  // Boundary: a command that garbles or suppresses the launcher's report never counts as successful.
  if (status === null) {
    return failed('tier/unproven', 'Cannot vouch for the sandbox: the report of its launcher is not valid');
  }
  const { exit, signal, cancelled } = status;
  if (cancelled || end.signal !== null || (exit === null && signal === null)) return brokenOff(end, status);
  if (exit === 0) return null;
  if (signal === SIGXFSZ) {
    const message = `Cannot finish command: it wrote a file of more than ${limits.fileBytes} bytes`;
    return failed('tier/exited', message, 'file_size');
  }
  const limit = (group?.pidsRefused ?? 0) > 0 ? 'processes' : null;
  const how = signal === null ? `exited with status ${exit}` : `was killed by ${signalName(signal)}`;
  return failed('tier/exited', `Cannot complete call: the command ${how}`, limit);
}

/** The sandbox was killed, or ended by itself. */
function brokenOff({ signal, exitCode }: ChildEnd, { pid, cancelled }: LauncherStatus): Verdict {
  const died = signal === null ? null : `was killed by ${signal}`;
  // We did not: a run that we end is reported by what we did.
  const ended = cancelled ? 'was ended from outside' : `exited with status ${exitCode}`;
  const how = died ?? ended;
  return pid === null
    ? failed('tier/not-started', `Cannot start command: its sandbox ${how} before it began`)
    : failed('tier/exited', `Cannot complete call: its sandbox ${how}`);
}

function failed(code: FailedCode, message: string, limit: LimitName | null = null): Verdict {
  return { code, message, limit };
}

/** What the caller gets, whether the command succeeded or not. */
export function outputOfRun(ran: Ran, limit: LimitName | null): { readonly [key: string]: Json } {
  const { end, status, group } = ran;
  const signal = status?.signal ?? null;
  const truncated = isTruncated(ran);
  // A command that did not end by itself may have been stopped within a character.
  const isCut = truncated || status?.exit == null;
  return {
    exitCode: status?.exit ?? null,
    signal: signal === null ? null : signalName(signal),
    ...streamOf('stdout', end.stdout, isCut),
    ...streamOf('stderr', end.stderr, isCut),
    truncated,
    omittedBytes: status?.dropped ?? { stdout: 0, stderr: 0 },
    limit,
    usage: {
      wallMs: Math.ceil(end.wallMs),
      cpuMs: cpuMsOf(ran),
      peakMemoryBytes: group?.peakMemoryBytes ?? null,
      largestProcessBytes: status?.usage ? status.usage.maxRssKb * 1024 : null,
      readBytes: status?.usage ? status.usage.readBlocks * 512 : null,
      writtenBytes: status?.usage ? status.usage.writeBlocks * 512 : null,
    },
    processesKilledAtEnd: status?.left ?? null,
  };
}

/** There was more output than is returned: the launcher dropped it, or we did. */
export function isTruncated({ end, status }: Pick<Ran, 'end' | 'status'>): boolean {
  const { stdout, stderr } = status?.dropped ?? { stdout: 0, stderr: 0 };
  return end.truncated || status?.limit === 'output' || stdout + stderr > 0;
}

/** The CPU time of the whole tree: as the group counted it, or else as the launcher did. */
export function cpuMsOf({ status, group }: Ran): number | null {
  if (group?.cpuUs != null) return Math.ceil(group.cpuUs / 1000);
  if (!status?.usage) return null;
  const { userUs, systemUs, lostUs } = status.usage;
  return Math.ceil((userUs + systemUs + lostUs) / 1000);
}

/** What a budget is charged: a command that silenced its launcher, so that its usage is unknown, has not run free. */
export function cpuMsCharged(ran: Ran): number {
  const hasRun = ran.end.spawnError === null && (ran.status === null || ran.status.pid !== null);
  return cpuMsOf(ran) ?? (hasRun ? ran.limits.cpuMs : 0);
}

function streamOf(name: 'stdout' | 'stderr', bytes: Uint8Array, isCut: boolean): Record<string, string> {
  const output = outputOf(bytes, isCut);
  return 'text' in output
    ? { [name]: output.text, [`${name}Encoding`]: 'utf-8' }
    : { [name]: output.base64, [`${name}Encoding`]: 'base64' };
}
