/**
 * Builds what is shipped. The SDK and the WebAssembly engine are compiled file by file with their types; the gateway is
 * bundled, because a command that loads few files starts faster than one that loads hundreds (tools/packs.mjs). Each build
 * is made next to the old one and then replaces it, stamped with the sources it was made from.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { TEXT_ASSETS } from './assets.mjs';
import { projectRoot } from './check.mjs';
import { run } from './command.mjs';
import { bundledPackages, writeLicences } from './licences.mjs';
import { withLock } from './lock.mjs';
import { linkPacks, OUT } from './packs.mjs';
import { makeSite } from './site.mjs';
import { BUILDS, stampOf } from './stamp.mjs';

const root = projectRoot;

const makers = {
  sdk: (outDir) => compile('sdk', outDir),

  wasm: (outDir) => compile('wasm', outDir),

  site: (outDir) => makeSite(root, outDir),

  async gateway(outDir) {
    if (!existsSync(join(SOURCE, 'main.ts')))
      throw new Error('Cannot bundle the gateway: packages/gateway/src/main.ts does not exist');
    mkdirSync(outDir);
    const inPacks = await buildPacks(outDir);
    // What Node loads first is one file.
    const first = await build({
      ...SHARED,
      entryPoints: [join(SOURCE, 'start/start.ts')],
      outfile: join(outDir, 'start.cjs'),
      format: 'cjs',
      legalComments: 'external',
    });
    // An engine is passed to a sandbox as one file.
    const engines = await build({
      ...SHARED,
      entryPoints: enginesIn(SOURCE),
      outdir: outDir,
      entryNames: '[name]',
      format: 'esm',
      keepNames: true,
      legalComments: 'external',
      // Bundled CommonJS packages ask for built-in modules with `require`, which an ES module does not have.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
    });
    writeLicences(outDir, bundledPackages(root, [...inPacks, first.metafile, engines.metafile]));
  },
};

const SOURCE = join(root, 'packages/gateway/src');

const SHARED = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  conditions: ['palisade-source'],
  // Both load a native or WebAssembly file next to their own code.
  external: ['libsql', '@cedar-policy/cedar-wasm'],
  loader: Object.fromEntries(TEXT_ASSETS.map((extension) => [extension, 'text'])),
  // What is loaded at each start is read at each start; names stay, so that traces can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  metafile: true,
  absWorkingDir: root,
  logLevel: 'warning',
};

/** Builds the program in a few files and their index; gives what it is made of. */
async function buildPacks(outDir) {
  const unwritten = join(root, OUT);
  const split = await build({
    ...SHARED,
    // Each module becomes a chunk of its own.
    entryPoints: ['gateway', 'sdk', 'wasm'].flatMap((name) => modulesIn(join(root, 'packages', name, 'src'))),
    outdir: unwritten,
    outbase: join(root, 'packages'),
    chunkNames: '[name]-[hash]',
    splitting: true,
    format: 'esm',
    legalComments: 'none',
    define: { 'import.meta.url': '__bundleUrl' },
    write: false,
  });
  const place = { source: 'packages/gateway/src', outDir: unwritten, target: SHARED.target };
  const { packs, inputs } = await linkPacks(split, place);
  for (const { name, text } of packs) writeFileSync(join(outDir, `${name}.cjs`), text);
  const index = Object.fromEntries(packs.map(({ name, sha256 }) => [name, sha256]));
  writeFileSync(join(outDir, 'packs.json'), `${JSON.stringify({ packs: index }, null, 1)}\n`);
  return [{ inputs }];
}

async function compile(name, outDir) {
  const words = [join(root, 'node_modules/typescript/bin/tsc'), '-p', `packages/${name}`, '--outDir', outDir];
  const { ok, output } = await run(process.execPath, words, { cwd: root });
  if (!ok) throw new Error(`Cannot compile packages/${name}:\n${output}`);
}

/** The modules of a package that can be loaded by themselves. */
function modulesIn(source) {
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.ts') && !/\.(d|engine)\.ts$/.test(name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !path.startsWith(join(source, 'start/')));
}

/** An engine runs in a process of its own, from a file of its own. */
function enginesIn(source) {
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.engine.ts'))
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
