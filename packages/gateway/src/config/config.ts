import type { Limits } from '../core/limits.ts';
import type { EgressMode, ProcessLimits, ProcessTierName } from '../core/process.ts';
import type { Risk } from '../core/tool.ts';

export type BudgetRule = {
  readonly name: string;
  readonly per: 'run' | 'principal' | 'tool' | 'tenant';
  /** A pattern with `*` on the subject; null matches every subject. */
  readonly match: string | null;
  /** Null: for the whole run; only with per run. */
  readonly windowMs: number | null;
  readonly calls: number | null;
  readonly wallMs: number | null;
  readonly cpuMs: number | null;
  readonly fuel: number | null;
  readonly outputBytes: number | null;
  readonly egressBytes: number | null;
};

/** A secret that calls may request: the run gets a placeholder, and only the named hosts get the value. */
export type SecretRule = {
  readonly name: string;
  /** Where the run finds the placeholder. */
  readonly variable: string;
  readonly hosts: readonly string[];
  /** Where the value is; null: in the vault, under that name. */
  readonly file: string | null;
};

export type ConfigFile = { readonly name: string; readonly path: string; readonly text: string };

type ProcessConfig = ProcessLimits & {
  readonly workspaces: readonly string[];
  readonly executables: readonly string[];
  readonly searchPath: readonly string[];
  readonly env: readonly string[];
  readonly readOnly: readonly string[];
  readonly protected: readonly string[];
  readonly egress: EgressMode;
  readonly egressHosts: readonly string[];
  readonly egressIntercept: readonly string[];
  readonly firstUid: number;
  readonly warm: number;
};

export type VaultConfig = {
  readonly key: 'file' | 'passphrase' | 'keychain';
  /** Null: a person enters the passphrase. */
  readonly passphraseFile: string | null;
};

/** Whose skills may be installed, and how often and by how many they are audited. */
type SkillsConfig = {
  /** What is done with the first key of a publisher that never had one. */
  readonly firstUse: 'refuse' | 'trust';
  /** Null: no file of advisories. */
  readonly advisories: string | null;
  readonly reauditAfterMs: number;
  readonly reviewers: number;
};

export type HttpConfig = {
  readonly listen: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Null: the address that it listens on. */
  readonly publicUrl: string | null;
  readonly maxBodyBytes: number;
  readonly maxConnections: number;
  readonly requestTimeoutMs: number;
  readonly ratePerMinute: number;
  readonly callsAtOnce: number;
  readonly drainMs: number;
};

/** The issuer whose tokens are accepted besides our own. */
export type OauthConfig = {
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly jwksUrl: string | null;
  readonly principalKind: 'agent' | 'user' | 'service';
  readonly principalClaim: string;
  readonly tenantClaim: string | null;
};

export type UpstreamRule = {
  readonly name: string;
  readonly command: readonly string[];
  readonly tier: ProcessTierName;
  /** Null: where palisade was started. */
  readonly workspace: string | null;
  readonly env: readonly string[];
  readonly readOnly: readonly string[];
  readonly allowHosts: readonly string[];
  readonly secrets: readonly string[];
  readonly risk: Risk;
  readonly prefix: string;
};

/** Everything an operator can set, with defaults filled in. Sections and names are those of palisade.toml. */
export type Config = {
  readonly gateway: { readonly tenant: string };
  readonly limits: Limits;
  readonly ceilings: Limits;
  readonly input: { readonly maxBytes: number; readonly maxDepth: number };
  readonly approval: { readonly expiresAfterS: number };
  readonly journal: {
    readonly checkpointEveryRecords: number;
    readonly checkpointAfterMs: number;
    readonly segmentRecords: number;
    readonly redactEnv: readonly string[];
  };
  readonly policy: { readonly reloadMs: number };
  readonly store: { readonly busyTimeoutMs: number };
  readonly clock: { readonly maxBehindMs: number };
  readonly process: ProcessConfig;
  readonly vault: VaultConfig;
  readonly skills: SkillsConfig;
  readonly http: HttpConfig;
  readonly oauth: OauthConfig;
  readonly mcp: { readonly elicitation: 'off' | 'stdio' | 'on' };
  readonly runs: { readonly keepForMs: number; readonly keepOutputBytes: number };
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error' };
  readonly telemetry: { readonly otlpEndpoint: string | null };
  /** Group name → its principals, as "agent:ada". */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly secrets: readonly SecretRule[];
  readonly upstreams: readonly UpstreamRule[];
  readonly budgets: readonly BudgetRule[];
  /** Null when there is no file and every setting has its default. */
  readonly file: ConfigFile | null;
};

const NO_UNITS = { calls: null, wallMs: null, cpuMs: null, fuel: null, outputBytes: null, egressBytes: null };

/** Limits a runaway agent before an operator has written a budget. */
export const DEFAULT_BUDGETS: readonly BudgetRule[] = [
  { ...NO_UNITS, name: 'run', per: 'run', match: null, windowMs: null, calls: 1_000 },
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
