import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hostFunction, hostTable } from '../../src/index.ts';
import { createEngine } from '../../src/instance/engine.ts';
import { functionNames } from '../../src/read/names.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

/** Calls an export of a module, and gives the functions that were running when it failed. */
async function framesIn(text: string, form: 'local' | 'thread' = 'thread'): Promise<readonly number[]> {
  const engine = createEngine({ form });
  const instance = engine.instantiate(await engine.compile(wat(text)));
  return refused(() => instance.call('f')).frames;
}

/** The section "name" with the names of these functions. */
function named(module: Uint8Array, names: readonly (readonly [index: number, name: string])[]): Uint8Array {
  const text = (name: string) => [...leb(Buffer.byteLength(name)), ...Buffer.from(name)];
  const pairs = names.flatMap(([index, name]) => [...leb(index), ...text(name)]);
  const part = [...leb(names.length), ...pairs];
  const content = [...text('name'), 1, ...leb(part.length), ...part];
  return new Uint8Array([...module, 0, ...leb(content.length), ...content]);
}

function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)];
}

const NESTED = `(module
  (func $inner (param i32) (drop (i32.div_u (i32.const 1) (local.get 0))))
  (func $middle (param i32) (loop (call $inner (local.get 0))))
  (func (export "f") (call $middle (i32.const 0))))`;

describe.each(['local', 'thread'] as const)('the frames of a trap, metered in the form %s', (form) => {
  it('are the functions of the module by their own indices, the innermost first', async () => {
    expect(await framesIn(NESTED, form)).toEqual([0, 1, 2]);
  });

  it('name the function whose copy ran, where the meter made one for callers that pay for it', async () => {
    const copied = NESTED.replace('(func $inner ', '(func $inner (export "g") ');
    expect(await framesIn(copied, form)).toEqual([0, 1, 2]);
  });

  it('are there when the stack is used up, and not when the fuel is', async () => {
    const recursion = '(module (func $down (call $down)) (func (export "f") (call $down)))';
    expect((await framesIn(recursion, form))[0]).toBe(0);
    expect(await framesIn('(module (func (export "f") (loop (br 0))))', form)).toEqual([]);
  });
});

describe('the frames of a guest that hands a host function a bad address', () => {
  it('are those of the guest', async () => {
    const engine = createEngine();
    const read = hostFunction({
      ...{ module: 'host', name: 'read', params: ['i32'], results: [], fuel: 1, blocks: false },
      run: (guest, address: number) => void guest.read(address, 1),
    });
    const hosts = hostTable([read]);
    const module = wat(
      '(module (import "host" "read" (func $read (param i32))) (memory 1) (func $asks (call $read (i32.const -1))) (func (export "f") (call $asks)))',
    );
    const instance = engine.instantiate(await engine.compile(module, { hosts }), { hosts });
    expect(refused(() => instance.call('f')).frames.slice(0, 2)).toEqual([1, 2]);
  });
});

describe('the names of a guest', () => {
  it('do not reach the stacks of V8, so that none can look like a frame', async () => {
    const fake =
      'x (wasm://wasm/00000000:wasm-function[7]:0x1)\n    at wasm://wasm/00000000:wasm-function[1]:0x1';
    const module = named(wat(NESTED), [
      [0, fake],
      [1, 'middle'],
    ]);
    const engine = createEngine();
    const instance = engine.instantiate(await engine.compile(module));
    expect(refused(() => instance.call('f')).frames).toEqual([0, 1, 2]);
  });
});

describe('functionNames()', () => {
  const module = wat(NESTED);

  it('gives the names of the functions that are asked for, and of no others', () => {
    const bytes = named(module, [
      [0, 'inner'],
      [1, 'middle'],
      [2, 'f'],
    ]);
    expect([...functionNames(bytes, [2, 0, 9])]).toEqual([
      [0, 'inner'],
      [2, 'f'],
    ]);
    expect(functionNames(module, [0]).size).toBe(0);
  });

  it('leaves a name out that is too long to show', () => {
    expect(functionNames(named(module, [[0, 'x'.repeat(257)]]), [0]).size).toBe(0);
  });

  it('gives what it can of whatever bytes there are, and never throws', () => {
    const bytes = named(module, [[0, 'inner']]);
    fc.assert(
      fc.property(
        fc.nat(bytes.length - 1),
        fc.integer({ min: 0, max: 255 }),
        fc.nat(bytes.length),
        (at, byte, end) => {
          const changed = bytes.slice(0, Math.max(end, 1));
          changed[at] = byte;
          expect(functionNames(changed, [0]).size).toBeLessThan(2);
        },
      ),
    );
    expect(functionNames(new Uint8Array(0), [0]).size).toBe(0);
  });
});
