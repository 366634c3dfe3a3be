import type { Clock } from '../core/clock.ts';
import type { Json } from '../core/json.ts';
import { accept, type Result, reject, sentenceOf } from '../core/result.ts';
import { parseStrict } from '../core/strict-json.ts';
import { type Address, parseAddress, specialRange } from '../egress/address.ts';
import { type AllowList, parseAllowList } from '../egress/allowlist.ts';
import { formatAuthority } from '../egress/authority.ts';
import { fetchFor } from '../egress/fetch/fetch.ts';
import type { FetchOutcome, FetchTerms } from '../egress/fetch/outcome.ts';
import type { FetchRequest } from '../egress/fetch/request.ts';
import { type Lookup, lookUp, ownOf, systemLookup } from '../egress/resolve.ts';
import { fixedAddresses, type KeyUrl } from './issuer-url.ts';

/*
 * Documents of an authorization server, fetched through `egress`: decided on, looked up once, connected to the checked
 * address, bounded, without redirects. Nothing secret is sent. A host that the operator named may be in a private
 * network or on this machine; one that only a document named may not, or the author of the document could make us send
 * requests to internal hosts. Neither may be the metadata service of a cloud.
 */

export type Network = {
  readonly clock: Clock;
  readonly lookup?: Lookup;
  /** The certificate authorities for these hosts, instead of those that Node trusts. */
  readonly trust?: FetchTerms['trust'];
};

/** Fetches a JSON document; errors are for the operator's log. */
export type FetchDocument = (at: KeyUrl, isNamed: boolean) => Promise<Result<Json, string>>;

const LIMITS = {
  ...{ redirects: 0, responseBytes: 262_144, wireBytes: 524_288, expansionRatio: 100 },
  ...{ wholeMs: 5_000, connectMs: 3_000, idleMs: 3_000 },
};
const LOOKUP_MS = 3_000;
const MAX_DEPTH = 16;
/** Special addresses that an operator can mean by the name of a host. */
const WITHIN_REACH: ReadonlySet<string> = new Set(['private', 'unique-local', 'shared', 'loopback', 'own']);

export function documentFetcher(network: Network): FetchDocument {
  return async (at, isNamed) => {
    const headers = [['accept', 'application/json']] as const;
    const outcome = await fetchNamed(at, isNamed, { method: 'GET', headers, body: null }, network);
    if (!outcome.ok) return refuse(at, outcome.why);
    if (outcome.status !== 200) return refuse(at, `the answer has status ${outcome.status}`);
    const document = parseStrict(outcome.body, { maxBytes: LIMITS.responseBytes, maxDepth: MAX_DEPTH });
    return document.ok ? accept(document.value) : refuse(at, document.message);
  };
}

type NamedOutcome = FetchOutcome | { readonly ok: false; readonly why: string };

/** One request to a host that the operator named, or that a document did; never follows a redirect. */
export async function fetchNamed(
  at: KeyUrl,
  isNamed: boolean,
  request: Omit<FetchRequest, 'url'>,
  network: Network & { readonly signal?: AbortSignal },
): Promise<NamedOutcome> {
  const { clock, lookup = systemLookup, trust, signal = new AbortController().signal } = network;
  const answers = await addressesOf(at, lookup);
  if (!answers.ok) return { ok: false, why: answers.problem.is };
  const own = ownOf(undefined, []);
  const list = listFor(at, answers.value, { isNamed, own: own.addresses });
  if (!list.ok) return { ok: false, why: list.problem };
  // Boundary: only the addresses looked up here are checked and connected to; there is no second lookup.
  const resolve = { lookup: async () => answers.value, own, lookupMs: LOOKUP_MS };
  const terms = { list: () => list.value, resolve, signal, limits: LIMITS, trust, clock };
  return fetchFor({ ...request, url: at.text }, terms);
}

async function addressesOf({ url }: KeyUrl, lookup: Lookup): Promise<Result<readonly string[]>> {
  const fixed = fixedAddresses(url.host);
  if (fixed !== null || url.host.kind === 'address') return accept(fixed ?? []);
  return lookUp(url.host.name, { lookup, lookupMs: LOOKUP_MS, signal: new AbortController().signal });
}

type Reach = { readonly isNamed: boolean; readonly own: readonly Address[] };

/** The list that allows this one host, with its permitted special addresses; any other special address refuses all. */
function listFor(
  { url }: KeyUrl,
  answers: readonly string[],
  { isNamed, own }: Reach,
): Result<AllowList, string> {
  const opened: string[] = [];
  for (const answer of answers) {
    const address = parseAddress(answer);
    const special = address === null ? null : specialRange(address, own);
    if (address === null || special === null) continue;
    // Boundary: also a host that is written as an address is judged, before an entry of the list names it.
    if (!isNamed || !WITHIN_REACH.has(special.name))
      return reject(`"${answer}" is ${special.sentence}, expected a place that tokens may come from`);
    opened.push(formatAuthority({ kind: 'address', address }, url.port));
  }
  const parsed = parseAllowList([formatAuthority(url.host, url.port), ...opened]);
  return parsed.ok ? parsed : reject(sentenceOf(parsed.problem[0]));
}

function refuse({ text }: KeyUrl, why: string) {
  return reject(`Cannot read "${text}": ${why}`);
}
