import { type Limits, narrow } from '../core/limits.ts';
import type { EgressMode } from '../core/process.ts';
import type { Settings } from './check.ts';
import type { Value } from './check-value.ts';
import { CONFIG_KEYS, type ConfigKey, type KeyName } from './config.table.ts';
import {
  type BudgetRule,
  type Config,
  type ConfigFile,
  DEFAULT_BUDGETS,
  type OauthConfig,
  type ProcessConfig,
  type SecretRule,
  type SkillsConfig,
  type UpstreamRule,
  type VaultConfig,
} from './config.ts';
import { parseDuration } from './grammar.ts';

type Values = ReadonlyMap<string, Value>;

const DEFAULTS: Values = new Map(
  CONFIG_KEYS.flatMap((row) => (row.default === null ? [] : [[row.key, defaultOf(row)]])),
);

/** Durations are written with their unit in the table, as in the file, and counted in milliseconds. */
function defaultOf(row: ConfigKey): Value {
  const ms = row.type === 'duration' ? parseDuration(row.default ?? '') : null;
  return ms ?? row.default ?? '';
}

/** The configuration with every gap filled by its default. */
export function fillGaps(
  { values, groups, secrets, upstreams, budgets }: Settings,
  file: ConfigFile | null,
): Config {
  const text = (key: KeyName) => chosen(values, key) as string;
  const integer = (key: KeyName) => chosen(values, key) as number;
  const ceilings = limitsOf('ceilings', integer);
  return {
    gateway: { tenant: text('gateway.tenant') },
    // A default never passes a ceiling that the operator lowered.
    limits: narrow(limitsOf('limits', integer), ceilings),
    ceilings,
    input: { maxBytes: integer('input.max_bytes'), maxDepth: integer('input.max_depth') },
    approval: { expiresAfterS: integer('approval.expires_after_s') },
    journal: {
      checkpointEveryRecords: integer('journal.checkpoint_every_records'),
      checkpointAfterMs: integer('journal.checkpoint_after_ms'),
      segmentRecords: integer('journal.segment_records'),
      redactEnv: chosen(values, 'journal.redact_env') as readonly string[],
    },
    policy: { reloadMs: integer('policy.reload_ms') },
    store: { busyTimeoutMs: integer('store.busy_timeout_ms') },
    clock: { maxBehindMs: integer('clock.max_behind_ms') },
    process: processOf(integer, (key) => chosen(values, key) as readonly string[], text),
    vault: {
      key: text('vault.key') as VaultConfig['key'],
      passphraseFile: text('vault.passphrase_file') || null,
    },
    skills: {
      firstUse: text('skills.first_use') as SkillsConfig['firstUse'],
      advisories: text('skills.advisories') || null,
      reauditAfterMs: integer('skills.reaudit_after'),
      reviewers: integer('skills.reviewers'),
    },
    ...doorsOf(integer, (key) => chosen(values, key) as readonly string[], text),
    groups,
    secrets: secrets.map(secretOf),
    upstreams: upstreams.map(upstreamOf),
    budgets: budgets.length === 0 ? DEFAULT_BUDGETS : budgets.map(budgetOf),
    file,
  };
}

function limitsOf(section: 'limits' | 'ceilings', integer: (key: KeyName) => number): Limits {
  return {
    wallMs: integer(`${section}.wall_ms`),
    cpuMs: integer(`${section}.cpu_ms`),
    fuel: integer(`${section}.fuel`),
    memoryBytes: integer(`${section}.memory_bytes`),
    outputBytes: integer(`${section}.output_bytes`),
    egressBytes: integer(`${section}.egress_bytes`),
  };
}

function processOf(
  integer: (key: KeyName) => number,
  list: (key: KeyName) => readonly string[],
  text: (key: KeyName) => string,
): ProcessConfig {
  return {
    workspaces: list('process.workspaces'),
    executables: list('process.executables'),
    searchPath: list('process.search_path'),
    env: list('process.env'),
    readOnly: list('process.read_only'),
    protected: list('process.protected'),
    egress: text('process.egress') as EgressMode,
    egressHosts: list('process.egress_hosts'),
    egressIntercept: list('process.egress_intercept'),
    wallMs: integer('process.wall_ms'),
    cpuMs: integer('process.cpu_ms'),
    memoryBytes: integer('process.memory_bytes'),
    outputBytes: integer('process.output_bytes'),
    fileBytes: integer('process.file_bytes'),
    processes: integer('process.processes'),
    openFiles: integer('process.open_files'),
    egressBytes: integer('process.egress_bytes'),
    firstUid: integer('process.first_uid'),
    warm: integer('process.warm'),
  };
}

type Doors = Pick<Config, 'http' | 'oauth' | 'mcp' | 'runs' | 'log' | 'telemetry'>;

function doorsOf(
  integer: (key: KeyName) => number,
  list: (key: KeyName) => readonly string[],
  text: (key: KeyName) => string,
): Doors {
  return {
    http: {
      listen: text('http.listen'),
      allowedHosts: list('http.allowed_hosts'),
      allowedOrigins: list('http.allowed_origins'),
      publicUrl: text('http.public_url') || null,
      maxBodyBytes: integer('http.max_body_bytes'),
      maxConnections: integer('http.max_connections'),
      requestTimeoutMs: integer('http.request_timeout_ms'),
      ratePerMinute: integer('http.rate_per_minute'),
      callsAtOnce: integer('http.calls_at_once'),
      drainMs: integer('http.drain_ms'),
    },
    oauth: {
      issuer: text('oauth.issuer') || null,
      audience: text('oauth.audience') || null,
      jwksUrl: text('oauth.jwks_url') || null,
      principalKind: text('oauth.principal_kind') as OauthConfig['principalKind'],
      principalClaim: text('oauth.principal_claim'),
      tenantClaim: text('oauth.tenant_claim') || null,
    },
    mcp: { elicitation: text('mcp.elicitation') as Config['mcp']['elicitation'] },
    runs: { keepForMs: integer('runs.keep_for'), keepOutputBytes: integer('runs.keep_output_bytes') },
    log: { level: text('log.level') as Config['log']['level'] },
    telemetry: { otlpEndpoint: text('telemetry.otlp_endpoint') || null },
  };
}

function upstreamOf(values: Values): UpstreamRule {
  const list = (key: string) => (values.get(key) ?? []) as readonly string[];
  const name = values.get('name') as string;
  return {
    name,
    command: list('command'),
    // Said nowhere, it is the strictest.
    tier: (values.get('tier') ?? 'c') as UpstreamRule['tier'],
    workspace: (values.get('workspace') ?? null) as string | null,
    env: list('env'),
    readOnly: list('read_only'),
    allowHosts: list('allow_hosts'),
    secrets: list('secrets'),
    risk: (values.get('risk') ?? 'high') as UpstreamRule['risk'],
    prefix: (values.get('prefix') ?? `${name}.`) as string,
  };
}

function secretOf(values: Values): SecretRule {
  return {
    name: values.get('name') as string,
    variable: values.get('variable') as string,
    hosts: values.get('hosts') as readonly string[],
    file: (values.get('file') ?? null) as string | null,
  };
}

function budgetOf(values: Values): BudgetRule {
  const integer = (key: string) => (values.get(key) ?? null) as number | null;
  return {
    name: values.get('name') as string,
    per: values.get('per') as BudgetRule['per'],
    match: (values.get('match') ?? null) as string | null,
    windowMs: integer('window'),
    calls: integer('calls'),
    wallMs: integer('wall_ms'),
    cpuMs: integer('cpu_ms'),
    fuel: integer('fuel'),
    outputBytes: integer('output_bytes'),
    egressBytes: integer('egress_bytes'),
  };
}

function chosen(values: Values, key: KeyName): Value | undefined {
  return values.get(key) ?? DEFAULTS.get(key);
}
