import { createLocalJWKSet, type JSONWebKeySet, type JWSHeaderParameters, type LocalJWKSet } from 'jose';
import type { Clock } from '../core/clock.ts';
import type { Json } from '../core/json.ts';
import type { Log } from '../core/log.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { formatHost } from '../egress/authority.ts';
import type { FetchDocument } from './issuer-documents.ts';
import { type Issuer, type KeyUrl, readKeyUrl } from './issuer-url.ts';

/** How long keys are used before they are fetched again. */
const FRESH_MS = 300_000;
/** How long they are used while the issuer does not answer; a withdrawn key is accepted no longer than this. */
const STALE_MS = 3_600_000;
/** Between two requests to the issuer, whatever tokens arrive in the meantime. */
const COOLDOWN_MS = 30_000;
const MAX_KEYS = 64;
/** Keys of these kinds verify and cannot sign; a shared secret would be known to every reader of the document. */
const KINDS: ReadonlySet<string> = new Set(['RSA', 'EC', 'OKP']);
const PRIVATE_PARTS = ['d', 'p', 'q', 'k'] as const;

type Held = { readonly find: LocalJWKSet; readonly ids: ReadonlySet<string>; readonly atMs: number };

type IssuerKeysOptions = {
  readonly load: () => Promise<Result<Json, string>>;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * The keys of an issuer, kept for minutes. A token that names an unknown key causes another request, at most once in
 * half a minute, so that a flood of tokens does not become a flood of requests; callers share one request.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #held: Held | null = null;
  #askedAtMs: number | null = null;
  #asking: Promise<void> | null = null;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The keys to verify a token that has this header; null when there are none at the moment. */
  async for(header: JWSHeaderParameters): Promise<LocalJWKSet | null> {
    if (!this.#isEnough(header)) await this.#ask();
    const { nowMs, held } = { nowMs: this.#options.clock.monotonicMs(), held: this.#held };
    return held !== null && nowMs - held.atMs < STALE_MS ? held.find : null;
  }

  #isEnough({ kid }: JWSHeaderParameters): boolean {
    if (this.#held === null) return false;
    const isFresh = this.#options.clock.monotonicMs() - this.#held.atMs < FRESH_MS;
    return isFresh && (kid === undefined || this.#held.ids.has(kid));
  }

  async #ask(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#asking === null) {
      // Boundary: senders of tokens do not decide how often the issuer is contacted.
      if (this.#askedAtMs !== null && nowMs - this.#askedAtMs < COOLDOWN_MS) return;
      this.#askedAtMs = nowMs;
      this.#asking = this.#load().finally(() => {
        this.#asking = null;
      });
    }
    await this.#asking;
  }

  async #load(): Promise<void> {
    const { load, clock, log } = this.#options;
    const loaded = await load().catch(() => reject('Cannot ask the issuer'));
    const keys = loaded.ok ? keysOf(loaded.value) : [];
    if (!loaded.ok || keys.length === 0) {
      log('warn', 'issuer-keys-unread', {
        why: loaded.ok ? 'the document has no key to verify with' : loaded.problem,
      });
      return;
    }
    const ids = new Set(keys.flatMap(({ kid }) => (typeof kid === 'string' ? [kid] : [])));
    this.#held = {
      find: createLocalJWKSet({ keys } as unknown as JSONWebKeySet),
      ids,
      atMs: clock.monotonicMs(),
    };
    log('debug', 'issuer-keys-read', { keys: keys.length });
  }
}

/** The public keys of a document, for signatures; whatever else is in it is left out. */
function keysOf(document: Json): readonly Readonly<Record<string, Json>>[] {
  const { keys } = recordOf(document);
  if (!Array.isArray(keys)) return [];
  return keys.slice(0, MAX_KEYS).map(recordOf).filter(isPublic);
}

/** Boundary: a key that is a secret, or whose secret is in the document, proves nothing. */
function isPublic(key: Readonly<Record<string, Json>>): boolean {
  const { kty } = key;
  return typeof kty === 'string' && KINDS.has(kty) && PRIVATE_PARTS.every((part) => key[part] === undefined);
}

/** Fetches the key document of an issuer: from the configured URL, else from the one in its metadata. */
export async function findKeys(issuer: Issuer, fetch: FetchDocument): Promise<Result<Json, string>> {
  const { jwksUrl } = issuer;
  if (jwksUrl !== null) return fetch(jwksUrl, true);
  let last: Result<Json, string> = refuse('it has no address of its metadata');
  for (const text of metadataUrls(issuer.issuer)) {
    const at = readKeyUrl(text);
    if (at === null) continue;
    const metadata = await fetch(at, true);
    const found = metadata.ok ? readMetadata(metadata.value, issuer) : metadata;
    if (found.ok)
      return fetch(found.value, formatHost(found.value.url.host) === formatHost(issuer.at.url.host));
    last = found;
  }
  return last;
}

/** Where the metadata of an issuer can be (RFC 8414 section 3, OpenID Connect Discovery section 4). */
export function metadataUrls(issuer: string): readonly string[] {
  const [, origin = '', path = ''] = /^(https?:\/\/[^/]+)(.*)$/.exec(issuer.replace(/\/$/, '')) ?? [];
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(urls)];
}

function readMetadata(document: Json, { issuer }: Issuer): Result<KeyUrl, string> {
  const { issuer: named, jwks_uri: text } = recordOf(document);
  // Boundary: metadata of another issuer, which a shared host may serve, says nothing about this one.
  if (named !== issuer) return refuse('its metadata is that of another issuer');
  const at = typeof text === 'string' ? readKeyUrl(text) : null;
  return at === null ? refuse('its metadata names no jwks_uri with https') : accept(at);
}

function recordOf(value: Json | undefined): Readonly<Record<string, Json>> {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Readonly<Record<string, Json>>) : {};
}

function refuse(is: string) {
  return reject(`Cannot find the keys of the issuer: ${is}`);
}
