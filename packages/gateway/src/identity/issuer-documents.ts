import type { Json } from '../core/json.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { parseStrict } from '../core/strict-json.ts';
import type { FetchRequest } from '../egress/fetch/request.ts';
import { fetchNamed as fetchNamedHost, type NamedOutcome, type Network } from '../egress/named-host.ts';
import type { KeyUrl } from './issuer-url.ts';

export type { Network } from '../egress/named-host.ts';

/* Documents of an authorization server, fetched from hosts that are named (`egress/named-host`): bounded, never redirected. */

/** Fetches a JSON document; errors are for the operator's log. */
export type FetchDocument = (at: KeyUrl, isNamed: boolean) => Promise<Result<Json, string>>;

const LIMITS = {
  ...{ responseBytes: 262_144, wireBytes: 524_288, expansionRatio: 100 },
  ...{ wholeMs: 5_000, connectMs: 3_000, idleMs: 3_000 },
};
const LOOKUP_MS = 3_000;
const MAX_DEPTH = 16;

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

/** One request to a host that the operator named, or that a document did; never follows a redirect. */
export function fetchNamed(
  at: KeyUrl,
  isNamed: boolean,
  request: Omit<FetchRequest, 'url'>,
  network: Network & { readonly signal?: AbortSignal },
): Promise<NamedOutcome> {
  const expected = 'a place that tokens may come from';
  return fetchNamedHost(at.url, isNamed, request, {
    ...network,
    limits: LIMITS,
    lookupMs: LOOKUP_MS,
    expected,
  });
}

function refuse({ text }: KeyUrl, why: string) {
  return reject(`Cannot read "${text}": ${why}`);
}
