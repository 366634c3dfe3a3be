import { CODES, type Code, parseKeyRing, verifyReceipt } from '@palisade/sdk';
import { nodePrimitives } from '../../../../attest/primitives.ts';
import { formatPrincipal, type Principal } from '../../../../core/principal.ts';
import type { Gateway } from '../../../../invoke/gateway.ts';
import { invoke } from '../../../../invoke/invoke.ts';
import { callOf } from '../../make-call.ts';
import type { Invocation, Opened } from '../../verb.ts';

/** How the first call went. */
export type FirstCall = {
  readonly as: string;
  readonly callId: string;
  readonly status: 'ok' | 'failed' | 'refused';
  readonly code: Code;
  readonly message: string;
  readonly verified: boolean;
};

/** Calls a harmless tool as that agent, and verifies the receipt as a stranger would: with the public keys alone. */
export async function makeFirstCall(
  { edge, signal }: Invocation,
  gateway: Opened<Gateway>,
  principal: Principal,
): Promise<FirstCall> {
  const { tenant } = gateway.config.gateway;
  const rawInput = '{"message":"hello from palisade init"}';
  const call = callOf(edge, { principal, tenant, tool: 'palisade.echo', rawInput });
  const { callId, outcome, receipt } = await invoke(gateway, call, signal);
  const ring = await parseKeyRing(gateway.keys.export(), nodePrimitives);
  const report =
    ring.ok && receipt !== null ? await verifyReceipt(receipt, ring.keys, {}, nodePrimitives) : null;
  const { status, code } = outcome;
  return {
    as: formatPrincipal(principal),
    callId,
    status,
    code,
    message: outcome.status === 'ok' ? CODES.ok.sentence : outcome.message,
    verified: report?.ok === true,
  };
}
