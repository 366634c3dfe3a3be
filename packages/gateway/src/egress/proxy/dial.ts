import { connect, type Socket } from 'node:net';
import { type Address, formatAddress } from '../address.ts';
import type { Denial } from '../decide.ts';
import { codeOf } from '../error-code.ts';
import { PROXY_BOUNDS } from './proxy-limits.ts';
import { found, type Read, turnDown } from './refusal.ts';
import { connectForRelay } from './relay.ts';

export type Dialled = { readonly socket: Socket; readonly address: Address };

export type DialTerms = {
  readonly port: number;
  /** For all attempts together. */
  readonly connectMs: number;
  readonly signal: AbortSignal;
  /** Whether all that comes goes through `relay`, and nothing reads the socket before. */
  readonly isForRelay?: boolean;
  /** Asked once more before each attempt, because the list may have changed since the address was checked. */
  readonly judge: (address: Address) => Denial | null;
};

type Failed = { readonly why: string; readonly isLate: boolean };

/** Connects to the first of the checked addresses that answers. */
export async function dial(addresses: readonly Address[], terms: DialTerms): Promise<Read<Dialled>> {
  const tried = addresses.slice(0, PROXY_BOUNDS.attempts);
  const attemptMs = Math.ceil(terms.connectMs / tried.length);
  let last: Failed = { why: 'it has no address', isLate: false };
  for (const address of tried) {
    const denial = terms.judge(address);
    if (denial !== null) return turnDown(403, denial.why);
    const outcome = await attempt(address, terms, attemptMs);
    if (!('why' in outcome)) return found({ socket: outcome, address });
    last = outcome;
    if (terms.signal.aborted) break;
  }
  return turnDown(last.isLate ? 504 : 502, `Cannot connect to target: ${last.why}, expected an answer`);
}

function attempt(address: Address, terms: DialTerms, attemptMs: number): Promise<Socket | Failed> {
  const { port, signal, isForRelay = false } = terms;
  const open = isForRelay ? connectForRelay : connect;
  const host = formatAddress(address);
  return new Promise((resolve) => {
    // Boundary: the address that was checked, as a number; no name is looked up from here on.
    const socket = open({ host, port, allowHalfOpen: true, noDelay: true });
    const finish = (outcome: Socket | Failed) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.off('error', onError);
      socket.on('error', ignore);
      if ('why' in outcome) socket.destroy();
      resolve(outcome);
    };
    const fail = (is: string, isLate: boolean) => finish({ why: `${host} ${is}`, isLate });
    const onAbort = () => fail('is not wanted any more', false);
    const onError = (error: Error) => fail(`does not take it (${codeOf(error)})`, false);
    const timer = setTimeout(() => fail(`did not answer within ${attemptMs} ms`, true), attemptMs);
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('error', onError);
    socket.once('connect', () => finish(socket));
  });
}

/** Who has the socket next listens for its end; an error alone must not end the program. */
function ignore(): void {}
