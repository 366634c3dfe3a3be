/** How a command ended, said in the words of the code table. Pure: what ran and what the kernel counted comes in. */
import type { Json } from '../../core/json.ts';
import type { FailedCode } from '../../core/outcome.ts';
import type { LimitName, ProcessLimits } from '../../core/process.ts';
import type { GroupUsage } from '../cgroup/run-group.ts';
import type { ChildEnd } from '../child/child-plan.ts';
import type { LauncherStatus } from '../child/status.ts';
import { outputOf } from '../child/text.ts';
import { signalName } from './signals.table.ts';

/** All that is known of a run once it is over; null: nobody could say. */
export type Ran = {
  readonly end: ChildEnd;
  readonly status: LauncherStatus | null;
  readonly group: GroupUsage | null;
  readonly limits: ProcessLimits;
};

export type Verdict =
  | { readonly kind: 'ok' }
  | {
      readonly kind: 'failed';
      readonly code: FailedCode;
      readonly message: string;
      readonly limit: LimitName | null;
    };

const SIGXCPU = 24;
const SIGXFSZ = 25;
const SIGKILL = 9;

/** What ended the run. A limit comes before the signal that it was enforced with. */
export function verdictOf(ran: Ran): Verdict {
  const { end, status } = ran;
  const started = notStarted(ran);
  if (started !== null) return started;
  if (end.stopped === 'cancelled' || status?.cancelled === true)
    return failed('tier/cancelled', 'Cannot finish command: the caller cancelled it');
  return overLimit(ran) ?? exited(ran);
}

function notStarted({ end, status }: Ran): Verdict | null {
  if (end.spawnError !== null)
    return failed('tier/not-started', `Cannot start command: the system says ${end.spawnError}`);
  if (status?.failed) {
    const { step, name } = status.failed;
    return failed('tier/not-started', `Cannot start command: its sandbox failed at "${step}" with ${name}`);
  }
  if (status?.execError) {
    return failed('tier/not-started', `Cannot start command: executing it gives ${status.execError.name}`);
  }
  return null;
}

function overLimit({ end, status, group, limits }: Ran): Verdict | null {
  if (end.stopped === 'timed-out' || status?.limit === 'wall')
    return failed('tier/timed-out', `Cannot finish command: it passed ${limits.wallMs} ms`, 'wall');
  if (end.stopped === 'output' || status?.limit === 'output') {
    const message = `Cannot return output: the command wrote more than ${limits.outputBytes} bytes`;
    return failed('tier/output-exceeded', message, 'output');
  }
  if (status?.limit === 'cpu' || status?.signal === SIGXCPU) {
    return failed('tier/out-of-cpu', `Cannot finish command: it used ${limits.cpuMs} ms of CPU time`, 'cpu');
  }
  // A child that ran out of memory is the command's affair unless the command fails with it.
  if ((group?.oomKills ?? 0) > 0 && status?.exit !== 0) {
    const message = `Cannot finish command: it needs more than ${limits.memoryBytes} bytes of memory`;
    return failed('tier/out-of-memory', message, 'memory');
  }
  return null;
}

function exited({ end, status, group, limits }: Ran): Verdict {
  const signal = status?.signal ?? null;
  const exit = status?.exit ?? null;
  if (exit === 0 && end.signal === null) return { kind: 'ok' };
  if (signal === SIGXFSZ) {
    const message = `Cannot finish command: it wrote a file of more than ${limits.fileBytes} bytes`;
    return failed('tier/exited', message, 'file_size');
  }
  const limit = (group?.pidsRefused ?? 0) > 0 ? 'processes' : null;
  if (exit !== null) return failed('tier/exited', `Cannot call it done: the command gave ${exit}`, limit);
  // Boundary: a sandbox that died before it could speak is never taken for a command that ended well.
  const name = signalName(signal ?? SIGKILL);
  const who = signal === null ? 'its sandbox was ended' : 'the command was ended';
  return failed('tier/exited', `Cannot call it done: ${who} by ${name}`, limit);
}

function failed(code: FailedCode, message: string, limit: LimitName | null = null): Verdict {
  return { kind: 'failed', code, message, limit };
}

/** What the caller gets, whether it ended well or not. */
export function outputOfRun(ran: Ran, limit: LimitName | null): { readonly [key: string]: Json } {
  const { end, status, group } = ran;
  const signal = status?.signal ?? null;
  return {
    exitCode: status?.exit ?? null,
    signal: signal === null ? null : signalName(signal),
    ...streamOf('stdout', end.stdout, end.truncated),
    ...streamOf('stderr', end.stderr, end.truncated),
    truncated: end.truncated || status?.limit === 'output',
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

/** The CPU time of the whole tree: as the group counted it, or else as the launcher did. */
export function cpuMsOf({ status, group }: Ran): number | null {
  if (group?.cpuUs != null) return Math.ceil(group.cpuUs / 1000);
  if (!status?.usage) return null;
  return Math.ceil((status.usage.userUs + status.usage.systemUs) / 1000);
}

function streamOf(name: 'stdout' | 'stderr', bytes: Uint8Array, isCut: boolean): Record<string, string> {
  const output = outputOf(bytes, isCut);
  return 'text' in output
    ? { [name]: output.text, [`${name}Encoding`]: 'utf-8' }
    : { [name]: output.base64, [`${name}Encoding`]: 'base64' };
}
