// A deadline for guest code: the engine runs in a worker, which is terminated when the time is over.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createEngine, threadStackBytes, WasmError } from '@palisade/wasm';

// Enough stack for every recursion of a guest to end by the count.
const resourceLimits = { stackSizeMb: threadStackBytes() / 2 ** 20 };

if (isMainThread) await main();
else await work(workerData);

/** Calls one function of a module; rejects when it fails, and when the deadline passes first. */
function callInWorker(job, deadlineMs) {
  const worker = new Worker(new URL(import.meta.url), { workerData: job, resourceLimits });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('deadline')), deadlineMs);
    worker.once('message', ({ ok, value }) => {
      clearTimeout(timer);
      if (ok) resolve(value);
      else reject(new Error(value));
    });
    worker.once('error', reject);
  }).finally(() => worker.terminate());
}

async function work({ bytes, name, args, fuel }) {
  const engine = createEngine({ limits: { fuel } });
  try {
    const instance = engine.instantiate(await engine.compile(bytes));
    parentPort.postMessage({ ok: true, value: instance.call(name, args).results[0] });
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
    parentPort.postMessage({ ok: false, value: error.code });
  }
}

async function main() {
  // For all threads of the process. Node 20 needs it; later versions accept it.
  setFlagsFromString('--no-turbo-inline-js-wasm-calls');
  const bytes = await readFile(new URL('./count.wasm', import.meta.url));
  const job = { bytes, fuel: 1_000_000_000_000 };

  assert.equal(await callInWorker({ ...job, name: 'sum', args: [1000] }, 10_000), 500_500);

  // Fuel for an hour, and no host function where a deadline would be seen: only terminating its thread stops it.
  const began = performance.now();
  await assert.rejects(callInWorker({ ...job, name: 'forever', args: [] }, 500), /^Error: deadline$/);
  console.log(`ended after ${Math.round(performance.now() - began)} ms`);

  // With little fuel it ends by itself.
  await assert.rejects(
    callInWorker({ ...job, fuel: 1_000, name: 'forever', args: [] }, 10_000),
    /^Error: fuel$/,
  );
}
