/**
 * An engine process: it runs the guests of calls and holds no authority. It reads frames from one descriptor and writes
 * to another; what a guest wants done is requested from the gateway, which checks the grant and acts. It is killed when
 * a call takes too long, and replaced. The guests run in a thread whose stack is large enough that every recursion
 * reaches the engine's depth limit first.
 */
import { setFlagsFromString } from 'node:v8';
import { isMainThread, Worker } from 'node:worker_threads';
import { threadStackBytes } from '@palisade/wasm';
import { GuestPool } from './guest-pool.ts';
import { GatewayPipe } from './pipe.ts';
import type { CallHead, LocateHead, ModuleHead, PrepareHead } from './protocol.ts';

const MIB = 1024 * 1024;
const [input = 3, output = 4, memoryBytes = 64 * MIB, tableElements = 0] = process.argv.slice(2).map(Number);

async function serve(): Promise<void> {
  const pipe = new GatewayPipe(input, output);
  const guests = new GuestPool(pipe, { memoryBytes, tableElements });
  pipe.send('ready', {});
  for (let frame = pipe.next(); frame !== null; frame = pipe.next()) {
    if (frame.kind === 'module') guests.keep(frame.head as ModuleHead, frame.bytes);
    else if (frame.kind === 'prepare') {
      const prepared = await guests.prepare(frame.head as PrepareHead, frame.bytes);
      pipe.send('prepared', prepared.head, prepared.bytes);
    } else if (frame.kind === 'locate') {
      pipe.send('located', guests.locate(frame.head as LocateHead, frame.bytes));
    } else if (frame.kind === 'call') {
      const done = await guests.run(frame.head as CallHead, frame.bytes);
      pipe.send('done', done.head, done.bytes);
    } else throw new TypeError(`Cannot take frame: "${frame.kind}" expected module, prepare, locate or call`);
  }
}

if (isMainThread) {
  // Node 20 needs this; later versions ignore it.
  setFlagsFromString('--no-turbo-inline-js-wasm-calls');
  const stackSizeMb = Math.ceil(threadStackBytes() / MIB);
  const worker = new Worker(new URL(import.meta.url), {
    argv: process.argv.slice(2),
    resourceLimits: { stackSizeMb },
    env: {},
  });
  worker.once('exit', (code) => {
    process.exitCode = code;
  });
} else await serve();
