/**
 * Runs the benchmarks: `node bench/run.mjs [NAME…] [--quick]`. Each file of ours is bundled with the sources it measures
 * and gives figures; this file prints them against their goals and writes bench/results. A missed goal is printed as
 * MISSED and is no error; a bench that could not run is one.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { TEXT_ASSETS } from '../tools/assets.mjs';
import { projectRoot as root } from '../tools/check.mjs';
import { plotOf } from './plot.mjs';
import { ratioPlotOf } from './plot-ratios.mjs';
import { printFigures } from './table.mjs';

const BENCHES = [
  'decision',
  'line',
  'journal',
  'verify',
  'start',
  'wasm-kernels',
  'wasm-programs',
  'wasm-rewrite',
  'wasm-crossing',
  'wasm-pool',
  'commands',
  'modules',
  'egress',
  'skills',
  'skill-dev',
  'doors',
];
const results = join(root, 'bench/results');

/** The same bundle as the shipped one, so that what is measured is what users run. */
async function bundle(names, outdir) {
  await build({
    entryPoints: names.map((name) => join(root, `bench/${name}.ts`)),
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['palisade-source'],
    external: ['libsql', '@cedar-policy/cedar-wasm', 'esbuild', 'wabt'],
    loader: Object.fromEntries(TEXT_ASSETS.map((extension) => [extension, 'text'])),
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    keepNames: true,
    absWorkingDir: root,
    logLevel: 'warning',
  });
}

async function runBench(name, built, options) {
  try {
    const { run } = await import(pathToFileURL(join(built, `${name}.mjs`)).href);
    const figures = await run(options);
    printFigures(name, figures);
    return { name, figures };
  } catch (error) {
    console.error(`Cannot run the bench "${name}": ${error.stack ?? error}`);
    process.exitCode = 1;
    return { name, figures: [], error: String(error) };
  }
}

function readWords(words) {
  const quick = words.includes('--quick');
  const asked = words.filter((word) => word !== '--quick');
  const unknown = asked.find((word) => !BENCHES.includes(word));
  if (unknown !== undefined)
    throw new Error(`Cannot run "${unknown}": there is no such bench, expected one of ${BENCHES.join(', ')}`);
  return { quick, names: asked.length > 0 ? asked : BENCHES };
}

async function main() {
  const { quick, names } = readWords(process.argv.slice(2));
  process.chdir(root);
  mkdirSync(results, { recursive: true });
  // Inside the project, so that the bundle finds its packages and the disk is the one that is worked on.
  const scratch = mkdtempSync(join(results, 'scratch-'));
  try {
    await bundle(names, join(scratch, 'built'));
    const benches = [];
    for (const name of names) benches.push(await runBench(name, join(scratch, 'built'), { quick, scratch }));
    const { version, arch, platform } = process;
    const document = { at: new Date().toISOString(), quick, node: version, platform, arch, benches };
    writeFileSync(join(results, 'latest.json'), `${JSON.stringify(document, null, 2)}\n`);
    const figures = benches.flatMap((bench) => bench.figures);
    writeFileSync(join(results, 'plot.svg'), plotOf(figures));
    const ratios = ratioPlotOf(figures);
    if (ratios !== undefined) writeFileSync(join(results, 'metering.svg'), ratios);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
