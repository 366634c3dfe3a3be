import { DEFAULT_LIMITS, LIMIT_CEILINGS } from '../core/limits.ts';
import type { GrammarName } from './grammar.ts';

type Row<Type extends string, Default, Rule> = {
  /** Dotted; `budget[].calls` is a key of each [[budget]], `groups.NAME` is any name. */
  readonly key: string;
  readonly type: Type;
  /** The value when the file does not set it; null: no default. */
  readonly default: Default | null;
  readonly sentence: string;
} & Rule;

type IntegerKey = Row<
  'integer',
  number,
  { readonly min: number; readonly max: number; readonly multipleOf?: number }
>;
type StringKey = Row<'string', string, { readonly grammar: GrammarName }>;
type StringListKey = Row<
  'string-list',
  readonly string[],
  { readonly grammar: GrammarName; readonly isNeverEmpty?: true }
>;
export type DurationKey = Row<'duration', string, { readonly minMs: number; readonly maxMs: number }>;
type ChoiceKey = Row<'choice', string, { readonly choices: readonly string[] }>;
export type ConfigKey = IntegerKey | StringKey | StringListKey | DurationKey | ChoiceKey;

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EXACT = Number.MAX_SAFE_INTEGER;

/** The most that even the operator can set; beyond it, a timer, a buffer or a double cannot represent the number. */
const HIGHEST = {
  wallMs: DAY_MS,
  cpuMs: DAY_MS,
  fuel: EXACT,
  memoryBytes: 16 * GIB,
  outputBytes: 256 * MIB,
  egressBytes: 1024 * GIB,
};

function integer(
  key: string,
  value: number | null,
  range: readonly [min: number, max: number],
  sentence: string,
): IntegerKey {
  return { key, type: 'integer', default: value, min: range[0], max: range[1], sentence };
}

function text(key: string, value: string | null, grammar: GrammarName, sentence: string): StringKey {
  return { key, type: 'string', default: value, grammar, sentence };
}

function texts(
  key: string,
  value: readonly string[] | null,
  grammar: GrammarName,
  sentence: string,
): StringListKey {
  return { key, type: 'string-list', default: value, grammar, sentence };
}

function neverEmpty(
  key: string,
  value: readonly string[] | null,
  grammar: GrammarName,
  sentence: string,
): StringListKey {
  return { ...texts(key, value, grammar, sentence), isNeverEmpty: true };
}

function choice(key: string, value: string | null, choices: readonly string[], sentence: string): ChoiceKey {
  return { key, type: 'choice', default: value, choices, sentence };
}

function duration(
  key: string,
  value: string | null,
  range: readonly [minMs: number, maxMs: number],
  sentence: string,
): DurationKey {
  return { key, type: 'duration', default: value, minMs: range[0], maxMs: range[1], sentence };
}

/** Every key of palisade.toml, in the order of `palisade config show`. docs/config.md is checked against it. */
export const CONFIG_KEYS: readonly ConfigKey[] = [
  text('gateway.tenant', 'default', 'name', 'The tenant of calls that name none.'),

  integer('limits.wall_ms', DEFAULT_LIMITS.wallMs, [1, HIGHEST.wallMs], 'Wall-clock time of one call.'),
  integer('limits.cpu_ms', DEFAULT_LIMITS.cpuMs, [1, HIGHEST.cpuMs], 'CPU time of one call.'),
  integer(
    'limits.fuel',
    DEFAULT_LIMITS.fuel,
    [1, HIGHEST.fuel],
    'Fuel of one call: metered WASM instructions.',
  ),
  integer(
    'limits.memory_bytes',
    DEFAULT_LIMITS.memoryBytes,
    [64 * KIB, HIGHEST.memoryBytes],
    'Memory of one call.',
  ),
  integer('limits.output_bytes', DEFAULT_LIMITS.outputBytes, [1, HIGHEST.outputBytes], 'Output of one call.'),
  integer(
    'limits.egress_bytes',
    DEFAULT_LIMITS.egressBytes,
    [1, HIGHEST.egressBytes],
    'Bytes that one call sends and receives over the network.',
  ),

  integer(
    'ceilings.wall_ms',
    LIMIT_CEILINGS.wallMs,
    [1, HIGHEST.wallMs],
    'The most wall-clock time any call gets.',
  ),
  integer('ceilings.cpu_ms', LIMIT_CEILINGS.cpuMs, [1, HIGHEST.cpuMs], 'The most CPU time any call gets.'),
  integer('ceilings.fuel', LIMIT_CEILINGS.fuel, [1, HIGHEST.fuel], 'The most fuel any call gets.'),
  integer(
    'ceilings.memory_bytes',
    LIMIT_CEILINGS.memoryBytes,
    [64 * KIB, HIGHEST.memoryBytes],
    'The most memory any call gets.',
  ),
  integer(
    'ceilings.output_bytes',
    LIMIT_CEILINGS.outputBytes,
    [1, HIGHEST.outputBytes],
    'The most output any call gets.',
  ),
  integer(
    'ceilings.egress_bytes',
    LIMIT_CEILINGS.egressBytes,
    [1, HIGHEST.egressBytes],
    'The most network bytes any call gets.',
  ),

  integer('input.max_bytes', 128 * KIB, [1, 16 * MIB], 'The largest input of a call, in bytes of UTF-8.'),
  // The canonical encoding supports 128 levels, and the records around an input take some of them.
  integer('input.max_depth', 64, [1, 100], 'The deepest nesting of the input of a call.'),

  integer(
    'approval.expires_after_s',
    900,
    [1, 30 * 86_400],
    'How long an approval request stays open and an approval stays usable.',
  ),

  integer(
    'journal.checkpoint_every_records',
    1024,
    [1, 1_000_000],
    'Number of records after which a checkpoint is signed.',
  ),
  integer(
    'journal.checkpoint_after_ms',
    1000,
    [1, HOUR_MS],
    'Time after which new records get a checkpoint.',
  ),
  {
    ...integer(
      'journal.segment_records',
      65_536,
      [256, 16_777_216],
      'Records in one segment of the journal.',
    ),
    multipleOf: 256,
  },
  texts(
    'journal.redact_env',
    ['*_TOKEN', '*_SECRET', '*_PASSWORD', '*_API_KEY', '*_PRIVATE_KEY'],
    'variable-pattern',
    'Environment variables whose values never reach the journal; `*` matches any characters.',
  ),

  integer(
    'policy.reload_ms',
    250,
    [1, HOUR_MS],
    'The shortest interval between two checks of the policy files for changes.',
  ),
  integer('store.busy_timeout_ms', 30_000, [1, 600_000], 'How long a write waits for another process.'),
  integer(
    'clock.max_behind_ms',
    60_000,
    [1, DAY_MS],
    'How far the clock may be behind the last journal record.',
  ),

  texts(
    'process.workspaces',
    [],
    'path',
    'Directories in or below which commands may work; without any, the one that palisade was started in.',
  ),
  texts(
    'process.executables',
    ['*'],
    'program',
    'Programs that may run, by name or absolute path; `*` allows every program on the search path.',
  ),
  texts(
    'process.search_path',
    ['/usr/local/bin', '/usr/bin', '/bin'],
    'path',
    'Directories in which a program is looked up by its name. The PATH of the caller is never used.',
  ),
  texts(
    'process.env',
    [
      ...['LANG', 'LANGUAGE', 'LC_*', 'TZ', 'TERM', 'COLORTERM', 'COLUMNS', 'LINES', 'NO_COLOR'],
      ...['FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'CI', 'SOURCE_DATE_EPOCH'],
    ],
    'variable-pattern',
    'Variables that a caller may set for a command; never those of loaders and interpreters, even if listed here.',
  ),
  texts('process.read_only', [], 'path', 'Paths that commands may read, in addition to those of the system.'),
  texts(
    'process.protected',
    [],
    'inner-path',
    'Paths in a workspace that no command may change; where that cannot be enforced, the command does not run.',
  ),
  choice(
    'process.egress',
    'strict',
    ['strict', 'preflight', 'none'],
    'The loosest egress mode that a call may ask for: strict (enforced by the kernel), preflight (arguments are inspected) or none.',
  ),
  texts(
    'process.egress_hosts',
    [],
    'egress-entry',
    'The most that commands can reach, as an allow-list; docs/egress.md explains its entries.',
  ),
  texts(
    'process.egress_intercept',
    [],
    'egress-host',
    'Hosts whose TLS the proxy of a strict run intercepts, with an authority that only that run trusts, so that paths, methods and secrets apply inside it.',
  ),
  integer('process.wall_ms', 60_000, [1, HIGHEST.wallMs], 'Wall-clock time of a command that asks for none.'),
  integer('process.cpu_ms', 60_000, [1, HIGHEST.cpuMs], 'CPU time of a command and everything it starts.'),
  integer('process.memory_bytes', GIB, [MIB, HIGHEST.memoryBytes], 'Memory of a command.'),
  integer(
    'process.output_bytes',
    MIB,
    [1, HIGHEST.outputBytes],
    'Output of a command, both streams together.',
  ),
  integer('process.file_bytes', 256 * MIB, [1, 1024 * GIB], 'The largest file that a command may write.'),
  integer('process.processes', 128, [1, 32_768], 'Processes and threads of a command at once.'),
  integer('process.open_files', 1024, [16, 1_048_576], 'Open files of each process of a command.'),
  integer(
    'process.egress_bytes',
    256 * MIB,
    [1, HIGHEST.egressBytes],
    'Bytes that a command sends and receives through the proxy of a strict run.',
  ),
  integer(
    'process.first_uid',
    61_000,
    [1000, 4_000_000_000],
    'The user id of commands where palisade runs as root.',
  ),
  integer(
    'process.warm',
    2,
    [0, 16],
    'Sandboxes kept warm for each workspace and tier, in a gateway that serves many calls.',
  ),

  choice(
    'vault.key',
    'file',
    ['file', 'passphrase', 'keychain'],
    'What a new vault of secrets is locked with; `palisade secrets rotate --to` changes it for an existing one.',
  ),
  text(
    'vault.passphrase_file',
    '',
    'path-or-none',
    'The file with the passphrase of the vault as its first line, of mode 0600; without one, palisade asks at the terminal.',
  ),

  choice(
    'skills.first_use',
    'refuse',
    ['refuse', 'trust'],
    'Whether the first key seen of a publisher is trusted, or an operator has to add every key.',
  ),
  text(
    'skills.advisories',
    '',
    'path-or-none',
    'The file of known vulnerabilities, in the OSV format, with which audits compare the parts of a skill; without one, they compare nothing.',
  ),
  duration(
    'skills.reaudit_after',
    '7d',
    [HOUR_MS, 366 * DAY_MS],
    'How long after its last audit a skill is audited again; a manifest can shorten this, never extend it.',
  ),
  integer(
    'skills.reviewers',
    1,
    [1, 5],
    'How many different people have to approve a skill; a manifest can require more, never fewer.',
  ),

  text(
    'http.listen',
    '127.0.0.1:7433',
    'listen-address',
    'The address on which `palisade serve` listens; port 0 takes any free port.',
  ),
  texts(
    'http.allowed_hosts',
    [],
    'host-name',
    'Host names that requests may use, in addition to the address itself and localhost; any other is refused.',
  ),
  texts(
    'http.allowed_origins',
    [],
    'origin',
    'Origins of web pages that may use the gateway; without any, only its own page may.',
  ),
  text(
    'http.public_url',
    '',
    'url-or-none',
    'The address by which clients know this gateway, where it is behind a proxy.',
  ),
  integer('http.max_body_bytes', 4 * MIB, [KIB, 256 * MIB], 'The largest body of a request.'),
  integer('http.max_connections', 2048, [1, 65_535], 'The most open connections.'),
  integer('http.request_timeout_ms', 30_000, [100, HOUR_MS], 'How long it may take to receive a request.'),
  integer(
    'http.rate_per_minute',
    600_000,
    [1, 60_000_000],
    'The most requests of one credential per minute.',
  ),
  integer('http.calls_at_once', 256, [1, 65_535], 'The most concurrent calls of one credential.'),
  integer(
    'http.drain_ms',
    10_000,
    [0, HOUR_MS],
    'How long running calls may continue after the gateway is told to stop.',
  ),

  text(
    'oauth.issuer',
    '',
    'url-or-none',
    'The authorization server whose tokens are accepted in addition to those of the gateway; without one, none are.',
  ),
  text(
    'oauth.audience',
    '',
    'text-or-none',
    'The audience that a token must have; required with oauth.issuer.',
  ),
  text(
    'oauth.jwks_url',
    '',
    'url-or-none',
    'The address of the keys of the issuer; without it, the one in its metadata.',
  ),
  choice(
    'oauth.principal_kind',
    'agent',
    ['agent', 'user', 'service'],
    'The kind of principal that the subject of such a token is.',
  ),
  text('oauth.principal_claim', 'sub', 'name', 'The claim that names the principal.'),
  text(
    'oauth.tenant_claim',
    '',
    'text-or-none',
    'The claim that names the tenant; without one, gateway.tenant.',
  ),

  choice(
    'mcp.elicitation',
    'stdio',
    ['off', 'stdio', 'on'],
    'Whether the person at an MCP client may be asked there to approve a call: off (never), stdio, or on (also over HTTP where the token names that person).',
  ),

  duration(
    'runs.keep_for',
    '1d',
    [60_000, 366 * DAY_MS],
    'How long the output of a call and its idempotency key are kept.',
  ),
  integer(
    'runs.keep_output_bytes',
    MIB,
    [0, 64 * MIB],
    'The largest output that is kept; of a larger one, only its digest is.',
  ),

  choice(
    'log.level',
    'info',
    ['debug', 'info', 'warn', 'error'],
    'The lowest level that `palisade serve` and `palisade mcp` log on standard error.',
  ),
  text(
    'telemetry.otlp_endpoint',
    '',
    'url-or-none',
    'The address to which traces are sent by OTLP over HTTP, such as "http://127.0.0.1:4318/v1/traces"; without it, none are sent.',
  ),

  texts('groups.NAME', null, 'principal', 'The principals in the group NAME, for use in policies.'),

  text('secret[].name', null, 'name', 'The name by which a call asks for the secret; unique and required.'),
  text(
    'secret[].variable',
    null,
    'secret-variable',
    'The variable in which the run finds the placeholder; required.',
  ),
  neverEmpty(
    'secret[].hosts',
    null,
    'egress-target',
    'The only hosts that get the value, on port 443 unless an entry names another; required.',
  ),
  text(
    'secret[].file',
    null,
    'path',
    'The file with the value as its first line, of mode 0600 and out of reach of commands; without one, the value is in the vault under this name.',
  ),

  text(
    'upstream[].name',
    null,
    'upstream-name',
    'The name of an MCP server behind this gateway; unique and required. Its tools are called NAME.TOOL.',
  ),
  neverEmpty(
    'upstream[].command',
    null,
    'word',
    'The command that starts it, as a list of arguments; required.',
  ),
  choice('upstream[].tier', null, ['b', 'c'], 'The sandbox that it runs in (default: c).'),
  text(
    'upstream[].workspace',
    null,
    'path',
    'The one directory that it may write to (default: the one that palisade was started in).',
  ),
  texts('upstream[].env', null, 'word', 'Its environment variables, as "NAME=VALUE".'),
  texts('upstream[].read_only', null, 'path', 'Paths that it may read, in addition to those of the system.'),
  texts('upstream[].allow_hosts', null, 'egress-entry', 'The hosts that it may reach (default: none).'),
  texts('upstream[].secrets', null, 'name', 'Secrets of this file that it uses without seeing them.'),
  choice(
    'upstream[].risk',
    null,
    ['low', 'medium', 'high'],
    'The risk of its tools, for use in policies (default: high). What the server says of itself never counts.',
  ),
  text(
    'upstream[].prefix',
    null,
    'text-or-none',
    'The prefix of the names of its tools (default: the name and a dot).',
  ),

  text('budget[].name', null, 'name', 'The name of the budget in refusals and lists; unique and required.'),
  choice(
    'budget[].per',
    null,
    ['run', 'principal', 'tool', 'tenant'],
    'Whose calls share one account; required.',
  ),
  text(
    'budget[].match',
    null,
    'subject-pattern',
    'The pattern of the subjects that have the budget; `*` matches any characters.',
  ),
  duration(
    'budget[].window',
    null,
    [1000, 366 * DAY_MS],
    'How long until the account is full again; required unless the budget is per run.',
  ),
  integer('budget[].calls', null, [1, EXACT], 'Calls in a window.'),
  integer('budget[].wall_ms', null, [1, EXACT], 'Wall-clock time in a window.'),
  integer('budget[].cpu_ms', null, [1, EXACT], 'CPU time in a window.'),
  integer('budget[].fuel', null, [1, EXACT], 'Fuel in a window.'),
  integer('budget[].output_bytes', null, [1, EXACT], 'Output in a window.'),
  integer('budget[].egress_bytes', null, [1, EXACT], 'Network bytes in a window.'),
];
