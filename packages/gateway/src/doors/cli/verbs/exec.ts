import { callDocument } from '../../../operations/call-document.ts';
import { callOnce, keepReceipt, NOT_KEPT, type Wanted } from '../call-once.ts';
import { exitStatusOf, tellEnding, tellWorkspace } from '../exec/command-ending.ts';
import { askedCommand } from '../exec/command-input.ts';
import { showPlan } from '../exec/dry-run.ts';
import { BROKEN_PIPE_STATUS, openRelay } from '../exec/relay.ts';
import { principalOf, textOf } from '../input.ts';
import { type OutFile, openOut } from '../out-file.ts';
import type { Invocation } from '../verb.ts';

/*
 * A command in a sandbox that behaves like the command: its bytes go through as they come, its status is ours. It is one
 * more call of the line; what we add goes to standard error, and only where there is something to say.
 */

const TOOL = 'palisade.process.run';

export async function run(invocation: Invocation): Promise<number> {
  const principal = principalOf(invocation);
  const { input, timeoutMs } = await askedCommand(invocation);
  const wanted: Wanted = { principal, tool: TOOL, rawInput: JSON.stringify(input), timeoutMs };
  if (invocation.flags['dry-run'] === true) return showPlan(invocation, wanted);
  const path = textOf(invocation, 'receipt');
  // A place that cannot be written is found out before the command runs, not after.
  const file = path === undefined ? null : openOut(path);
  try {
    return await (invocation.print.json ? runForPrograms : runForPeople)(invocation, wanted, file);
  } finally {
    file?.close();
  }
}

async function runForPrograms(invocation: Invocation, wanted: Wanted, file: OutFile | null): Promise<number> {
  const { print } = invocation;
  const ended = await callOnce(invocation, wanted);
  print.document(callDocument(ended));
  const status = exitStatusOf(ended.outcome);
  return keepReceipt(print, file, ended) ? status : status || NOT_KEPT;
}

async function runForPeople(invocation: Invocation, wanted: Wanted, file: OutFile | null): Promise<number> {
  const { print, flags } = invocation;
  const relay = openRelay(invocation);
  const ended = await callOnce(invocation, wanted, relay);
  const { callId, outcome } = ended;
  relay.endLine();
  if (!relay.isUnread()) tellEnding(print, callId, outcome);
  tellWorkspace(print, outcome, flags.diff === true);
  const status = relay.isUnread() ? BROKEN_PIPE_STATUS : exitStatusOf(outcome);
  return keepReceipt(print, file, ended) ? status : status || NOT_KEPT;
}
