import { widthOf } from '../../egress/address.ts';
import { formatHost } from '../../egress/authority.ts';
import type { FailureCode, FetchDecision, FetchOutcome } from '../../egress/fetch/outcome.ts';
import type { DecisionRecord } from '../../egress/proxy/ledger.ts';
import { parseRule } from '../../egress/rule.ts';
import { type NetworkReport, reportOf } from '../network/report.ts';

/** The decision on one request of a guest, in the form in which the proxy records those of a command. */
type CallDecision = Omit<DecisionRecord, 'intercepted' | 'bytesIn' | 'bytesOut'> & {
  /** Null for requests that were redirected: bytes are not counted per hop. */
  readonly bytesIn: number | null;
  readonly bytesOut: number | null;
};

/** The same limit as for a command. */
const MOST_REQUESTS = 10_000;
/** Failures by which the gateway cut off a request that it had allowed. */
const CUTS: ReadonlySet<FailureCode> = new Set(['too-large', 'too-slow', 'cancelled']);
const HIDDEN = '[hidden: the guest has read a secret]';

/** Counts what one call does on the network, and keeps the decisions for the journal. */
export class CallNetwork {
  readonly #entries: readonly string[];
  readonly #decisions: CallDecision[] = [];
  readonly #counts = { connections: 0, requests: 0, denied: 0, cut: 0, bytesIn: 0, bytesOut: 0 };
  #isHiding = false;

  constructor(entries: readonly string[]) {
    this.#entries = entries;
  }

  get bytes(): number {
    return this.#counts.bytesIn + this.#counts.bytesOut;
  }

  /** Counts one more request; false when the limit is reached. */
  admit(): boolean {
    // Boundary: a denied request costs next to nothing, so a guest could otherwise fill the gateway's memory with them.
    if (this.#counts.requests >= MOST_REQUESTS) return false;
    this.#counts.requests += 1;
    return true;
  }

  note({ url: _, ...decision }: FetchDecision): void {
    if (decision.address !== null) this.#counts.connections += 1;
    if (decision.verdict === 'deny') this.#counts.denied += 1;
    this.#decisions.push({ ...decision, cut: null, bytesIn: null, bytesOut: null });
  }

  /** Records the outcome of the request whose hops were noted last. */
  end(outcome: FetchOutcome): void {
    const { bytesIn, bytesOut, hops } = outcome;
    this.#counts.bytesIn += bytesIn;
    this.#counts.bytesOut += bytesOut;
    const last = this.#decisions.at(-1);
    if (last === undefined || hops.length === 0) return;
    const isCut = !outcome.ok && last.verdict === 'allow' && CUTS.has(outcome.code);
    if (isCut) this.#counts.cut += 1;
    const counted = hops.length === 1 ? { bytesIn, bytesOut } : {};
    this.#decisions.splice(-1, 1, { ...last, cut: isCut ? outcome.why : null, ...counted });
  }

  /** From now on, names that the guest may have chosen are not reported. */
  hideNames(): void {
    this.#isHiding = true;
  }

  report(): NetworkReport {
    if (this.#entries.length === 0) return reportOf({ egress: 'strict' }, null);
    const decisions = this.#isHiding ? this.#decisions.map((each) => this.#hide(each)) : this.#decisions;
    return reportOf({ egress: 'strict' }, { ...this.#counts, decisions });
  }

  /** Boundary: a guest that knows a secret can request a host of that name; the journal does not repeat it. */
  #hide(decision: CallDecision): CallDecision {
    if (this.#entries.some((entry) => soleHostOf(entry) === decision.host)) return decision;
    return { ...decision, host: HIDDEN, why: HIDDEN, cut: decision.cut && HIDDEN };
  }
}

/** The single host that an entry matches; null where it matches several. */
function soleHostOf(entry: string): string | null {
  const rule = parseRule(entry);
  if (!rule.ok) return null;
  const { place } = rule.value;
  if (place.kind !== 'range') return place.kind === 'name' ? place.name : null;
  const { family, first, bits } = place.range;
  if (bits !== widthOf(family)) return null;
  return formatHost({ kind: 'address', address: { family, value: first } });
}
