import type { Random } from '../../core/clock.ts';
import type { AnswerRequest, SecretGrant } from '../../core/wasm.ts';
import { type AllowList, NOWHERE, parseAllowList, rulesFor } from '../../egress/allowlist.ts';
import {
  DEFAULT_PORTS,
  formatAuthority,
  formatUrl,
  type Host,
  parseHttpUrl,
} from '../../egress/authority.ts';
import { decide } from '../../egress/decide.ts';
import { fetchFor } from '../../egress/fetch/fetch.ts';
import type { FailureCode, FetchOutcome, FetchTerms } from '../../egress/fetch/outcome.ts';
import { readRequest } from '../../egress/fetch/request.ts';
import { DEFAULT_FETCH_LIMITS } from '../../egress/limits.ts';
import { type BoundSecret, problemWithSecret } from '../../egress/secrets.ts';
import { parseSecretHosts } from '../../runner/host-lists.ts';
import { newScrubber } from '../../vault/scrub.ts';
import type { CallNetwork } from './call-network.ts';
import type { AbiError, HttpRequest } from './engine/abi.table.ts';
import type { HostReply } from './engine-process.ts';
import { answerWith, denyWith, refuseWith, withHead } from './host-answer.ts';

/** A secret that a request may name. */
type HttpSecret = {
  readonly name: string;
  readonly mayReveal: boolean;
  readonly isFor: BoundSecret['isFor'];
  /** Its value; null where it does not exist. Each read is recorded as a use. */
  readonly read: () => Promise<string | null>;
};

export type HttpTerms = Omit<FetchTerms, 'list' | 'secrets' | 'onDecision'> & {
  readonly random: Random;
  readonly secretOf: (handle: number) => HttpSecret | null;
  readonly network: CallNetwork;
  /** In a test: answers what the entry allows, and nothing is sent. */
  readonly answerRequest: AnswerRequest | null;
};

type Filled = Pick<HttpSecret, 'name' | 'mayReveal'> & {
  readonly value: string;
  readonly bound: BoundSecret;
};

type Head = Omit<HttpRequest, 'body'>;

const ERRORS: Readonly<Record<FailureCode, AbiError>> = {
  denied: 'denied',
  invalid: 'invalid',
  unreachable: 'unavailable',
  'too-large': 'tooLarge',
  'too-slow': 'tooSlow',
  'too-many-redirects': 'unavailable',
  malformed: 'unavailable',
  cancelled: 'unavailable',
};
const PLACEHOLDER_BYTES = 18;
/** The longest body that is searched for a secret, which takes up to a quarter of a second. */
const SEARCHED_BYTES = 1024 * 1024;
const PLACE_OF_SECRET = '{}';

/** Makes the request of a guest under the one entry that its handle refers to. */
export async function requestFor(
  entry: string,
  rawHead: Uint8Array,
  body: Uint8Array,
  terms: HttpTerms,
): Promise<HostReply> {
  const head = readHead(rawHead);
  if (head === null) return refuseWith('invalid');
  const list = listOf(entry);
  if (terms.answerRequest !== null)
    return answerInTest(head, list, { ...terms, body, answer: terms.answerRequest });
  const secret = head.secret === null ? null : await secretFor(head, list, terms);
  if (secret !== null && 'result' in secret) return secret;
  const target = targetOf(rawHead);
  if (!terms.network.admit()) return denyWith('quota', target, 'full');
  const filled: Head['headers'] =
    secret === null || head.secret === null
      ? []
      : [[head.secret.header, fill(head.secret.format, secret.bound)]];
  const request = {
    ...{ method: head.method, url: head.url, headers: [...head.headers, ...filled] },
    body: body.length === 0 ? null : body,
  };
  const hidden = secret === null || secret.mayReveal ? null : secret;
  const limits = { ...terms.limits, ...(hidden === null ? {} : { responseBytes: SEARCHED_BYTES }) };
  const outcome = await fetchFor(request, {
    ...{ ...terms, limits, list: () => list, secrets: secret === null ? [] : [secret.bound] },
    onDecision: (decision) => terms.network.note(decision),
  });
  terms.network.end(outcome);
  if (!outcome.ok && outcome.code === 'denied')
    return denyWith('host-not-allowed', targetOfHops(outcome, target));
  if (!outcome.ok) return refuseWith(ERRORS[outcome.code]);
  const { status, headers, url: last } = outcome;
  const answered = hidden === null ? outcome.body : withoutSecret(outcome.body, hidden);
  return answerWith(withHead({ status, headers, url: last }, answered));
}

type Test = Pick<HttpTerms, 'secretOf'> & { readonly body: Uint8Array; readonly answer: AnswerRequest };

/**
 * The answer of a test to a request that the entry allows. Boundary: nothing is resolved, sent or counted here, and no
 * secret is looked up; its name stands for its value.
 */
function answerInTest(head: Head, list: AllowList, { body, answer, secretOf }: Test): HostReply {
  const read = readRequest({ ...head, body: body.length === 0 ? null : body }, DEFAULT_FETCH_LIMITS);
  if (!read.ok) return refuseWith(ERRORS[read.problem.code]);
  const { url, method } = read.value;
  const target = formatAuthority(url.host, url.port);
  if (decide(list, { ...url, method }).verdict === 'deny') return denyWith('host-not-allowed', target);
  const filled: [string, string][] = [];
  if (head.secret !== null) {
    const secret = secretOf(head.secret.handle);
    const { host, port } = url;
    if (secret === null) return denyWith('unknown-handle', String(head.secret.handle));
    if (!secret.isFor(host, port) || !isForEntry(list, host, port))
      return denyWith('secret-not-for-host', `${secret.name} to ${target}`);
    const { header, format } = head.secret;
    filled.push([header, fill(format, { placeholder: `[secret ${secret.name}]` })]);
  }
  const asked = { method, url: formatUrl(url), headers: [...head.headers, ...filled], body };
  const answered = answer(asked);
  if ('error' in answered) return refuseWith(answered.error);
  const { status, headers } = answered;
  return answerWith(withHead({ status, headers, url: asked.url }, answered.body));
}

/**
 * The secret that a request names, ready to be inserted; or the refusal of the request. Boundary: a host that the
 * secret is not for gets no request at all, and the value is not looked up for it.
 */
async function secretFor(head: Head, list: AllowList, terms: HttpTerms): Promise<Filled | HostReply> {
  const handle = head.secret?.handle ?? -1;
  const secret = terms.secretOf(handle);
  if (secret === null) return denyWith('unknown-handle', String(handle));
  const url = parseHttpUrl(head.url);
  if (!url.ok) return refuseWith('invalid');
  const isFor: BoundSecret['isFor'] = (host, port) =>
    secret.isFor(host, port) && isForEntry(list, host, port);
  if (!isFor(url.value.host, url.value.port))
    return denyWith(
      'secret-not-for-host',
      `${secret.name} to ${formatAuthority(url.value.host, url.value.port)}`,
    );
  const value = await secret.read();
  if (value === null) return denyWith('secret-missing', secret.name);
  // Boundary: a value with a line break would start a new header.
  if (problemWithSecret(value) !== null) return refuseWith('invalid');
  const { name, mayReveal } = secret;
  const placeholder = `palisade-secret-${Buffer.from(terms.random.bytes(PLACEHOLDER_BYTES)).toString('hex')}`;
  return { name, mayReveal, value, bound: { name, value, placeholder, isFor } };
}

/** The host and port of a request. Boundary: its path is never recorded, because it may contain keys. */
export function targetOf(rawHead: Uint8Array): string | null {
  const head = readHead(rawHead);
  const url = head === null ? null : parseHttpUrl(head.url);
  return url?.ok === true ? formatAuthority(url.value.host, url.value.port) : null;
}

/** The host that the denial is about: after a redirect not the one that was asked for. */
function targetOfHops({ hops }: FetchOutcome, target: string | null): string | null {
  const last = hops.at(-1);
  return last === undefined ? target : `${last.host}:${last.port}`;
}

/** Boundary: a host that echoes what it was sent must not reveal the value to the guest. */
function withoutSecret(body: Uint8Array, { name, value }: Filled): Uint8Array {
  return newScrubber([{ name, value: Buffer.from(value) }])(body);
}

/** Boundary: an entry that cannot be parsed allows nothing. */
function listOf(entry: string): AllowList {
  const parsed = parseAllowList([entry]);
  return parsed.ok ? parsed.value : NOWHERE;
}

/** Boundary: on its way to port 80 anyone could read the value, so the entry must name that port explicitly. */
function isForEntry(list: AllowList, host: Host, port: number): boolean {
  return rulesFor(list, host).some(({ denies, ports, scheme }) => {
    if (denies || scheme === 'http' || ports === null || !ports.includes(port)) return false;
    return port !== DEFAULT_PORTS.http || ports.length === 1;
  });
}

function fill(format: string, { placeholder }: Pick<BoundSecret, 'placeholder'>): string {
  return format.includes(PLACE_OF_SECRET) ? format.replace(PLACE_OF_SECRET, placeholder) : placeholder;
}

/** Boundary: the head is written by the guest. */
function readHead(raw: Uint8Array): Head | null {
  try {
    const head = JSON.parse(Buffer.from(raw).toString('utf8'));
    const { method = 'GET', url, headers = [], secret = null } = head;
    const isSound =
      typeof method === 'string' && typeof url === 'string' && isPairs(headers) && isSecretWish(secret);
    return isSound ? { method, url, headers, secret } : null;
  } catch {
    return null;
  }
}

function isPairs(headers: unknown): headers is Head['headers'] {
  if (!Array.isArray(headers)) return false;
  return headers.every(
    (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((each) => typeof each === 'string'),
  );
}

function isSecretWish(secret: unknown): secret is Head['secret'] {
  if (secret === null) return true;
  if (typeof secret !== 'object') return false;
  const { handle, header, format } = secret as Record<string, unknown>;
  return Number.isSafeInteger(handle) && typeof header === 'string' && typeof format === 'string';
}

type IsFor = BoundSecret['isFor'];

/** Where the operator lets each secret be sent, by name; a secret that is not listed is bound by its grant alone. */
export type OperatorSecrets = ReadonlyMap<string, { readonly isFor: IsFor }>;

/** Where the value of a granted secret may be sent: to the hosts of its grant that are also on the operator's list. */
export function secretHosts({ name, hosts }: SecretGrant, operator: OperatorSecrets): IsFor {
  const isGranted = grantedTo(hosts);
  const isAllowed = operator.get(name)?.isFor ?? (() => true);
  return (host, port) => isGranted(host, port) && isAllowed(host, port);
}

/** Boundary: a list that cannot be parsed allows no host, and neither does an empty one. */
function grantedTo(hosts: readonly string[]): IsFor {
  const parsed = parseSecretHosts(hosts);
  return parsed.ok ? parsed.value : () => false;
}
