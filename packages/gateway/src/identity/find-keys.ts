import type { Json } from '../core/json.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { formatHost } from '../egress/authority.ts';
import type { FetchDocument } from './issuer-documents.ts';
import { type Issuer, type KeyUrl, readKeyUrl } from './issuer-url.ts';

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

export function recordOf(value: Json | undefined): Readonly<Record<string, Json>> {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Readonly<Record<string, Json>>) : {};
}

function refuse(is: string) {
  return reject(`Cannot find the keys of the issuer: ${is}`);
}
