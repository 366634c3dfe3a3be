import { CODES } from '@palisade/sdk';
import type { Ended } from '../../../invoke/ending.ts';
import { callOnce, documentOf, keepReceipt, NOT_KEPT } from '../call-once.ts';
import { principalOf, readInput, textOf, timeoutOf } from '../input.ts';
import { openOut } from '../out-file.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [tool = ''] = invocation.args;
  const timeoutMs = timeoutOf(invocation);
  const principal = principalOf(invocation);
  const rawInput = await readInput(invocation);
  const path = textOf(invocation, 'receipt');
  // A place that cannot be written is found out before the call runs, not after.
  const file = path === undefined ? null : openOut(path);
  try {
    const ended = await callOnce(invocation, { principal, tool, rawInput, timeoutMs });
    if (invocation.print.json) invocation.print.document(documentOf(ended));
    else printEnded(invocation.print, ended, path);
    const { exitStatus } = CODES[ended.outcome.code];
    return keepReceipt(invocation.print, file, ended) ? exitStatus : exitStatus || NOT_KEPT;
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
    print.note('ok', 'green', `  ${callId}  ${usage.wallMs} ms`);
    const next = file === undefined ? `palisade receipt ${callId}` : `palisade verify ${file}`;
    print.note('→', 'cyan', ` ${next}`);
    return;
  }
  print.note(outcome.status, 'red', `  ${outcome.code}  ${callId}`);
  print.note(outcome.message);
  print.note('→', 'cyan', ` ${outcome.remedy}`);
  if (receipt === null) print.note('There is no receipt: nothing could be recorded.', 'yellow');
}
