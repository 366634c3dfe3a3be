import type { Wire } from '@palisade/sdk';
import { isWithin } from '../../../core/paths.ts';
import { confirm, type Question } from '../ask.ts';
import { pageOf, principalOf, wrongUsage } from '../input.ts';
import { finishUnread, withGateway } from '../opened.ts';
import { type Opening, operateOn } from '../operate.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/* `palisade undo`: what a command changed is shown, and taken back. */

type Plan = Wire.Replies['planUndo'];
type Undone = Wire.Replies['undoCall'];

const QUESTION: Question = {
  act: 'undo the last command',
  question: 'Type yes to undo it',
  answer: 'yes',
  needs: ['yes'],
};
/** How many are looked at for the last command that changed something. */
const RECENT = 1_000;
/** The exit status where something stays that the command changed. */
const LEFT_STATUS = 1;

export async function undo(invocation: Invocation): Promise<number> {
  const { flags, args } = invocation;
  principalOf(invocation);
  if (flags.list === true && args.length > 0)
    throw wrongUsage('Cannot list one command: expected --list alone, or an id without it');
  finishUnread(invocation);
  return withGateway(invocation, (gateway) =>
    flags.list === true ? list(invocation, gateway) : undoOne(invocation, gateway),
  );
}

async function list(invocation: Invocation, gateway: Opening): Promise<number> {
  const { print } = invocation;
  const document = await operateOn(invocation, gateway, 'listUndo', pageOf(invocation));
  print.result(document, () =>
    print.table(
      ['ID', 'WHEN', 'WHO', 'COMMAND', 'CHANGES', 'WORKSPACE', 'UNDONE BY'],
      document.undo.map((each) => [
        ...[each.id, each.startedAt, each.principal, each.command, String(each.changes)],
        ...[each.workspace, each.undoneBy],
      ]),
      'There is nothing to undo.',
    ),
  );
  return 0;
}

async function undoOne(invocation: Invocation, gateway: Opening): Promise<number> {
  const { args, flags, print } = invocation;
  const force = flags.force === true;
  const id = args[0] ?? (await lastChange(invocation, gateway));
  if (flags['dry-run'] === true || args[0] === undefined) {
    const plan = await operateOn(invocation, gateway, 'planUndo', { id, force });
    if (flags['dry-run'] === true) {
      print.result(plan, () => printPlan(print, plan));
      return isWhole(plan) ? 0 : LEFT_STATUS;
    }
    if (!print.json) printPlan(print, plan);
    await confirm(invocation, QUESTION);
  }
  const undone = await operateOn(invocation, gateway, 'undoCall', { id, force });
  print.result(undone, () => printUndone(print, undone, args[0] !== undefined));
  return isWhole(undone) && undone.failed.length === 0 ? 0 : LEFT_STATUS;
}

/** The last command that changed something and was not undone: in the workspace around here, if there is one. */
async function lastChange(invocation: Invocation, gateway: Opening): Promise<string> {
  const { undo: all } = await operateOn(invocation, gateway, 'listUndo', { limit: RECENT });
  const open = all.filter(({ undoOf, undoneBy }) => undoOf === null && undoneBy === null);
  const here = open.find(({ workspace }) => isWithin(invocation.edge.cwd, workspace));
  const chosen = here ?? open[0];
  if (chosen !== undefined) return chosen.id;
  throw wrongUsage(
    'Cannot undo the last command: none is recorded that changed something and was not undone',
    '`palisade undo --list` shows what is recorded.',
  );
}

function isWhole({ conflicts, missing }: Plan): boolean {
  return conflicts.length === 0 && missing.length === 0;
}

function printPlan(print: Printer, plan: Plan): void {
  const { id, command, workspace, startedAt, principal, beside, endKnown, whole } = plan;
  print.line(`${id}  ${command}  in ${workspace}  by ${principal}  ${startedAt}`);
  if (beside.length > 0)
    print.note(
      '!',
      'yellow',
      ` Other calls ran there at the same time; what they changed is listed too: ${beside.join(', ')}`,
    );
  if (!endKnown)
    print.note(
      '!',
      'yellow',
      ' Its gateway was killed: what changed until the next start of one is listed too.',
    );
  if (!whole)
    print.note('!', 'yellow', ' Not all of the workspace could be compared, so changes may be missing here.');
  printSteps(print, plan);
  printLeft(print, plan);
}

function printSteps(print: Printer, { steps, moreSteps, already }: Plan): void {
  for (const { act, path, kind } of steps)
    print.line(`${act.padEnd(8)}  ${path}${kind === 'directory' ? '/' : ''}`);
  if (moreSteps > 0) print.line(`… and ${moreSteps} more`);
  if (steps.length === 0) print.line('Nothing is to be done.');
  if (already > 0) print.note('·', 'dim', ` ${already} names are as before the command already`);
}

function printLeft(print: Printer, { conflicts, moreConflicts, missing, moreMissing }: Plan): void {
  for (const { path, why } of conflicts) print.note('conflict', 'yellow', `  ${path}: ${why}`);
  for (const { path, why } of missing) print.note('missing', 'yellow', `   ${path}: ${why}`);
  if (moreConflicts + moreMissing > 0) print.note(`… and ${moreConflicts + moreMissing} more that stay`);
}

function printUndone(print: Printer, undone: Undone, withSteps: boolean): void {
  const { steps, moreSteps, conflicts, failed, undo } = undone;
  if (withSteps) {
    printSteps(print, undone);
    printLeft(print, undone);
  }
  for (const { path, why } of failed) print.note('failed', 'red', `    ${path}: ${why}`);
  const count = steps.length + moreSteps;
  if (count > 0)
    print.note('undone', 'green', `  ${count} ${count === 1 ? 'name' : 'names'} of ${undone.id}`);
  if (conflicts.length > 0)
    print.next(`palisade undo ${undone.id} --force   replaces what was changed since`);
  if (count > 0) print.next(`palisade undo ${undo}   takes this back`);
}
