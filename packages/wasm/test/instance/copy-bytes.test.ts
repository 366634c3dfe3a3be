import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import { wat } from '../fixture/wat.ts';
import { refusedLater } from './refused.ts';

const ADDING = wat(
  '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))',
);

const engine = createEngine();
const compiled = await engine.compile(ADDING);

type Resizable = ArrayBuffer & { resize(bytes: number): void };

/** What both Node lines have and the types of the older one do not know. */
function resizableBuffer(length: number): Resizable {
  return Reflect.construct(ArrayBuffer, [length, { maxByteLength: 1000 }]) as Resizable;
}

function inBuffer<T extends ArrayBufferLike>(buffer: T): Uint8Array<T> {
  const bytes = new Uint8Array(buffer);
  bytes.set(ADDING);
  return bytes;
}

describe('compile() and revive()', () => {
  it.each([
    ['a list of numbers', () => [...ADDING]],
    ['an ArrayBuffer', () => ADDING.buffer.slice(0)],
    ['a DataView', () => new DataView(ADDING.buffer)],
    ['wider numbers', () => new Uint16Array(ADDING)],
    ['clamped numbers', () => new Uint8ClampedArray(ADDING)],
    ['text', () => '\0asm\x01\0\0\0'],
    ['a length', () => 8],
    ['nothing', () => undefined],
    ['null', () => null],
    ['an object that passes for bytes', () => Object.create(Uint8Array.prototype)],
    ['a proxy of bytes', () => new Proxy(new Uint8Array(ADDING), {})],
  ])('refuse %s', async (_what, make) => {
    const odd = make() as Uint8Array;
    for (const read of [engine.compile(odd), engine.revive(odd, { digest: compiled.digest })]) {
      await expect(read).rejects.toThrow(TypeError);
    }
    await expect(engine.compile(odd)).rejects.toThrow(/^Cannot compile module: .*, expected a Uint8Array$/);
  });

  it.each([
    [
      'a buffer that was taken away',
      () => {
        const bytes = new Uint8Array(ADDING);
        structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
        return bytes;
      },
    ],
    [
      'a buffer that shrank under it',
      () => {
        const buffer = resizableBuffer(100);
        const bytes = new Uint8Array(buffer, 50, 50);
        buffer.resize(10);
        return bytes;
      },
    ],
  ])('refuse bytes of %s, with a message of the engine', async (_what, make) => {
    await expect(engine.compile(make())).rejects.toThrow(/^Cannot compile module: its bytes were taken away/);
    await expect(engine.revive(make(), { digest: '' })).rejects.toThrow(/^Cannot revive module: its bytes/);
  });

  it.each([
    ['another realm', () => runInNewContext(`new Uint8Array([${ADDING}])`) as Uint8Array],
    ['a shared buffer', () => inBuffer(new SharedArrayBuffer(ADDING.length))],
    ['a buffer that can grow', () => inBuffer(resizableBuffer(ADDING.length))],
    ['a subclass', () => Buffer.from(ADDING)],
    ['the middle of a buffer', () => new Uint8Array([1, 2, 3, ...ADDING, 4]).subarray(3, 3 + ADDING.length)],
  ])('take bytes of %s', async (_what, make) => {
    expect(await engine.compile(make())).toBe(compiled);
  });

  it('check the size before they copy, whatever a subclass reports', async () => {
    class Small extends Uint8Array {
      override get length() {
        return 8;
      }
      override get byteLength() {
        return 8;
      }
    }
    const small = createEngine({ limits: { moduleBytes: 50 } });
    for (const bytes of [new Uint8Array(51), new Small(51)]) {
      const error = await refusedLater(() => small.compile(bytes));
      expect([error.code, error.detail]).toEqual(['limit', 'moduleBytes']);
    }
  });
});
