import type { IncomingMessage } from 'node:http';
import { ALL_SCOPES, type Caller, type Scope } from '../../core/caller.ts';
import { parsePrincipal } from '../../core/principal.ts';
import type { Authenticator } from '../../identity/authenticate.ts';
import { TurnedAway } from './problem.ts';

/** Where a request came in: over the network, or by the socket that only the owner of the state directory can open. */
export type Place = 'network' | 'local';

/** The header by which a process of the owner says for whom it asks. */
export const AS_HEADER = 'palisade-as';

export type WhoAsks = (request: IncomingMessage, place: Place, metadataUrl: string) => Promise<Caller>;

/** Tells who asks, from the credential alone, or refuses. */
export function makeWhoAsks(authenticate: Authenticator, tenant: string): WhoAsks {
  const scopes: ReadonlySet<Scope> = new Set(ALL_SCOPES);
  return async ({ headers }, place, metadataUrl) => {
    const as = headers[AS_HEADER];
    // Boundary: only the kernel's word that the owner of this process is asking makes this header worth anything.
    if (place === 'local' && typeof as === 'string') return ofProcess(as, tenant, scopes);
    const authorization = headers.authorization ?? null;
    const authenticated = await authenticate({ authorization });
    if (authenticated.ok) return authenticated.caller;
    const error = authorization === null ? '' : 'error="invalid_token", ';
    throw new TurnedAway('door/unauthenticated', authenticated.message, {
      headers: ['www-authenticate', `Bearer ${error}resource_metadata="${metadataUrl}"`],
    });
  };
}

function ofProcess(as: string, tenant: string, scopes: ReadonlySet<Scope>): Caller {
  const principal = parsePrincipal(as);
  if (principal === null)
    throw new TurnedAway(
      'door/wrong-usage',
      `Cannot act as ${JSON.stringify(as.slice(0, 128))}: expected agent:NAME, user:NAME or service:NAME`,
    );
  return { principal, tenant, scopes, credential: 'process', approver: null };
}

/** Boundary: a credential is good for its scopes alone, whatever its principal may do. */
export function requireScope({ scopes }: Caller, scope: Scope | null): void {
  if (scope === null || scopes.has(scope)) return;
  throw new TurnedAway(
    'door/insufficient-scope',
    `Cannot do this: the credential has not the scope "${scope}", expected one that has`,
    {
      headers: ['www-authenticate', `Bearer error="insufficient_scope", scope="palisade:${scope}"`],
      remedy: `Use a token with that scope: \`palisade token create --scopes ${scope} …\`.`,
    },
  );
}
