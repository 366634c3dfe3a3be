import type { Socket } from 'node:net';
import { accept, sentenceOf } from '../../core/result.ts';
import { formatAddress } from '../address.ts';
import { formatHost, formatUrl, type Site } from '../authority.ts';
import { type ConnectFailure, openChannel, type Reached, reach } from '../connect.ts';
import { completeLimits, DEFAULT_FETCH_LIMITS } from '../limits.ts';
import { findOverrides, newFormWatch, type Override } from '../overrides.ts';
import { type Filled, fillIn, hideInFields, UNQUOTED_RESPONSE } from '../secrets.ts';
import {
  type Arrival,
  type FailureCode,
  type FetchDecision,
  type Fetched,
  type FetchFailed,
  type FetchOutcome,
  type FetchRun,
  type FetchTerms,
  fail,
  type HeaderPair,
  type Hop,
} from './outcome.ts';
import { followRedirect, isRedirect, type RedirectAnswer } from './redirect.ts';
import {
  type FetchRequest,
  formatMessage,
  type PreparedRequest,
  readRequest,
  tooLongHead,
} from './request.ts';
import { converse, type FetchAnswer, type RequestMessage } from './response.ts';
import { tooMany, Watch } from './watch.ts';

/*
 * The only way the gateway itself makes an HTTP request, for a guest or for itself. Both sides are hostile: the
 * request, the name server, the target and its redirects. Each hop is decided on by the allow-list with its scheme,
 * method and path before any name is looked up, goes to an address that was checked, over a connection of its own, to a
 * target that, with https, has proved to be the host. The answer is read by the same strict readers that the proxy has,
 * since the parser of Node repairs some of what they refuse. All of it is bounded in bytes and time. An answer that
 * ends with its connection may have been truncated by an attacker who closes connections properly, which cannot be
 * detected. This folder never keeps a connection, a cookie or an answer, never takes part in a second protocol, and
 * never throws for what a caller or a target sent.
 */

/** Makes a request and follows its redirects. When it returns, no socket, timer or listener of it is left. */
export async function fetchFor(request: FetchRequest, terms: FetchTerms): Promise<FetchOutcome> {
  const limits = completeLimits(DEFAULT_FETCH_LIMITS, terms.limits ?? {});
  const watch = new Watch(terms.signal, limits, terms.onProgress);
  const hops: Hop[] = [];
  try {
    const result = await travel(request, { terms, limits, watch, hops });
    const arrival = result.ok ? result.value : { ok: false as const, ...result.problem };
    return { ...arrival, hops, ...watch.counts };
  } finally {
    watch.end();
  }
}

async function travel(request: FetchRequest, run: FetchRun): Promise<Fetched<Arrival>> {
  const { limits, watch, terms } = run;
  if (watch.failure !== null) return watch.failure;
  const first = readRequest(request, limits);
  if (!first.ok) return first;
  let prepared = first.value;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await takeHop(prepared, run);
    if (!answer.ok) return answer;
    if (limits.redirects === 0 || !isRedirect(answer.value)) return accept(arrive(prepared, answer.value));
    // Boundary: a target cannot redirect endlessly.
    if (redirects >= limits.redirects) return tooManyRedirects(limits.redirects);
    const next = followRedirect(prepared, answer.value, terms.secrets ?? []);
    if (!next.ok) return next;
    prepared = next.value;
  }
}

function arrive(
  { url, method }: PreparedRequest,
  { status, fields, declaredLength, body }: FetchAnswer,
): Arrival {
  const isBare = declaredLength !== null && method === 'HEAD';
  const headers: HeaderPair[] = fields
    // A body that was decompressed is no longer encoded.
    .filter(({ name }) => name !== 'content-encoding' || body.length === 0)
    .map(({ name, value }) => [name, value]);
  if (isBare) headers.push(['content-length', declaredLength]);
  return { ok: true, status, headers, body, url: formatUrl(url) };
}

function tooManyRedirects(most: number): FetchFailed {
  return fail('too-many-redirects', `Cannot follow redirect: it is one too many, expected at most ${most}`);
}

/** Makes one request: decides, connects, sends it and reads its answer. It is recorded as a hop in any case. */
async function takeHop(prepared: PreparedRequest, run: FetchRun): Promise<Fetched<FetchAnswer>> {
  const { terms, hops, limits, watch } = run;
  const { host, port, scheme, path } = prepared.url;
  const overrides = overridesOf(prepared);
  const egress = { host, port, scheme, method: prepared.method, path, overrides };
  const filled = fillIn(prepared.fields, egress, terms.secrets ?? []);
  const message = formatMessage({ ...prepared, fields: filled.fields });
  const tooLarge = refuseSize(message, run);
  if (tooLarge !== null) return tooLarge;
  const reached = await reach(egress, {
    list: terms.list,
    resolve: terms.resolve,
    connectMs: limits.connectMs,
    signal: watch.signal,
  });
  const connection = reached.connection.ok
    ? reached.connection
    : (watch.failure ?? failureOf(reached.connection.problem));
  const { rule, verdict, why } = decisionOf(reached, watch);
  const address = connection.ok ? formatAddress(connection.value.address) : null;
  const decided: FetchDecision = {
    url: formatUrl(prepared.url),
    host: formatHost(host),
    port,
    address,
    method: prepared.method,
    rule,
    verdict,
    why,
    atMs: terms.clock.nowMs(),
    secrets: connection.ok ? filled.used : [],
  };
  const index = hops.push({ ...decided, status: null }) - 1;
  try {
    terms.onDecision?.(decided);
    if (!connection.ok) return connection;
    const answer = await exchange(connection.value.socket, message, egress, run);
    if (answer.ok) hops[index] = { ...decided, status: answer.value.status };
    return hideSecrets(answer, filled);
  } finally {
    if (connection.ok) connection.value.socket.destroy();
  }
}

function overridesOf({ url, fields, body }: PreparedRequest): readonly Override[] {
  const inForm = body === null ? null : (newFormWatch(fields)?.(body) ?? null);
  return [...findOverrides(fields, url.path), ...(inForm === null ? [] : [inForm])];
}

/** Boundary: a secret that a target echoes, above all in a Location, is replaced by its placeholder. */
function hideSecrets(answer: Fetched<FetchAnswer>, { isBound, hide }: Filled): Fetched<FetchAnswer> {
  if (!isBound) return answer;
  if (answer.ok) return accept({ ...answer.value, fields: hideInFields(answer.value.fields, hide) });
  return answer.problem.code === 'malformed' ? fail('malformed', sentenceOf(UNQUOTED_RESPONSE)) : answer;
}

/** Boundary: what exceeds a limit is known before anything leaves the machine. */
function refuseSize({ head, body }: RequestMessage, { limits, watch }: FetchRun): FetchFailed | null {
  if (head.length > limits.requestHeaderBytes) return tooLongHead(limits);
  return watch.canPass(head.length + (body?.length ?? 0)) ? null : tooMany(limits);
}

async function exchange(
  socket: Socket,
  message: RequestMessage,
  site: Site,
  { terms, limits, watch }: FetchRun,
): Promise<Fetched<FetchAnswer>> {
  if (watch.failure !== null) return watch.failure;
  const trust = { withinMs: limits.connectMs, signal: watch.signal, trust: terms.trust };
  const channel = await openChannel(socket, site, trust);
  if (!channel.ok) return watch.failure ?? failureOf(channel.problem);
  const wantsBody = (response: RedirectAnswer) => limits.redirects === 0 || !isRedirect(response);
  return converse(channel.value, message, { watch, limits, wantsBody });
}

/** The final decision: an address that the list has since denied denies the request. */
function decisionOf({ decision, connection }: Reached, { failure }: Watch) {
  if (connection.ok || failure !== null || connection.problem.cause !== 'denied') return decision;
  const { why } = connection.problem;
  return decision.verdict === 'deny' ? decision : { verdict: 'deny' as const, rule: null, why };
}

const CODES: Readonly<Record<ConnectFailure['cause'], FailureCode>> = {
  denied: 'denied',
  unreachable: 'unreachable',
  timeout: 'too-slow',
};

function failureOf({ cause, why }: ConnectFailure): FetchFailed {
  return fail(CODES[cause], why);
}
