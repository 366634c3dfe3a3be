import type { Json } from '../core/json.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import { type Asker, formatScope, type Scope } from './scope.ts';

/** What happened to the vault, in the shape of a journal record; it never has a value. */
export type VaultEvent = {
  readonly kind: 'vault-founded' | 'vault-rotated' | 'secret-set' | 'secret-removed' | 'secret-used';
  readonly call: string | null;
  readonly principal: string;
  readonly tool: string | null;
  readonly tenant: string | null;
  readonly body: { readonly [key: string]: Json };
};

/** The call that a secret is used for. */
export type SecretUse = { readonly call: string | null; readonly tool: string | null };

type Subject = { readonly name: string; readonly scope: Scope; readonly version: number };

/** Something that an administrator did. */
export function actOf(kind: VaultEvent['kind'], by: Principal, body: VaultEvent['body']): VaultEvent {
  return { kind, call: null, principal: formatPrincipal(by), tool: null, tenant: null, body };
}

/** A use in a call. */
export function useOf(subject: Subject, { principal, tenant }: Asker, { call, tool }: SecretUse): VaultEvent {
  const body = bodyOf(subject);
  return { kind: 'secret-used', call, principal: formatPrincipal(principal), tool, tenant, body };
}

export function bodyOf({ name, scope, version }: Subject): { [key: string]: Json } {
  return { name, scope: formatScope(scope), version };
}
