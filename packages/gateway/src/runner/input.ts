import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import type { Json } from '../core/json.ts';
import { MOST_PORTS, type PortForward, parsePorts } from '../core/ports.ts';
import {
  type EgressMode,
  OUTPUT_OVERFLOWS,
  type OutputOverflow,
  PROCESS_TIER_NAMES,
  type ProcessLimits,
  type ProcessTierName,
} from '../core/process.ts';
import { PROTECTED_NAMES, type ProtectedName } from '../core/protected.table.ts';
import { sentenceOf } from '../core/result.ts';
import type { JsonSchema } from '../core/tool.ts';
import { parseRule } from '../egress/rule.ts';
import { INPUT_LIMITS } from './input-limits.ts';
import { PORTS_SCHEMA } from './ports.ts';

/** A command as the caller requests it; null and missing limits are filled from the settings. */
export type ProcessInput = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly workspace: string | null;
  readonly egress: EgressMode | null;
  /** Entries of an allow-list; null: all that the operator allows. */
  readonly egressHosts: readonly string[] | null;
  readonly secrets: readonly string[];
  readonly allowWrites: readonly ProtectedName[];
  readonly ports: readonly PortForward[];
  readonly tier: ProcessTierName | null;
  readonly limits: Partial<ProcessLimits>;
  readonly outputOverflow: OutputOverflow | null;
};

/** The limits as the input names them, and what each is called inside. */
export const LIMIT_NAMES = {
  cpu_time_ms: 'cpuMs',
  memory_bytes: 'memoryBytes',
  output_bytes: 'outputBytes',
  wall_ms: 'wallMs',
  file_size_bytes: 'fileBytes',
  processes: 'processes',
  open_files: 'openFiles',
  egress_bytes: 'egressBytes',
} as const satisfies Record<string, keyof ProcessLimits>;

function text(maxLength: number, description: string, minLength = 0): JsonSchema {
  return { type: 'string', minLength, maxLength, description };
}

const { commandBytes, argBytes, pathBytes, variableBytes, entryBytes, secretBytes, totalBytes } =
  INPUT_LIMITS;

/** What palisade.process.run takes. Lengths count characters here; parseInput counts the bytes. */
export const INPUT_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    command: text(
      commandBytes,
      'A program by its name, or by a path that is absolute or relative to cwd.',
      1,
    ),
    args: {
      type: 'array',
      maxItems: INPUT_LIMITS.args,
      items: { type: 'string', maxLength: argBytes },
      description: 'The arguments of the program, as they are: no shell reads them.',
    },
    cwd: text(
      pathBytes,
      'Where the command starts, inside the workspace; the workspace itself by default.',
      1,
    ),
    // The policies see this as its JSON text; the names alone are among the facts of the run.
    env: {
      type: 'object',
      maxProperties: INPUT_LIMITS.variables,
      additionalProperties: { type: 'string', maxLength: variableBytes },
      description: 'Variables beside the base environment, from the allow-list of the operator.',
    },
    stdin: text(totalBytes, 'What the command reads from its standard input; nothing by default.'),
    workspace: text(pathBytes, 'The absolute path of the one directory that the command may write to.', 1),
    egress: {
      type: 'string',
      enum: ['strict', 'preflight', 'none'],
      description: 'How the network is held; strict by default.',
    },
    egress_hosts: {
      type: 'array',
      maxItems: INPUT_LIMITS.egressHosts,
      items: text(
        entryBytes,
        'A host, as in "api.example.com", "*.example.com:443" or "GET https://…/v1/".',
        1,
      ),
      description:
        'The most that the command needs to reach; it narrows what the operator allows. Without it all of that, with [] no network.',
    },
    secrets: {
      type: 'array',
      maxItems: INPUT_LIMITS.secrets,
      items: text(secretBytes, 'The name of a secret.', 1),
      description:
        'Secrets of the operator that the command uses: it gets what stands for each, and the hosts of the secret get the value.',
    },
    allow_writes: {
      type: 'array',
      maxItems: PROTECTED_NAMES.length,
      items: { type: 'string', enum: [...PROTECTED_NAMES] },
      description:
        'Files that run by themselves later, such as git hooks or CI files, and that the command has to write; without it they are restored after the run. The operator has to allow each.',
    },
    ports: PORTS_SCHEMA,
    tier: { type: 'string', enum: [...PROCESS_TIER_NAMES], description: 'The sandbox tier; usually c.' },
    limits: {
      type: 'object',
      properties: Object.fromEntries(
        Object.keys(LIMIT_NAMES).map((name) => [name, { type: 'integer', minimum: 1 }]),
      ),
      additionalProperties: false,
      description: 'What the command may use at most; the ceilings of the operator hold in any case.',
    },
    output_overflow: {
      type: 'string',
      enum: [...OUTPUT_OVERFLOWS],
      description:
        'What happens when the command writes more than output_bytes: cut leaves the middle out with a note and the command goes on, kill ends it; cut by default.',
    },
  },
  required: ['command'],
  additionalProperties: false,
};

/** Reads an input that fits the schema, and counts the bytes that the schema cannot. Throws a CodedError. */
export function parseInput(input: Json): ProcessInput {
  const raw = objectOf(input, 'the input', Object.keys(INPUT_SCHEMA.properties as object));
  const parsed: ProcessInput = {
    command: plainTextOf(raw.command, 'command', commandBytes),
    args: listOf(raw.args, 'args', INPUT_LIMITS.args).map((arg, i) =>
      plainTextOf(arg, `args[${i}]`, argBytes),
    ),
    cwd: orNull(raw.cwd, (value) => plainTextOf(value, 'cwd', pathBytes)),
    env: variablesOf(raw.env),
    stdin: orNull(raw.stdin, (value) => textOf(value, 'stdin')),
    workspace: orNull(raw.workspace, (value) => plainTextOf(value, 'workspace', pathBytes)),
    egress: orNull(raw.egress, (value) => oneOf(value, 'egress', ['strict', 'preflight', 'none'])),
    egressHosts: orNull(raw.egress_hosts, entriesOf),
    secrets: secretsOf(raw.secrets),
    allowWrites: allowWritesOf(raw.allow_writes),
    ports: portsOf(raw.ports),
    tier: orNull(raw.tier, (value) => oneOf(value, 'tier', PROCESS_TIER_NAMES)),
    limits: limitsOf(raw.limits),
    outputOverflow: orNull(raw.output_overflow, (value) => oneOf(value, 'output_overflow', OUTPUT_OVERFLOWS)),
  };
  if (parsed.command === '') throw invalid('command is empty, expected a program');
  demandStrict(parsed);
  const bytes = sizeOf(parsed);
  // Boundary: the sum is limited as well, or 128 long arguments would be half a megabyte.
  if (bytes > totalBytes) throw invalid(`it has ${bytes} bytes of text, expected at most ${totalBytes}`);
  return parsed;
}

function sizeOf(input: ProcessInput): number {
  const { command, args, cwd, env, stdin, workspace, egressHosts, secrets } = input;
  const lists = [...args, ...Object.entries(env).flat(), ...(egressHosts ?? []), ...secrets];
  const texts = [command, cwd ?? '', stdin ?? '', workspace ?? '', ...lists];
  return texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
}

/** A text that becomes a part of a command line: the kernel ends it at a NUL, and a lone surrogate has no bytes. */
function plainTextOf(raw: Json | undefined, name: string, maxBytes: number): string {
  const plain = textOf(raw, name);
  // Boundary: what follows a NUL is cut off by the kernel, so the checked text would not be the used one.
  if (plain.includes('\0')) throw invalid(`${name} has a NUL character, expected text without one`);
  const bytes = Buffer.byteLength(plain);
  if (bytes > maxBytes) throw invalid(`${name} has ${bytes} bytes, expected at most ${maxBytes}`);
  return plain;
}

function textOf(raw: Json | undefined, name: string): string {
  if (typeof raw !== 'string') throw invalid(`${name} is not a string, expected one`);
  if (/\p{Surrogate}/u.test(raw)) throw invalid(`${name} has a lone surrogate, expected whole characters`);
  return raw;
}

function listOf(raw: Json | undefined, name: string, most: number): readonly Json[] {
  if (raw === undefined) return [];
  if (!Array.isArray(raw)) throw invalid(`${name} is not a list, expected a list of strings`);
  if (raw.length <= most) return raw as readonly Json[];
  throw invalid(`${name} has ${raw.length} elements, expected at most ${most}`);
}

function entriesOf(raw: Json): readonly string[] {
  const list = listOf(raw, 'egress_hosts', INPUT_LIMITS.egressHosts);
  return [...new Set(list.map((entry, i) => entryOf(entry, `egress_hosts[${i}]`)))];
}

function entryOf(raw: Json, name: string): string {
  const entry = plainTextOf(raw, name, entryBytes);
  const rule = parseRule(entry);
  if (!rule.ok) throw invalid(`${name} is not a valid allow-list entry. ${sentenceOf(rule.problem)}`);
  // Boundary: a caller states what it needs; policies that compare entries never see a negated one.
  if (rule.value.denies) throw invalid(`${name} is a denial, expected an entry without "!"`);
  return entry;
}

function secretsOf(raw: Json | undefined): readonly string[] {
  const list = listOf(raw, 'secrets', INPUT_LIMITS.secrets);
  return [...new Set(list.map((name, i) => plainTextOf(name, `secrets[${i}]`, secretBytes)))];
}

function allowWritesOf(raw: Json | undefined): readonly ProtectedName[] {
  const list = listOf(raw, 'allow_writes', PROTECTED_NAMES.length);
  return [...new Set(list.map((name, i) => oneOf(name, `allow_writes[${i}]`, PROTECTED_NAMES)))];
}

function portsOf(raw: Json | undefined): readonly PortForward[] {
  const ports = parsePorts(listOf(raw, 'ports', MOST_PORTS));
  if (!ports.ok) throw invalid(ports.problem);
  return ports.value;
}

/** Boundary: only the proxy of a strict run enforces these, and no caller may believe that they apply elsewhere. */
function demandStrict({ egress, egressHosts, secrets }: ProcessInput): void {
  if (egress === null || egress === 'strict') return;
  const asked = egressHosts !== null ? 'egress_hosts' : secrets.length > 0 ? 'secrets' : null;
  if (asked === null) return;
  throw invalid(`it has ${asked} with the egress "${egress}", expected them with "strict" alone`, {
    remedy: `Leave out ${asked}, or ask for the egress "strict".`,
  });
}

function variablesOf(raw: Json | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries(raw === undefined ? {} : objectOf(raw, 'env', null));
  if (entries.length > INPUT_LIMITS.variables) {
    throw invalid(`env has ${entries.length} variables, expected at most ${INPUT_LIMITS.variables}`);
  }
  return Object.fromEntries(
    entries.map(([name, value]) => [
      plainTextOf(name, 'a name in env', variableBytes),
      plainTextOf(value, `env ${quote(name)}`, variableBytes),
    ]),
  );
}

/** Only that they are numbers; whether a number can be a limit is judged with the ceilings at hand. */
function limitsOf(raw: Json | undefined): Partial<ProcessLimits> {
  if (raw === undefined) return {};
  const limits: Partial<Record<keyof ProcessLimits, number>> = {};
  for (const [name, value] of Object.entries(objectOf(raw, 'limits', Object.keys(LIMIT_NAMES)))) {
    if (typeof value !== 'number') throw invalid(`limits.${name} is not a number, expected an integer`);
    limits[LIMIT_NAMES[name as keyof typeof LIMIT_NAMES]] = value;
  }
  return limits;
}

function objectOf(raw: Json, name: string, keys: readonly string[] | null): { readonly [key: string]: Json } {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw invalid(`${name} is something else, expected an object`);
  }
  const unknown = keys === null ? undefined : Object.keys(raw).find((key) => !keys.includes(key));
  if (unknown === undefined) return raw as { readonly [key: string]: Json };
  throw invalid(`${name} has the unknown key ${quote(unknown)}, expected one of ${keys?.join(', ')}`);
}

function oneOf<const Choice extends string>(raw: Json, name: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((each) => each === raw);
  if (choice === undefined) throw invalid(`${name} is something else, expected one of ${choices.join(', ')}`);
  return choice;
}

function orNull<T>(raw: Json | undefined, read: (value: Json) => T): T | null {
  return raw === undefined ? null : read(raw);
}

function invalid(what: string, options: { remedy?: string } = {}): CodedError {
  return new CodedError('registry/invalid-input', `Cannot read the command: ${what}`, options);
}
