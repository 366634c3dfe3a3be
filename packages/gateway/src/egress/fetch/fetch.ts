import type { Answer } from './converse.ts';
import { fillFetchLimits } from './fetch-limits.ts';
import type { FetchRun, FetchTerms } from './fetch-terms.ts';
import { takeHop } from './hop.ts';
import { type Arrival, type Failure, type FetchOutcome, fail, type HeaderPair, type Hop } from './outcome.ts';
import { type Errand, type FetchRequest, readRequest } from './read-request.ts';
import { followRedirect, isRedirect } from './redirect.ts';
import { formatUrl } from './url.ts';
import { Watch } from './watch.ts';

/*
 * The one way in which the gateway itself makes an HTTP request for somebody: a guest, or the gateway. What comes in is
 * hostile on both sides: the request, the name server, the target and where it sends us. Each hop is decided on by the
 * allow-list with its scheme, method and path before any name is looked up, goes to an address that was checked, over a
 * connection of its own, to a target that has proved to be the host where it says https. The answer is read by the same
 * strict readers that the proxy has, since the parser of Node repairs some of what they refuse. All of it is bounded in
 * bytes and time. An answer that ends with its connection may have been cut on the way by somebody who ends connections
 * properly: nothing in it would tell. This folder never keeps a connection, a cookie or an answer, never takes part in a second protocol,
 * and never throws for what a caller or a target sent.
 */

/** Makes a request and follows its redirects. When it returns, no socket, timer or listener of it is left. */
export async function fetchFor(request: FetchRequest, terms: FetchTerms): Promise<FetchOutcome> {
  const limits = fillFetchLimits(terms.limits ?? {});
  const watch = new Watch(terms.signal, limits);
  const hops: Hop[] = [];
  try {
    const result = await travel(request, { terms, limits, watch, hops });
    return { ...result, hops, ...watch.counts };
  } finally {
    watch.end();
  }
}

async function travel(request: FetchRequest, run: FetchRun): Promise<Arrival | Failure> {
  const { limits, watch, terms } = run;
  if (watch.failure !== null) return watch.failure;
  const first = readRequest(request, limits);
  if (!first.ok) return first;
  let errand = first.value;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await takeHop(errand, run);
    if (!answer.ok) return answer;
    if (limits.redirects === 0 || !isRedirect(answer.value)) return arrive(errand, answer.value);
    // Boundary: a target cannot send us round and round.
    if (redirects >= limits.redirects) return tooManyRedirects(limits.redirects);
    const next = followRedirect(errand, answer.value, terms.secrets ?? []);
    if (!next.ok) return next;
    errand = next.value;
  }
}

function arrive({ url, method }: Errand, { status, fields, toldLength, body }: Answer): Arrival {
  const isBare = toldLength !== null && method === 'HEAD';
  const headers: HeaderPair[] = fields
    // A body that was decompressed is not encoded any more.
    .filter(({ name }) => name !== 'content-encoding' || body.length === 0)
    .map(({ name, value }) => [name, value]);
  if (isBare) headers.push(['content-length', toldLength]);
  return { ok: true, status, headers, body, url: formatUrl(url) };
}

function tooManyRedirects(most: number): Failure {
  return fail('too-many-redirects', `Cannot follow redirect: it is one too many, expected at most ${most}`);
}
