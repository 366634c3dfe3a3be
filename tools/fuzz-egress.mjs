/**
 * Fuzzes the readers and the decisions of the egress room: `node tools/fuzz-egress.mjs [--count N] [--seed S]`. Random
 * spellings, hosts and allow-lists are compared with Node's URL parser and with a second, slow way to decide; as many
 * requests to the proxy are compared with another reader of their heads.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { projectRoot as root } from './check.mjs';

const BATCH = 100_000;

function readOptions() {
  const { values } = parseArgs({ options: { count: { type: 'string' }, seed: { type: 'string' } } });
  return { count: positive(values.count ?? '1000000', 'count'), seed: positive(values.seed ?? '1', 'seed') };
}

function positive(text, name) {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`Cannot fuzz: --${name} is "${text}", expected a whole number above 0`);
}

const SUBJECTS = {
  'hosts and lists': 'packages/gateway/test/egress/fuzz/fuzz.ts',
  'proxy requests': 'packages/gateway/test/egress/proxy/fuzz/fuzz.ts',
};

async function loadFuzz(path) {
  const outfile = join(root, `node_modules/.cache/palisade-fuzz-egress/fuzz-${process.pid}.mjs`);
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

async function main() {
  const options = readOptions();
  for (const [name, path] of Object.entries(SUBJECTS)) await run(name, await loadFuzz(path), options);
}

async function run(name, fuzz, { count, seed }) {
  const started = Date.now();
  let cases = 0;
  let findings = 0;
  for (let batch = 0; cases < count; batch += 1) {
    const report = fuzz(seed * 1_000_003 + batch, Math.min(BATCH, count - cases));
    cases += report.cases;
    findings += report.findings.length;
    for (const finding of report.findings) console.error(`Found: ${finding}`);
    const perSecond = Math.round((cases * 1_000) / Math.max(1, Date.now() - started));
    console.log(`${name}: ${cases} cases (${perSecond}/s), ${findings} findings`);
  }
  if (findings > 0) process.exitCode = 1;
}

main().catch((error) => {
  console.error(error.message.startsWith('Cannot ') ? error.message : `Cannot fuzz: ${error.stack}`);
  process.exitCode = 1;
});
