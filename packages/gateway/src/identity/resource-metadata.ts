import type { Config } from '../config/config.ts';
import { ALL_SCOPES } from '../core/caller.ts';
import { SCOPE_PREFIX } from './oauth.ts';

/** What a client reads to learn whose tokens are accepted here (RFC 9728). */
type ResourceMetadata = {
  readonly resource: string;
  readonly resource_name: string;
  readonly authorization_servers?: readonly string[];
  readonly scopes_supported: readonly string[];
  readonly bearer_methods_supported: readonly string[];
};

/**
 * The metadata document of a resource of this gateway. `url` is the address of the resource, as clients or this machine
 * see it; a configured public address replaces its origin.
 */
export function resourceMetadata(
  { http, oauth }: Pick<Config, 'http' | 'oauth'>,
  url: string,
): ResourceMetadata {
  const { origin, pathname } = new URL(url);
  const base = trim(http.publicUrl ?? origin);
  const isKnown = `${origin}${pathname}/`.startsWith(`${base}/`);
  return {
    resource: trim(isKnown ? `${origin}${pathname}` : `${base}${pathname}`),
    resource_name: 'Palisade',
    ...(oauth.issuer === null ? {} : { authorization_servers: [oauth.issuer] }),
    scopes_supported: ALL_SCOPES.map((scope) => `${SCOPE_PREFIX}${scope}`),
    bearer_methods_supported: ['header'],
  };
}

function trim(url: string): string {
  return url.replace(/\/+$/, '');
}
