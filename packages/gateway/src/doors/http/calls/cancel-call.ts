import { requireAdministrator } from '../../../invoke/administer.ts';
import { isOwn, type Looking } from '../may-see.ts';
import { findCall, unknownCall } from './shown-call.ts';

/** Whether there was something left to cancel. */
export type Cancelled = { readonly callId: string; readonly cancelled: boolean };

/**
 * Ends a call of the caller's own, wherever on the line it is; one of others only for who may administer. It is recorded
 * and settled like every other, so this comes back before it has ended. One that has ended stays as it is.
 */
export function cancelCall(looking: Looking, callId: string): Cancelled {
  const { gateway, caller } = looking;
  const found = findCall(looking, callId);
  if (found.state === 'ended') return { callId, cancelled: false };
  if (!isOwn(caller, found.call)) {
    // Boundary: to see a call is not to end it.
    if (!caller.scopes.has('admin')) throw unknownCall(callId);
    requireAdministrator(gateway, caller.principal, caller.tenant);
  }
  return { callId, cancelled: gateway.running.cancel(callId) };
}
