import { CODES } from '@palisade/sdk';
import { hasLog } from '../../../core/call-log.ts';
import type { Ended } from '../../../invoke/finish.ts';
import { callDocument } from '../../../operations/call-document.ts';
import type { CallContext } from '../../../tiers/tier.ts';
import { principalOf, readInput, textOf, timeoutOf } from '../input.ts';
import { callOnce, printUnsuccessful, type Wanted, withReceipt } from '../make-call.ts';
import { linesOfLog } from '../print-log.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

export async function call(invocation: Invocation): Promise<number> {
  const [tool = ''] = invocation.args;
  const timeoutMs = timeoutOf(invocation);
  const principal = principalOf(invocation);
  const rawInput = await readInput(invocation);
  return makeCall(invocation, { principal, tool, rawInput, timeoutMs });
}

type CallPrinting = {
  readonly onOutput?: NonNullable<CallContext['onOutput']>;
  /** A better message for an ending, where a verb has one. */
  readonly reword?: (ended: Ended) => Ended;
};

/** Makes one call, prints its output and how it ended, and writes its receipt to --receipt; gives the exit status. */
export async function makeCall(
  invocation: Invocation,
  wanted: Wanted,
  { onOutput, reword = (ended) => ended }: CallPrinting = {},
): Promise<number> {
  const { print, signal } = invocation;
  return withReceipt(invocation, async () => {
    const context = onOutput === undefined ? { signal } : { signal, onOutput };
    const ended = reword(await callOnce(invocation, wanted, context));
    const shown = onOutput === undefined ? ended : withoutLines(ended);
    print.result(callDocument(shown), () => {
      for (const line of shown.log === undefined ? [] : linesOfLog(shown.log)) print.note(line);
      printEnded(print, ended, textOf(invocation, 'receipt'));
    });
    return { ended, status: CODES[ended.outcome.code].exitStatus };
  });
}

/** Lines that were printed while the call ran are not shown again. */
function withoutLines({ log, ...ended }: Ended): Ended {
  if (log === undefined) return ended;
  const rest = { ...log, lines: [], isCut: false };
  return hasLog(rest) ? { ...ended, log: rest } : ended;
}

function printEnded(print: Printer, ended: Ended, file: string | undefined): void {
  const { callId, outcome, usage, receipt } = ended;
  if (outcome.status !== 'refused' && outcome.output !== null) print.value(outcome.output);
  if (outcome.status === 'ok') {
    const fuel = usage.fuel === 0 ? '' : `  ${usage.fuel} fuel`;
    print.note('ok', 'green', `  ${callId}  ${usage.wallMs} ms${fuel}`);
    print.next(file === undefined ? `palisade receipt ${callId}` : `palisade verify ${file}`);
    return;
  }
  printUnsuccessful(print, callId, outcome);
  if (receipt === null) print.note('The call has no receipt: nothing could be recorded.', 'yellow');
}
