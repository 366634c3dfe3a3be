import { LIMIT_CEILINGS } from '../../core/limits.ts';
import type { TextName } from './texts.table.ts';

type Row<Type extends string, Rule> = {
  /** Dotted; `entrypoints.tools[].id` is a key of each [[entrypoints.tools]]. */
  readonly key: string;
  readonly type: Type;
  readonly sentence: string;
} & Rule;

type Leaf<Type extends string, Default, Rule> = Row<
  Type,
  Rule & {
    readonly isRequired?: true;
    /** What holds when the file does not say it; null: nothing does. */
    readonly default: Default | null;
    /** As it stands in a file. */
    readonly example: string;
  }
>;

export type TextKey = Leaf<'text', string, { readonly rule: TextName }>;
export type ChoiceKey = Leaf<'choice', string, { readonly choices: readonly string[] }>;
export type IntegerKey = Leaf<'integer', number, { readonly min: number; readonly max: number }>;
export type BooleanKey = Leaf<'boolean', boolean, object>;
export type TextsKey = Leaf<
  'texts',
  readonly string[],
  { readonly rule: TextName; readonly min: number; readonly max: number }
>;
/** A JSON Schema, as a table or as the path of a file in the package. */
export type SchemaKey = Leaf<'schema', never, { readonly of: 'input' | 'output' }>;
/** A table; one that is filled is read as if it stood there empty when it does not. */
export type TableKey = Row<'table', { readonly isFilled: boolean }>;
/** Tables under `[[key]]`. */
export type TablesKey = Row<'tables', { readonly min: number; readonly max: number }>;
export type LeafKey = TextKey | ChoiceKey | IntegerKey | BooleanKey | TextsKey | SchemaKey;
export type ManifestKey = LeafKey | TableKey | TablesKey;

/** Each is a capability of its own, and has to be read by whoever approves it. */
const MOST_ASKED = 64;
const MOST_TOOLS = 64;
const MOST_COMPONENTS = 1_024;

function text(key: string, rule: TextName, example: string, sentence: string): TextKey {
  return { key, type: 'text', rule, default: null, example: JSON.stringify(example), sentence };
}

function required(key: string, rule: TextName, example: string, sentence: string): TextKey {
  return { ...text(key, rule, example, sentence), isRequired: true };
}

function flag(key: string, value: boolean, sentence: string): BooleanKey {
  return { key, type: 'boolean', default: value, example: String(!value), sentence };
}

function texts(key: string, rule: TextName, example: readonly string[], sentence: string): TextsKey {
  const shown = `[${example.map((each) => JSON.stringify(each)).join(', ')}]`;
  return { key, type: 'texts', rule, min: 0, max: MOST_ASKED, default: [], example: shown, sentence };
}

function quota(key: string, max: number, example: number, sentence: string): IntegerKey {
  return { key, type: 'integer', min: 1, max, default: null, example: String(example), sentence };
}

/** Every key of skill.toml. docs/skill-package.md and schema/skill.schema.json are held to it. */
export const MANIFEST_KEYS: readonly ManifestKey[] = [
  required(
    'skill_id',
    'skill-id',
    'acme.text',
    'The id of the skill; it begins with the publisher and a dot.',
  ),
  required('name', 'name', 'Text tools', 'What people call the skill.'),
  required('version', 'version', '1.2.0', 'Its version; a package of the same version never changes.'),
  required('publisher', 'publisher', 'acme', 'Who answers for it, and whose key signs it.'),
  required('description', 'description', 'Counts and cuts text.', 'What the skill is for.'),
  text('license', 'license', 'Apache-2.0', 'Its licence.'),
  text('homepage', 'homepage', 'https://example.com/text', 'Where to read more.'),

  { key: 'entrypoints', type: 'table', isFilled: true, sentence: 'What can be called.' },
  { key: 'entrypoints.tools[]', type: 'tables', min: 1, max: MOST_TOOLS, sentence: 'One tool each.' },
  required(
    'entrypoints.tools[].id',
    'tool-id',
    'words',
    'Its id in the skill; `acme.text.words` is its id in the registry.',
  ),
  required('entrypoints.tools[].name', 'name', 'Count words', 'What people call the tool.'),
  required(
    'entrypoints.tools[].description',
    'description',
    'Counts the words of a text.',
    'What it does, for those who choose among tools.',
  ),
  {
    key: 'entrypoints.tools[].risk',
    type: 'choice',
    choices: ['low', 'medium', 'high'],
    isRequired: true,
    default: null,
    example: '"low"',
    sentence: 'How much harm a call can do, for policies to judge by.',
  },
  required('entrypoints.tools[].module', 'module', 'text.wasm', 'The module or component that has the tool.'),
  required(
    'entrypoints.tools[].export',
    'export',
    'words',
    'The export of a module, or the name that a component knows the tool by.',
  ),
  {
    key: 'entrypoints.tools[].input_schema',
    type: 'schema',
    of: 'input',
    isRequired: true,
    default: null,
    example: '"schemas/words.input.json"',
    sentence: 'What a call may say.',
  },
  {
    key: 'entrypoints.tools[].output_schema',
    type: 'schema',
    of: 'output',
    isRequired: true,
    default: null,
    example: '{ type = "object", required = ["words"], properties.words.type = "integer" }',
    sentence: 'What it answers.',
  },
  {
    key: 'entrypoints.tools[].annotations',
    type: 'table',
    isFilled: true,
    sentence: 'What the tool says of itself to those who choose among tools; it grants nothing.',
  },
  flag('entrypoints.tools[].annotations.read_only', false, 'It changes nothing.'),
  flag('entrypoints.tools[].annotations.destructive', true, 'It may destroy or replace what was there.'),
  flag(
    'entrypoints.tools[].annotations.idempotent',
    false,
    'A second call with the same input changes nothing more.',
  ),
  flag('entrypoints.tools[].annotations.open_world', true, 'It deals with what is outside of this machine.'),

  {
    key: 'capabilities',
    type: 'table',
    isFilled: true,
    sentence: 'What the skill asks for. What is left out is not asked for.',
  },
  texts(
    'capabilities.http_egress_allowlist',
    'egress-entry',
    ['api.example.com:443'],
    'Hosts that it sends requests to; each entry is a capability of its own.',
  ),
  flag(
    'capabilities.allow_wildcards',
    false,
    'Says that hosts by wildcard or range, and the root of the storage, are meant.',
  ),
  flag('capabilities.log', false, 'It writes to the log of the call.'),
  flag('capabilities.clock', false, 'It reads the time when the call began.'),
  flag('capabilities.random', false, 'It reads random bytes.'),
  {
    ...texts(
      'capabilities.config',
      'capability-name',
      ['unit'],
      'Keys whose values the operator gives; left out, it has no configuration.',
    ),
    default: null,
  },
  {
    key: 'capabilities.channels[]',
    type: 'tables',
    min: 0,
    max: MOST_ASKED,
    sentence: 'Channels between skills.',
  },
  required('capabilities.channels[].name', 'capability-name', 'news', 'The name of the channel.'),
  flag('capabilities.channels[].publish', false, 'It sends messages.'),
  flag('capabilities.channels[].receive', false, 'It receives messages.'),
  {
    key: 'capabilities.filesystem',
    type: 'table',
    isFilled: true,
    sentence: 'The storage of the skill, by the beginnings of keys.',
  },
  texts('capabilities.filesystem.read_roots', 'storage-root', ['notes/'], 'What it reads.'),
  texts(
    'capabilities.filesystem.write_roots',
    'storage-root',
    ['notes/'],
    'What it writes; it need not be what it reads.',
  ),
  {
    key: 'capabilities.secrets[]',
    type: 'tables',
    min: 0,
    max: MOST_ASKED,
    sentence: 'Secrets of one scope and one use.',
  },
  {
    key: 'capabilities.secrets[].scope',
    type: 'choice',
    choices: ['global', 'tenant', 'principal', 'skill'],
    isRequired: true,
    default: null,
    example: '"skill"',
    sentence: 'Where in the vault they are looked for, and nowhere else.',
  },
  {
    ...texts(
      'capabilities.secrets[].keys',
      'capability-name',
      ['api_token'],
      'Their names, each once in the whole manifest.',
    ),
    min: 1,
    isRequired: true,
    default: null,
  },
  {
    key: 'capabilities.secrets[].use',
    type: 'choice',
    choices: ['send', 'reveal'],
    isRequired: true,
    default: null,
    example: '"send"',
    sentence: 'Whether they are only put into requests, or the skill reads them as well.',
  },
  texts(
    'capabilities.secrets[].hosts',
    'secret-host',
    ['api.example.com'],
    'The only hosts that get them; without a port that is 443 alone. Required for "send".',
  ),
  {
    key: 'capabilities.quotas',
    type: 'table',
    isFilled: true,
    sentence: 'The most that a call wants; left out, what the gateway gives.',
  },
  quota('capabilities.quotas.wall_clock_ms', LIMIT_CEILINGS.wallMs, 5_000, 'Wall-clock time.'),
  quota('capabilities.quotas.fuel', LIMIT_CEILINGS.fuel, 5_000_000, 'Metered instructions.'),
  quota('capabilities.quotas.memory_bytes', LIMIT_CEILINGS.memoryBytes, 16_777_216, 'Memory.'),

  {
    key: 'trust',
    type: 'table',
    isFilled: true,
    sentence: 'How it wants to be looked at; the operator can ask for more.',
  },
  {
    key: 'trust.reviewers',
    type: 'integer',
    min: 1,
    max: 5,
    default: 1,
    example: '2',
    sentence: 'How many different people must approve it.',
  },
  {
    key: 'trust.reaudit_days',
    type: 'integer',
    min: 1,
    max: 365,
    default: null,
    example: '30',
    sentence: 'It is audited again after so many days at the latest.',
  },

  { key: 'compat', type: 'table', isFilled: true, sentence: 'What it runs on.' },
  {
    key: 'compat.abi',
    type: 'integer',
    min: 1,
    max: 1,
    default: 1,
    example: '1',
    sentence: 'The version of the ABI that its modules were built for.',
  },
  text('compat.palisade_min', 'version', '0.1.0', 'The oldest palisade that it runs on.'),

  {
    key: 'components[]',
    type: 'tables',
    min: 0,
    max: MOST_COMPONENTS,
    sentence: 'What it was made of, for its bill of materials.',
  },
  required('components[].name', 'component-name', 'zlib', 'The name of the part.'),
  required('components[].version', 'component-version', '1.3.1', 'Its version, in whatever form it has one.'),
  text(
    'components[].purl',
    'purl',
    'pkg:generic/zlib@1.3.1',
    'Its package URL, by which advisories know it.',
  ),
  text('components[].license', 'license', 'Zlib', 'Its licence.'),

  { key: 'build', type: 'table', isFilled: false, sentence: 'How `palisade skill build` makes the modules.' },
  {
    key: 'build.language',
    type: 'choice',
    choices: ['assemblyscript', 'c', 'javascript'],
    isRequired: true,
    default: null,
    example: '"assemblyscript"',
    sentence: 'What the sources are written in.',
  },
  {
    key: 'build.modules[]',
    type: 'tables',
    min: 1,
    max: MOST_TOOLS,
    sentence: 'Which source makes which module.',
  },
  required('build.modules[].source', 'source', 'src/text.ts', 'The source.'),
  required('build.modules[].module', 'module', 'text.wasm', 'The module that is made of it.'),
];
