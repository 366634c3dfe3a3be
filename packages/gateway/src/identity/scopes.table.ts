import { ALL_SCOPES, type Scope } from '../core/caller.ts';
import type { Principal } from '../core/principal.ts';

/**
 * The most that a credential of each kind of principal allows. An agent acts on what it reads, and what it reads can be
 * written by others: whatever it is talked into, no credential of an agent approves, administers or changes anything.
 */
export const SCOPES_OF_KIND: Readonly<Record<Principal['kind'], readonly Scope[]>> = {
  agent: ['call', 'read'],
  user: ALL_SCOPES,
  service: ALL_SCOPES,
};

export function isScope(text: string): text is Scope {
  return (ALL_SCOPES as readonly string[]).includes(text);
}

/** Each scope once, in the order of their table, whatever order they were given in and however often. */
export function inOrder(scopes: Iterable<Scope>): readonly Scope[] {
  const wanted = new Set(scopes);
  return ALL_SCOPES.filter((scope) => wanted.has(scope));
}

/** Those of the scopes that a credential of such a principal can have. */
export function narrowToKind(scopes: Iterable<Scope>, { kind }: Principal): readonly Scope[] {
  return inOrder(scopes).filter((scope) => SCOPES_OF_KIND[kind].includes(scope));
}
