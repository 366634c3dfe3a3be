/**
 * Counts the source files that one call goes through: `node tools/touched.mjs [--list]`. A file counts when one of its
 * functions ran between the moment the call was made and the moment its answer was there; what merely was loaded does
 * not. The calls are those of bench/touched.ts, each in a process of its own whose gateway is open and has made none.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { register } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transformSync } from 'esbuild';
import { TEXT_ASSETS } from './assets.mjs';
import { projectRoot } from './check.mjs';

const SOURCES = pathToFileURL(join(projectRoot, 'packages')).href;
const CALLS = ['an echo call', 'a WASM call over HTTP', 'a jailed command with a network'];

/** The loader of sources: TypeScript without its types, assets as text. Node calls it in a thread of its own. */
export async function load(url, context, next) {
  if (TEXT_ASSETS.some((extension) => url.endsWith(extension))) {
    const source = `export default ${JSON.stringify(readFileSync(fileURLToPath(url), 'utf8'))};`;
    return { format: 'module', source, shortCircuit: true };
  }
  if (!url.endsWith('.ts')) return next(url, context);
  const { code } = transformSync(readFileSync(fileURLToPath(url), 'utf8'), {
    loader: 'ts',
    target: 'node20',
  });
  return { format: 'module', source: code, shortCircuit: true };
}

/** The ES modules of jsonc-parser name each other without an ending, which only bundlers accept. */
export function resolve(specifier, context, next) {
  const isBare = specifier.startsWith('./') && !specifier.endsWith('.js');
  const isTheirs = /\/jsonc-parser\/lib\/esm\//.test(context.parentURL ?? '');
  return next(isBare && isTheirs ? `${specifier}.js` : specifier, context);
}

/** Makes one call and writes the files that it went through to standard output, as JSON. */
async function measure(name) {
  register(import.meta.url);
  const { CALLS: calls } = await import(pathToFileURL(join(projectRoot, 'bench/touched.ts')).href);
  const scratch = mkdtempSync('/var/tmp/palisade-touched-');
  try {
    const { call, close } = await calls[name](scratch);
    const { code, files } = await covered(call);
    await close();
    if (code !== 'ok') throw new Error(`the call ended with ${code}, expected ok`);
    process.stdout.write(JSON.stringify(files));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function covered(call) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  // What ran before the call is not counted from here on.
  await session.post('Profiler.takePreciseCoverage');
  const code = await call();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const files = result.filter(isTouched).map(({ url }) => url.slice(SOURCES.length + 1));
  return { code, files: files.sort() };
}

/** Whether a function of this source ran. The first one of a module is its top level, which runs when it is loaded. */
function isTouched({ url, functions }) {
  if (!url.startsWith(SOURCES) || !/\/src\/.*\.ts$/.test(url)) return false;
  return functions.some(
    ({ functionName, ranges }) => ranges[0].count > 0 && (functionName !== '' || ranges[0].startOffset > 0),
  );
}

function report(name, isListing) {
  const words = [
    '--conditions=palisade-source',
    '--no-warnings',
    fileURLToPath(import.meta.url),
    '--measure',
    name,
  ];
  const { status, stdout } = spawnSync(process.execPath, words, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`Cannot measure ${name}: the process exited with status ${status}`);
  const files = JSON.parse(stdout);
  const folders = groupByFolder(files);
  console.log(`${name}: ${files.length} files`);
  for (const [folder, inside] of folders) {
    const names = isListing ? `  ${inside.map((file) => file.slice(folder.length + 1)).join(' ')}` : '';
    console.log(`  ${String(inside.length).padStart(3)}  ${folder}${names}`);
  }
}

function groupByFolder(files) {
  const folders = new Map();
  for (const file of files) folders.set(folderOf(file), [...(folders.get(folderOf(file)) ?? []), file]);
  return folders;
}

/** `gateway/src/invoke` of a file of the gateway, `sdk/src` of any other package. */
function folderOf(file) {
  const parts = file.split('/');
  return parts.slice(0, parts[0] === 'gateway' && parts.length > 3 ? 3 : 2).join('/');
}

if (isMainThread && process.argv[1] === fileURLToPath(import.meta.url)) {
  const [word, name] = process.argv.slice(2);
  if (word === '--measure') {
    await measure(name);
    process.exit();
  }
  for (const each of CALLS) report(each, word === '--list');
}
