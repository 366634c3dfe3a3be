/**
 * The one word: runs every check, all of them even when one fails, and ends with `N passed, N failed`. A static check
 * counts as one, a test as one. A skipped test on Linux counts as failed: what cannot run there has proved nothing.
 *
 *   node tools/ok.mjs [--setup] [--only NAME]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot as root } from './check.mjs';
import { run } from './command.mjs';
import { readReport } from './vitest-report.mjs';

const tool = (name) => [join(root, `tools/${name}.mjs`)];
const tsc = (...words) => [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', ...words];

const STATIC_CHECKS = [
  {
    name: 'format and lint',
    words: [join(root, 'node_modules/@biomejs/biome/bin/biome'), 'ci', '--colors=off'],
  },
  { name: 'types of sdk', words: tsc('packages/sdk') },
  { name: 'types of wasm', words: tsc('packages/wasm') },
  { name: 'types of gateway', words: tsc('packages/gateway') },
  { name: 'types of tests and tools', words: tsc('.') },
  { name: 'imports', words: tool('imports') },
  { name: 'outside', words: tool('outside') },
  { name: 'sizes', words: tool('sizes') },
  { name: 'docs', words: tool('docs') },
  { name: 'wire types', words: tool('sdk-types') },
  { name: 'dependencies', words: tool('dependencies') },
];

async function runStatic({ name, words }) {
  const began = performance.now();
  const { ok, output } = await run(process.execPath, words, { cwd: root });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  if (!ok) console.log(output.trimEnd());
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, notes: ok ? [] : [`FAIL ${name}`] };
}

async function runTests() {
  const folder = mkdtempSync(join(tmpdir(), 'palisade-ok-'));
  const report = join(folder, 'report.json');
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const words = [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  try {
    const { ok } = await run(process.execPath, words, { cwd: root, live: true });
    return readReport(readText(report), { ok, platform: process.platform });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const words = process.argv.slice(2);
const only = words.includes('--only') ? words[words.indexOf('--only') + 1] : undefined;
const results = [];
if (words.includes('--setup'))
  results.push(await runStatic({ name: 'setup', words: [...tool('setup'), '--programs'] }));
for (const each of STATIC_CHECKS) if (!only || only === each.name) results.push(await runStatic(each));
if (!only || only === 'vitest') results.push(await runTests());

const sum = (key) => results.reduce((total, each) => total + each[key], 0);
if (results.length === 0) {
  console.error(`Cannot run "${only}": no such check`);
  results.push({ passed: 0, failed: 1 });
}
for (const note of results.flatMap((each) => each.notes ?? [])) console.log(note);
process.exitCode = sum('failed') > 0 ? 1 : 0;
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
