import { ALL_SCOPES, type Scope } from '../core/caller.ts';
import type { Principal } from '../core/principal.ts';

/**
 * What a credential of each kind of principal can be good for at most. An agent acts on what it reads, and what it reads can
 * be written by others: whatever somebody talks it into, no credential of an agent approves, administers or changes anything.
 */
export const SCOPES_OF_KIND: Readonly<Record<Principal['kind'], readonly Scope[]>> = {
  agent: ['call', 'read'],
  user: ALL_SCOPES,
  service: ALL_SCOPES,
};
