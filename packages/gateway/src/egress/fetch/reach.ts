import { type Decision, decide, type EgressRequest } from '../decide.ts';
import { denyNow } from '../deny-now.ts';
import { type Dialled, dial } from '../proxy/dial.ts';
import { resolveTarget } from '../resolve.ts';
import type { FetchRun } from './fetch-terms.ts';
import { fail, type Result } from './outcome.ts';

/** What was decided in the end, and the connection that came of it. */
export type Reach = { readonly decision: Decision; readonly connection: Result<Dialled> };

/** Decides on a request, looks its name up once and connects to an address that was checked, in this order. */
export async function reach(asked: EgressRequest, { terms, limits, watch }: FetchRun): Promise<Reach> {
  const list = terms.list();
  const decision = decide(list, asked);
  // Boundary: nothing leaves the machine for a request that the list denies, and no question about its name.
  if (decision.verdict === 'deny') return { decision, connection: fail('denied', decision.why) };
  const target = await resolveTarget(list, asked, { ...terms.resolve, signal: watch.signal });
  if (watch.failure !== null) return { decision, connection: watch.failure };
  if (target.verdict === 'deny') {
    const code = target.at === 'lookup' ? 'unreachable' : 'denied';
    return { decision: target, connection: fail(code, target.why) };
  }
  const dialled = await dial(target.addresses, {
    port: asked.port,
    connectMs: limits.connectMs,
    signal: watch.signal,
    judge: (address) => denyNow(terms, asked, address),
  });
  if (dialled.ok) return { decision, connection: dialled };
  if (watch.failure !== null) return { decision, connection: watch.failure };
  const { status, why } = dialled;
  if (status === 403)
    return { decision: { verdict: 'deny', rule: null, why }, connection: fail('denied', why) };
  return { decision, connection: fail(status === 504 ? 'too-slow' : 'unreachable', why) };
}
