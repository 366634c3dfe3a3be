import type { Clock } from '../../core/clock.ts';
import { formatHost } from '../authority.ts';
import type { DecidedRequest, EgressDecision, EgressRequest } from '../decide.ts';
import type { ProxyLimits } from '../limits.ts';
import type { Refusal } from './exchange.ts';

export type DecisionRecord = DecidedRequest & {
  /** Why the proxy ended what it had allowed; null when it did not. */
  readonly cut: string | null;
  /** Whether the TLS of a tunnel was opened for it. */
  readonly intercepted: boolean;
  readonly bytesIn: number;
  readonly bytesOut: number;
};

const NO_COUNTS = {
  /** Accepted in all; without those that were rejected at once. */
  connections: 0,
  turnedAway: 0,
  /** Answered without a decision, because the head was not a readable request. */
  malformed: 0,
  /** Without the credential of the run. */
  unauthorized: 0,
  requests: 0,
  cut: 0,
  /** Internal errors of the proxy. Each ended one connection. */
  faults: 0,
  bytesIn: 0,
  bytesOut: 0,
};

export type ProxyFacts = Readonly<typeof NO_COUNTS> & {
  readonly denied: number;
  readonly decisions: readonly DecisionRecord[];
};

export type OpenRecord = { -readonly [Key in keyof DecisionRecord]: DecisionRecord[Key] };

type LedgerTerms = { readonly limits: ProxyLimits; readonly clock: Clock };

/** Counts what a run does through its proxy, against its limits, and keeps what was decided. */
export class Ledger {
  readonly #terms: LedgerTerms;
  readonly #records: OpenRecord[] = [];
  readonly counts = { ...NO_COUNTS };

  constructor(terms: LedgerTerms) {
    this.#terms = terms;
  }

  /** Admits a connection, or says which limit prevents it. */
  admitConnection(open: number): Refusal | null {
    const { connections, connectionsInAll } = this.#terms.limits;
    const refusal =
      open >= connections
        ? refuseLimit('connection', `${open} are open`, `fewer than ${connections}`)
        : this.counts.connections >= connectionsInAll
          ? refuseLimit('connection', `the run has made ${connectionsInAll}`, 'no more')
          : null;
    if (refusal === null) this.counts.connections += 1;
    else this.counts.turnedAway += 1;
    return refusal;
  }

  /** Admits a request whose body has at least this many bytes, or says which limit prevents it. */
  admitRequest(bodyBytes: number): Refusal | null {
    const { requests } = this.#terms.limits;
    if (this.counts.requests >= requests)
      return refuseLimit('request', `the run has made ${requests}`, 'no more');
    if (this.#left <= 0) return refuseLimit('request', 'the run has used up its bytes', 'no more');
    const refusal = this.refuseBody(bodyBytes);
    if (refusal === null) this.counts.requests += 1;
    return refusal;
  }

  /** Refuses a body that is known to be too long before its first byte leaves. */
  refuseBody(bytes: number): Refusal | null {
    if (bytes <= this.#left) return null;
    const most = Math.max(0, this.#left);
    return { status: 413, why: `Cannot take request: its body has ${bytes} bytes, expected at most ${most}` };
  }

  get #left(): number {
    return this.#terms.limits.bytes - this.counts.bytesIn - this.counts.bytesOut;
  }

  /** Opens the record of a request. It exists before anything leaves the machine. */
  open(
    { host, port, scheme }: EgressRequest,
    method: string,
    { verdict, rule, why }: EgressDecision,
  ): OpenRecord {
    const record: OpenRecord = {
      atMs: this.#terms.clock.nowMs(),
      host: formatHost(host),
      port,
      address: null,
      method,
      rule,
      verdict,
      why,
      cut: null,
      // Plain https requests are refused, so the scheme is https only when TLS was opened.
      intercepted: scheme === 'https',
      secrets: [],
      bytesIn: 0,
      bytesOut: 0,
    };
    this.#records.push(record);
    return record;
  }

  /** Counts bytes before they are passed on; the sentence says why they must not be. */
  pass(record: OpenRecord, way: 'bytesIn' | 'bytesOut', bytes: number): string | null {
    // Boundary: what is over the limit is not passed on in part, so a run gets no byte more than its limit.
    if (bytes > this.#left)
      return `Cannot go on: the run has used up its bytes in and out together, expected at most ${this.#terms.limits.bytes}`;
    this.counts[way] += bytes;
    record[way] += bytes;
    return null;
  }

  facts(): ProxyFacts {
    const decisions = this.#records.map((record) => ({ ...record }));
    return {
      ...this.counts,
      denied: decisions.filter(({ verdict }) => verdict === 'deny').length,
      decisions,
    };
  }
}

function refuseLimit(what: string, is: string, expected: string): Refusal {
  return { status: 429, why: `Cannot take ${what}: ${is}, expected ${expected}` };
}
