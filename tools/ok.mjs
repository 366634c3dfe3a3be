/**
 * The one word: runs every check, all of them even when one fails, and ends with `N passed, N failed`. A static check
 * counts as one, a test as one. A skipped test on Linux counts as failed: what cannot run there has proved nothing.
 *
 *   node tools/ok.mjs [--setup] [--static] [--only NAME] [--second-node]
 *
 * With --static no test runs. With --second-node only those tests run whose subject another Node could change: the second run of CI.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot as root } from './check.mjs';
import { run } from './command.mjs';
import { readReport, slowest } from './vitest-report.mjs';

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

/**
 * What another version of Node can change: V8 (compilers, WebAssembly, stacks), sockets, TLS and HTTP, processes and pipes.
 * All else is plain computation, or the same code with another caller.
 */
const SECOND_NODE = [
  'packages/wasm/test/',
  'packages/sdk/test/',
  'packages/gateway/test/core/',
  'packages/gateway/test/egress/',
  'packages/gateway/test/tiers/a-wasm/',
  'packages/gateway/test/tiers/child/',
  'packages/gateway/test/doors/http/',
  'packages/gateway/test/doors/mcp/',
  'tests/attacks/wasm-',
  'tests/attacks/module-runs-for-ever',
  'tests/attacks/module-grows',
  'tests/attacks/door-malformed',
  'tests/attacks/egress-around-proxy',
  'tests/scenarios/commands-smoke',
  'tests/scenarios/egress-clients-node',
  'tests/scenarios/mcp-agent-story',
  'tests/scenarios/modules-real-program',
  'tests/scenarios/serve-lives',
  'tests/scenarios/skill-story',
];

async function runStatic({ name, words }) {
  const began = performance.now();
  const { ok, output } = await run(process.execPath, words, { cwd: root });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  if (!ok) console.log(output.trimEnd());
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, notes: ok ? [] : [`FAIL ${name}`] };
}

/** Each check keeps one processor busy, so there are as many at a time as this machine has. */
async function runAtOnce(checks) {
  const waiting = [...checks];
  const runner = async () => {
    const done = [];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      done.push(await runStatic(next));
    return done;
  };
  return (await Promise.all(Array.from({ length: availableParallelism() }, runner))).flat();
}

const MEMORY_OF_TESTS_BYTES = 8 * 2 ** 30;

/**
 * The command that runs `words` with its temporary files in memory, where root may have that: the tests sync thousands of
 * small databases, and wait for the disk for half of their time. The mount is gone with the command.
 */
async function inMemory(folder, words) {
  const isRoot = process.platform === 'linux' && process.geteuid() === 0;
  const mount = ['--mount', '--propagation', 'private', 'sh', '-c'];
  const here = 'mount -t tmpfs -o mode=1777 memory "$0"';
  const canMount =
    isRoot &&
    freemem() > MEMORY_OF_TESTS_BYTES &&
    (await run('unshare', [...mount, here, folder], { cwd: root })).ok;
  if (!canMount) return { file: process.execPath, words };
  return {
    file: 'unshare',
    words: [...mount, `${here} && export TMPDIR="$0" && exec "$@"`, folder, process.execPath, ...words],
  };
}

async function runTests(paths) {
  // Short, since sockets are made below it.
  const temporary = mkdtempSync(join(tmpdir(), 'p-'));
  const folder = mkdtempSync(join(tmpdir(), 'palisade-ok-'));
  const report = join(folder, 'report.json');
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const words = [
    vitest,
    'run',
    ...paths,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ];
  try {
    const command = await inMemory(temporary, words);
    const { ok } = await run(command.file, command.words, { cwd: root, live: true });
    const text = readText(report);
    for (const line of slowest(text)) console.log(line);
    return readReport(text, { ok, platform: process.platform });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
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

const flag = { type: 'boolean', default: false };
const { values: flags } = parseArgs({
  options: { setup: flag, static: flag, only: { type: 'string' }, 'second-node': flag },
});
const { only } = flags;
const results = [];
if (flags.setup) results.push(await runStatic({ name: 'setup', words: [...tool('setup'), '--programs'] }));
results.push(...(await runAtOnce(STATIC_CHECKS.filter(({ name }) => !only || only === name))));
if (!flags.static && (!only || only === 'vitest'))
  results.push(await runTests(flags['second-node'] ? SECOND_NODE : []));

const sum = (key) => results.reduce((total, each) => total + each[key], 0);
if (results.length === 0) {
  console.error(`Cannot run "${only}": no such check`);
  results.push({ passed: 0, failed: 1 });
}
for (const note of results.flatMap((each) => each.notes ?? [])) console.log(note);
process.exitCode = sum('failed') > 0 ? 1 : 0;
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
