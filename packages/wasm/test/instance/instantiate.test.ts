import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import { type HostFunction, hostFunction, hostTable } from '../../src/instance/host.ts';
import { wat } from '../fixture/wat.ts';
import { refused, refusedLater } from './refused.ts';

const PAGE = 65_536;
const MIB = 1024 * 1024;
const engine = createEngine();

function logRow(facts: Partial<HostFunction> = {}): HostFunction {
  return {
    ...hostFunction({
      module: 'env',
      name: 'log',
      params: ['i32'],
      results: [],
      fuel: 5,
      run: () => undefined,
    }),
    ...facts,
  };
}

const LOGGING = wat(
  '(module (import "env" "log" (func $log (param i32))) (func (export "run") (call $log (i32.const 1))))',
);

describe('instantiate() links', () => {
  it('nothing that is in no table', async () => {
    const compiled = await engine.compile(LOGGING);
    const error = refused(() => engine.instantiate(compiled));
    expect([error.code, error.detail]).toEqual(['link', 'env.log']);
  });

  it.each([
    ['other parameters', logRow({ params: ['i64'] })],
    ['more parameters', logRow({ params: ['i32', 'i32'] })],
    ['another result', logRow({ results: ['i32'] })],
    ['another module', logRow({ module: 'host' })],
    ['another name', logRow({ name: 'print' })],
  ])('no function with %s', async (_what, row) => {
    const hosts = hostTable([row]);
    const compiled = await engine.compile(LOGGING, { hosts });
    expect(refused(() => engine.instantiate(compiled, { hosts })).code).toBe('link');
  });

  it('no function whose names only join to the same text', async () => {
    const hosts = hostTable([logRow({ module: 'env.a', name: 'b' })]);
    const compiled = await engine.compile(wat('(module (import "env" "a.b" (func (param i32))))'), { hosts });
    expect(refused(() => engine.instantiate(compiled, { hosts })).code).toBe('link');
    const right = await engine.compile(wat('(module (import "env.a" "b" (func (param i32))))'), { hosts });
    engine.instantiate(right, { hosts }).release();
  });

  it('no function that costs another fuel than it was compiled with', async () => {
    const compiled = await engine.compile(LOGGING, { hosts: hostTable([logRow()]) });
    const error = refused(() => engine.instantiate(compiled, { hosts: hostTable([logRow({ fuel: 0 })]) }));
    expect(error.code).toBe('link');
    expect(error.message).toContain('costs 0 fuel, expected the 5');
    const unpriced = await engine.compile(LOGGING);
    expect(refused(() => engine.instantiate(unpriced, { hosts: hostTable([logRow()]) })).code).toBe('link');
  });

  it('what is in the table, type for type', async () => {
    const seen: number[] = [];
    const row = hostFunction({
      module: 'env',
      name: 'log',
      params: ['i32'],
      results: [],
      fuel: 5,
      run: (_guest, value) => void seen.push(value),
    });
    const hosts = hostTable([row]);
    const instance = engine.instantiate(await engine.compile(LOGGING, { hosts }), { hosts });
    instance.call('run');
    expect(seen).toEqual([1]);
    instance.release();
  });

  it.each([
    ['a table', '(import "env" "t" (table 1 funcref))'],
    ['a global', '(import "env" "g" (global i32))'],
    ['a mutable global', '(import "env" "g" (global (mut i32)))'],
  ])('no import of %s', async (_what, text) => {
    const compiled = await engine.compile(wat(`(module ${text})`));
    expect(refused(() => engine.instantiate(compiled)).code).toBe('link');
  });

  it.each([
    ['a memory', '(import "palisade" "memory:0" (memory 1))'],
    ['a function', '(import "palisade" "set" (func))'],
  ])('no import of %s under the name of the engine: that is refused before', async (_what, text) => {
    const error = await refusedLater(() => engine.compile(wat(`(module ${text})`)));
    expect(error.code).toBe('link');
  });

  it('modules and functions named like what objects inherit', async () => {
    const names = ['__proto__', 'constructor', 'toString'];
    const seen: string[] = [];
    const rows = names.map((name) =>
      hostFunction({ module: name, name, params: [], results: [], fuel: 0, run: () => void seen.push(name) }),
    );
    const imports = names.map((name, index) => `(import "${name}" "${name}" (func $f${index}))`).join('');
    const calls = names.map((_name, index) => `(call $f${index})`).join('');
    const guest = wat(`(module ${imports} (func (export "run") ${calls}))`);
    const hosts = hostTable(rows);
    const compiled = await engine.compile(guest, { hosts });
    const instance = engine.instantiate(compiled, { hosts });
    instance.call('run');
    expect(seen).toEqual(names);
    expect(refused(() => engine.instantiate(compiled)).code).toBe('link');
    instance.release();
  });

  it('a memory that the guest imports to one made for it, under its limits', async () => {
    const guest = wat(`(module
      (import "env" "memory" (memory 1 100))
      (data (i32.const 8) "*")
      (func (export "at") (param i32) (result i32) (i32.load8_u (local.get 0)))
      (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))`);
    const compiled = await engine.compile(guest, { limits: { memoryBytes: 4 * PAGE } });
    const instance = engine.instantiate(compiled);
    expect(instance.call('at', [8]).results).toEqual([42]);
    expect(instance.call('grow', [4]).results).toEqual([-1]);
    expect(instance.call('grow', [3])).toMatchObject({ results: [1], peakMemoryBytes: 4 * PAGE });
    instance.release();
  });
});

describe('hostTable()', () => {
  it.each([
    ['two rows of one name', [logRow(), logRow({ params: [] })]],
    [
      'two rows whose names join to one',
      [logRow({ module: 'a.b', name: 'c' }), logRow({ module: 'a', name: 'b.c' })],
    ],
    ['a row in the engine’s module', [logRow({ module: 'palisade' })]],
    ['a type that cannot cross', [logRow({ params: ['externref' as 'i32'] })]],
    ['fuel that is negative', [logRow({ fuel: -1 })]],
    ['fuel that is not a number', [logRow({ fuel: Number.NaN })]],
  ])('refuses %s', (_what, rows) => {
    expect(() => hostTable(rows)).toThrow(TypeError);
  });

  it('keeps what it was given when the rows change later', async () => {
    const row = { ...logRow() };
    const hosts = hostTable([row]);
    Object.assign(row, { name: 'other', fuel: 0, params: [] });
    const instance = engine.instantiate(await engine.compile(LOGGING, { hosts }), { hosts });
    expect(instance.call('run').results).toEqual([]);
    instance.release();
  });
});

describe('instantiate() starts', () => {
  const STARTING = wat(`(module
    (memory 1)
    (global $n (mut i32) (i32.const 0))
    (func $start (loop $again
      (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (br_if $again (i32.lt_u (global.get $n) (i32.const 50)))))
    (start $start)
    (func (export "n") (result i32) (global.get $n)))`);

  it('the guest, and reports what that used', async () => {
    const compiled = await engine.compile(STARTING);
    const instance = engine.instantiate(compiled);
    const { fuelUsed, peakMemoryBytes } = instance.startUsage;
    expect(instance.call('n').results).toEqual([50]);
    expect(fuelUsed).toBeGreaterThan(100);
    expect(peakMemoryBytes).toBe(PAGE);
    engine.instantiate(compiled, { fuel: fuelUsed }).release();
    instance.release();
  });

  it('no guest whose start takes more than its fuel, and keeps nothing reserved for it', async () => {
    const compiled = await engine.compile(STARTING);
    const before = engine.occupancy();
    const error = refused(() => engine.instantiate(compiled, { fuel: 100 }));
    expect([error.code, error.usage?.fuelUsed]).toEqual(['fuel', 100]);
    expect(engine.occupancy()).toEqual(before);
  });

  it.each([
    ['a start that traps', '(func $f unreachable) (start $f)', 'unreachable'],
    ['a data segment outside', '(memory 1) (data (i32.const 65536) "x")', 'out-of-bounds'],
    ['an element segment outside', '(table 1 funcref) (func $f) (elem (i32.const 1) $f)', 'out-of-bounds'],
  ])('no guest with %s, and keeps nothing reserved for it', async (_what, text, code) => {
    const compiled = await engine.compile(wat(`(module ${text})`));
    const before = engine.occupancy();
    expect(refused(() => engine.instantiate(compiled)).code).toBe(code);
    expect(engine.occupancy()).toEqual(before);
  });
});

describe('the capacity of an engine', () => {
  const GROWING = wat(`(module (memory 1)
    (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))`);

  it('admits its number of instances, and no more until one is released', async () => {
    const small = createEngine({ instances: 3 });
    const compiled = await small.compile(GROWING);
    const instances = [1, 2, 3].map(() => small.instantiate(compiled));
    const error = refused(() => small.instantiate(compiled));
    expect([error.code, error.detail]).toEqual(['memory', 'instances']);
    instances[0]?.release();
    instances[0]?.release();
    small.instantiate(compiled);
    expect(refused(() => small.instantiate(compiled)).detail).toBe('instances');
  });

  it('reserves for each instance all the memory it may grow to', async () => {
    const small = createEngine({ totalMemoryBytes: 100 * MIB });
    const compiled = await small.compile(GROWING);
    const instance = small.instantiate(compiled);
    expect(small.occupancy()).toEqual({ instances: 1, memoryBytes: 64 * MIB });
    const error = refused(() => small.instantiate(compiled));
    expect([error.code, error.detail]).toEqual(['memory', 'totalMemoryBytes']);
    const lower = small.instantiate(compiled, { limits: { memoryBytes: 36 * MIB } });
    expect(small.occupancy()).toEqual({ instances: 2, memoryBytes: 100 * MIB });
    expect(lower.call('grow', [36 * 16]).results).toEqual([-1]);
    expect(lower.call('grow', [36 * 16 - 1]).results).toEqual([1]);
    instance.release();
    lower.release();
    expect(small.occupancy()).toEqual({ instances: 0, memoryBytes: 0 });
  });

  it.each([
    ['trapped', '(func (export "run") unreachable)', {}],
    ['ran out of fuel', '(func (export "run") (loop $again (br $again)))', {}],
    ['was too late', '(func (export "run"))', { deadline: 3 }],
  ])('is free again as soon as an instance %s', async (_what, text, options) => {
    const clock = { ms: 0 };
    const small = createEngine({ instances: 1, now: () => clock.ms++ });
    const compiled = await small.compile(wat(`(module (memory 1) ${text})`));
    const failed = small.instantiate(compiled);
    clock.ms = 2;
    refused(() => failed.call('run', [], options));
    expect(small.occupancy()).toEqual({ instances: 0, memoryBytes: 0 });
    const next = small.instantiate(compiled);
    failed.release();
    expect(small.occupancy().instances).toBe(1);
    expect(refused(() => failed.call('run')).code).toBe('retired');
    next.release();
    expect(small.occupancy().instances).toBe(0);
  });

  it('refuses an instance whose memories start larger than it may have', async () => {
    const compiled = await engine.compile(wat('(module (memory 3))'));
    const before = engine.occupancy();
    const error = refused(() => engine.instantiate(compiled, { limits: { memoryBytes: 2 * PAGE } }));
    expect([error.code, error.detail]).toEqual(['limit', 'memoryBytes']);
    expect(engine.occupancy()).toEqual(before);
  });

  const REFUSED: readonly Readonly<Record<string, number>>[] = [
    { fuel: 10_000_001 },
    { memoryBytes: 65 * MIB },
    { tableElements: 5 },
    { memorybytes: 5 },
  ];

  it.each(REFUSED)('refuses limits %j for an instance', async (limits) => {
    const compiled = await engine.compile(GROWING);
    expect(() => engine.instantiate(compiled, { limits })).toThrow(RangeError);
  });

  it.each([
    { instances: Number.NaN },
    { totalMemoryBytes: -1 },
    { cache: { entries: 1.5, bytes: 1 } },
    { limits: { fuel: 1e15 } },
  ])('refuses the caps %j', (options) => {
    expect(() => createEngine(options)).toThrow(RangeError);
  });
});
