import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { check } from '../docs.mjs';
import { plant, type Tree, violations } from './plant.ts';

const errors = (rows: string) =>
  `# Errors\n\n<!-- codes:begin -->\n\n| Code | Kind | HTTP | Exit | What happened | What to do |\n| --- | --- | --- | --- | --- | --- |\n${rows}\n<!-- codes:end -->\n`;
const config = (rows: string) =>
  `# Config\n\n<!-- config:begin -->\n\n| Key | Type | Default | What it does |\n| --- | --- | --- | --- |\n${rows}\n<!-- config:end -->\n`;

const imports = (lines: string) => `// imports:begin\n${lines}// imports:end\n`;

const wasm = `# WASM

<!-- features:begin -->

| Feature | | What it is |
| --- | --- | --- |
| \`mvp\` | allowed | The first. |
| \`gc\` | **refused** | On the heap. |

<!-- features:end -->
<!-- limits:begin -->

| Limit | Default | Ceiling |
| --- | --- | --- |
| \`fuel\` | 1,000 | 2,000 |

<!-- limits:end -->
<!-- costs:begin -->

| What is done | Fuel |
| --- | --- |
| entering a function | 1 |
| \`nop\`, \`end\` | 0 |
| \`table.set\` | 32 |
| \`memory.fill\` | 16, and 1 for each 8 bytes |
| \`memory.grow\` | 512, and 128 for each page |
| \`table.grow\` | 512, and 8 for each element |
| every other operator | 2 |

<!-- costs:end -->
`;

const abi = `# ABI

<!-- functions:begin -->

| Function | Takes | Gives | Needs | Fuel | What it does |
| --- | --- | --- | --- | --- | --- |
| \`now\` | – | \`f64\` | \`clock\` | 20 | The time. |
| \`say\` | \`text: i32\`, \`textLength: i32\` | – | – | 2,000 | Says it. |

<!-- functions:end -->
<!-- kinds:begin -->

| Kind | Number | First handle | What it is |
| --- | --- | --- | --- |
| \`http\` | 1 | 10,000 | One host. |

<!-- kinds:end -->
<!-- errors:begin -->

| Number | Name | What it means |
| --- | --- | --- |
| \`-1\` | \`denied\` | No. |

<!-- errors:end -->
`;
const cli = `# CLI

<!-- grants:begin -->

| Kind | Written as | What it gives |
| --- | --- | --- |
| log | \`log\` | Lines. |
| channel | \`channel=NAME[:a\\|:b]\` | Messages. |

<!-- grants:end -->

<!-- commands:begin -->

### First

#### \`palisade demo\`

Shows it.

\`\`\`sh
palisade demo
\`\`\`

### Then

#### \`palisade policy check [DIR] [FLAGS] -- COMMAND\`

Checks.

| flag | meaning |
|---|---|
| \`--deep\` | All of it. |
| \`--as A\\|B\` | Who \\[is\\] it. |

\`\`\`sh
palisade policy check
\`\`\`

<!-- commands:end -->
`;

const audit = `# Audit

<!-- checks:begin -->

| Check | Severity | What it looks for |
| --- | --- | --- |
| \`module/start\` | note | A start. |

<!-- checks:end -->
`;

const service = `# Service

<!-- directives:begin -->

| Directive | For | Why |
| --- | --- | --- |
| \`A=b\` | system, user | It holds. |
| \`C=d\` | user | It helps. |

<!-- directives:end -->
<!-- left-out:begin -->

| Directive | What it breaks |
| --- | --- |
| \`E=f\` | All of it. |

<!-- left-out:end -->
`;

const sandbox = `# Sandbox

<!-- protected:begin -->

| Row | Files, at any depth | Judged | What is done | Why |
| --- | --- | --- | --- | --- |
| \`ci\` | \`.ci\` \`ci.yml\` | every write | set aside | It runs. |

<!-- protected:end -->
<!-- evasions:begin -->

| Evasion | Why it is not seen |
| --- | --- |
| a copy | It has another name. |

<!-- evasions:end -->
`;

const policy = `# Policies

<!-- capabilities:begin -->

| Word | What has it |
| --- | --- |
| \`Network\` | A host. |

<!-- capabilities:end -->
`;

const okRow = '| `ok` | ok | 200 | 0 | It ran. | Nothing. |\n';
const badRow = '| `bad/one` | refused | 403 | 2 | A \\| B. | Run `palisade policy check`. |\n';
const keyRow = '| `listen` | `string` | `127.0.0.1` | Where it listens. |\n';
const portRow = '| `port` | `number` | `1` | Which port. |\n';

const sound: Tree = {
  'packages/sdk/src/codes.table.ts': `export const CODES = {
    ok: { kind: 'ok', httpStatus: 200, exitStatus: 0, sentence: 'It ran.', remedy: 'Nothing.' },
    'bad/one': { kind: 'refused', httpStatus: 403, exitStatus: 2, sentence: 'A | B.', remedy: 'Run \`palisade policy check\`.' },
  } as const satisfies object;`,
  'packages/gateway/src/config/config.table.ts': `export const CONFIG_KEYS = [
    { key: 'listen', type: 'string', default: '127.0.0.1', sentence: 'Where it listens.' },
    { key: 'port', type: 'number', default: 1, sentence: 'Which port.' },
  ];`,
  'packages/gateway/src/doors/cli/verbs.table.ts': `const demo = { words: 'demo', args: [], flags: [], sentence: 'Shows it.', examples: ['palisade demo'], load: () => import('./gone.ts') };
    const flags = [{ name: 'deep', value: null, sentence: 'All of it.' }, { name: 'as', value: 'A|B', sentence: 'Who [is] it.' }];
    const check = { words: 'policy check', args: ['[DIR]'], rest: 'COMMAND', flags, sentence: 'Checks.', examples: ['palisade policy check'] };
    export const VERB_GROUPS = [{ title: 'First', verbs: [demo] }, { title: 'Then', verbs: [check] }];
    export const VERBS = VERB_GROUPS.flatMap(({ verbs }) => verbs);
    export const COMMON_FLAGS = [{ name: 'json', value: null, sentence: 'As JSON.' }];`,
  'packages/gateway/src/core/protected.table.ts':
    "export const PROTECTED = { ci: { patterns: '.ci ci.yml', judged: 'any', done: 'set aside', sentence: 'It runs.' } };",
  'tests/fixtures/evasions/evasions.table.ts':
    "export const EVASIONS = [{ name: 'seen' }, { name: 'a copy', unseen: 'It has another name.' }];",
  'packages/gateway/src/core/capability.ts': "export const CAPABILITY_TAGS = { Network: 'A host.' };",
  'packages/wasm/src/features.table.ts': `export const FEATURES = [
    { name: 'mvp', allowed: true, sentence: 'The first.' },
    { name: 'gc', allowed: false, sentence: 'On the heap.' },
  ];`,
  'packages/wasm/src/limits.ts':
    'export const DEFAULT_LIMITS = { fuel: 1_000 }; export const CEILINGS = { fuel: 2_000 };',
  'packages/wasm/src/costs.table.ts': `export const ENTRY = 1; export const OPERATOR = 2; export const FREE = 'nop end';
    export const DEAR = { 'table.set': 32 };
    export const BY_LENGTH = {
      'memory.fill': { base: 16, shift: -3 },
      'memory.grow': { base: 512, shift: 7 },
      'table.grow': { base: 512, shift: 3 },
    };`,
  'packages/gateway/src/tiers/a-wasm/engine/abi.table.ts': `export const ABI_FUNCTIONS = [
      { name: 'now', params: [], result: 'f64', needs: 'clock', fuel: 20, sentence: 'The time.' },
      { name: 'say', params: [['text', 'i32'], ['textLength', 'i32']], result: null, needs: null, fuel: 2_000, sentence: 'Says it.' },
    ];
    export const ABI_ERRORS = { denied: { code: -1, sentence: 'No.' } };`,
  'packages/gateway/src/core/wasm.ts':
    "export const CAPABILITY_KINDS = { http: { number: 1, firstHandle: 10_000, sentence: 'One host.' } };",
  'packages/gateway/src/skills/capabilities/kinds.ts': `export const CAPABILITIES = {
    log: { form: 'log', sentence: 'Lines.' },
    channel: { form: 'channel=NAME[:a|:b]', sentence: 'Messages.' },
  };`,
  'packages/gateway/src/doors/cli/service/directives.table.ts': `
    export const LIFE = [{ line: 'A=b', scopes: ['system', 'user'], why: 'It holds.' }];
    export const WALLS = [{ line: 'C=d', scopes: ['user'], why: 'It helps.' }];
    export const LEFT_OUT = [{ directive: 'E=f', breaks: 'All of it.' }];
  `,
  'packages/gateway/src/skills/audit/audit.ts':
    "export const CHECKS = [{ id: 'module/start', severity: 'note', sentence: 'A start.', look: () => [] }];",
  'packages/guest/assembly/palisade_v1.ts': imports(''),
  'packages/guest/assembly/beside/palisade_v1.ts': imports(
    'export declare function now(): f64;\nexport declare function say(text: usize, textLength: usize): void;\n',
  ),
  'packages/guest/include/palisade/host.h': imports(
    'PALISADE_IMPORT(now) double palisade_v1_now(void);\nPALISADE_IMPORT(say) void palisade_v1_say(const uint8_t *text, uint32_t text_length);\n',
  ),
  'packages/guest/go/host/host.go': imports(
    '\n//go:wasmimport palisade_v1 now\nfunc Now() float64\n\n//go:wasmimport palisade_v1 say\nfunc Say(text unsafe.Pointer, textLength uint32)\n\n',
  ),
  'packages/guest/rust/palisade.rs': imports(
    '        pub fn now() -> f64;\n        pub fn say(text: *const u8, text_length: usize);\n',
  ),
  'docs/abi.md': abi,
  'docs/cli.md': cli,
  'docs/policy.md': policy,
  'docs/sandbox.md': sandbox,
  'docs/service.md': service,
  'docs/skill-audit.md': audit,
  'docs/wasm.md': wasm,
  'docs/errors.md': errors(okRow + badRow),
  'docs/config.md': config(keyRow + portRow),
  'README.md': '# Palisade\n\nRun `npm run demo` and `npm test`.\n',
};

const without = (file: string): Tree =>
  Object.fromEntries(Object.entries(sound).filter(([path]) => path !== file));
const page = (text: string): Tree => ({ ...sound, 'docs/page.md': `# A page\n\n${text}\n` });

const wrong: readonly (readonly [rule: string, files: Tree, named: string])[] = [
  ['a missing code', { ...sound, 'docs/errors.md': errors(okRow) }, 'Cannot find row `bad/one`'],
  [
    'a code too many',
    { ...sound, 'docs/errors.md': errors(`${okRow}${badRow}${okRow.replace('ok', 'x')}`) },
    '9 Cannot keep row `x`',
  ],
  ['a code twice', { ...sound, 'docs/errors.md': errors(okRow + okRow + badRow) }, 'it is there twice'],
  [
    'another kind',
    { ...sound, 'docs/errors.md': errors(okRow + badRow.replace('refused', 'failed')) },
    '"Kind" is "failed"',
  ],
  [
    'another HTTP status',
    { ...sound, 'docs/errors.md': errors(okRow + badRow.replace('403', '404')) },
    '"HTTP" is "404"',
  ],
  [
    'another exit status',
    { ...sound, 'docs/errors.md': errors(okRow + badRow.replace(' 2 ', ' 3 ')) },
    '"Exit" is "3"',
  ],
  [
    'another sentence',
    { ...sound, 'docs/errors.md': errors(okRow + badRow.replace('B.', 'C.')) },
    '"What happened" is',
  ],
  [
    'another remedy',
    { ...sound, 'docs/errors.md': errors(okRow.replace('Nothing', 'Pray') + badRow) },
    '"What to do" is "Pray."',
  ],
  ['missing markers', { ...sound, 'docs/errors.md': '# Errors\n' }, 'the markers are missing'],
  [
    'another severity of a check',
    { ...sound, 'docs/skill-audit.md': audit.replace('| note |', '| refusal |') },
    '"Severity" is "refusal"',
  ],
  [
    'a protected file that is only told',
    { ...sound, 'docs/sandbox.md': sandbox.replace('set aside', 'told') },
    '"What is done" is "told"',
  ],
  ['a missing key', { ...sound, 'docs/config.md': config(keyRow) }, 'Cannot find row `port`'],
  [
    'another default',
    { ...sound, 'docs/config.md': config(keyRow + portRow.replace('`1`', '`2`')) },
    '"Default" is "`2`"',
  ],
  [
    'a feature that is said to be allowed',
    { ...sound, 'docs/wasm.md': wasm.replace('**refused**', 'allowed') },
    'Cannot keep row `gc`: "" is "allowed", expected "**refused**"',
  ],
  [
    'another ceiling',
    { ...sound, 'docs/wasm.md': wasm.replace('2,000', '3,000') },
    'Cannot keep row `fuel`: "Ceiling" is "3,000"',
  ],
  [
    'another cost',
    { ...sound, 'docs/wasm.md': wasm.replace('128 for', '64 for') },
    'Cannot keep row `memory.grow`: "Fuel" is',
  ],
  [
    'a host function of another type',
    { ...sound, 'docs/abi.md': abi.replace('text: i32', 'text: i64') },
    'Cannot keep row `say`: "Takes" is',
  ],
  [
    'a host function that is said to need nothing',
    { ...sound, 'docs/abi.md': abi.replace('`clock`', '–') },
    'Cannot keep row `now`: "Needs" is "–"',
  ],
  [
    'a library without a host function',
    { ...sound, 'packages/guest/rust/palisade.rs': imports('') },
    'Cannot keep "imports"',
  ],
  [
    'another first handle',
    { ...sound, 'docs/abi.md': abi.replace('10,000', '1') },
    'Cannot keep row `http`: "First handle" is "1"',
  ],
  [
    'another number of an error',
    { ...sound, 'docs/abi.md': abi.replace('-1', '-2') },
    'Cannot find row `-1`',
  ],
  [
    'a grant in another form',
    { ...sound, 'docs/cli.md': cli.replace('NAME[', '[') },
    'Cannot keep row channel: "Written as" is',
  ],
  [
    'a missing table of features',
    without('packages/wasm/src/features.table.ts'),
    'features.table.ts:0 Cannot check docs/wasm.md',
  ],
  ['a missing page', without('docs/errors.md'), 'the page does not exist'],
  [
    'a missing table of codes',
    without('packages/sdk/src/codes.table.ts'),
    'codes.table.ts:0 Cannot check docs/errors.md',
  ],
  [
    'a missing table of keys',
    without('packages/gateway/src/config/config.table.ts'),
    'the table does not exist',
  ],
  [
    'a missing table of verbs',
    without('packages/gateway/src/doors/cli/verbs.table.ts'),
    'the table of verbs does not exist',
  ],
  [
    'a reference of commands that is not that of the table',
    { ...sound, 'docs/cli.md': cli.replace('Shows it.', 'Shows that.') },
    'docs/cli.md:0 Cannot keep "commands": packages/gateway/src/doors/cli/verbs.table.ts has changed',
  ],
  ['a missing README', without('README.md'), 'Cannot find README.md'],
  ['a README without the demo', { ...sound, 'README.md': 'Run `npm test`.' }, 'Cannot find "npm run demo"'],
  ['a README without the tests', { ...sound, 'README.md': 'Run `npm run demo`.' }, 'Cannot find "npm test"'],
  ['a dead link', page('See [x](./gone.md).'), 'docs/page.md:3 Cannot follow link "./gone.md"'],
  ['a dead image', page('![x](gone.png "title")'), 'Cannot follow link "gone.png"'],
  ['a dead reference', page('[x]: gone.md'), 'Cannot follow link "gone.md"'],
  ['a dead HTML link', page('<a href="gone.md">x</a>'), 'Cannot follow link "gone.md"'],
  ['a link out of the project', page('[x](../../y.md)'), 'Cannot follow link'],
  ['a dead anchor', page('[x](#nowhere)'), 'no such heading'],
  ['a dead anchor elsewhere', page('[x](../README.md#nowhere)'), 'no such heading'],
  ['an anchor inside code', page('```\n# Fenced\n```\n[x](#fenced)'), 'no such heading'],
  ['an unknown verb in a span', page('Run `palisade dance`.'), 'Cannot run "palisade dance"'],
  ['an unknown second word', page('Run `palisade policy dance`.'), 'Cannot run "palisade policy dance"'],
  ['an unknown verb in a block', page('```sh\nFOO=1 palisade dance --now\n```'), 'docs/page.md:4 Cannot run'],
  ['an unknown verb after a prompt', page('```console\n$ palisade dance\n```'), 'Cannot run'],
  [
    'an unknown flag',
    page('Run `palisade policy check --deeper`.'),
    '"palisade policy check --deeper": it has no --deeper',
  ],
  ['the flag of another verb', page('```sh\npalisade demo --deep\n```'), 'it has no --deep'],
  ['an unknown verb by its file', page('`node packages/gateway/bin/palisade.js dance`'), 'Cannot run'],
];

const right: readonly (readonly [what: string, files: Tree])[] = [
  ['a sound tree', sound],
  [
    'good links',
    page(
      '[a](../README.md#palisade) [b](errors.md) [c](#a-page) [d](https://example.org/x) ![e](../README.md)',
    ),
  ],
  [
    'repeated and decorated headings',
    page('## The `x`, again!\n## The `x`, again!\n[a](#the-x-again) [b](#the-x-again-1)'),
  ],
  ['links inside code', page('`[x](gone.md)`\n\n```\n[y](gone.md)\n```')],
  [
    'known verbs',
    page(
      '`palisade demo --json`, `palisade policy check --deep -- rm --force`, `palisade policy`, `palisade policy --help`, `palisade <verb>`, `palisade --version`',
    ),
  ],
  ['output after a prompt', page('```console\n$ palisade demo\npalisade is ready\n```')],
  ['other languages', page('```ts\npalisade dance\n```')],
];

describe('docs', () => {
  test.each(wrong)('refuses %s', async (_, files, named) => {
    expect((await violations(check, files)).join('\n')).toContain(named);
  });

  test.each(right)('accepts %s', async (_, files) => {
    expect(await violations(check, files)).toEqual([]);
  });

  test('--write brings the tables up to date and keeps the words around them', async () => {
    const root = plant({
      ...sound,
      'docs/errors.md': `${errors('')}After.\n`,
      'docs/config.md': config(portRow),
    });
    expect((await check(root)).problems).not.toEqual([]);
    expect((await check(root, { write: true })).problems).toEqual([]);
    expect((await check(root)).problems).toEqual([]);
    expect(readFileSync(join(root, 'docs/errors.md'), 'utf8')).toMatch(/^# Errors\n[\s\S]*\nAfter\.\n$/);
  });
});
