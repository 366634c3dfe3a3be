import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { anyText, ifPresent, looseObject, readJson } from '../core/json-shape.ts';
import { formatAuthority, formatOrigin, formatSite, type HttpUrl, readUrl } from '../egress/authority.ts';
import type { HeaderPair } from '../egress/fetch/outcome.ts';
import { fetchNamed, type Network } from '../egress/named-host.ts';
import type { BoundSecret } from '../egress/secrets.ts';
import type { Challenge } from './challenge.ts';
import { failed, notAnswered, refusedWith, type Task } from './errors.ts';
import { OCI_LIMITS } from './limits.ts';

/* What is sent with requests to a registry that asks who it is talking to, by Basic or with a token of a token server. */

/** A header with a placeholder, and the secret that egress puts in its place on the way to one host. */
export type Authorization = {
  readonly header: HeaderPair;
  readonly secret: BoundSecret;
  /** Whether it is good for requests of a scope. */
  readonly isFor: (scope: string) => boolean;
};

type BearerTerms = {
  readonly network: Network & { readonly signal: AbortSignal };
  readonly task: Task;
  /** The registry. */
  readonly site: HttpUrl;
  readonly login: string | null;
  /** Whether a host may be sent the log-in. */
  readonly isTrusted: (realm: HttpUrl) => boolean;
};

const PLACEHOLDER = 'palisade-registry-credential';
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/;
const TOKENS = looseObject({ token: ifPresent(anyText), access_token: ifPresent(anyText) });
const EXPECTED = 'a host that the operator named, or a public address';

export function basicAuthorization(site: HttpUrl, login: string): Authorization {
  return { header: basicHeader(), secret: boundTo(site, login), isFor: () => true };
}

/** Fetches a token from the realm of a challenge, with the log-in where there is one. */
export async function bearerAuthorization(
  { params }: Challenge,
  scope: string,
  { network, task, site, login, isTrusted }: BearerTerms,
): Promise<Authorization> {
  const realm = realmOf(params.get('realm') ?? '', task);
  const isNamed = isTrusted(realm);
  // Boundary: a registry cannot have its log-in sent to whom it likes.
  if (login !== null && !isNamed) throw untrusted(task, realm);
  requireEncrypted(realm, site.scheme === 'http' && isNamed, task);
  const secrets = login === null ? [] : [boundTo(realm, login)];
  const { clock, lookup, trust, signal } = network;
  const outcome = await fetchNamed(
    { ...realm, path: withQuery(realm.path, { service: params.get('service'), scope }) },
    isNamed,
    { method: 'GET', headers: login === null ? [] : [basicHeader()], body: null },
    {
      ...{ clock, signal, trust, secrets, lookupMs: OCI_LIMITS.lookupMs, expected: EXPECTED },
      ...(lookup === undefined ? {} : { lookup }),
      limits: { responseBytes: OCI_LIMITS.noteBytes, wholeMs: OCI_LIMITS.requestMs },
    },
  );
  const server = { ...task, host: formatSite(realm) };
  if (!outcome.ok) throw notAnswered(server, outcome);
  if (outcome.status !== 200) throw refusedWith(server, outcome, login !== null);
  const read = readJson(outcome.body, { maxBytes: OCI_LIMITS.noteBytes, maxDepth: 8 }, TOKENS);
  const token = read.ok ? (read.value.token ?? read.value.access_token) : undefined;
  if (token === undefined || token.length > OCI_LIMITS.tokenChars || !TOKEN.test(token))
    throw failed(server, 'Cannot use the token: it is missing or malformed, expected JSON with "token".');
  return {
    header: ['authorization', `Bearer ${PLACEHOLDER}`],
    secret: boundTo(site, token),
    isFor: (asked) => asked === scope,
  };
}

function realmOf(raw: string, task: Task): HttpUrl {
  const realm = readUrl(raw);
  if (realm.ok) return realm.value;
  throw failed(task, `Cannot use the realm ${quote(raw)} of its challenge, expected an address.`);
}

/** Boundary: a token opens the registry, so that it does not travel where others can read it. */
function requireEncrypted(realm: HttpUrl, isPlainMeant: boolean, task: Task): void {
  if (realm.scheme === 'https' || isPlainMeant) return;
  const is = `it sends those who log in to ${quote(formatOrigin(realm))}, which is not encrypted`;
  throw new CodedError('oci/not-allowed', `Cannot ${task.act}: ${is}, expected https`);
}

function untrusted({ act, host }: Task, realm: HttpUrl): CodedError {
  const named = formatSite(realm);
  const message = `Cannot ${act}: ${host} asks for the log-in at ${quote(named)}, expected the registry itself or a host that you named`;
  const remedy = `If that is where this registry issues tokens, add to palisade.toml: [[registry]] name = "${host}" token_hosts = ["${named}"]`;
  return new CodedError('oci/not-allowed', message, { remedy });
}

function basicHeader(): HeaderPair {
  return ['authorization', `Basic ${Buffer.from(PLACEHOLDER).toString('base64')}`];
}

/** Boundary: the value leaves only towards this host and port, whatever is redirected or answered. */
function boundTo({ host, port }: HttpUrl, value: string): BoundSecret {
  const bound = formatAuthority(host, port);
  return {
    ...{ name: 'registry', placeholder: PLACEHOLDER, value },
    isFor: (to, toPort) => formatAuthority(to, toPort) === bound,
  };
}

function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`).join('&');
  return `${path}${path.includes('?') ? '&' : '?'}${text}`;
}
