/**
 * Fuzzes the reader and the meter of packages/wasm: `node tools/fuzz.mjs [--count N] [--seconds N] [--seed S]`. Two
 * processes change modules at random; this one watches them. An input on which a process hangs or dies is a finding
 * like any other. Findings and the corpus are kept in a folder, and a run continues where the last one with the same
 * seed ended, until there were `--count` inputs; `--fresh` starts over.
 */
import { fork } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { projectRoot as root } from './check.mjs';

const WORKERS = 2;
/** No batch takes this long, even on a busy machine. */
const HANG_MS = 60_000;
const PRINT_MS = 10_000;
/** A process that keeps dying is restarted this often. */
const MOST_RESTARTS = 20;
const SEED_STEP = 7_919;
const MOST_MODULE_BYTES = 8 * 2 ** 20;

function readOptions() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: {
      count: text,
      seconds: text,
      seed: text,
      folder: text,
      workers: text,
      fresh: { type: 'boolean' },
    },
  });
  return {
    count: positive(values.count ?? '10000000', 'count'),
    seconds: positive(values.seconds ?? '86400', 'seconds'),
    seed: positive(values.seed ?? '1', 'seed'),
    workers: positive(values.workers ?? String(WORKERS), 'workers'),
    folder: resolve(values.folder ?? join(root, 'node_modules/.cache/palisade-fuzz')),
    fresh: values.fresh === true,
  };
}

function positive(text, name) {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`Cannot fuzz: --${name} is "${text}", expected a whole number above 0`);
}

async function bundle(outfile) {
  await build({
    entryPoints: [join(root, 'packages/wasm/test/fuzz/fuzz.worker.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    absWorkingDir: root,
    logLevel: 'warning',
  });
}

/** Real modules: the kernels of the benchmarks and what packages contain. */
function findModules(folder, depth = 6) {
  if (depth === 0 || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== '.cache') return findModules(path, depth - 1);
    const isModule = entry.isFile() && entry.name.endsWith('.wasm');
    return isModule && readFileSync(path).length <= MOST_MODULE_BYTES ? [path] : [];
  });
}

/** What all processes have done together, kept between runs. */
function openLedger({ folder, seed, fresh }) {
  const path = join(folder, 'ledger.json');
  if (fresh) rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'faults'), { recursive: true });
  const last = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
  const ledger = last?.seed === seed ? last : { seed, runs: 0, inputs: 0, accepted: 0 };
  return { ledger, save: () => writeFileSync(path, `${JSON.stringify(ledger)}\n`) };
}

/** Runs one process until it is done; one that dies or hangs leaves its last input behind and is replaced. */
function runWorker(script, order, state) {
  rmSync(order.record, { force: true });
  return new Promise((finish, fail) => {
    const child = fork(script, [JSON.stringify(order)], { execArgv: ['--single-threaded'], cwd: root });
    let heard = Date.now();
    let done = false;
    const watch = setInterval(() => {
      if (Date.now() - heard > HANG_MS) child.kill('SIGKILL');
    }, 1_000);
    child.on('message', (message) => {
      heard = Date.now();
      if (message.kind === 'fault') state.found(message.message, message.path);
      else state.totals.set(order.seed, message.totals);
      done ||= message.kind === 'done';
    });
    child.on('exit', (code, signal) => {
      clearInterval(watch);
      if (done) return finish();
      if (!existsSync(order.record))
        return fail(new Error(`Cannot fuzz: a process ended with ${signal ?? code} before its first input`));
      state.found(`a process ended with ${signal ?? code}`, keepRecord(order));
      state.restarts += 1;
      const left = order.count - (state.totals.get(order.seed)?.inputs ?? 0);
      if (left <= 0 || Date.now() > order.deadline || state.restarts > MOST_RESTARTS) return finish();
      runWorker(script, { ...order, seed: order.seed + 1, count: left }, state).then(finish, fail);
    });
  });
}

/** The input that a process was at. */
function keepRecord({ record, folder, seed }) {
  const bytes = existsSync(record) ? readFileSync(record) : Buffer.alloc(4);
  const path = join(folder, 'faults', `lost-${seed}-${Date.now()}.wasm`);
  writeFileSync(path, bytes.subarray(4, 4 + bytes.readUInt32LE(0)));
  return path;
}

function sumOf(totals) {
  const all = [...totals.values()];
  const sum = (key) => all.reduce((total, each) => total + each[key], 0);
  return {
    inputs: sum('inputs'),
    accepted: sum('accepted'),
    lessons: Math.max(0, ...all.map(({ lessons }) => lessons)),
    slowestMs: Math.round(Math.max(0, ...all.map(({ slowestMs }) => slowestMs))),
  };
}

function printTotals(state, before) {
  const { inputs, accepted, lessons, slowestMs } = sumOf(state.totals);
  const seconds = (Date.now() - state.started) / 1_000;
  console.log(
    `${before + inputs} inputs (${Math.round(inputs / seconds)}/s), ${accepted} accepted, ` +
      `${lessons} lessons, slowest ${slowestMs} ms, ${state.findings} findings`,
  );
}

async function main() {
  const options = readOptions();
  const { ledger, save } = openLedger(options);
  const script = join(options.folder, 'worker.mjs');
  await bundle(script);
  const modules = [...findModules(join(root, 'bench/kernels')), ...findModules(join(root, 'node_modules'))];
  const state = {
    totals: new Map(),
    findings: 0,
    restarts: 0,
    started: Date.now(),
    found: (message, path) => {
      state.findings += 1;
      console.error(`Found: ${message}\n  ${path}`);
    },
  };
  const before = ledger.inputs;
  const left = Math.max(0, options.count - before);
  console.log(
    `fuzz: seed ${options.seed}, run ${ledger.runs + 1}, ${before} inputs so far, ${modules.length} real modules`,
  );
  const printer = setInterval(() => printTotals(state, before), PRINT_MS);
  const workers = Array.from({ length: left === 0 ? 0 : options.workers }, (_, at) =>
    runWorker(
      script,
      {
        seed: options.seed + SEED_STEP * (1 + at + ledger.runs * options.workers),
        count: Math.ceil(left / options.workers),
        deadline: state.started + options.seconds * 1_000,
        folder: options.folder,
        record: join(options.folder, `worker-${at}.input`),
        // One process looks at the real modules; what it learns is in the corpus of the next run.
        modules: at === 0 ? modules : [],
      },
      state,
    ),
  );
  await Promise.all(workers);
  clearInterval(printer);
  printTotals(state, before);
  const { inputs, accepted } = sumOf(state.totals);
  Object.assign(ledger, {
    runs: ledger.runs + 1,
    inputs: before + inputs,
    accepted: ledger.accepted + accepted,
  });
  save();
  if (state.findings > 0) process.exitCode = 1;
}

main().catch((error) => {
  console.error(error.message.startsWith('Cannot ') ? error.message : `Cannot fuzz: ${error.stack}`);
  process.exitCode = 1;
});
