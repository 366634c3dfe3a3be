/** Reads a `*.table.ts` of the product as data, by bundling it in memory. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/** What a row loads only when it is used is not part of the table. */
const lazyStaysAway = {
  name: 'lazy-stays-away',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

/** Gives the named export of a table, or undefined when the file does not exist. */
export async function readTable(root, path, name) {
  if (!existsSync(join(root, path))) return undefined;
  const module = await readModule(root, `export * from './${path}';`);
  if (module[name] === undefined) throw new Error(`Cannot read ${path}: it does not export ${name}`);
  return module[name];
}

/** Gives what a module in the root folder with this text would export. */
export async function readModule(root, contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    conditions: ['palisade-source'],
    logLevel: 'silent',
    plugins: [lazyStaysAway],
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
