import type { ToolCall } from '../core/call.ts';
import type { Caller } from '../core/caller.ts';
import { makeId } from '../core/id.ts';
import type { Records } from './gateway.ts';

/** What a door knows of a call, beside who makes it. */
export type AskedCall = Pick<ToolCall, 'tool' | 'rawInput' | 'door'> &
  Partial<Pick<ToolCall, 'run' | 'timeoutMs' | 'idempotencyKey' | 'trace'>>;

/** A call as a door hands it in: who it is of comes from the credential, the rest from the request. */
export function doorCall(
  { clock, random }: Pick<Records, 'clock' | 'random'>,
  { principal, tenant }: Caller,
  asked: AskedCall,
): ToolCall {
  const receivedAtMs = clock.nowMs();
  const id = makeId('call', receivedAtMs, random);
  return { run: null, timeoutMs: null, ...asked, id, principal, tenant, receivedAtMs };
}
