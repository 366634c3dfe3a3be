import { DEFAULT_LIMITS, LIMIT_CEILINGS } from '../core/limits.ts';
import { PROCESS_TIER_NAMES } from '../core/process.ts';
import type { GrammarName } from './grammar.ts';

/** The default is the value when the file does not set it; null, or an empty string: none. */
type Rule<Type extends string, Default, More> = { readonly type: Type; readonly default: Default } & More;

type IntegerRule<D = number | null> = Rule<
  'integer',
  D,
  { readonly min: number; readonly max: number; readonly multipleOf?: number }
>;
type StringRule<D = string | null> = Rule<'string', D, { readonly grammar: GrammarName }>;
type StringListRule<D = readonly string[] | null> = Rule<
  'string-list',
  D,
  { readonly grammar: GrammarName; readonly isNeverEmpty?: true }
>;
export type DurationRule<D = string | null> = Rule<
  'duration',
  D,
  { readonly minMs: number; readonly maxMs: number }
>;
type ChoiceRule<D = string | null, C = string> = Rule<'choice', D, { readonly choices: readonly C[] }>;
type KeyRule = IntegerRule | StringRule | StringListRule | DurationRule | ChoiceRule;

/** A key of palisade.toml: dotted; `budget[].calls` is a key of each [[budget]], `groups.NAME` is any name. */
export type ConfigKey = KeyRule & { readonly key: string; readonly sentence: string };

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

/** The most that the engine of modules can count: its own ceilings, which a test compares with these. */
const ENGINE = { fuel: 1_000_000_000_000, memoryBytes: 4 * GIB, tableElements: 10_000_000, instances: 4096 };

type Range = readonly [min: number, max: number];

function integer<D extends number | null>(value: D, [min, max]: Range): IntegerRule<D> {
  return { type: 'integer', default: value, min, max };
}

function text<const D extends string | null>(value: D, grammar: GrammarName): StringRule<D> {
  return { type: 'string', default: value, grammar };
}

function texts<D extends readonly string[] | null>(value: D, grammar: GrammarName): StringListRule<D> {
  return { type: 'string-list', default: value, grammar };
}

function neverEmpty(grammar: GrammarName): StringListRule<null> {
  return { ...texts(null, grammar), isNeverEmpty: true };
}

function choice<const C extends string, D extends C | null>(
  value: D,
  choices: readonly C[],
): ChoiceRule<D, C> {
  return { type: 'choice', default: value, choices };
}

function duration<D extends string | null>(value: D, [minMs, maxMs]: Range): DurationRule<D> {
  return { type: 'duration', default: value, minMs, maxMs };
}

/** The rule and the meaning of every key, in the order of `palisade config show`. docs/config.md is checked against it. */
const ROWS = {
  'gateway.tenant': [text('default', 'name'), 'The tenant of calls that name none.'],

  'limits.wall_ms': [integer(DEFAULT_LIMITS.wallMs, [1, HIGHEST.wallMs]), 'Wall-clock time of one call.'],
  'limits.cpu_ms': [integer(DEFAULT_LIMITS.cpuMs, [1, HIGHEST.cpuMs]), 'CPU time of one call.'],
  'limits.fuel': [integer(DEFAULT_LIMITS.fuel, [1, ENGINE.fuel]), 'The former name of wasm.fuel.'],
  'limits.memory_bytes': [
    integer(DEFAULT_LIMITS.memoryBytes, [64 * KIB, ENGINE.memoryBytes]),
    'The former name of wasm.memory_bytes.',
  ],
  'limits.output_bytes': [
    integer(DEFAULT_LIMITS.outputBytes, [1, HIGHEST.outputBytes]),
    'Output of one call.',
  ],
  'limits.egress_bytes': [
    integer(DEFAULT_LIMITS.egressBytes, [1, HIGHEST.egressBytes]),
    'Bytes that one call sends and receives over the network.',
  ],

  'ceilings.wall_ms': [
    integer(LIMIT_CEILINGS.wallMs, [1, HIGHEST.wallMs]),
    'The most wall-clock time any call gets.',
  ],
  'ceilings.cpu_ms': [integer(LIMIT_CEILINGS.cpuMs, [1, HIGHEST.cpuMs]), 'The most CPU time any call gets.'],
  'ceilings.fuel': [integer(LIMIT_CEILINGS.fuel, [1, HIGHEST.fuel]), 'The most fuel any call gets.'],
  'ceilings.memory_bytes': [
    integer(LIMIT_CEILINGS.memoryBytes, [64 * KIB, HIGHEST.memoryBytes]),
    'The most memory any call gets.',
  ],
  'ceilings.output_bytes': [
    integer(LIMIT_CEILINGS.outputBytes, [1, HIGHEST.outputBytes]),
    'The most output any call gets.',
  ],
  'ceilings.egress_bytes': [
    integer(LIMIT_CEILINGS.egressBytes, [1, HIGHEST.egressBytes]),
    'The most network bytes any call gets.',
  ],

  'wasm.wall_ms': [
    integer(DEFAULT_LIMITS.wallMs, [1, HIGHEST.wallMs]),
    'The most wall-clock time of one call of a module, whatever its caller asks for (default: limits.wall_ms).',
  ],
  'wasm.fuel': [
    integer(DEFAULT_LIMITS.fuel, [1, ENGINE.fuel]),
    'The most fuel of one call of a module: metered instructions. A manifest or a caller can ask for less.',
  ],
  'wasm.memory_bytes': [
    integer(DEFAULT_LIMITS.memoryBytes, [64 * KIB, ENGINE.memoryBytes]),
    'The most memory of one call of a module, all its memories together. A manifest or a caller can ask for less.',
  ],
  'wasm.table_elements': [
    integer(100_000, [0, ENGINE.tableElements]),
    'The most elements of the tables of a module, all of them together.',
  ],
  'wasm.instances': [
    integer(256, [1, ENGINE.instances]),
    'The most modules that run at once; further calls wait. A machine with little memory runs fewer.',
  ],

  'input.max_bytes': [integer(128 * KIB, [1, 16 * MIB]), 'The largest input of a call, in bytes of UTF-8.'],
  // The canonical encoding supports 128 levels, and the records around an input take some of them.
  'input.max_depth': [integer(64, [1, 100]), 'The deepest nesting of the input of a call.'],

  'approval.expires_after_s': [
    integer(900, [1, 30 * 86_400]),
    'How long an approval request stays open and an approval stays usable.',
  ],
  'approval.notify': [
    choice('off', ['off', 'desktop']),
    'Whether a request is shown on the desktop, by `notify-send` or `osascript`.',
  ],
  'approval.notify_url': [
    text('', 'url-or-none'),
    'Where each request is posted as JSON: https, or http of this machine itself; "" for nowhere.',
  ],
  'approval.notify_secret_file': [
    text('', 'path-or-none'),
    'The private file whose bytes sign what is posted there.',
  ],

  'journal.checkpoint_every_records': [
    integer(1024, [1, 1_000_000]),
    'Number of records after which a checkpoint is signed.',
  ],
  'journal.checkpoint_after_ms': [
    integer(1000, [1, HOUR_MS]),
    'Time after which new records get a checkpoint.',
  ],
  'journal.segment_records': [
    { ...integer(65_536, [256, 16_777_216]), multipleOf: 256 },
    'Records in one segment of the journal.',
  ],
  'journal.redact_env': [
    texts(['*_TOKEN', '*_SECRET', '*_PASSWORD', '*_API_KEY', '*_PRIVATE_KEY'], 'variable-pattern'),
    'Environment variables whose values never reach the journal; `*` matches any characters.',
  ],

  'policy.reload_ms': [
    integer(250, [1, HOUR_MS]),
    'The shortest interval between two checks of the policy files for changes.',
  ],
  'store.busy_timeout_ms': [integer(30_000, [1, 600_000]), 'How long a write waits for another process.'],
  'clock.max_behind_ms': [
    integer(60_000, [1, DAY_MS]),
    'How far the clock may be behind the last journal record.',
  ],

  'process.workspaces': [
    texts([], 'path'),
    'Directories in or below which commands may work, never a home or a directory of the system; without any, the one that palisade was started in, if it is in a project.',
  ],
  'process.tier_default': [
    choice('c', PROCESS_TIER_NAMES),
    'The sandbox of a command that names none: b (limits on resources) or c (a jail).',
  ],
  'process.tier_floor': [
    choice('b', PROCESS_TIER_NAMES),
    'The weakest sandbox that any command and any upstream server may run in; a call can only ask for a stronger one.',
  ],
  'process.executables': [
    texts(['*'], 'program'),
    'Programs that may run, by name or absolute path; `*` allows every program on the search path.',
  ],
  'process.interpreters': [
    texts([], 'program'),
    'Shells, interpreters and programs that start others which may run in tier B, by name or absolute path; `*` allows all of them. Tier C needs no such list.',
  ],
  'process.search_path': [
    texts(['/usr/local/bin', '/usr/bin', '/bin'], 'path'),
    'Directories in which a program is looked up by its name. The PATH of the caller is never used.',
  ],
  'process.env': [
    texts(
      [
        ...['LANG', 'LANGUAGE', 'LC_*', 'TZ', 'TERM', 'COLORTERM', 'COLUMNS', 'LINES', 'NO_COLOR'],
        ...['FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'CI', 'SOURCE_DATE_EPOCH'],
      ],
      'variable-pattern',
    ),
    'Variables that a caller may set for a command; never those of loaders and interpreters, even if listed here.',
  ],
  'process.read_only': [
    texts([], 'path'),
    'Paths that commands may read, in addition to those of the system.',
  ],
  'process.argument_paths': [
    choice('inform', ['inform', 'refuse']),
    'What a path outside the sandbox in an argument of a tier C command does: inform the policies (the kernel keeps it out), or refuse the command. In tier B it always refuses.',
  ],
  'process.tool_homes': [
    texts([], 'tool-home'),
    'Tools in your home that commands may read and run, as nvm, pyenv or rust (docs/sandbox.md lists them); `*` shows all that are there.',
  ],
  'process.git_identity': [
    choice('host', ['host', 'none']),
    'Who commits in a jail, unless the repository says: host (the name and the address of your own git configuration) or none.',
  ],
  'process.protected': [
    texts([], 'inner-path'),
    'Paths in a workspace that no command may change; where that cannot be enforced, the command does not run.',
  ],
  'process.allow_writes': [
    texts([], 'protected-row'),
    'Protected files, by their rows in docs/sandbox.md, that a call may ask to write; without it none.',
  ],
  'process.ports': [
    texts([], 'port-range'),
    'Ports of this machine that calls may ask for, on loopback, for servers in the sandbox: "5173", or "8000-8999"; without it none.',
  ],
  'process.egress': [
    choice('strict', ['strict', 'preflight', 'none']),
    'The loosest egress mode that a call may ask for: strict (enforced by the kernel), preflight (arguments are inspected) or none.',
  ],
  'process.egress_hosts': [
    texts([], 'egress-entry'),
    'The most that commands can reach, as an allow-list; docs/egress.md explains its entries.',
  ],
  'process.egress_intercept': [
    texts([], 'egress-host'),
    'Hosts whose TLS the proxy of a strict run intercepts, with an authority that only that run trusts, so that paths, methods and secrets apply inside it.',
  ],
  'process.wall_ms': [
    integer(600_000, [1, HIGHEST.wallMs]),
    'Wall-clock time of a command that asks for none.',
  ],
  'process.cpu_ms': [
    integer(1_200_000, [1, HIGHEST.cpuMs]),
    'CPU time of a command and everything it starts.',
  ],
  'process.memory_bytes': [integer(2 * GIB, [MIB, HIGHEST.memoryBytes]), 'Memory of a command.'],
  'process.output_bytes': [
    integer(MIB, [1, HIGHEST.outputBytes]),
    'Output of a command, both streams together.',
  ],
  'process.output_overflow': [
    choice('cut', ['cut', 'kill']),
    'What happens to a command that writes more: cut (the middle is left out, with a note) or kill, which a call may always ask for.',
  ],
  'process.file_bytes': [integer(256 * MIB, [1, 1024 * GIB]), 'The largest file that a command may write.'],
  'process.processes': [integer(512, [1, 32_768]), 'Processes and threads of a command at once.'],
  'process.open_files': [integer(1024, [16, 1_048_576]), 'Open files of each process of a command.'],
  'process.egress_bytes': [
    integer(256 * MIB, [1, HIGHEST.egressBytes]),
    'Bytes that a command sends and receives through the proxy of a strict run.',
  ],
  'process.first_uid': [
    integer(61_000, [1000, 4_000_000_000]),
    'The user id of commands where palisade runs as root.',
  ],
  'process.warm': [
    integer(2, [0, 16]),
    'Sandboxes kept warm for each workspace and tier, in a gateway that serves many calls.',
  ],
  'process.snapshots': [
    choice('on', ['on', 'off']),
    'Whether files of a workspace are copied before a command, so that `palisade undo` can take back what it changed.',
  ],
  'process.snapshot_bytes': [
    integer(512 * MIB, [0, 1024 * GIB]),
    'The most bytes of files of one workspace that are kept as copies at a time.',
  ],
  'process.snapshot_files': [
    integer(50_000, [0, 1_000_000]),
    'The most files of one workspace that are kept as copies at a time.',
  ],
  'process.snapshot_file_bytes': [
    integer(16 * MIB, [0, 1024 * GIB]),
    'The largest file that is copied where the file system cannot clone it.',
  ],
  'process.snapshot_wait_ms': [
    integer(2000, [0, 60_000]),
    'How long the start of a command waits at most for copies of files that changed; the rest is copied while it runs.',
  ],
  'process.snapshot_keep': [duration('7d', [60_000, 366 * DAY_MS]), 'How long a command can be undone.'],
  'process.snapshot_total_bytes': [
    integer(2 * GIB, [0, 1024 * GIB]),
    'The most bytes of all copies; the commands that are the longest ago go first.',
  ],

  'vault.key': [
    choice('file', ['file', 'passphrase', 'keychain']),
    'What a new vault of secrets is locked with; `palisade secrets rotate --to` changes it for an existing one.',
  ],
  'vault.passphrase_file': [
    text('', 'path-or-none'),
    'The file with the passphrase of the vault as its first line, of mode 0600; without one, palisade asks at the terminal.',
  ],

  'skills.first_use': [
    choice('refuse', ['refuse', 'trust']),
    'Whether the first key seen of a publisher is trusted, or an operator has to add every key.',
  ],
  'skills.advisories': [
    text('', 'path-or-none'),
    'The file of known vulnerabilities, in the OSV format, with which audits compare the parts of a skill; without one, they compare nothing.',
  ],
  'skills.reaudit_after': [
    duration('7d', [HOUR_MS, 366 * DAY_MS]),
    'How long after its last audit a skill is audited again; a manifest can shorten this, never extend it.',
  ],
  'skills.fail_after_traps': [
    integer(10, [0, 1_000]),
    'After how many traps, each on another input and with no success in between, a skill is taken out of use until an operator enables it; 0 for never.',
  ],
  'skills.fail_window': [duration('10m', [60_000, 7 * DAY_MS]), 'How long such a trap counts.'],
  'skills.reviewers': [
    integer(1, [1, 5]),
    'How many different people have to approve a skill; a manifest can require more, never fewer.',
  ],

  'http.listen': [
    text('127.0.0.1:7433', 'listen-address'),
    'The address on which `palisade serve` listens; port 0 takes any free port.',
  ],
  'http.allowed_hosts': [
    texts([], 'host-name'),
    'Host names that requests may use, in addition to the address itself and localhost; any other is refused.',
  ],
  'http.allowed_origins': [
    texts([], 'origin'),
    'Origins of web pages that may use the gateway; without any, only its own page may.',
  ],
  'http.public_url': [
    text('', 'url-or-none'),
    'The address by which clients know this gateway, where it is behind a proxy.',
  ],
  'http.max_body_bytes': [integer(4 * MIB, [KIB, 256 * MIB]), 'The largest body of a request.'],
  'http.max_connections': [integer(2048, [1, 65_535]), 'The most open connections.'],
  'http.request_timeout_ms': [integer(30_000, [100, HOUR_MS]), 'How long it may take to receive a request.'],
  'http.rate_per_minute': [
    integer(600_000, [1, 60_000_000]),
    'The most requests of one credential per minute.',
  ],
  'http.calls_at_once': [integer(256, [1, 65_535]), 'The most concurrent calls of one credential.'],
  'http.drain_ms': [
    integer(10_000, [0, HOUR_MS]),
    'How long running calls may continue after the gateway is told to stop.',
  ],

  'oauth.issuer': [
    text('', 'url-or-none'),
    'The authorization server whose tokens are accepted in addition to those of the gateway; without one, none are.',
  ],
  'oauth.audience': [
    text('', 'text-or-none'),
    'The audience that a token must have; required with oauth.issuer.',
  ],
  'oauth.jwks_url': [
    text('', 'url-or-none'),
    'The address of the keys of the issuer; without it, the one in its metadata.',
  ],
  'oauth.principal_kind': [
    choice('agent', ['agent', 'user', 'service']),
    'The kind of principal that the subject of such a token is.',
  ],
  'oauth.principal_claim': [text('sub', 'name'), 'The claim that names the principal.'],
  'oauth.tenant_claim': [
    text('', 'text-or-none'),
    'The claim that names the tenant; without one, gateway.tenant.',
  ],
  'oauth.device_claim': [
    text('', 'text-or-none'),
    'The claim that names the device of a caller, for policies and sessions; without one, tokens name none.',
  ],
  'oauth.channel_claim': [
    text('', 'text-or-none'),
    'The claim that names the client or the way in of a caller, for policies and sessions; without one, tokens name none.',
  ],

  'session.idle_after': [
    duration('30m', [60_000, 7 * DAY_MS]),
    'How long a caller makes no call until its session is over and its next call begins a new one, with new budgets per run.',
  ],

  'mcp.elicitation': [
    choice('stdio', ['off', 'stdio', 'on']),
    'Whether the person at an MCP client may be asked there to approve a call: off (never), stdio, or on (also over HTTP with a token of that person that has the scope approve).',
  ],

  'runs.keep_for': [
    duration('1d', [60_000, 366 * DAY_MS]),
    'How long the output of a call and its idempotency key are kept.',
  ],
  'runs.keep_output_bytes': [
    integer(MIB, [0, 64 * MIB]),
    'The largest output that is kept; of a larger one, only its digest is.',
  ],

  'log.level': [
    choice('info', ['debug', 'info', 'warn', 'error']),
    'The lowest level that `palisade serve` and `palisade mcp` log on standard error.',
  ],
  'telemetry.otlp_endpoint': [
    text('', 'url-or-none'),
    'The address to which traces are sent by OTLP over HTTP, such as "http://127.0.0.1:4318/v1/traces"; without it, none are sent.',
  ],

  'groups.NAME': [texts(null, 'principal'), 'The principals in the group NAME, for use in policies.'],

  'secret[].name': [text(null, 'name'), 'The name by which a call asks for the secret; unique and required.'],
  'secret[].variable': [
    text(null, 'secret-variable'),
    'The variable in which the run finds the placeholder; required.',
  ],
  'secret[].hosts': [
    neverEmpty('egress-target'),
    'The only hosts that get the value, on port 443 unless an entry names another; required.',
  ],
  'secret[].file': [
    text(null, 'path'),
    'The file with the value as its first line, of mode 0600 and out of reach of commands; without one, the value is in the vault under this name.',
  ],

  'upstream[].name': [
    text(null, 'upstream-name'),
    'The name of an MCP server behind this gateway; unique and required. Its tools are called NAME.TOOL.',
  ],
  'upstream[].command': [neverEmpty('word'), 'The command that starts it, as a list of arguments; required.'],
  // Without a setting, the strictest applies.
  'upstream[].tier': [choice('c', ['b', 'c']), 'The sandbox that it runs in.'],
  'upstream[].workspace': [
    text(null, 'path'),
    'The one directory that it may write to (default: that of commands that name none).',
  ],
  'upstream[].env': [texts([], 'word'), 'Its environment variables, as "NAME=VALUE".'],
  'upstream[].read_only': [texts([], 'path'), 'Paths that it may read, in addition to those of the system.'],
  'upstream[].allow_hosts': [texts([], 'egress-entry'), 'The hosts that it may reach.'],
  'upstream[].secrets': [texts([], 'name'), 'Secrets of this file that it uses without seeing them.'],
  'upstream[].risk': [
    choice('high', ['low', 'medium', 'high']),
    'The risk of its tools, for use in policies. What the server says of itself never counts.',
  ],
  'upstream[].elicitation': [
    choice('off', ['off', 'on']),
    'Whether its questions are shown to the person at the MCP client, as those of this server and where mcp.elicitation permits forms.',
  ],
  'upstream[].prefix': [
    text(null, 'text-or-none'),
    'The prefix of the ids of its tools (default: the name and a dot).',
  ],

  'registry[].name': [
    text(null, 'host-name'),
    'An OCI registry of skills, as host or host:port; unique and required.',
  ],
  'registry[].scheme': [
    choice(null, ['https', 'http']),
    'How it is reached (default: https; a registry on this machine itself, http).',
  ],
  'registry[].secret': [
    text(null, 'name'),
    'The secret of the vault with its log-in, as USER:PASSWORD (default: oci.HOST, or oci.HOST-PORT).',
  ],
  'registry[].token_hosts': [
    texts([], 'host-name'),
    'Hosts that may be sent its log-in because they issue its tokens; the registry itself always may.',
  ],
  'registry[].blob_hosts': [
    texts([], 'host-name'),
    'Hosts in private networks that it may redirect downloads to; public ones need no entry.',
  ],

  'budget[].name': [text(null, 'name'), 'The name of the budget in refusals and lists; unique and required.'],
  'budget[].per': [
    choice(null, ['run', 'principal', 'tool', 'tenant']),
    'Whose calls share one account; required.',
  ],
  'budget[].match': [
    text(null, 'subject-pattern'),
    'The pattern of the subjects that have the budget; `*` matches any characters.',
  ],
  'budget[].window': [
    duration(null, [1000, 366 * DAY_MS]),
    'How long until the account is full again; required unless the budget is per run.',
  ],
  'budget[].calls': [integer(null, [1, EXACT]), 'Calls in a window.'],
  'budget[].wall_ms': [integer(null, [1, EXACT]), 'Wall-clock time in a window.'],
  'budget[].cpu_ms': [integer(null, [1, EXACT]), 'CPU time in a window.'],
  'budget[].fuel': [integer(null, [1, EXACT]), 'Fuel in a window.'],
  'budget[].output_bytes': [integer(null, [1, EXACT]), 'Output in a window.'],
  'budget[].egress_bytes': [integer(null, [1, EXACT]), 'Network bytes in a window.'],
} as const satisfies Readonly<Record<string, readonly [rule: KeyRule, sentence: string]>>;

export const CONFIG_KEYS: readonly ConfigKey[] = Object.entries(ROWS).map(([key, [rule, sentence]]) => ({
  ...rule,
  key,
  sentence,
}));

/** Keys without a default that each table of their list must have. */
export const REQUIRED_KEYS = [
  'secret[].name',
  'secret[].variable',
  'secret[].hosts',
  'upstream[].name',
  'upstream[].command',
  'registry[].name',
  'budget[].name',
  'budget[].per',
] as const satisfies readonly (keyof typeof ROWS)[];

type RuleOf<K extends keyof typeof ROWS> = (typeof ROWS)[K][0];
type SetValue<R extends KeyRule> = R extends { readonly choices: readonly (infer C)[] }
  ? C
  : { integer: number; duration: number; string: string; 'string-list': readonly string[] }[Exclude<
      R['type'],
      'choice'
    >];
type Unset<K extends keyof typeof ROWS> = K extends (typeof REQUIRED_KEYS)[number]
  ? never
  : RuleOf<K>['default'] extends null | ''
    ? null
    : never;
type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;
type Property<
  Name extends string,
  R extends KeyRule,
> = `${Camel<Name>}${R['type'] extends 'duration' ? 'Ms' : ''}`;

/** The values of a section as a Config has them: `propertyOf` names them, and one that is not set is null. */
export type Section<S extends string> = {
  readonly [K in keyof typeof ROWS as K extends `${S}.${infer Name}` ? Property<Name, RuleOf<K>> : never]:
    | SetValue<RuleOf<K>>
    | Unset<K>;
};

/** The sections that are one table each, with names of their own. */
export type PlainSection = Exclude<
  keyof typeof ROWS extends `${infer S}.${string}` ? S : never,
  'groups' | `${string}[]`
>;
