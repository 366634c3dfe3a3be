// An engine inside your own program: compile, give the guest one host function, call it with fuel, read how it ended.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { createEngine, hostFunction, hostTable, WasmError } from '@palisade/wasm';

// Node 20 needs it; later versions accept it.
setFlagsFromString('--no-turbo-inline-js-wasm-calls');

const said = [];
const hosts = hostTable([
  hostFunction({
    module: 'env',
    name: 'say',
    params: ['i32', 'i32'],
    results: [],
    fuel: 100, // paid before each call
    run(guest, pointer, length) {
      guest.charge(length); // what grows with the arguments is paid before it is done
      said.push(guest.readText(pointer, length));
    },
  }),
]);

const engine = createEngine({ limits: { memoryBytes: 1024 * 1024 } });
const bytes = await readFile(new URL('./greet.wasm', import.meta.url));
const compiled = await engine.compile(bytes, { hosts });
const instance = engine.instantiate(compiled, { hosts });

const { fuelUsed } = instance.call('greet', [], { fuel: 1_000 });
assert.deepEqual(said, ['hello from the guest']);
console.log(`said "${said[0]}" for ${fuelUsed} fuel`);

// With exactly that much fuel it works again; with one less, what its host function charges is too much.
instance.call('greet', [], { fuel: fuelUsed });
assert.equal(endingOf(() => instance.call('greet', [], { fuel: fuelUsed - 1 })).code, 'fuel');
assert.equal(said.length, 2);

// An instance that failed is never called again; the next one starts from the beginning.
assert.equal(endingOf(() => instance.call('greet')).code, 'retired');
instance.release();
const next = engine.instantiate(compiled, { hosts });
const error = endingOf(() => next.call('stray'));
assert.equal(error.code, 'out-of-bounds');
console.log(`${error.code}: ${error.message}`);

function endingOf(call) {
  try {
    call();
  } catch (error) {
    if (error instanceof WasmError) return error;
    throw error;
  }
  throw new Error('the call succeeded');
}
