/** Runs the fuzzers of some parts, each a file with `fuzz(seed, count)`, as a command with `--count` and `--seed`. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { projectRoot as root } from './check.mjs';

const BATCH = 100_000;

/** Runs each part in turn; the process fails when one of them finds something. */
export function fuzzParts(name, parts) {
  run(name, parts).catch((error) => {
    console.error(error.message.startsWith('Cannot ') ? error.message : `Cannot fuzz: ${error.stack}`);
    process.exitCode = 1;
  });
}

async function run(name, parts) {
  const options = readOptions();
  for (const [part, path] of Object.entries(parts)) fuzzPart(part, await loadFuzz(name, path), options);
}

function readOptions() {
  const { values } = parseArgs({ options: { count: { type: 'string' }, seed: { type: 'string' } } });
  return { count: positive(values.count ?? '1000000', 'count'), seed: positive(values.seed ?? '1', 'seed') };
}

function positive(text, name) {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`Cannot fuzz: --${name} is "${text}", expected a whole number above 0`);
}

async function loadFuzz(name, path) {
  const outfile = join(root, `node_modules/.cache/palisade-fuzz-${name}/fuzz-${process.pid}.mjs`);
  await build({
    entryPoints: [join(root, path)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    absWorkingDir: root,
    logLevel: 'warning',
  });
  const { fuzz } = await import(`${pathToFileURL(outfile).href}?${path}`);
  await rm(outfile);
  return fuzz;
}

function fuzzPart(part, fuzz, { count, seed }) {
  const started = Date.now();
  let cases = 0;
  let findings = 0;
  for (let batch = 0; cases < count; batch += 1) {
    const report = fuzz(seed * 1_000_003 + batch, Math.min(BATCH, count - cases));
    cases += report.cases;
    findings += report.findings.length;
    for (const finding of report.findings) console.error(`Found: ${finding}`);
    const perSecond = Math.round((cases * 1_000) / Math.max(1, Date.now() - started));
    console.log(`${part}: ${cases} cases (${perSecond}/s), ${findings} findings`);
  }
  if (findings > 0) process.exitCode = 1;
}
