import { CODES } from '@palisade/sdk';
import type { Ended } from '../../../invoke/finish.ts';
import { callDocument } from '../../../operations/call-document.ts';
import { principalOf, textOf, wrongUsage } from '../input.ts';
import { callOnce, printUnsuccessful } from '../make-call.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/* The background runs of a daemon, as one principal sees them: each verb is a call of one of their tools. */

/** What the tools give, as far as it is shown. */
type RunDocument = {
  readonly id: string;
  readonly command: string;
  readonly startedAt: string;
  readonly running: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly ports?: readonly { readonly inside: number; readonly url: string }[];
  readonly text?: string;
  readonly cursor?: number;
};

export function list(invocation: Invocation): Promise<number> {
  return callAct(invocation, 'logs', {}, (output, print) => {
    const { runs } = output as { readonly runs: readonly RunDocument[] };
    print.table(
      ['ID', 'STATE', 'STARTED', 'PORTS', 'COMMAND'],
      runs.map(({ id, running, code, startedAt, ports = [], command }) => [
        ...[id, running ? 'running' : (code ?? ''), startedAt],
        ...[ports.map(({ url }) => url).join(' '), command],
      ]),
      'There are no background runs. Start one with `palisade exec --detach -- COMMAND`.',
    );
  });
}

export function logs(invocation: Invocation): Promise<number> {
  const since = textOf(invocation, 'since');
  if (since !== undefined && !/^\d{1,15}$/.test(since))
    throw wrongUsage(
      `Cannot read after the cursor "${since}": expected the number that the last reading gave`,
    );
  const input = { id: invocation.args[0], ...(since === undefined ? {} : { since: Number(since) }) };
  return callAct(invocation, 'logs', input, (output, print) => {
    const run = output as RunDocument;
    printLog(print, run);
    printState(print, run);
    if (run.running) print.next(`palisade background logs ${run.id} --since ${run.cursor}`);
  });
}

export function stop(invocation: Invocation): Promise<number> {
  return callAct(invocation, 'stop', { id: invocation.args[0] }, (output, print) =>
    printState(print, output as RunDocument),
  );
}

/** Prints what `exec --detach` started; gives its exit status. */
export function printStarted(print: Printer, { callId, outcome }: Ended): number {
  if (outcome.status !== 'ok') {
    printUnsuccessful(print, callId, outcome);
    return CODES[outcome.code].exitStatus;
  }
  const run = outcome.output as RunDocument;
  printLog(print, run);
  printState(print, run);
  if (!run.running) return run.code === 'ok' ? 0 : 1;
  print.line(run.id);
  print.next(`palisade background logs ${run.id}   or   palisade background stop ${run.id}`);
  return 0;
}

async function callAct(
  invocation: Invocation,
  act: 'logs' | 'stop',
  input: object,
  show: (output: unknown, print: Printer) => void,
): Promise<number> {
  const { print } = invocation;
  const principal = principalOf(invocation);
  const ended = await callOnce(invocation, {
    principal,
    tool: `palisade.process.${act}`,
    rawInput: JSON.stringify(input),
  });
  const { callId, outcome } = ended;
  print.result(callDocument(ended), () => {
    if (outcome.status === 'ok') show(outcome.output, print);
    else printUnsuccessful(print, callId, outcome);
  });
  return CODES[outcome.code].exitStatus;
}

function printLog(print: Printer, { text = '' }: RunDocument): void {
  if (text !== '') for (const line of text.replace(/\n$/, '').split('\n')) print.line(line);
}

function printState(print: Printer, { id, running, ports = [], code, message = '' }: RunDocument): void {
  const reached = ports.map(({ url, inside }) => `  ${url} leads to its port ${inside}.`).join('');
  if (running) print.note('running', 'green', `  ${id}${reached}`);
  else print.note('ended', code === 'ok' ? 'green' : 'yellow', `  ${id}  ${message}`);
}
