import { describe, expect, test } from 'vitest';
import { sample } from '../../tests/volume/volume.ts';
import { plant, runTool, type Tree } from './plant.ts';

const NO_IMPORTS = '// imports:begin\n// imports:end\n';

const tools: readonly (readonly [name: string, violation: Tree, named: string, sound: Tree])[] = [
  [
    'imports',
    { 'packages/sdk/src/a.ts': "\nimport 'node:fs';\n" },
    'packages/sdk/src/a.ts:2: Cannot import "node:fs"',
    { 'packages/sdk/src/a.ts': 'export const a = 1;\n' },
  ],
  [
    'outside',
    { 'packages/gateway/src/core/a.ts': '\nDate.now();\n' },
    'packages/gateway/src/core/a.ts:2: Cannot use Date.now here',
    { 'packages/gateway/src/core/a.ts': 'export const a = 1;\n' },
  ],
  [
    'sizes',
    { 'packages/sdk/src/a.ts': '\nfunction f(a, b, c, d, e) {}\n' },
    'packages/sdk/src/a.ts:2: Cannot keep function',
    { 'packages/sdk/src/a.ts': 'export const a = 1;\n' },
  ],
  [
    'docs',
    { 'README.md': '\n[x](gone.md)\n' },
    'README.md:2: Cannot follow link "gone.md"',
    {
      'README.md': 'Run `npm run demo`, then `npm test`.\n',
      'docs/errors.md': '<!-- codes:begin -->\n<!-- codes:end -->\n',
      'docs/config.md': '<!-- config:begin -->\n<!-- config:end -->\n',
      'packages/sdk/src/codes.table.ts': 'export const CODES = {};\n',
      'packages/gateway/src/config/config.table.ts': 'export const CONFIG_KEYS = [];\n',
      'packages/gateway/src/doors/cli/verbs.table.ts':
        'export const VERBS = [], VERB_GROUPS = [], COMMON_FLAGS = [];\n',
      'docs/wasm.md': `<!-- features:begin -->\n<!-- features:end -->\n<!-- limits:begin -->\n<!-- limits:end -->\n
<!-- costs:begin -->\n| What | Fuel |\n| --- | --- |
| entering a function | 1 |\n| \`nop\` | 0 |\n| every other operator | 1 |\n<!-- costs:end -->\n`,
      'docs/abi.md': ['functions', 'kinds', 'errors']
        .map((mark) => `<!-- ${mark}:begin -->\n<!-- ${mark}:end -->\n`)
        .join(''),
      'docs/cli.md':
        '<!-- grants:begin -->\n<!-- grants:end -->\n<!-- commands:begin -->\n<!-- commands:end -->\n',
      ...Object.fromEntries(
        [
          'assembly/palisade_v1.ts',
          'assembly/beside/palisade_v1.ts',
          'include/palisade/host.h',
          'rust/palisade.rs',
          'go/host/host.go',
        ].map((path) => [`packages/guest/${path}`, NO_IMPORTS]),
      ),
      'docs/skill-audit.md': '<!-- checks:begin -->\n<!-- checks:end -->\n',
      'docs/service.md': ['directives', 'left-out']
        .map((mark) => `<!-- ${mark}:begin -->\n<!-- ${mark}:end -->\n`)
        .join(''),
      'packages/gateway/src/doors/cli/service/directives.table.ts':
        'export const LIFE = [], WALLS = [], LEFT_OUT = [];\n',
      'docs/sandbox.md': ['protected', 'evasions']
        .map((mark) => `<!-- ${mark}:begin -->\n<!-- ${mark}:end -->\n`)
        .join(''),
      'docs/policy.md': '<!-- capabilities:begin -->\n<!-- capabilities:end -->\n',
      'tests/fixtures/evasions/evasions.table.ts': 'export const EVASIONS = [];\n',
      'packages/gateway/src/core/capability.ts': 'export const CAPABILITY_TAGS = {};\n',
      'packages/gateway/src/core/protected.table.ts': 'export const PROTECTED = {};\n',
      'packages/gateway/src/skills/audit/audit.ts': 'export const CHECKS = [];\n',
      'packages/gateway/src/tiers/a-wasm/engine/abi.table.ts':
        'export const ABI_FUNCTIONS = [], ABI_ERRORS = {};\n',
      'packages/gateway/src/core/wasm.ts': 'export const CAPABILITY_KINDS = {};\n',
      'packages/gateway/src/skills/capabilities/kinds.ts': 'export const CAPABILITIES = {};\n',
      'packages/wasm/src/features.table.ts': 'export const FEATURES = [];\n',
      'packages/wasm/src/limits.ts': 'export const DEFAULT_LIMITS = {}, CEILINGS = {};\n',
      'packages/wasm/src/costs.table.ts':
        "export const ENTRY = 1, OPERATOR = 1, FREE = 'nop', DEAR = {}, BY_LENGTH = {};\n",
    },
  ],
  [
    'dependencies',
    { 'package.json': '{ "devDependencies": { "x": "^1.0.0" } }' },
    'package.json:1: Cannot depend on x',
    {
      'package.json': '{ "devDependencies": { "x": "1.0.0" } }',
      'package-lock.json': '{}',
      'DEPENDENCIES.md':
        '## Development\n\n| P | V | W | T | L |\n|---|---|---|---|---|\n| x | 1.0.0 | a | b | c |\n',
    },
  ],
];

describe.each(sample(tools, 2))('node tools/%s.mjs', (name, violation, named, sound) => {
  test('fails on a violation and says where', async () => {
    const { status, output } = await runTool(name, '--root', plant(violation));
    expect(output).toContain(named);
    expect(status).toBe(1);
  });

  test('fails on an empty tree', async () => {
    const { status, output } = await runTool(name, '--root', plant({}));
    expect(output).toContain('nothing was found to scan');
    expect(status).toBe(1);
  });

  test('prints one line when all is well', async () => {
    const { status, output } = await runTool(name, '--root', plant(sound));
    expect(output).toMatch(new RegExp(`^${name}: .*\\n$`));
    expect(status).toBe(0);
  });
});

test('a file that does not parse fails the check and is named', async () => {
  const { status, output } = await runTool(
    'sizes',
    '--root',
    plant({ 'packages/sdk/src/a.ts': 'const = ;' }),
  );
  expect(output).toMatch(/^Cannot parse packages\/sdk\/src\/a\.ts: /);
  expect(status).toBe(1);
});
