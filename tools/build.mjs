/**
 * Builds what is shipped. The SDK and the WebAssembly engine are compiled file by file with their types; the gateway is
 * bundled, because a command that loads one file starts faster than one that loads hundreds. Each build is made next to
 * the old one and then replaces it, stamped with the sources it was made from.
 */
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { TEXT_ASSETS } from './assets.mjs';
import { projectRoot } from './check.mjs';
import { run } from './command.mjs';
import { bundledPackages, writeLicences } from './licences.mjs';
import { withLock } from './lock.mjs';
import { makeSite } from './site.mjs';
import { BUILDS, stampOf } from './stamp.mjs';

const root = projectRoot;

const makers = {
  sdk: (outDir) => compile('sdk', outDir),

  wasm: (outDir) => compile('wasm', outDir),

  site: (outDir) => makeSite(root, outDir),

  async gateway(outDir) {
    const source = join(root, 'packages/gateway/src');
    const main = join(source, 'main.ts');
    if (!existsSync(main))
      throw new Error('Cannot bundle the gateway: packages/gateway/src/main.ts does not exist');
    const shared = {
      outdir: outDir,
      entryNames: '[name]',
      chunkNames: '[name]-[hash]',
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      conditions: ['palisade-source'],
      // Both load a native or WebAssembly file next to their own code.
      external: ['libsql', '@cedar-policy/cedar-wasm'],
      loader: Object.fromEntries(TEXT_ASSETS.map((extension) => [extension, 'text'])),
      // Bundled CommonJS packages ask for built-in modules with `require`, which an ES module does not have.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
      keepNames: true,
      // What is loaded at each start is read at each start; names stay, so that traces can be read.
      minifyWhitespace: true,
      legalComments: 'external',
      sourcemap: 'external',
      metafile: true,
      absWorkingDir: root,
      logLevel: 'warning',
    };
    const workers = farSides(source, 'worker');
    const { metafile } = await build({ ...shared, entryPoints: [main, ...workers], splitting: true });
    // An engine is passed to a sandbox as one file; what a client waits for is loaded as one.
    const alone = await build({
      ...shared,
      entryPoints: [...farSides(source, 'engine'), join(source, 'early.ts')],
    });
    writeLicences(outDir, bundledPackages(root, [metafile, alone.metafile]));
  },
};

async function compile(name, outDir) {
  const words = [join(root, 'node_modules/typescript/bin/tsc'), '-p', `packages/${name}`, '--outDir', outDir];
  const { ok, output } = await run(process.execPath, words, { cwd: root });
  if (!ok) throw new Error(`Cannot compile packages/${name}:\n${output}`);
}

/** Code of the far side of a thread or a process is started by its file, so it stays a file of its own. */
function farSides(source, kind) {
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(`.${kind}.ts`))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

async function make(name) {
  const dist = join(root, BUILDS[name].stamp, '..');
  const fresh = `${dist}.new`;
  const old = `${dist}.old`;
  // Taken before building: a source that changes during the build leaves it stale, not wrong.
  const stamp = stampOf(root, name);
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  try {
    await makers[name](fresh);
    writeFileSync(join(fresh, basename(BUILDS[name].stamp)), `${stamp}\n`);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
  } finally {
    for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  }
  console.log(`build: ${name}`);
}

async function makeAll(names) {
  for (const name of names) await make(name);
}

const words = process.argv.slice(2);
const asked = words.filter((word) => word in BUILDS);
const names = asked.length > 0 ? asked : Object.keys(BUILDS);
try {
  // Set-up already has the lock and says so.
  if (words.includes('--locked')) await makeAll(names);
  else
    await withLock(
      root,
      () => console.log('build: waiting for another set-up'),
      () => makeAll(names),
    );
} catch (error) {
  // esbuild has shown its own errors already.
  console.error(error.errors ? `Cannot bundle the gateway: ${error.errors.length} errors` : error.message);
  process.exitCode = 1;
}
