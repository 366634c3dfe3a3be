// A hard limit: the engine runs in a process of its own with nothing in its environment, and is killed at the deadline.
// Only this also stops V8's compiler, which a terminated thread waits for.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createEngine, WasmError } from '@palisade/wasm';

if (process.send === undefined) await main();
else process.once('message', work);

/** Calls one function of a module; rejects when it fails, and when the deadline passes first. */
function callInProcess(job, deadlineMs) {
  const child = fork(fileURLToPath(import.meta.url), [], {
    env: {},
    // Node 20 needs the flag; later versions accept it.
    execArgv: ['--no-turbo-inline-js-wasm-calls'],
    serialization: 'advanced',
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('deadline')), deadlineMs);
    child.once('message', ({ ok, value }) => {
      clearTimeout(timer);
      if (ok) resolve(value);
      else reject(new Error(value));
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error('gone')));
    child.send(job);
  }).finally(() => child.kill('SIGKILL'));
}

async function work({ bytes, name, args, fuel }) {
  const engine = createEngine({ limits: { fuel } });
  try {
    const instance = engine.instantiate(await engine.compile(bytes));
    process.send({ ok: true, value: instance.call(name, args).results[0] });
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
    process.send({ ok: false, value: error.code });
  }
}

async function main() {
  const bytes = await readFile(new URL('./count.wasm', import.meta.url));
  const job = { bytes, fuel: 1_000_000_000_000 };

  assert.equal(await callInProcess({ ...job, name: 'sum', args: [1000] }, 10_000), 500_500);

  const began = performance.now();
  await assert.rejects(callInProcess({ ...job, name: 'forever', args: [] }, 500), /^Error: deadline$/);
  console.log(`ended after ${Math.round(performance.now() - began)} ms`);
}
