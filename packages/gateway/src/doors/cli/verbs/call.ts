import { writeFileSync } from 'node:fs';
import { CODES } from '@palisade/sdk';
import type { Ended } from '../../../invoke/ending.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { callOf } from '../asked-call.ts';
import { numberOf, principalOf, readInput, textOf, wrongUsage } from '../input.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

const LONGEST_TIMEOUT_MS = 86_400_000;

export async function run(invocation: Invocation): Promise<number> {
  const { args, edge, print, signal } = invocation;
  const timeoutMs = numberOf(invocation, 'timeout', { min: 1, max: LONGEST_TIMEOUT_MS, absent: 0 }) || null;
  const principal = principalOf(invocation);
  const rawInput = await readInput(invocation);
  const gateway = await invocation.openGateway();
  try {
    const { tenant } = gateway.config.gateway;
    const [tool = ''] = args;
    const call = callOf(edge, {
      principal,
      tenant,
      tool,
      rawInput,
      timeoutMs,
      run: textOf(invocation, 'run') ?? null,
    });
    const ended = await invoke(gateway, call, signal);
    const file = textOf(invocation, 'receipt');
    if (print.json) print.document(documentOf(ended));
    else printEnded(print, ended, file);
    if (file !== undefined && ended.receipt !== null) writeReceipt(file, ended.receipt);
    return CODES[ended.outcome.code].exitStatus;
  } finally {
    await gateway.close();
  }
}

/** The one shape that programs read. */
export function documentOf({ callId, outcome, usage, receipt }: Ended) {
  const { status, code } = outcome;
  return {
    callId,
    status,
    code,
    message: status === 'ok' ? CODES.ok.sentence : outcome.message,
    remedy: status === 'ok' ? null : outcome.remedy,
    output: status === 'refused' ? null : outcome.output,
    usage,
    receipt: receipt === null ? null : JSON.parse(receipt),
  };
}

function printEnded(
  print: Printer,
  { callId, outcome, usage, receipt }: Ended,
  file: string | undefined,
): void {
  if (outcome.status !== 'refused' && outcome.output !== null)
    print.line(JSON.stringify(outcome.output, null, 2));
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

function writeReceipt(file: string, receipt: string): void {
  try {
    writeFileSync(file, receipt);
  } catch (error) {
    throw wrongUsage(`Cannot write the receipt to "${file}": ${(error as Error).message}`);
  }
}
