import { formatPrincipal, isName, isToolName, type Principal, parsePrincipal } from '../core/principal.ts';

/** Whose calls a secret is for; `subject` is empty for all of them. */
export type Scope = {
  readonly kind: 'global' | 'tenant' | 'principal' | 'skill';
  readonly subject: string;
};

/** Who asks for a secret. */
export type Asker = {
  readonly tenant: string;
  readonly principal: Principal;
  /** The skill that runs; null outside of any. */
  readonly skill: string | null;
  /** The one kind of scope that is looked at; left out: all of them. */
  readonly only?: Scope['kind'] | undefined;
};

export const GLOBAL: Scope = { kind: 'global', subject: '' };

/** What messages call the grammar. */
export const SCOPE_SHAPE = '"global", "tenant:NAME", "principal:agent:NAME" or "skill:ID"';

const SUBJECTS = {
  tenant: isName,
  principal: (text: string) => parsePrincipal(text) !== null,
  skill: isToolName,
} as const;

/** Reads a scope; anything else is null. */
export function parseScope(raw: string): Scope | null {
  if (raw === 'global') return GLOBAL;
  const [, kind, subject] = /^(tenant|principal|skill):(.+)$/.exec(raw) ?? [];
  if (kind === undefined || subject === undefined) return null;
  const known = kind as keyof typeof SUBJECTS;
  return SUBJECTS[known](subject) ? { kind: known, subject } : null;
}

/** The one spelling of a scope in records, lists and messages. */
export function formatScope({ kind, subject }: Scope): string {
  return kind === 'global' ? kind : `${kind}:${subject}`;
}

/** The scopes whose secrets are for this asker, the most specific first. */
export function scopesOf({ tenant, principal, skill, only }: Asker): readonly Scope[] {
  const ofSkill: readonly Scope[] = skill === null ? [] : [{ kind: 'skill', subject: skill }];
  const scopes: readonly Scope[] = [
    ...ofSkill,
    { kind: 'principal', subject: formatPrincipal(principal) },
    { kind: 'tenant', subject: tenant },
    GLOBAL,
  ];
  return only === undefined ? scopes : scopes.filter(({ kind }) => kind === only);
}
