import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { textAssets } from './tools/assets.mjs';

// What a run draws by chance of its rows (tests/volume); to repeat a run, give it the same number.
process.env.PALISADE_DRAW ??= Math.random().toFixed(6);
console.log(`PALISADE_DRAW=${process.env.PALISADE_DRAW}`);

const conditions = ['palisade-source', 'node', 'import', 'default'];

/** Two more than there are processors: tests wait for processes, sockets and disks for a good part of their time. */
const WORKERS = Math.min(4, availableParallelism() + 2);

/** Groups run one after the other, so that whole stories never compete with small tests for the CPU. */
type Group = {
  readonly name: string;
  readonly include: string[];
  readonly exclude?: string[];
  readonly order: number;
  readonly timeoutMs: number;
  readonly isolate?: boolean;
};

function project({
  name,
  include,
  exclude = [],
  order,
  timeoutMs,
  isolate = true,
}: Group): TestProjectInlineConfiguration {
  return {
    plugins: [textAssets()],
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      include,
      // Dependencies that tests install themselves contain tests too.
      exclude: [...exclude, '**/node_modules/**'],
      pool: 'forks',
      isolate,
      maxWorkers: WORKERS,
      sequence: { groupOrder: order },
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      server: { deps: { inline: [/@palisade\/(sdk|wasm)/] } },
    },
  };
}

/** Stories and attacks that only compute, or only use a gateway of their own: they disturb no other test. */
const QUIET = [
  'tests/scenarios/{real-programs,skill-*,skills-*}.test.ts',
  'tests/attacks/{policy,skill,wasm}-*.test.ts',
];

/** What a test changes in its process for good; such a test shares its worker with no other. */
const CHANGES_ITS_PROCESS = /syncBuiltinESMExports|cheap-scrypt|vi\.(mock|doMock)|process\.on\(/;

function changesItsProcess(path: string): boolean {
  return CHANGES_ITS_PROCESS.test(readFileSync(path, 'utf8'));
}

const FOLDERS = ['gateway', 'launcher', 'sdk', 'wasm'].map((name) => `packages/${name}/test`);

const ALONE = [...FOLDERS, 'tests']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  )
  .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules') && changesItsProcess(path));

export default defineConfig({
  test: {
    projects: [
      project({
        name: 'parts',
        include: ['packages/*/test/**/*.test.ts', 'tools/test/**/*.test.ts', ...QUIET],
        exclude: ALONE,
        order: 0,
        timeoutMs: 120_000,
        isolate: false,
      }),
      project({ name: 'alone', include: ALONE, order: 1, timeoutMs: 120_000 }),
      // Stories and attacks start daemons and processes and look at the whole machine.
      project({
        name: 'whole',
        include: ['tests/**/*.test.ts'],
        exclude: [...QUIET, ...ALONE],
        isolate: false,
        order: 2,
        timeoutMs: 180_000,
      }),
    ],
  },
});
