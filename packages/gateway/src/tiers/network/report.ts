import type { Json } from '../../core/json.ts';
import type { ProcessTerms } from '../../core/process.ts';
import type { DecisionRecord, ProxyFacts } from '../../egress/proxy/ledger.ts';

/** What is reported of the network of a run: to the caller, in the receipt, and in the journal. */
export type NetworkReport = {
  readonly output: { readonly egress?: Json };
  readonly isolation: Readonly<Record<string, string | number>>;
  /** Null where it had no network of its own. */
  readonly record: Json | null;
  readonly bytes: number;
};

/** What a network counts of a run, and its decisions; both may have further properties. */
type NetworkFacts = Pick<ProxyFacts, Count> & { readonly decisions: readonly Told[] };

type Count = 'connections' | 'requests' | 'denied' | 'cut' | 'bytesIn' | 'bytesOut';
type Told = Pick<DecisionRecord, 'verdict' | 'host' | 'port' | 'method'>;

/** Further ones are counted and left out. */
const MOST_DECISIONS = 200;
/** For a text that a host, an entry of a list or a server has chosen. */
const MOST_CHARS = 300;

/** `host` is the network of the gateway itself: what a run reaches there is not restricted. */
export function reportOf(
  { egress }: Pick<ProcessTerms, 'egress'>,
  facts: NetworkFacts | null,
): NetworkReport {
  if (facts === null) {
    const network = egress === 'strict' ? 'none' : 'host';
    return { output: {}, isolation: { egress, network }, record: null, bytes: 0 };
  }
  const { decisions, ...counts } = facts;
  const told = mostTelling(decisions).map(decisionOf);
  const record: Json = { ...counts, decisions: told, more: decisions.length - told.length };
  const { connections, requests, denied, cut, bytesIn, bytesOut } = counts;
  return {
    output: { egress: record },
    isolation: {
      ...{ egress, network: 'listed hosts' },
      ...prefixed({ connections, requests, denied, cut, bytesIn, bytesOut }),
    },
    record,
    bytes: bytesIn + bytesOut,
  };
}

/**
 * As many decisions as are reported, in their order. Boundary: allowed requests come before denied ones, and new
 * targets before known ones, so that a run cannot push what it did out of the record with mere attempts.
 */
function mostTelling(decisions: readonly Told[]): readonly Told[] {
  const known = new Set<string>();
  const ranked = decisions.map((decision, index) => ({ decision, index, rank: rankOf(decision, known) }));
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MOST_DECISIONS)
    .toSorted((a, b) => a.index - b.index)
    .map(({ decision }) => decision);
}

function rankOf({ verdict, host, port, method }: Told, known: Set<string>): 0 | 1 | 2 {
  if (verdict === 'deny') return 2;
  const target = `${method} ${host} ${port}`;
  const isNew = !known.has(target);
  known.add(target);
  return isNew ? 0 : 1;
}

function decisionOf(decision: Told): Json {
  const entries = Object.entries(decision).map(([name, value]) => [name, cut(value)] as const);
  return Object.fromEntries(entries);
}

function cut(value: unknown): Json {
  // Boundary: a lone surrogate has no UTF-8 encoding, so a record cut within a character could not be signed.
  if (typeof value === 'string') return value.slice(0, MOST_CHARS).replace(/\p{Surrogate}/gu, '?');
  return Array.isArray(value) ? [...value] : (value as Json);
}

function prefixed(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [`egress${name[0]?.toUpperCase()}${name.slice(1)}`, count]),
  );
}
