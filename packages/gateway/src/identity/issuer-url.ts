import type { OauthConfig } from '../config/config.ts';
import { CodedError } from '../core/coded-error.ts';
import { type HttpUrl, parseHttpUrl } from '../egress/authority.ts';
import { isLoopback } from '../egress/named-host.ts';

export type KeyUrl = { readonly text: string; readonly url: HttpUrl };

/** An authorization server that was named in palisade.toml, with what its tokens must say. */
export type Issuer = Omit<OauthConfig, 'issuer' | 'audience' | 'jwksUrl'> & {
  readonly issuer: string;
  readonly audience: string;
  readonly at: KeyUrl;
  /** Null: where its metadata says. */
  readonly jwksUrl: KeyUrl | null;
};

/** Reads the settings; null when no issuer is named. Keys over an unencrypted connection are refused at the start. */
export function issuerOf({ issuer, audience, jwksUrl, ...rest }: OauthConfig): Issuer | null {
  if (issuer === null) return null;
  // Boundary: a token without an audience would be valid at every service.
  if (audience === null) throw refuse('audience', 'it is missing', 'what tokens of the issuer are for');
  return {
    ...{ ...rest, issuer, audience, at: demandKeyUrl('issuer', issuer) },
    jwksUrl: jwksUrl === null ? null : demandKeyUrl('jwks_url', jwksUrl),
  };
}

/** Reads where keys are; null unless it is https, or http that does not leave this machine. */
export function readKeyUrl(text: string): KeyUrl | null {
  const url = parseHttpUrl(text);
  if (!url.ok) return null;
  // Boundary: anyone who can change keys in transit can sign as any principal.
  return url.value.scheme === 'https' || isLoopback(url.value.host) ? { text, url: url.value } : null;
}

function demandKeyUrl(key: string, text: string): KeyUrl {
  const url = readKeyUrl(text);
  if (url !== null) return url;
  throw refuse(key, `it is "${text}"`, 'an address with https, or http of this machine itself');
}

function refuse(key: string, is: string, expected: string): CodedError {
  return new CodedError('config/invalid', `Cannot use oauth.${key}: ${is}, expected ${expected}`);
}
