import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';

const SOURCE = join(import.meta.dirname, '../../src');

/** Everything that is loaded with a file before any of its functions runs: files of ours, and packages. */
async function loadedWith(file: string): Promise<readonly string[]> {
  const { metafile } = await build({
    entryPoints: [join(SOURCE, file)],
    ...{ bundle: true, write: false, metafile: true, format: 'esm', platform: 'node', outdir: 'unused' },
    ...{ packages: 'external', absWorkingDir: SOURCE, logLevel: 'silent' },
    plugins: [
      {
        name: 'lazy-stays-away',
        setup: ({ onResolve }) =>
          onResolve({ filter: /.*/ }, ({ kind, path }) =>
            kind === 'dynamic-import' ? { path, external: true } : undefined,
          ),
      },
    ],
  });
  const packages = Object.values(metafile.inputs).flatMap(({ imports }) =>
    imports.filter(({ external, kind }) => external && kind !== 'dynamic-import').map(({ path }) => path),
  );
  return [...Object.keys(metafile.inputs), ...packages];
}

describe('a process that runs no operation', () => {
  test.each(['operations/operate.ts', 'operations/call-document.ts', 'doors/http/local-client.ts'])(
    'loads no schemas with %s',
    async (file) => {
      expect(await loadedWith(file)).not.toContain('zod');
    },
  );

  test('would be found out', async () => {
    expect(await loadedWith('operations/keys.ts')).toContain('zod');
  });
});

describe('an operation that reads only the stores', () => {
  test.each(['approvals', 'journal', 'keys', 'identity', 'skills', 'trust', 'budgets'])(
    'is loaded without the evaluator of policies: %s',
    async (noun) => {
      const loaded = await loadedWith(`operations/${noun}.ts`);
      expect(loaded).not.toContain('policy/cedar.ts');
      expect(loaded).not.toContain('policy/engine.ts');
    },
  );
});
