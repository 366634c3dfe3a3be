/** How a command ended, told as a shell would tell it: its own words are out already, ours go to standard error. */
import { constants } from 'node:os';
import { CODES } from '@palisade/sdk';
import type { Outcome } from '../../../core/outcome.ts';
import type { Printer } from '../printer.ts';

/** What is read of the tool's output; all of it is optional, as a run that never began has none. */
type CommandOutput = {
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly limit?: string | null;
  readonly changes?: readonly { readonly path: string; readonly change: string }[];
  readonly moreChanges?: number;
  readonly findings?: readonly {
    readonly path: string;
    readonly severity: string;
    readonly sentence: string;
  }[];
  readonly moreFindings?: number;
  readonly workspaceSeen?: string;
};

const SIGNAL_BASE = 128;

/** The status of the command where it had one, and that of the code where we ended it or it never began. */
export function exitStatusOf(outcome: Outcome): number {
  const { exitStatus } = CODES[outcome.code];
  if (outcome.code !== 'tier/exited') return exitStatus;
  const { exitCode, signal } = outputOf(outcome);
  if (typeof signal === 'string') return SIGNAL_BASE + signalNumber(signal);
  // Boundary: a failure never leaves as a success, whatever the command said.
  return exitCode || exitStatus;
}

function signalNumber(name: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  // Those without a name are written by their number.
  return numbers[name] ?? Number(/^SIG([0-9]{1,2})$/.exec(name)?.[1] ?? 0);
}

/** Says what the command cannot say itself: a refusal, a limit, a signal. An exit status needs no words. */
export function tellEnding(print: Printer, callId: string, outcome: Outcome): void {
  if (outcome.status === 'ok') return;
  const { exitCode, limit } = outputOf(outcome);
  if (outcome.code === 'tier/exited' && exitCode != null && limit == null) return;
  print.note(outcome.status, 'red', `  ${outcome.code}  ${callId}`);
  print.note(outcome.message);
  print.note('→', 'cyan', ` ${outcome.remedy}`);
}

/** Says what the run left behind: what is dangerous always, everything else where it is asked for. */
export function tellWorkspace(print: Printer, outcome: Outcome, isWanted: boolean): void {
  const { changes = [], moreChanges, findings = [], moreFindings, workspaceSeen } = outputOf(outcome);
  if (isWanted) {
    for (const { change, path } of changes) print.note(`${change.padEnd(7)} ${path}`);
    tellMore(print, moreChanges, 'changes');
  }
  for (const { path, severity, sentence } of findings) {
    const isDangerous = severity === 'danger';
    if (isDangerous || isWanted)
      print.note(isDangerous ? '!' : '·', isDangerous ? 'red' : 'dim', ` ${path}: ${sentence}`);
  }
  tellMore(print, moreFindings, 'findings');
  // A look that failed finds nothing, and that is no good news.
  if (workspaceSeen === 'not at all' || (isWanted && workspaceSeen === 'in part'))
    print.note('!', 'yellow', ` What the run changed was seen ${workspaceSeen}.`);
}

function tellMore(print: Printer, count: number | undefined, what: string): void {
  if (count !== undefined && count > 0) print.note(`… and ${count} more ${what}`);
}

function outputOf(outcome: Outcome): CommandOutput {
  if (outcome.status === 'refused') return {};
  const { output } = outcome;
  // The tool's own output; its schema has been checked where it ended well.
  return typeof output === 'object' && output !== null ? (output as CommandOutput) : {};
}
