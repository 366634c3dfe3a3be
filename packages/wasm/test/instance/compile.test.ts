import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createEngine, type EngineOptions } from '../../src/instance/engine.ts';
import { hostFunction, hostTable } from '../../src/instance/host.ts';
import { wat } from '../fixture/wat.ts';
import { refusedLater } from './refused.ts';

const GUEST = wat(`(module
  (import "env" "log" (func $log (param i32 i64)))
  (import "env" "memory" (memory 1))
  (global (export "g") i32 (i32.const 1))
  (func (export "run") (param f32) (result f64 i32) (call $log (i32.const 1) (i64.const 2)) (f64.const 1) (i32.const 1))
  (func (export "vector") (param v128 externref) (result funcref) (ref.null func)))`);

const ADDING = wat(
  '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))',
);

function hostsAt(fuel: number) {
  return hostTable([
    hostFunction({ module: 'env', name: 'log', params: ['i32'], results: [], fuel, run: () => undefined }),
  ]);
}

describe('compile()', () => {
  it('describes the module, its imports and exports', async () => {
    const engine = createEngine();
    const compiled = await engine.compile(GUEST);
    expect(compiled.moduleDigest).toBe(createHash('sha256').update(GUEST).digest('hex'));
    expect(compiled.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(compiled.imports).toEqual([
      { module: 'env', name: 'log', kind: 'function', params: ['i32', 'i64'], results: [] },
      { module: 'env', name: 'memory', kind: 'memory' },
    ]);
    expect(compiled.exports).toEqual([
      { name: 'g', kind: 'global' },
      { name: 'run', kind: 'function', params: ['f32'], results: ['f64', 'i32'] },
      { name: 'vector', kind: 'function', params: ['v128', 'externref'], results: ['funcref'] },
    ]);
    expect(compiled.limits).toEqual(engine.limits);
  });

  it('returns an immutable description', async () => {
    const compiled = await createEngine().compile(GUEST);
    const parts = [
      compiled,
      compiled.imports,
      compiled.exports,
      compiled.limits,
      ...compiled.imports,
      ...compiled.exports,
    ];
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
  });

  it('returns the same module for the same bytes, and compiles them once for simultaneous requests', async () => {
    const engine = createEngine();
    const [first, second] = await Promise.all([
      engine.compile(ADDING),
      engine.compile(new Uint8Array(ADDING)),
    ]);
    expect(second).toBe(first);
    expect(await engine.compile(ADDING)).toBe(first);
  });

  it('has another digest for everything that determines the metered code', async () => {
    const other = wat('(module (func (export "add") (param i32 i32) (result i32) (local.get 0)))');
    const engines: EngineOptions[] = [{}, { deterministic: true }, { form: 'local' }, { form: 'thread' }];
    const digests = await Promise.all([
      ...engines.map((options) => createEngine(options).compile(ADDING)),
      createEngine().compile(ADDING, { limits: { fuel: 5 } }),
      createEngine().compile(ADDING, { limits: { stackBytes: 5 } }),
      createEngine().compile(ADDING, { hosts: hostsAt(1) }),
      createEngine().compile(ADDING, { hosts: hostsAt(2) }),
      createEngine().compile(other),
    ]).then((all) => all.map(({ digest }) => digest));
    // The default form is one of the two that are named.
    expect(new Set(digests).size).toBe(digests.length - 1);
  });

  it('has the same digest whatever order the host functions and limits come in', async () => {
    const row = (name: string) =>
      hostFunction({ module: 'env', name, params: [], results: [], fuel: 1, run: () => undefined });
    const engine = createEngine();
    const one = await engine.compile(ADDING, {
      hosts: hostTable([row('a'), row('b')]),
      limits: { fuel: 9, locals: 9 },
    });
    const two = await engine.compile(ADDING, {
      hosts: hostTable([row('b'), row('a')]),
      limits: { locals: 9, fuel: 9 },
    });
    expect(two).toBe(one);
  });

  it.each([
    ['a plain array', (bytes: Uint8Array) => new Uint8Array(bytes)],
    ['a Buffer', (bytes: Uint8Array) => Buffer.from(bytes)],
    [
      'shared bytes',
      (bytes: Uint8Array) => {
        const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
        shared.set(bytes);
        return shared;
      },
    ],
  ])('reads %s once: what the caller does with it meanwhile changes nothing', async (_what, make) => {
    const engine = createEngine();
    const bytes = make(ADDING);
    const compiling = engine.compile(bytes);
    bytes.fill(0);
    const compiled = await compiling;
    expect(compiled.moduleDigest).toBe(createHash('sha256').update(ADDING).digest('hex'));
    expect(engine.instantiate(compiled).call('add', [1, 2]).results).toEqual([3]);
  });

  it.each([
    ['text', new TextEncoder().encode('(module)'), 'malformed'],
    ['nothing', new Uint8Array(), 'malformed'],
    [
      'a body that does not type',
      new Uint8Array(
        [...wat('(module (func (result i32) (i32.const 1)))')].map((byte) => (byte === 0x41 ? 0x42 : byte)),
      ),
      'invalid',
    ],
    ['an export of the engine’s name', wat('(module (func (export "palisade:set")))'), 'malformed'],
  ])('refuses %s', async (_what, bytes, code) => {
    const error = await refusedLater(() => createEngine().compile(bytes));
    expect(error.code).toBe(code);
  });

  it('refuses a file that is too large before it reads it', async () => {
    const engine = createEngine({ limits: { moduleBytes: 50 } });
    const error = await refusedLater(() => engine.compile(new Uint8Array(51)));
    expect([error.code, error.detail]).toEqual(['limit', 'moduleBytes']);
  });

  it('does not cache a failure', async () => {
    const engine = createEngine();
    const bad = new Uint8Array([1, 2, 3]);
    const first = await refusedLater(() => engine.compile(bad));
    const second = await refusedLater(() => engine.compile(bad));
    expect(second.code).toBe(first.code);
    expect(second).not.toBe(first);
  });

  it('takes limits that are lower than the engine’s, and none that are higher', async () => {
    const engine = createEngine({ limits: { fuel: 1000 } });
    expect((await engine.compile(ADDING, { limits: { fuel: 10 } })).limits.fuel).toBe(10);
    await expect(engine.compile(ADDING, { limits: { fuel: 1001 } })).rejects.toThrow(RangeError);
  });

  it('names a type once, however many functions have it and under however many names', async () => {
    const params = Array.from({ length: 90 }, () => 'i32').join(' ');
    const names = Array.from({ length: 500 }, (_each, index) => `(export "f${index}" (func $f))`).join('');
    const guest = wat(`(module (type $t (func (param ${params})))
      (import "env" "a" (func $a (type $t))) (import "env" "b" (func $b (type $t)))
      (func $f (type $t)) (func (export "g") (type $t)) ${names})`);
    const { imports, exports } = await createEngine().compile(guest);
    const lists = [...imports, ...exports].map((each) => (each.kind === 'function' ? each.params : []));
    expect([lists.length, lists[0]?.length, new Set(lists).size]).toEqual([503, 90, 1]);
  });

  it('counts what a module holds besides its code when it keeps it', async () => {
    const names = Array.from({ length: 5000 }, (_each, index) => `(export "${index}" (func $f))`).join('');
    const guest = wat(`(module (func $f) ${names})`);
    const { length } = (await createEngine().compile(guest)).serialise();
    const kept = [5 * length, 100 * length].map(async (bytes) => {
      const engine = createEngine({ cache: { entries: 10, bytes } });
      const first = await engine.compile(guest);
      return (await engine.compile(guest)) === first;
    });
    expect(await Promise.all(kept)).toEqual([false, true]);
  });

  it('is not trusted by another engine', async () => {
    const wide = await createEngine().compile(ADDING);
    const narrow = createEngine({ limits: { fuel: 1 } });
    expect(() => narrow.instantiate(wide)).toThrow(TypeError);
    expect(() => narrow.pool({ ...wide }, { size: 1 })).toThrow(TypeError);
  });
});
