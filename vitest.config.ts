import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { textAssets } from './tools/assets.mjs';

const conditions = ['palisade-source', 'node', 'import', 'default'];

const WORKERS = Math.min(4, availableParallelism());

/** Groups run one after the other, so that whole stories never compete with small tests for the processor. */
type Group = {
  readonly name: string;
  readonly include: string[];
  readonly exclude?: string[];
  readonly maxWorkers: number;
  readonly order: number;
  readonly timeoutMs: number;
  readonly isolate?: boolean;
};

function project({
  name,
  include,
  exclude = [],
  maxWorkers,
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
      // Packages that tests have of their own bring tests too.
      exclude: [...exclude, '**/node_modules/**'],
      pool: 'forks',
      isolate,
      maxWorkers,
      sequence: { groupOrder: order },
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      server: { deps: { inline: [/@palisade\/(sdk|wasm)/] } },
    },
  };
}

/** Of the stories and attacks, those that only compute, or have a gateway of their own and nothing else: they disturb nobody. */
const QUIET = [
  'tests/scenarios/{real-programs,skill-*,skills-*}.test.ts',
  'tests/attacks/{policy,skill,wasm}-*.test.ts',
];

/** Tests of what has no state and starts nothing share their worker, so that modules are loaded once for many of them. */
const PURE = [
  'packages/sdk/test/*.test.ts',
  'packages/gateway/test/{core,config}/**/*.test.ts',
  'packages/gateway/test/skills/{manifest,audit,package}/**/*.test.ts',
];

export default defineConfig({
  test: {
    projects: [
      project({
        name: 'pure',
        include: PURE,
        maxWorkers: WORKERS,
        order: 0,
        timeoutMs: 60_000,
        isolate: false,
      }),
      project({
        name: 'parts',
        include: ['packages/*/test/**/*.test.ts', 'tools/test/**/*.test.ts', ...QUIET],
        exclude: PURE,
        maxWorkers: WORKERS,
        order: 1,
        timeoutMs: 120_000,
        isolate: false,
      }),
      // Stories and attacks start daemons and processes and mostly wait for them: two files at a time.
      project({
        name: 'whole',
        include: ['tests/**/*.test.ts'],
        exclude: QUIET,
        maxWorkers: 2,
        order: 2,
        timeoutMs: 180_000,
      }),
    ],
  },
});
