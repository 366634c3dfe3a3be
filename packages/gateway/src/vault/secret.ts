import { CodedError } from '../core/coded-error.ts';
import type { Json } from '../core/json.ts';
import { formatPrincipal, isName, isToolName, type Principal, parsePrincipal } from '../core/principal.ts';
import { CAPABILITY_NAME_SHAPE, isCapabilityName, type SecretScope } from '../core/wasm.ts';
import type { Binding } from './keys.ts';
import type { AboutRow } from './tables.ts';

/** Whose calls a secret is for; `subject` is empty for all of them. */
export type VaultScope = { readonly kind: SecretScope; readonly subject: string };

export type VaultCaller = {
  readonly tenant: string;
  readonly principal: Principal;
  /** The skill that runs; null outside of any. */
  readonly skill: string | null;
  /** The only kind of scope that is searched; left out: all of them. */
  readonly only?: SecretScope | undefined;
};

export const GLOBAL: VaultScope = { kind: 'global', subject: '' };

export const SCOPE_SHAPE = '"global", "tenant:NAME", "principal:agent:NAME" or "skill:ID"';

const SUBJECTS = {
  tenant: isName,
  principal: (text: string) => parsePrincipal(text) !== null,
  skill: isToolName,
} as const;

/** Parses a scope; anything else is null. */
export function parseScope(raw: string): VaultScope | null {
  if (raw === 'global') return GLOBAL;
  const [, kind, subject] = /^(tenant|principal|skill):(.+)$/.exec(raw) ?? [];
  if (kind === undefined || subject === undefined) return null;
  const known = kind as keyof typeof SUBJECTS;
  return SUBJECTS[known](subject) ? { kind: known, subject } : null;
}

/** The format of a scope in records, lists and messages. */
export function formatScope({ kind, subject }: VaultScope): string {
  return kind === 'global' ? kind : `${kind}:${subject}`;
}

/** The scopes whose secrets are for this caller, the most specific first. */
export function scopesOf({ tenant, principal, skill, only }: VaultCaller): readonly VaultScope[] {
  const ofSkill: readonly VaultScope[] = skill === null ? [] : [{ kind: 'skill', subject: skill }];
  const scopes: readonly VaultScope[] = [
    ...ofSkill,
    { kind: 'principal', subject: formatPrincipal(principal) },
    { kind: 'tenant', subject: tenant },
    GLOBAL,
  ];
  return only === undefined ? scopes : scopes.filter(({ kind }) => kind === only);
}

/* The refusals of this module. No message contains a byte of a value, a key or a passphrase. */

export function naming(name: string, scope: VaultScope): string {
  return `the secret "${name}" (${formatScope(scope)})`;
}

/** The key is not available. */
export function locked(what: string, remedy?: string): CodedError {
  return new CodedError('vault/locked', `Cannot open the vault: ${what}`, { remedy });
}

/** The key is available but does not open what is stored. */
export function unreadable(what: string, remedy?: string): CodedError {
  return new CodedError('vault/unreadable', what, { remedy });
}

export function missing(what: string, remedy?: string): CodedError {
  return new CodedError('vault/missing', what, { remedy });
}

export function misused(what: string, remedy?: string): CodedError {
  return new CodedError('door/wrong-usage', what, { remedy });
}

/** An event of the vault, in the shape of a journal record; it never contains a value. */
export type VaultEvent = {
  readonly kind: 'vault-founded' | 'vault-rotated' | 'secret-set' | 'secret-removed' | 'secret-used';
  readonly principal: string;
  readonly tenant?: string;
  readonly body: { readonly [key: string]: Json };
} & Partial<SecretUse>;

export type SecretUse = { readonly call: string | null; readonly tool: string | null };

type Subject = Pick<SecretEntry, 'name' | 'scope' | 'version'>;

export function actOf(kind: VaultEvent['kind'], by: Principal, body: VaultEvent['body']): VaultEvent {
  return { kind, principal: formatPrincipal(by), body };
}

export function useOf(
  subject: Subject,
  { principal, tenant }: VaultCaller,
  { call, tool }: SecretUse,
): VaultEvent {
  const body = bodyOf(subject);
  return { kind: 'secret-used', call, principal: formatPrincipal(principal), tool, tenant, body };
}

export function bodyOf({ name, scope, version }: Subject): { [key: string]: Json } {
  return { name, scope: formatScope(scope), version };
}

/** A secret without its value. */
export type SecretEntry = Readonly<ReturnType<typeof entryOf>>;

export function entryOf(row: AboutRow) {
  const scope: VaultScope = { kind: row.scope_kind, subject: row.scope_subject };
  const { name, version, bytes } = row;
  return { name, scope, version, createdAtMs: row.created_at_ms, usedAtMs: row.used_at_ms, bytes };
}

export type SecretRef = Subject & { readonly asker: VaultCaller };

export const MAX_VALUE_BYTES = 64 * 1024;
export const MAX_SECRETS = 10_000;

/** What a sealed value is bound to: moved to another name, scope or version, it does not open. */
export function bindingOf({ kind, subject }: VaultScope, name: string, version: number): Binding {
  return ['palisade-secret/v1', kind, subject, name, version];
}

/** Refuses a name that no secret can have. The message does not repeat it: people put the value there by mistake. */
export function checkName(name: string): void {
  if (isCapabilityName(name)) return;
  const remedy = 'Give the name alone; the value is asked for, or read from standard input.';
  const what = `Cannot use this name of a secret: it is not a valid name, expected ${CAPABILITY_NAME_SHAPE}`;
  throw misused(what, remedy);
}

export function checkScope(scope: VaultScope): void {
  const parsed = parseScope(formatScope(scope));
  // Boundary: two spellings of one scope would be two rows for one secret.
  if (parsed?.kind === scope.kind && parsed.subject === scope.subject) return;
  throw misused(`Cannot use this scope: it is not valid, expected ${SCOPE_SHAPE}`);
}

export function checkValue(value: Uint8Array): void {
  const { length } = value;
  if (length >= 1 && length <= MAX_VALUE_BYTES) return;
  const is = length === 0 ? 'it is empty' : `it has over ${MAX_VALUE_BYTES} bytes`;
  throw misused(`Cannot use the value of the secret: ${is}, expected 1 to ${MAX_VALUE_BYTES} bytes`);
}
