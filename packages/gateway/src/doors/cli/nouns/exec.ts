import { constants } from 'node:os';
import { resolve } from 'node:path';
import { CODES } from '@palisade/sdk';
import type { CodedError } from '../../../core/coded-error.ts';
import type { Outcome } from '../../../core/outcome.ts';
import { OUTPUT_OVERFLOWS } from '../../../core/process.ts';
import { callDocument } from '../../../operations/call-document.ts';
import { INPUT_LIMITS } from '../../../runner/input-limits.ts';
import {
  type Bound,
  choiceOf,
  listOf,
  pairsOf,
  principalOf,
  readNamed,
  textOf,
  wrongUsage,
} from '../input.ts';
import { callOnce, printUnsuccessful, type Wanted, withReceipt } from '../make-call.ts';
import type { Printer } from '../printer.ts';
import { readLimits, timeOf } from '../quantities.ts';
import type { Invocation } from '../verb.ts';

/*
 * Runs a command in a sandbox and behaves like the command: its bytes are passed through as they come, and its exit
 * status is returned. It is a call like any other; messages of palisade go to standard error, and only where needed.
 */

const TOOL = 'palisade.process.run';
const DETACHED = 'palisade.process.start';

export async function exec(invocation: Invocation): Promise<number> {
  const principal = principalOf(invocation);
  const { input, timeoutMs } = await readCommand(invocation);
  const wanted: Wanted = { principal, tool: TOOL, rawInput: JSON.stringify(input), timeoutMs };
  if (invocation.flags['dry-run'] === true) {
    const { showCommand } = await import('./exec-plan.ts');
    return showCommand(invocation, wanted);
  }
  if (invocation.flags.detach === true)
    return detach(invocation, { ...wanted, tool: DETACHED, timeoutMs: null });
  if (!invocation.print.json) return withReceipt(invocation, () => runForPeople(invocation, wanted));
  return withReceipt(invocation, async () => {
    const ended = await callOnce(invocation, wanted);
    invocation.print.document(callDocument(ended));
    return { ended, status: exitStatusOf(ended.outcome) };
  });
}

/** Starts it in the background of the daemon; the receipt is that of the start. */
async function detach(invocation: Invocation, wanted: Wanted): Promise<number> {
  const { print, flags } = invocation;
  if (flags.stdin === true)
    throw wrongUsage('Cannot start in the background with --stdin: expected a command without an input');
  const { printStarted } = await import('./background.ts');
  return withReceipt(invocation, async () => {
    const ended = await callOnce(invocation, wanted);
    if (!print.json) return { ended, status: printStarted(print, ended) };
    print.document(callDocument(ended));
    return { ended, status: CODES[ended.outcome.code].exitStatus };
  });
}

async function runForPeople(invocation: Invocation, wanted: Wanted) {
  const { print, flags } = invocation;
  const relay = openRelay(invocation);
  const ended = await callOnce(invocation, wanted, relay);
  const { callId, outcome } = ended;
  relay.endLine();
  if (!relay.isUnread()) printEnding(print, callId, outcome);
  for (const hint of outputOf(outcome).hints ?? []) print.next(hint);
  printWorkspace(print, outcome, flags.diff === true);
  return { ended, status: relay.isUnread() ? BROKEN_PIPE_STATUS : exitStatusOf(outcome) };
}

const TIERS = ['b', 'c'] as const;
const EGRESS_MODES = ['strict', 'preflight', 'none'] as const;

const { totalBytes } = INPUT_LIMITS;
const STDIN_BOUND: Bound = {
  maxBytes: totalBytes,
  refuse: (name) => notPassed(name, `it has more than ${totalBytes} bytes`),
};

/** The input of palisade.process.run and its time limit: of the flags, the arguments after `--`, and standard input. */
async function readCommand(invocation: Invocation) {
  const { rest, flags, edge } = invocation;
  const [command = '', ...args] = rest;
  const workspace = textOf(invocation, 'workspace');
  const timeoutMs = timeOf(invocation, 'timeout') ?? null;
  // What is undefined is left out of the JSON.
  const input = {
    command,
    args,
    tier: choiceOf(invocation, 'tier', TIERS),
    egress: choiceOf(invocation, 'egress', EGRESS_MODES),
    egress_hosts: listIfAny(invocation, 'allow-host'),
    secrets: listIfAny(invocation, 'secret'),
    allow_writes: listIfAny(invocation, 'allow-write'),
    ports: listIfAny(invocation, 'port'),
    workspace: workspace === undefined ? undefined : resolve(edge.cwd, workspace),
    cwd: textOf(invocation, 'cwd'),
    env: pairsOf(invocation, 'env', 'NAME=VALUE'),
    // --timeout also requests that much time; without it a command gets the configured time.
    limits: { wall_ms: timeoutMs ?? undefined, ...readLimits(listOf(invocation, 'limit')) },
    output_overflow: choiceOf(invocation, 'output-overflow', OUTPUT_OVERFLOWS),
    stdin: flags.stdin === true ? await readText(invocation) : undefined,
  };
  return { input, timeoutMs };
}

/** Absent where no value is given: an empty list would mean something else. */
function listIfAny(invocation: Invocation, name: string): readonly string[] | undefined {
  const list = listOf(invocation, name);
  return list.length === 0 ? undefined : list;
}

async function readText(invocation: Invocation): Promise<string> {
  const bytes = await readNamed(invocation, '-', STDIN_BOUND);
  try {
    // The input is JSON, so other bytes would reach the command as something else.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notPassed('standard input', 'it is not UTF-8');
  }
}

function notPassed(name: string, is: string): CodedError {
  return wrongUsage(`Cannot pass ${name} to the command: ${is}, expected a file in the workspace`);
}

/** What is read of the output of the tool; all of it is optional, as a run that never began has no output. */
type CommandOutput = {
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly limit?: string | null;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly changes?: readonly { readonly path: string; readonly change: string }[];
  readonly moreChanges?: number;
  readonly findings?: readonly {
    readonly path: string;
    readonly severity: string;
    readonly sentence: string;
  }[];
  readonly moreFindings?: number;
  readonly workspaceSeen?: string;
  readonly hints?: readonly string[];
};

const SIGNAL_BASE = 128;

/** The exit status of the command; that of the code where palisade ended it or it never began. */
function exitStatusOf(outcome: Outcome): number {
  const { exitStatus } = CODES[outcome.code];
  if (outcome.code !== 'tier/exited') return exitStatus;
  const { exitCode, signal } = outputOf(outcome);
  // Boundary: a failure never leaves as a success, whatever the command said.
  if (typeof signal !== 'string') return exitCode || exitStatus;
  const numbers: Readonly<Record<string, number>> = constants.signals;
  // Those without a name are written by their number.
  return SIGNAL_BASE + (numbers[signal] ?? Number(/^SIG([0-9]{1,2})$/.exec(signal)?.[1] ?? 0));
}

/** Prints what the command cannot print itself: a refusal, a limit, a signal. An exit status needs no message. */
function printEnding(print: Printer, callId: string, outcome: Outcome): void {
  if (outcome.status === 'ok') return;
  const { exitCode, limit } = outputOf(outcome);
  if (outcome.code === 'tier/exited' && exitCode != null && limit == null) return;
  printUnsuccessful(print, callId, outcome);
}

/** Prints what the run left in the workspace: dangerous findings always, everything else with --diff. */
export function printWorkspace(print: Printer, outcome: Outcome, isWanted: boolean): void {
  const { changes = [], moreChanges, findings = [], moreFindings, workspaceSeen } = outputOf(outcome);
  if (isWanted) {
    for (const { change, path } of changes) print.note(`${change.padEnd(7)} ${path}`);
    printMore(print, moreChanges, 'changes');
  }
  for (const { path, severity, sentence } of findings) {
    const isDangerous = severity === 'danger';
    if (isDangerous || isWanted)
      print.note(isDangerous ? '!' : '·', isDangerous ? 'red' : 'dim', ` ${path}: ${sentence}`);
  }
  printMore(print, moreFindings, 'findings');
  // Where the workspace could not be compared, an empty list of findings means nothing.
  if (workspaceSeen === 'not at all' || (isWanted && workspaceSeen === 'in part'))
    print.note('!', 'yellow', ` The changes in the workspace were compared ${workspaceSeen}.`);
}

function printMore(print: Printer, count: number | undefined, what: string): void {
  if (count !== undefined && count > 0) print.note(`… and ${count} more ${what}`);
}

/** The output of the tool that runs commands; empty where the call was refused. */
export function outputOf(outcome: Outcome): CommandOutput {
  const output = outcome.status === 'refused' ? null : outcome.output;
  // The tool's own output; its schema was checked where it succeeded.
  return typeof output === 'object' && output !== null ? (output as CommandOutput) : {};
}

const LINE_FEED = 0x0a;

/** The status of a program that wrote to a pipe without a reader. */
const BROKEN_PIPE_STATUS = 128 + constants.signals.SIGPIPE;

/** Passes on what a command prints while it runs, byte for byte. */
function openRelay({ edge, signal }: Invocation) {
  const unread = new AbortController();
  // The command ends as with a broken pipe, and its call is still recorded and settled.
  edge.whenUnread(() => unread.abort(new Error('no one reads the output')));
  let isAtLineStart = true;
  return {
    /** Fires at Ctrl-C, and when no one reads the output any more. */
    signal: AbortSignal.any([signal, unread.signal]),
    onOutput: (stream: 'stdout' | 'stderr', chunk: Uint8Array): void => {
      if (chunk.length === 0) return;
      if (stream === 'stderr') isAtLineStart = chunk[chunk.length - 1] === LINE_FEED;
      else if (unread.signal.aborted) return;
      edge[stream].write(chunk);
    },
    /** Ends the last line on standard error, so that the next message starts on its own line. */
    endLine: () => {
      if (!isAtLineStart) edge.stderr.write('\n');
      isAtLineStart = true;
    },
    isUnread: () => unread.signal.aborted,
  };
}
