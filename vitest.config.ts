import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { textAssets } from './tools/assets.mjs';

const conditions = ['source', 'node', 'import', 'module', 'default'];

/** Groups run one after the other, so that whole stories never compete with small tests for the processor. */
type Group = {
  readonly name: string;
  readonly include: string[];
  readonly exclude?: string[];
  readonly maxWorkers: number;
  readonly order: number;
  readonly timeoutMs: number;
};

function project({
  name,
  include,
  exclude = [],
  maxWorkers,
  order,
  timeoutMs,
}: Group): TestProjectInlineConfiguration {
  return {
    plugins: [textAssets()],
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      include,
      exclude,
      pool: 'forks',
      maxWorkers,
      sequence: { groupOrder: order },
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      server: { deps: { inline: [/@palisade\/(sdk|wasm)/] } },
    },
  };
}

/** Of the stories and attacks, those that only compute: they disturb nobody. */
const QUIET = ['tests/scenarios/real-programs.test.ts', 'tests/attacks/{policy,wasm}-*.test.ts'];

export default defineConfig({
  test: {
    projects: [
      project({
        name: 'parts',
        include: ['packages/*/test/**/*.test.ts', 'tools/test/**/*.test.ts', ...QUIET],
        maxWorkers: Math.min(4, availableParallelism()),
        order: 0,
        timeoutMs: 60_000,
      }),
      // Stories and attacks start daemons, processes and browsers: one file at a time.
      project({
        name: 'whole',
        include: ['tests/**/*.test.ts'],
        exclude: QUIET,
        maxWorkers: 1,
        order: 1,
        timeoutMs: 120_000,
      }),
    ],
  },
});
