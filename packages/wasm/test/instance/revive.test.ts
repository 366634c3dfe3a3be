import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CompiledModule } from '../../src/instance/compile.ts';
import { createEngine } from '../../src/instance/engine.ts';
import { hostFunction, hostTable } from '../../src/instance/host.ts';
import { wat } from '../fixture/wat.ts';
import { refused, refusedLater } from './refused.ts';

const GUEST = wat(`(module
  (import "env" "twice" (func $twice (param i32) (result i32)))
  (type $twice (func (param i32) (result i32)))
  (memory (export "memory") 1 3)
  (table 1 funcref) (elem (i32.const 0) $twice)
  (data (i32.const 0) "\\05")
  (global $n (mut i32) (i32.const 0))
  (func $start (global.set $n (i32.load8_u (i32.const 0))))
  (start $start)
  (func (export "direct") (result i32) (call $twice (global.get $n)))
  (func (export "indirect") (result i32) (call_indirect (type $twice) (global.get $n) (i32.const 0)))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))`);

const hosts = hostTable([
  hostFunction({
    module: 'env',
    name: 'twice',
    params: ['i32'],
    results: ['i32'],
    fuel: 100,
    run: (_guest, n) => 2 * n,
  }),
]);

const engine = createEngine();
let compiled: CompiledModule;
let file: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  compiled = await engine.compile(GUEST, { hosts, limits: { fuel: 5000 } });
  file = compiled.serialise();
});

/** The file with bytes changed and a seal that fits again, as one would write it who can write the file. */
function reseal(bytes: Uint8Array): Uint8Array {
  const body = bytes.subarray(0, -32);
  return new Uint8Array([...body, ...createHash('sha256').update(body).digest()]);
}

describe('revive()', () => {
  it('returns a module equal to the compiled one', async () => {
    const revived = await engine.revive(file, { digest: compiled.digest });
    const { serialise: _revived, ...facts } = revived;
    const { serialise: _compiled, ...expected } = compiled;
    expect(facts).toEqual(expected);
    expect(revived.serialise()).toEqual(file);
    const runs = [compiled, revived].map((module) => {
      const instance = engine.instantiate(module, { hosts });
      const results = ['direct', 'indirect'].map((name) => instance.call(name));
      return [instance.startUsage, results, instance.call('grow', [3]), instance.call('grow', [2])];
    });
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[0]?.[1]).toMatchObject([{ results: [10] }, { results: [10] }]);
  });

  it('returns one that runs alike, again and again, where the file is not kept', async () => {
    const bytes = file.slice();
    const revived = await engine.revive(bytes, { digest: compiled.digest, isKept: false });
    bytes.fill(0);
    expect(() => revived.serialise()).toThrow('its file was not kept');
    for (const module of [compiled, revived]) {
      const pool = engine.pool(module, { size: 1, hosts });
      // A guest is reset from what the engine has kept of the data of its module.
      for (let turn = 0; turn < 3; turn++) expect(pool.run('direct').results, `turn ${turn}`).toEqual([10]);
      pool.close();
    }
  });

  it('holds the revived module to the prices it was compiled with', async () => {
    const revived = await engine.revive(file, { digest: compiled.digest });
    expect(refused(() => engine.instantiate(revived)).code).toBe('link');
    expect(() => engine.instantiate(revived, { hosts, limits: { fuel: 5001 } })).toThrow(RangeError);
  });

  it('refuses a file with any one byte changed', async () => {
    const change = fc.tuple(fc.nat(file.length - 1), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(change, async ([at, by]) => {
        const changed = file.slice();
        changed[at] = (changed[at] ?? 0) ^ by;
        const error = await refusedLater(() => engine.revive(changed, { digest: compiled.digest }));
        expect(error.code).toBe('malformed');
      }),
    );
  });

  it('refuses a file cut short or made longer', async () => {
    for (const length of [0, 10, 79, file.length - 33, file.length - 1, file.length + 1]) {
      const cut = new Uint8Array(length);
      cut.set(file.subarray(0, length));
      expect((await refusedLater(() => engine.revive(cut, { digest: compiled.digest }))).code).toBe(
        'malformed',
      );
    }
  });

  it('refuses arbitrary bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (noise) => {
        const error = await refusedLater(() => engine.revive(noise, { digest: compiled.digest }));
        expect(error.code).toBe('malformed');
      }),
    );
  });

  it('refuses the file of another module, whole as it is', async () => {
    const other = await engine.compile(wat('(module)'));
    const error = await refusedLater(() => engine.revive(other.serialise(), { digest: compiled.digest }));
    expect(error.code).toBe('malformed');
    expect(error.message).toContain(compiled.digest);
  });

  it.each([
    ['magic', 3],
    ['version of the file', 7],
    ['version of the meter', 11],
  ])('refuses another %s even under a seal that fits', async (_what, at) => {
    const changed = file.slice();
    changed[at] = (changed[at] ?? 0) + 1;
    const error = await refusedLater(() => engine.revive(reseal(changed), { digest: compiled.digest }));
    expect(error.code).toBe('malformed');
  });

  it('refuses another digest on the file even when its terms are right', async () => {
    const changed = file.slice();
    changed[20] = (changed[20] ?? 0) + 1;
    const error = await refusedLater(() => engine.revive(reseal(changed), { digest: compiled.digest }));
    expect(error.code).toBe('malformed');
  });

  it('refuses terms that are not those of the digest, even under a seal that fits', async () => {
    const text = Buffer.from(file).toString('latin1');
    for (const [from, to] of [
      ['"fuel":5000', '"fuel":9999'],
      ['"twice",100', '"twice",001'],
      ['"isDeterministic":false', '"isDeterministic": true'],
    ]) {
      const changed = text.replace(from ?? '', to ?? '');
      expect(changed).not.toBe(text);
      const forged = reseal(Buffer.from(changed, 'latin1'));
      expect((await refusedLater(() => engine.revive(forged, { digest: compiled.digest }))).code).toBe(
        'malformed',
      );
    }
  });

  it('finds changed code by the seal that the caller remembers, which without it would pass', async () => {
    // The factor of the data segment: the same module in every other way.
    const at = Buffer.from(file).lastIndexOf(Buffer.from([0x41, 0x00, 0x0b, 0x01, 0x05])) + 4;
    const forged = file.slice();
    forged[at] = 9;
    const resealed = reseal(forged);
    const believed = await engine.revive(resealed, { digest: compiled.digest });
    expect(engine.instantiate(believed, { hosts }).call('direct').results).toEqual([18]);
    const error = await refusedLater(() =>
      engine.revive(resealed, { digest: compiled.digest, seal: compiled.seal }),
    );
    expect(error.code).toBe('malformed');
    await engine.revive(file, { digest: compiled.digest, seal: compiled.seal });
  });

  it('does not share a trusted file with callers that compile the module', async () => {
    const other = createEngine();
    const revived = await other.revive(file, { digest: compiled.digest });
    const made = await other.compile(GUEST, { hosts, limits: { fuel: 5000 } });
    expect(made.digest).toBe(revived.digest);
    expect(made).not.toBe(revived);
  });

  it.each([
    ['lower limits', { limits: { memoryBytes: 65_536 } }],
    ['canonical NaNs', { deterministic: true }],
  ])('is refused by an engine with %s', async (_what, options) => {
    const error = await refusedLater(() => createEngine(options).revive(file, { digest: compiled.digest }));
    expect(error.code).toBe('malformed');
  });

  it('reads the file once: what the caller does with it meanwhile changes nothing', async () => {
    const bytes = Buffer.from(file);
    const reviving = engine.revive(bytes, { digest: compiled.digest });
    bytes.fill(0);
    expect((await reviving).digest).toBe(compiled.digest);
  });
});
