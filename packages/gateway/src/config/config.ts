import type { PlainSection, Section } from './config.table.ts';

export type BudgetRule = Section<'budget[]'>;

/** A secret that calls may request: the run gets a placeholder, and only the named hosts get the value. */
export type SecretRule = Section<'secret[]'>;

export type UpstreamRule = Section<'upstream[]'> & {
  readonly prefix: string;
  /** Where its command runs a package that was fetched: the directory of packages, and the digest. */
  readonly package?: { readonly directory: string; readonly digest: string };
};

/** An OCI registry of skills. */
export type RegistryRule = Section<'registry[]'>;

export type VaultConfig = Section<'vault'>;
export type HttpConfig = Section<'http'>;
/** The issuer whose tokens are accepted besides our own. */
export type OauthConfig = Section<'oauth'>;

export type ConfigFile = { readonly name: string; readonly path: string; readonly text: string };

/** Everything an operator can set, with defaults filled in. Sections and names are those of palisade.toml. */
export type Config = { readonly [S in PlainSection]: Section<S> } & {
  /** Group name → its principals, as "agent:ada". */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly secrets: readonly SecretRule[];
  readonly upstreams: readonly UpstreamRule[];
  readonly registries: readonly RegistryRule[];
  readonly budgets: readonly BudgetRule[];
  /** Null when there is no file and every setting has its default. */
  readonly file: ConfigFile | null;
};

const NO_UNITS = { calls: null, wallMs: null, cpuMs: null, fuel: null, outputBytes: null, egressBytes: null };

/** Limits a runaway agent before an operator has written a budget. */
export const DEFAULT_BUDGETS: readonly BudgetRule[] = [
  { ...NO_UNITS, name: 'run', per: 'run', match: 'agent:*', windowMs: null, calls: 1_000 },
  { ...NO_UNITS, name: 'principal-hour', per: 'principal', match: null, windowMs: 3_600_000, calls: 10_000 },
  { ...NO_UNITS, name: 'tenant-day', per: 'tenant', match: null, windowMs: 86_400_000, calls: 100_000 },
];

export function groupsByPrincipal(config: Config): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const [group, principals] of config.groups) {
    for (const principal of principals) groups.set(principal, [...(groups.get(principal) ?? []), group]);
  }
  return groups;
}
