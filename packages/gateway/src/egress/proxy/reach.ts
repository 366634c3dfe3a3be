import { decide } from '../decide.ts';
import { denyNow } from '../deny-now.ts';
import { resolveTarget } from '../resolve.ts';
import { type Dialled, dial } from './dial.ts';
import type { Exchange } from './exchange.ts';
import { type Read, turnDown } from './refusal.ts';
import type { ProxyRequest } from './request-head.ts';
import type { ProxyRun } from './run.ts';

/** Decides on a request, finds its addresses and connects to one of them, in this order. */
export async function reach(
  exchange: Exchange,
  { kind, asked, method }: ProxyRequest,
  run: ProxyRun,
): Promise<Read<Dialled>> {
  const list = run.list();
  const decision = decide(list, asked);
  const record = run.ledger.open(asked, method, decision);
  exchange.decided(asked, record);
  // Boundary: nothing leaves the machine for a request that the list denies, and no question about its name.
  if (decision.verdict === 'deny') return turnDown(403, decision.why);
  const target = await resolveTarget(list, asked, { ...run.resolve, signal: exchange.signal });
  if (exchange.isOver) return turnDown(502, 'Cannot go on: the client is gone');
  if (target.verdict === 'deny') {
    record.verdict = 'deny';
    record.rule = target.rule;
    record.why = target.why;
    return turnDown(target.at === 'lookup' ? 502 : 403, target.why);
  }
  return dial(target.addresses, {
    port: asked.port,
    connectMs: run.limits.connectMs,
    signal: exchange.signal,
    isForRelay: kind === 'tunnel',
    judge: (address) => denyNow(run, asked, address),
  });
}
