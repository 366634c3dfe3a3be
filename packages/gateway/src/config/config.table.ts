import { DEFAULT_LIMITS, LIMIT_CEILINGS } from '../core/limits.ts';
import type { GrammarName } from './grammar.ts';

type Row<Type extends string, Default, Rule> = {
  /** Dotted; `budget[].calls` is a key of each [[budget]], `groups.NAME` stands for any name. */
  readonly key: string;
  readonly type: Type;
  /** What holds when the file does not say it; null: nothing does. */
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

/** The most that even the operator can set; past it a timer, a buffer or a double no longer holds the number. */
const HIGHEST = {
  wallMs: DAY_MS,
  cpuMs: DAY_MS,
  fuel: EXACT,
  memoryBytes: 16 * GIB,
  outputBytes: 256 * MIB,
  egressBytes: 1024 * GIB,
};

function integer<const Key extends string>(
  key: Key,
  value: number | null,
  range: readonly [min: number, max: number],
  sentence: string,
): IntegerKey & { readonly key: Key } {
  return { key, type: 'integer', default: value, min: range[0], max: range[1], sentence };
}

/** Every key of palisade.toml, in the order of `palisade config show`. docs/config.md is held to it. */
export const CONFIG_KEYS = [
  {
    key: 'gateway.tenant',
    type: 'string',
    default: 'default',
    grammar: 'name',
    sentence: 'The tenant of calls whose door names none.',
  },

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

  integer('input.max_bytes', 128 * KIB, [1, 16 * MIB], 'Size of the input of a call, in bytes of UTF-8.'),
  // The canonical encoding bears 128 levels, and the records around an input take some of them.
  integer('input.max_depth', 64, [1, 100], 'Nesting of the input of a call.'),

  integer('approval.expires_after_s', 900, [1, 30 * 86_400], 'How long an approval waits and stays usable.'),

  integer(
    'journal.checkpoint_every_records',
    1024,
    [1, 1_000_000],
    'Records after which a checkpoint is signed.',
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
  {
    key: 'journal.redact_env',
    type: 'string-list',
    default: ['*_TOKEN', '*_SECRET', '*_PASSWORD', '*_API_KEY', '*_PRIVATE_KEY'],
    grammar: 'variable-pattern',
    sentence: 'Environment variables whose values never reach the journal; `*` stands for any characters.',
  },

  integer(
    'policy.reload_ms',
    250,
    [1, HOUR_MS],
    'How often, at most, the policy files are looked at for changes.',
  ),
  integer('store.busy_timeout_ms', 30_000, [1, 600_000], 'How long a write waits for another process.'),
  integer(
    'clock.max_behind_ms',
    60_000,
    [1, DAY_MS],
    'How far the clock may be behind the last journal record.',
  ),

  {
    key: 'process.workspaces',
    type: 'string-list',
    default: [],
    grammar: 'path',
    sentence:
      'Directories that commands may work in, or below; without any, the one that palisade was started in.',
  },
  {
    key: 'process.executables',
    type: 'string-list',
    default: ['*'],
    grammar: 'program',
    sentence: 'Programs that may run, by name or absolute path; `*` is every program on the search path.',
  },
  {
    key: 'process.search_path',
    type: 'string-list',
    default: ['/usr/local/bin', '/usr/bin', '/bin'],
    grammar: 'path',
    sentence: 'Where a program is looked for by its name. The PATH of the caller is never asked.',
  },
  {
    key: 'process.env',
    type: 'string-list',
    default: [
      ...['LANG', 'LANGUAGE', 'LC_*', 'TZ', 'TERM', 'COLORTERM', 'COLUMNS', 'LINES', 'NO_COLOR'],
      ...['FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'CI', 'SOURCE_DATE_EPOCH'],
    ],
    grammar: 'variable-pattern',
    sentence:
      'Variables that a caller may set for a command. Those of loaders and interpreters never, whatever is said here.',
  },
  {
    key: 'process.read_only',
    type: 'string-list',
    default: [],
    grammar: 'path',
    sentence: "Paths beside the system's own that commands may read.",
  },
  {
    key: 'process.protected',
    type: 'string-list',
    default: [],
    grammar: 'inner-path',
    sentence:
      'Paths in a workspace that no command may change; where that cannot be held, the command does not run.',
  },
  {
    key: 'process.egress',
    type: 'choice',
    default: 'strict',
    choices: ['strict', 'preflight', 'none'],
    sentence:
      'The loosest way of holding the network that a call may ask for: by the kernel, by a look at the arguments, not at all.',
  },
  {
    key: 'process.egress_hosts',
    type: 'string-list',
    default: [],
    grammar: 'egress-entry',
    sentence:
      'The most that commands can reach, as an allow-list; its entries are explained in docs/sandbox.md.',
  },
  {
    key: 'process.egress_intercept',
    type: 'string-list',
    default: [],
    grammar: 'egress-host',
    sentence:
      'Hosts to which the proxy of a strict run opens TLS, with an authority that only that run trusts, so that paths, methods and secrets hold inside it.',
  },
  integer('process.wall_ms', 60_000, [1, HIGHEST.wallMs], 'Wall-clock time of a command that asks for none.'),
  integer('process.cpu_ms', 60_000, [1, HIGHEST.cpuMs], 'CPU time of a command and all that it starts.'),
  integer('process.memory_bytes', GIB, [MIB, HIGHEST.memoryBytes], 'Memory of a command.'),
  integer(
    'process.output_bytes',
    MIB,
    [1, HIGHEST.outputBytes],
    'Output of a command, both streams together.',
  ),
  integer('process.file_bytes', 256 * MIB, [1, 1024 * GIB], 'Size of a file that a command writes.'),
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
    'Where palisade runs as root: the user id of commands.',
  ),
  integer(
    'process.warm',
    2,
    [0, 16],
    'Sandboxes that stand ready for each workspace and tier, in a gateway that serves many calls.',
  ),

  {
    key: 'vault.key',
    type: 'choice',
    default: 'file',
    choices: ['file', 'passphrase', 'keychain'],
    sentence:
      'What a new vault of secrets is locked with; `palisade secrets rotate --to` changes that of one that is there.',
  },
  {
    key: 'vault.passphrase_file',
    type: 'string',
    default: '',
    grammar: 'path-or-none',
    sentence:
      'The file that has the passphrase of the vault as its first line, of mode 0600; without one, a terminal is asked.',
  },

  {
    key: 'skills.first_use',
    type: 'choice',
    default: 'refuse',
    choices: ['refuse', 'trust'],
    sentence:
      'Whether the first key that a publisher is seen with is trusted, or every key has to be added by an operator.',
  },
  {
    key: 'skills.advisories',
    type: 'string',
    default: '',
    grammar: 'path-or-none',
    sentence:
      'The file of known vulnerabilities, in the OSV format, that audits compare the parts of a skill with; without one, they compare with none.',
  },
  {
    key: 'skills.reaudit_after',
    type: 'duration',
    default: '7d',
    minMs: HOUR_MS,
    maxMs: 366 * DAY_MS,
    sentence:
      'How long after its last audit a skill is audited again; a manifest can ask for it sooner, never later.',
  },
  integer(
    'skills.reviewers',
    1,
    [1, 5],
    'How many different people have to approve a skill; a manifest can ask for more, never for fewer.',
  ),

  {
    key: 'http.listen',
    type: 'string',
    default: '127.0.0.1:7433',
    grammar: 'listen-address',
    sentence: 'Where `palisade serve` listens; port 0 takes any that is free.',
  },
  {
    key: 'http.allowed_hosts',
    type: 'string-list',
    default: [],
    grammar: 'host-name',
    sentence:
      'Names beside the address itself and localhost that requests may be for; a request for any other is refused.',
  },
  {
    key: 'http.allowed_origins',
    type: 'string-list',
    default: [],
    grammar: 'origin',
    sentence: 'Web pages that may talk to the gateway; without any, no browser may but from its own page.',
  },
  {
    key: 'http.public_url',
    type: 'string',
    default: '',
    grammar: 'url-or-none',
    sentence: 'The address by which clients know this gateway, where a proxy stands in front of it.',
  },
  integer('http.max_body_bytes', 4 * MIB, [KIB, 256 * MIB], 'Size of the body of a request.'),
  integer('http.max_connections', 2048, [1, 65_535], 'Connections at once.'),
  integer('http.request_timeout_ms', 30_000, [100, HOUR_MS], 'How long a request may take to come in.'),
  integer('http.rate_per_minute', 600_000, [1, 60_000_000], 'Requests of one credential in a minute.'),
  integer('http.calls_at_once', 256, [1, 65_535], 'Calls of one credential that run at the same time.'),
  integer(
    'http.drain_ms',
    10_000,
    [0, HOUR_MS],
    'How long calls may go on once the gateway is told to stop.',
  ),

  {
    key: 'oauth.issuer',
    type: 'string',
    default: '',
    grammar: 'url-or-none',
    sentence: 'The authorization server whose tokens are taken beside our own; without one, none are.',
  },
  {
    key: 'oauth.audience',
    type: 'string',
    default: '',
    grammar: 'text-or-none',
    sentence: 'What a token must be for; required with oauth.issuer.',
  },
  {
    key: 'oauth.jwks_url',
    type: 'string',
    default: '',
    grammar: 'url-or-none',
    sentence: 'Where the keys of the issuer are; without it, where its metadata says.',
  },
  {
    key: 'oauth.principal_kind',
    type: 'choice',
    default: 'agent',
    choices: ['agent', 'user', 'service'],
    sentence: 'What the subject of such a token is.',
  },
  {
    key: 'oauth.principal_claim',
    type: 'string',
    default: 'sub',
    grammar: 'name',
    sentence: 'The claim that names the principal.',
  },
  {
    key: 'oauth.tenant_claim',
    type: 'string',
    default: '',
    grammar: 'text-or-none',
    sentence: 'The claim that names the tenant; without one, gateway.tenant.',
  },

  {
    key: 'mcp.elicitation',
    type: 'choice',
    default: 'stdio',
    choices: ['off', 'stdio', 'on'],
    sentence:
      'Whether the person behind an MCP client may be asked there to approve a call: never, over stdio, or also over HTTP where the token names that person.',
  },

  {
    key: 'runs.keep_for',
    type: 'duration',
    default: '1d',
    minMs: 60_000,
    maxMs: 366 * DAY_MS,
    sentence: 'How long the output of a call and its idempotency key are kept.',
  },
  integer(
    'runs.keep_output_bytes',
    MIB,
    [0, 64 * MIB],
    'The largest output that is kept; of a larger one only its digest is.',
  ),

  {
    key: 'log.level',
    type: 'choice',
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error'],
    sentence: 'The least that `palisade serve` and `palisade mcp` say on standard error.',
  },
  {
    key: 'telemetry.otlp_endpoint',
    type: 'string',
    default: '',
    grammar: 'url-or-none',
    sentence:
      'Where traces are sent by OTLP over HTTP, such as "http://127.0.0.1:4318/v1/traces"; without it, nowhere.',
  },

  {
    key: 'groups.NAME',
    type: 'string-list',
    default: null,
    grammar: 'principal',
    sentence: 'The principals in the group NAME, for policies to judge by.',
  },

  {
    key: 'secret[].name',
    type: 'string',
    default: null,
    grammar: 'name',
    sentence: 'The name by which a call asks for the secret; unique and required.',
  },
  {
    key: 'secret[].variable',
    type: 'string',
    default: null,
    grammar: 'secret-variable',
    sentence: 'The variable in which the run finds what stands for the value; required.',
  },
  {
    key: 'secret[].hosts',
    type: 'string-list',
    default: null,
    grammar: 'egress-target',
    isNeverEmpty: true,
    sentence: 'The only hosts that get the value; without a port that is 443 alone; required.',
  },
  {
    key: 'secret[].file',
    type: 'string',
    default: null,
    grammar: 'path',
    sentence:
      'The file that has the value as its first line, of mode 0600 and out of reach of commands; without one, the vault has it under this name.',
  },

  {
    key: 'upstream[].name',
    type: 'string',
    default: null,
    grammar: 'upstream-name',
    sentence:
      'The name of an MCP server behind this gateway; unique and required. Its tools are called NAME.TOOL.',
  },
  {
    key: 'upstream[].command',
    type: 'string-list',
    default: null,
    grammar: 'word',
    isNeverEmpty: true,
    sentence: 'The command that starts it, word by word; required.',
  },
  {
    key: 'upstream[].tier',
    type: 'choice',
    default: null,
    choices: ['b', 'c'],
    sentence: 'The sandbox that it runs in; c where nothing is said.',
  },
  {
    key: 'upstream[].workspace',
    type: 'string',
    default: null,
    grammar: 'path',
    sentence: 'The one directory that it may write to; without one, where palisade was started.',
  },
  {
    key: 'upstream[].env',
    type: 'string-list',
    default: null,
    grammar: 'word',
    sentence: 'Its variables, as "NAME=VALUE".',
  },
  {
    key: 'upstream[].read_only',
    type: 'string-list',
    default: null,
    grammar: 'path',
    sentence: "Paths beside the system's own that it may read.",
  },
  {
    key: 'upstream[].allow_hosts',
    type: 'string-list',
    default: null,
    grammar: 'egress-entry',
    sentence: 'All that it may reach on the network; nothing where nothing is said.',
  },
  {
    key: 'upstream[].secrets',
    type: 'string-list',
    default: null,
    grammar: 'name',
    sentence: 'Secrets of this file that it uses without having them.',
  },
  {
    key: 'upstream[].risk',
    type: 'choice',
    default: null,
    choices: ['low', 'medium', 'high'],
    sentence:
      'The risk of its tools, for policies to judge by; high where nothing is said. What the server says of itself never counts.',
  },
  {
    key: 'upstream[].prefix',
    type: 'string',
    default: null,
    grammar: 'text-or-none',
    sentence: 'What stands before the names of its tools; NAME. where nothing is said.',
  },

  {
    key: 'budget[].name',
    type: 'string',
    default: null,
    grammar: 'name',
    sentence: 'The name of the budget in refusals and lists; unique and required.',
  },
  {
    key: 'budget[].per',
    type: 'choice',
    default: null,
    choices: ['run', 'principal', 'tool', 'tenant'],
    sentence: 'Whose calls share one account; required.',
  },
  {
    key: 'budget[].match',
    type: 'string',
    default: null,
    grammar: 'subject-pattern',
    sentence: 'Only subjects of this pattern have the budget; `*` stands for any characters.',
  },
  {
    key: 'budget[].window',
    type: 'duration',
    default: null,
    minMs: 1000,
    maxMs: 366 * DAY_MS,
    sentence: 'How long until the account is full again; required unless the budget is per run.',
  },
  integer('budget[].calls', null, [1, EXACT], 'Calls in a window.'),
  integer('budget[].wall_ms', null, [1, EXACT], 'Wall-clock time in a window.'),
  integer('budget[].cpu_ms', null, [1, EXACT], 'CPU time in a window.'),
  integer('budget[].fuel', null, [1, EXACT], 'Fuel in a window.'),
  integer('budget[].output_bytes', null, [1, EXACT], 'Output in a window.'),
  integer('budget[].egress_bytes', null, [1, EXACT], 'Network bytes in a window.'),
] as const satisfies readonly ConfigKey[];
