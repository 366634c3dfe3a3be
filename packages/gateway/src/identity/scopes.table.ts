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

/** Tells whether a text is a scope. */
export function isScope(text: string): text is Scope {
  return (ALL_SCOPES as readonly string[]).includes(text);
}

/** Each scope once, in the order of their table, whatever the order and the number of the words. */
export function inOrder(scopes: Iterable<Scope>): readonly Scope[] {
  const wanted = new Set(scopes);
  return ALL_SCOPES.filter((scope) => wanted.has(scope));
}

/** Those of the scopes that a credential of such a principal can have. */
export function narrowToKind(scopes: Iterable<Scope>, { kind }: Principal): readonly Scope[] {
  return inOrder(scopes).filter((scope) => SCOPES_OF_KIND[kind].includes(scope));
}
