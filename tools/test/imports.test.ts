import { describe, expect, test } from 'vitest';
import { check, LEVELS } from '../imports.mjs';
import { type Tree, violations } from './plant.ts';

const manifests: Tree = {
  'package.json': '{ "devDependencies": { "vitest": "1.0.0" } }',
  'packages/gateway/package.json':
    '{ "name": "palisade", "dependencies": { "ajv": "1.0.0", "@palisade/sdk": "1.0.0" } }',
  'packages/sdk/package.json': '{ "name": "@palisade/sdk" }',
};

const gateway = 'packages/gateway/src';

type Row = readonly [rule: string, file: string, text: string, named: string];

const forbidden: readonly Row[] = [
  ['a room above', `${gateway}/core/a.ts`, "import '../store/b.ts';", 'store is above core'],
  [
    'a neighbour',
    `${gateway}/store/a.ts`,
    "import '../config/b.ts';",
    'config is on the same level as store',
  ],
  [
    'a type from above',
    `${gateway}/core/a.ts`,
    "import type { B } from '../tiers/b.ts';",
    'tiers is above core',
  ],
  [
    'an inline type from above',
    `${gateway}/core/a.ts`,
    "type B = import('../tiers/b.ts').B;",
    'tiers is above',
  ],
  ['an export from above', `${gateway}/core/a.ts`, "export * from '../invoke/b.ts';", 'invoke is above core'],
  [
    'a named export from above',
    `${gateway}/core/a.ts`,
    "export { b }\nfrom '../invoke/b.ts';",
    'invoke is above core',
  ],
  [
    'a dynamic import',
    `${gateway}/core/a.ts`,
    "await import(\n/* x */ '../doors/b.ts');",
    'doors is above core',
  ],
  ['a template import', `${gateway}/core/a.ts`, 'await import(`../doors/b.ts`);', 'doors is above core'],
  ['a require', `${gateway}/core/a.ts`, "require('../doors/b.ts');", 'doors is above core'],
  [
    'a worker URL',
    `${gateway}/core/a.ts`,
    "new URL('../tiers/b.ts', import.meta.url);",
    'tiers is above core',
  ],
  [
    'a door from where everything is opened',
    `${gateway}/open.ts`,
    "import './doors/http/a.ts';",
    'doors is above open.ts',
  ],
  ['the entry', `${gateway}/doors/cli/a.ts`, "import '../../main.ts';", 'main.ts is above doors'],
  ['a computed name', `${gateway}/core/a.ts`, 'await import(name);', 'the specifier is computed'],
  ['an unknown module', `${gateway}/attic/a.ts`, '', 'its module is not in the table'],
  ['an unknown file on top', `${gateway}/extra.ts`, '', 'its module is not in the table'],
  [
    'an import of an unknown room',
    `${gateway}/core/a.ts`,
    "import '../attic/b.ts';",
    'its module is not in the table',
  ],
  [
    'an undeclared package',
    `${gateway}/core/a.ts`,
    "import 'left-pad/x';",
    'left-pad is not declared in packages/gateway',
  ],
  ['a dev dependency in source', `${gateway}/core/a.ts`, "import 'vitest';", 'vitest is not declared'],
  ['a builtin without its prefix', `${gateway}/core/a.ts`, "import 'fs';", 'expected "node:fs"'],
  [
    'a data address',
    `${gateway}/core/a.ts`,
    "import 'data:text/javascript,1';",
    'neither relative nor a package',
  ],
  [
    'another package by path',
    `${gateway}/core/a.ts`,
    "import '../../../sdk/src/b.ts';",
    'it leaves the package',
  ],
  ['a test from source', `${gateway}/core/a.ts`, "import '../../test/b.ts';", 'does not know its tests'],
  ['a file outside', 'tests/a.test.ts', "import '../../b.ts';", 'it leaves the project'],
  [
    'a builtin in sdk',
    'packages/sdk/src/a.ts',
    "import 'node:fs';",
    'packages/sdk imports nothing outside itself',
  ],
  [
    'a type package in sdk',
    'packages/sdk/src/a.ts',
    "import type { A } from 'ajv';",
    'imports nothing outside',
  ],
  [
    'a builtin in wasm',
    'packages/wasm/src/a.ts',
    "import 'node:fs';",
    'packages/wasm imports nothing outside',
  ],
  ['the gateway by name', 'packages/console/src/a.ts', "import 'palisade';", 'nothing imports the gateway'],
  [
    'the gateway by path',
    'packages/sdk/test/a.ts',
    "import '../../gateway/src/core/b.ts';",
    'it leaves the package',
  ],
  [
    'the gateway from a tool',
    'tools/a.mjs',
    "import '../packages/gateway/src/core/b.ts';",
    'may look inside a package',
  ],
];

const allowed: readonly (readonly [string, string, string])[] = [
  ['its own room', `${gateway}/doors/http/a.ts`, "import '../mcp/b.ts';"],
  ['every room below', `${gateway}/open.ts`, "import './core/a.ts'; import './invoke/b.ts';"],
  ['open.ts, from a door', `${gateway}/doors/http/a.ts`, "import '../../open.ts';"],
  [
    'declared packages and builtins',
    `${gateway}/core/a.ts`,
    "import 'ajv/x.js'; import '@palisade/sdk'; import 'node:fs';",
  ],
  ['ambient declarations', `${gateway}/assets.d.ts`, "declare module '*.cedar' {}"],
  [
    'the gateway, from its tests',
    'packages/gateway/test/core/a.test.ts',
    "import 'vitest'; import '../../src/core/a.ts';",
  ],
  ['the gateway, from tests', 'tests/attacks/a.test.ts', "import '../../packages/gateway/src/core/a.ts';"],
  [
    'the gateway, from bench',
    'bench/run.mjs',
    "import '../packages/gateway/src/core/a.ts'; import(process.argv[2]);",
  ],
  [
    'words in comments and strings',
    `${gateway}/core/a.ts`,
    "// import '../doors/b.ts'\nconst s = \"import '../doors/b.ts'\";",
  ],
];

describe('imports', () => {
  test.each(forbidden)('refuses %s', async (_, file, text, named) => {
    const found = await violations(check, { ...manifests, [file]: text });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(named);
    expect(found[0]).toContain(`${file}:`);
  });

  test.each(allowed)('allows %s', async (_, file, text) => {
    expect(await violations(check, { ...manifests, [file]: text })).toEqual([]);
  });

  test('names the line after wide characters', async () => {
    const text = "// Ünï\n// 𝒳 → 日本\n\nimport '../doors/b.ts';";
    expect((await violations(check, { ...manifests, [`${gateway}/core/a.ts`]: text }))[0]).toContain(
      'a.ts:4 ',
    );
  });

  test('has each room once', () => {
    const rooms = LEVELS.flat();
    expect(new Set(rooms).size).toBe(rooms.length);
  });
});
