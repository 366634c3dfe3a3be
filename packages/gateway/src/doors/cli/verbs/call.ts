import { CODES } from '@palisade/sdk';
import type { ToolCall } from '../../../core/call.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Ended } from '../../../invoke/ending.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { callOf } from '../asked-call.ts';
import { principalOf, readInput, textOf, timeoutOf } from '../input.ts';
import { type OutFile, openOut } from '../out-file.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

const NOT_KEPT = CODES['door/wrong-usage'].exitStatus;

export async function run(invocation: Invocation): Promise<number> {
  const timeoutMs = timeoutOf(invocation);
  const principal = principalOf(invocation);
  const rawInput = await readInput(invocation);
  const path = textOf(invocation, 'receipt');
  // A place that cannot be written is found out before the call runs, not after.
  const file = path === undefined ? null : openOut(path);
  try {
    const ended = await callOnce(invocation, { principal, rawInput, timeoutMs });
    if (invocation.print.json) invocation.print.document(documentOf(ended));
    else printEnded(invocation.print, ended, path);
    const { exitStatus } = CODES[ended.outcome.code];
    return keepReceipt(invocation.print, file, ended) ? exitStatus : exitStatus || NOT_KEPT;
  } finally {
    file?.close();
  }
}

type Given = Pick<ToolCall, 'principal' | 'rawInput' | 'timeoutMs'>;

async function callOnce(invocation: Invocation, given: Given): Promise<Ended> {
  const { args, edge, signal } = invocation;
  const gateway = await invocation.openGateway();
  try {
    const { tenant } = gateway.config.gateway;
    const [tool = ''] = args;
    if (gateway.policy.problems.length > 0) {
      invocation.print.note(
        'The policy files have problems; an earlier set decides.',
        'yellow',
        ' Run `palisade policy check`.',
      );
    }
    const call = callOf(edge, { ...given, tenant, tool, run: textOf(invocation, 'run') ?? null });
    return await invoke(gateway, call, signal);
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

/** False when the receipt could not be written to its file; it is in the journal all the same. */
function keepReceipt(print: Printer, file: OutFile | null, { callId, receipt }: Ended): boolean {
  if (file === null || receipt === null) return true;
  try {
    file.write(receipt);
    return true;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    print.note(error.message);
    print.note('→', 'cyan', ` palisade receipt ${callId} --out FILE`);
    return false;
  }
}
