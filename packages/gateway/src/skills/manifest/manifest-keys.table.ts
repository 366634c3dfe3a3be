import { LIMIT_CEILINGS } from '../../core/limits.ts';
import { CAPABILITY_KEYS } from '../capabilities/kinds.ts';
import {
  choice,
  flag,
  integer,
  type ManifestKey,
  quota,
  required,
  schema,
  table,
  tables,
  text,
  within,
} from './key-rows.ts';

const MOST_TOOLS = 64;
const MOST_COMPONENTS = 1_024;

/** Every key of skill.toml. docs/skill-package.md and schema/skill.schema.json are checked against it. */
export const MANIFEST_KEYS: readonly ManifestKey[] = [
  required(
    'skill_id',
    'skill-id',
    'acme.text',
    'The id of the skill; it begins with the publisher and a dot.',
  ),
  required('name', 'name', 'Text tools', 'The display name of the skill.'),
  required('version', 'version', '1.2.0', 'Its version; a package of the same version never changes.'),
  required('publisher', 'publisher', 'acme', 'Who is responsible for it, and whose key signs it.'),
  required('description', 'description', 'Counts and cuts text.', 'What the skill is for.'),
  text('license', 'license', 'Apache-2.0', 'Its licence.'),
  text('homepage', 'homepage', 'https://example.com/text', 'Where to read more.'),

  table('entrypoints', 'What can be called.'),
  ...within(tables('entrypoints.tools[]', 1, MOST_TOOLS, 'One tool each.'), [
    required('id', 'tool-id', 'words', 'Its id in the skill; `acme.text.words` is its id in the registry.'),
    required('name', 'name', 'Count words', 'The display name of the tool.'),
    required(
      'description',
      'description',
      'Counts the words of a text.',
      'What it does, for models and people who choose a tool.',
    ),
    choice(
      'risk',
      ['low', 'medium', 'high'],
      'low',
      'How much harm a call can do, for policies to judge by.',
    ),
    required('module', 'module', 'text.wasm', 'The module or component that has the tool.'),
    required(
      'export',
      'export',
      'words',
      'The export of a module, or the name that a component knows the tool by.',
    ),
    schema('input_schema', 'input', '"schemas/words.input.json"', 'The input of a call.'),
    schema(
      'output_schema',
      'output',
      '{ type = "object", required = ["words"], properties.words.type = "integer" }',
      'The output of a call.',
    ),
    ...within(table('annotations', 'Hints about the tool for models and people; they grant nothing.'), [
      flag('read_only', false, 'It changes nothing.'),
      flag('destructive', true, 'It may destroy or replace what was there.'),
      flag('idempotent', false, 'A second call with the same input changes nothing more.'),
      flag('open_world', true, 'It interacts with systems outside this machine.'),
    ]),
  ]),

  ...within(table('capabilities', 'What the skill requests. What is left out is not requested.'), [
    ...CAPABILITY_KEYS,
    ...within(table('quotas', 'The most that a call needs; by default the limits of the gateway.'), [
      quota('wall_clock_ms', LIMIT_CEILINGS.wallMs, 5_000, 'Wall-clock time.'),
      quota('fuel', LIMIT_CEILINGS.fuel, 5_000_000, 'Metered instructions.'),
      quota('memory_bytes', LIMIT_CEILINGS.memoryBytes, 16_777_216, 'Memory.'),
    ]),
  ]),

  ...within(table('trust', 'How it is reviewed; the operator can require more.'), [
    integer(
      'reviewers',
      { min: 1, max: 5, default: 1, example: '2' },
      'How many different people must approve it.',
    ),
    integer(
      'reaudit_days',
      { min: 1, max: 365, default: null, example: '30' },
      'It is audited again after this many days at the latest.',
    ),
  ]),

  ...within(table('compat', 'What it runs on.'), [
    integer(
      'abi',
      { min: 1, max: 1, default: 1, example: '1' },
      'The version of the ABI that its modules were built for.',
    ),
    text('palisade_min', 'version', '0.1.0', 'The oldest palisade that it runs on.'),
  ]),

  ...within(
    tables('components[]', 0, MOST_COMPONENTS, 'The parts it was made of, for its bill of materials.'),
    [
      required('name', 'component-name', 'zlib', 'The name of the part.'),
      required('version', 'component-version', '1.3.1', 'Its version, in any form.'),
      text('purl', 'purl', 'pkg:generic/zlib@1.3.1', 'Its package URL, by which advisories know it.'),
      text('license', 'license', 'Zlib', 'Its licence.'),
    ],
  ),

  ...within({ ...table('build', 'How `palisade skill build` makes the modules.'), isFilled: false }, [
    choice(
      'language',
      ['assemblyscript', 'c', 'go', 'javascript', 'python', 'rust'],
      'assemblyscript',
      'What the sources are written in.',
    ),
    ...within(tables('modules[]', 1, MOST_TOOLS, 'Which source makes which module.'), [
      required('source', 'source', 'src/text.ts', 'The source.'),
      required('module', 'module', 'text.wasm', 'The module that is made of it.'),
    ]),
  ]),
];
