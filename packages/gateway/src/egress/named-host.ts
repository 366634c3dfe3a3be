import type { Clock } from '../core/clock.ts';
import { accept, type Result, reject, sentenceOf } from '../core/result.ts';
import { type Address, parseAddress, specialRange } from './address.ts';
import { type AllowList, parseAllowList } from './allowlist.ts';
import { formatAuthority, formatHost, formatUrl, type Host, type HttpUrl } from './authority.ts';
import { fetchFor } from './fetch/fetch.ts';
import type { FetchOutcome, FetchTerms } from './fetch/outcome.ts';
import type { FetchRequest } from './fetch/request.ts';
import type { FetchLimits } from './limits.ts';
import { type Lookup, lookUp, ownOf, systemLookup } from './resolve.ts';

/*
 * Requests of the gateway itself to one host: one that the operator named, or one that such a host named in turn. The
 * request is decided on, looked up once, connected to the checked address, and never redirected. A host that the operator
 * named may be in a private network or on this machine; one that only a document or a redirect named may not, or its
 * author could make us send requests to internal hosts. Neither may be the metadata service of a cloud.
 */

export type Network = {
  readonly clock: Clock;
  readonly lookup?: Lookup;
  /** The certificate authorities for these hosts, instead of those that Node trusts. */
  readonly trust?: FetchTerms['trust'];
};

type NamedTerms = Network &
  Pick<FetchTerms, 'secrets' | 'onProgress'> & {
    readonly limits: Partial<FetchLimits>;
    readonly lookupMs: number;
    /** Where such a request may go, for the refusal: `a place that tokens may come from`. */
    readonly expected: string;
    readonly signal?: AbortSignal;
  };

export type NamedOutcome =
  | FetchOutcome
  | { readonly ok: false; readonly code: 'denied' | 'unreachable'; readonly why: string };

/** Special addresses that an operator can mean by the name of a host. */
const WITHIN_REACH: ReadonlySet<string> = new Set(['private', 'unique-local', 'shared', 'loopback', 'own']);
/** The one name that means this machine everywhere (RFC 6761); it is never looked up. */
const LOCALHOST = 'localhost';
const LOCALHOST_ADDRESSES = ['127.0.0.1', '::1'] as const;

/** One request to a host that the operator named, or that only such a host did; never follows a redirect. */
export async function fetchNamed(
  url: HttpUrl,
  isNamed: boolean,
  request: Omit<FetchRequest, 'url'>,
  terms: NamedTerms,
): Promise<NamedOutcome> {
  const { clock, lookup = systemLookup, trust, lookupMs, expected, secrets, onProgress } = terms;
  const { signal = new AbortController().signal } = terms;
  const answers = await addressesOf(url.host, { lookup, lookupMs, signal });
  if (!answers.ok) return { ok: false, code: 'unreachable', why: answers.problem.is };
  const own = ownOf(undefined, []);
  const list = listFor(url, answers.value, { isNamed, own: own.addresses, expected });
  if (!list.ok) return { ok: false, code: 'denied', why: list.problem };
  return fetchFor(
    { ...request, url: formatUrl(url) },
    {
      list: () => list.value,
      // Boundary: only the addresses looked up here are checked and connected to; there is no second lookup.
      resolve: { lookup: async () => answers.value, own, lookupMs },
      limits: { ...terms.limits, redirects: 0 },
      ...{ signal, trust, clock },
      ...(secrets === undefined ? {} : { secrets }),
      ...(onProgress === undefined ? {} : { onProgress }),
    },
  );
}

/** The addresses of a host that is this machine by definition; null for any other, and those are looked up. */
function fixedAddresses(host: Host): readonly string[] | null {
  if (host.kind === 'address') return [formatHost(host)];
  return host.name === LOCALHOST ? LOCALHOST_ADDRESSES : null;
}

/** Whether a host is this machine by definition: no request to it leaves the machine, whatever a name server says. */
export function isLoopback(host: Host): boolean {
  if (host.kind === 'name') return host.name === LOCALHOST;
  return specialRange(host.address, [])?.name === 'loopback';
}

type LookupTerms = { readonly lookup: Lookup; readonly lookupMs: number; readonly signal: AbortSignal };

async function addressesOf(host: Host, terms: LookupTerms): Promise<Result<readonly string[]>> {
  const fixed = fixedAddresses(host);
  return fixed !== null || host.kind === 'address' ? accept(fixed ?? []) : lookUp(host.name, terms);
}

type Reach = { readonly isNamed: boolean; readonly own: readonly Address[]; readonly expected: string };

/** The list that allows this one host, with its permitted special addresses; any other special address refuses all. */
function listFor(
  url: HttpUrl,
  answers: readonly string[],
  { isNamed, own, expected }: Reach,
): Result<AllowList, string> {
  const opened: string[] = [];
  for (const answer of answers) {
    const address = parseAddress(answer);
    const special = address === null ? null : specialRange(address, own);
    if (address === null || special === null) continue;
    // Boundary: also a host that is written as an address is judged, before an entry of the list names it.
    if (!isNamed || !WITHIN_REACH.has(special.name))
      return reject(`"${answer}" is ${special.sentence}, expected ${expected}`);
    opened.push(formatAuthority({ kind: 'address', address }, url.port));
  }
  const parsed = parseAllowList([formatAuthority(url.host, url.port), ...opened]);
  return parsed.ok ? parsed : reject(sentenceOf(parsed.problem[0]));
}
