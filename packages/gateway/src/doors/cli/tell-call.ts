import { CODES } from '@palisade/sdk';
import type { Ended } from '../../invoke/finish.ts';
import { callDocument } from '../../operations/call-document.ts';
import type { CallContext } from '../../tiers/tier.ts';
import { callOnce, keepReceipt, NOT_KEPT, type Wanted } from './call-once.ts';
import { textOf } from './input.ts';
import { openOut } from './out-file.ts';
import type { Printer } from './printer.ts';
import type { Invocation } from './verb.ts';

export type Telling = {
  readonly onOutput?: NonNullable<CallContext['onOutput']>;
  /** Better words for an ending, where a verb has them. */
  readonly reword?: (ended: Ended) => Ended;
};

/** Makes one call, prints its output and how it ended, keeps its receipt where `--receipt` says; gives the exit status. */
export async function tellCall(
  invocation: Invocation,
  wanted: Wanted,
  { onOutput, reword = (ended) => ended }: Telling = {},
): Promise<number> {
  const { print, signal } = invocation;
  const path = textOf(invocation, 'receipt');
  // A place that cannot be written is found out before the call runs, not after.
  const file = path === undefined ? null : openOut(path);
  try {
    const context = { signal, ...(onOutput === undefined ? {} : { onOutput }) };
    const ended = reword(await callOnce(invocation, wanted, context));
    if (print.json) print.document(callDocument(ended));
    else printEnded(print, ended, path);
    const { exitStatus } = CODES[ended.outcome.code];
    return keepReceipt(print, file, ended) ? exitStatus : exitStatus || NOT_KEPT;
  } finally {
    file?.close();
  }
}

function printEnded(
  print: Printer,
  { callId, outcome, usage, receipt }: Ended,
  file: string | undefined,
): void {
  if (outcome.status !== 'refused' && outcome.output !== null) print.value(outcome.output);
  if (outcome.status === 'ok') {
    const fuel = usage.fuel === 0 ? '' : `  ${usage.fuel} fuel`;
    print.note('ok', 'green', `  ${callId}  ${usage.wallMs} ms${fuel}`);
    const next = file === undefined ? `palisade receipt ${callId}` : `palisade verify ${file}`;
    print.note('→', 'cyan', ` ${next}`);
    return;
  }
  print.note(outcome.status, 'red', `  ${outcome.code}  ${callId}`);
  print.note(outcome.message);
  print.note('→', 'cyan', ` ${outcome.remedy}`);
  if (receipt === null) print.note('There is no receipt: nothing could be recorded.', 'yellow');
}
