import { CODES } from '@palisade/sdk';
import type { ToolCall } from '../../core/call.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Ended } from '../../invoke/finish.ts';
import { invoke } from '../../invoke/invoke.ts';
import type { CallContext } from '../../tiers/tier.ts';
import { callOf } from './asked-call.ts';
import { textOf } from './input.ts';
import type { OutFile } from './out-file.ts';
import { tellPolicyProblems } from './policy-note.ts';
import type { Printer } from './printer.ts';
import { callThroughDaemon } from './through-daemon.ts';
import type { Invocation } from './verb.ts';

/** What a verb knows of the call it wants. */
export type Wanted = Pick<ToolCall, 'principal' | 'tool' | 'rawInput' | 'timeoutMs'>;

/** The status of a call that went well while its receipt could not be kept. */
export const NOT_KEPT = CODES['door/wrong-usage'].exitStatus;

/** Has the daemon make one call; where none serves, opens the gateway for it, makes it, and closes again. */
export async function callOnce(
  invocation: Invocation,
  wanted: Wanted,
  context: CallContext = { signal: invocation.signal },
): Promise<Ended> {
  return (await callThroughDaemon(invocation, wanted, context)) ?? callEmbedded(invocation, wanted, context);
}

async function callEmbedded(
  invocation: Invocation,
  wanted: Wanted,
  { signal, onOutput }: CallContext,
): Promise<Ended> {
  const gateway = await invocation.openGateway();
  try {
    const { tenant } = gateway.config.gateway;
    if (gateway.policy.problems.length > 0) tellPolicyProblems(invocation.print);
    const call = callOf(invocation.edge, { ...wanted, tenant, run: textOf(invocation, 'run') ?? null });
    return await invoke(gateway, call, signal, { onOutput });
  } finally {
    await gateway.close();
  }
}

/** False when the receipt could not be written to its file; it is in the journal all the same. */
export function keepReceipt(
  print: Printer,
  file: OutFile | null,
  { callId, receipt }: Pick<Ended, 'callId' | 'receipt'>,
): boolean {
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
