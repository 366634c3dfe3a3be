import { describe, expect, test } from 'vitest';
import { check } from '../dependencies.mjs';
import { type Tree, violations } from './plant.ts';

const head = '| Package | Version | Why | What it may touch | How to leave it |\n|---|---|---|---|---|\n';
const ajv = '| `ajv` | 8.20.0 | Schemas. | Memory. | Another. |\n';
const vitest = '| `vitest` | 4.1.12 | Tests. | Processes. | Another. |\n';
const pageOf = (runtime: string, development: string) =>
  `# Dependencies\n\n## Runtime of \`palisade\`\n\n${head}${runtime}\n## Development\n\n${head}${development}`;

const sound: Tree = {
  'package.json': '{ "devDependencies": { "vitest": "4.1.12" } }',
  'packages/gateway/package.json': '{ "name": "palisade", "dependencies": { "ajv": "8.20.0" } }',
  'packages/sdk/package.json': '{ "name": "@palisade/sdk" }',
  'package-lock.json':
    '{\n  "packages": { "node_modules/x": { "resolved": "packages/sdk", "link": true } }\n}',
  'DEPENDENCIES.md': pageOf(ajv, vitest),
};
const page = (runtime: string, development = vitest): Tree => ({
  ...sound,
  'DEPENDENCIES.md': pageOf(runtime, development),
});

const wrong: readonly (readonly [rule: string, files: Tree, named: string])[] = [
  ['a missing runtime row', page(''), 'Cannot find row ajv'],
  ['a missing development row', page(ajv, ''), 'Cannot find row vitest'],
  ['a row too many', page(`${ajv}${ajv.replace('ajv', 'zod')}`), 'Cannot keep row zod'],
  ['a row twice', page(ajv + ajv), 'Cannot keep row ajv'],
  ['a row in the wrong section', page('', vitest + ajv), 'Cannot keep row ajv'],
  [
    'a package of the bundle without a row of its own',
    {
      ...sound,
      'packages/gateway/package.json':
        '{ "name": "palisade", "dependencies": { "ajv": "8.20.0" }, "devDependencies": { "zod": "4.0.0" } }',
    },
    'Cannot find row zod: expected one in "Bundled in `palisade`"',
  ],
  ['another version', page(ajv.replace('8.20.0', '8.20.1')), 'its version is "8.20.1", expected "8.20.0"'],
  ['an empty answer', page(ajv.replace('Memory.', '')), '"What it may touch" is empty'],
  ['a missing answer', page('| `ajv` | 8.20.0 | Schemas. | Memory. |\n'), '"How to leave it" is empty'],
  [
    'a range',
    { ...sound, 'package.json': '{ "devDependencies": { "vitest": "^4.1.12" } }' },
    'expected an exact one',
  ],
  [
    'a tag',
    { ...sound, 'package.json': '{ "devDependencies": { "vitest": "latest" } }' },
    'expected an exact one',
  ],
  ...['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((kind) =>
    ['sdk', 'wasm'].map(
      (name) =>
        [
          `${kind} of ${name}`,
          { ...sound, [`packages/${name}/package.json`]: `{ "name": "x", "${kind}": { "zod": "4.0.0" } }` },
          `packages/${name}/package.json:0 Cannot depend on zod: this package has no dependencies`,
        ] as const,
    ),
  ),
  [
    'an address in the lock',
    { ...sound, 'package-lock.json': '{\n"resolved": "https://example.org/x.tgz"\n}' },
    'package-lock.json:2 ',
  ],
  [
    'no lock',
    Object.fromEntries(Object.entries(sound).filter(([path]) => path !== 'package-lock.json')),
    'find the lock file',
  ],
  [
    'no page',
    Object.fromEntries(Object.entries(sound).filter(([path]) => path !== 'DEPENDENCIES.md')),
    'find the page',
  ],
];

describe('dependencies', () => {
  test.each(wrong)('refuses %s', async (_, files, named) => {
    expect((await violations(check, files)).join('\n')).toContain(named);
  });

  test('accepts a sound tree', async () => {
    expect(await violations(check, sound)).toEqual([]);
  });
});
