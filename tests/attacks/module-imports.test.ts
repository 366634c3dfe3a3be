import { describe, expect, test } from 'vitest';
import { NO_GRANTS, type WasmGrants } from '../../packages/gateway/src/core/wasm.ts';
import { requireAbi } from '../../packages/gateway/src/doors/cli/module/abi.ts';
import { ABI_FUNCTIONS } from '../../packages/gateway/src/tiers/a-wasm/engine/abi.table.ts';
import { inspect } from '../../packages/wasm/src/index.ts';
import { moduleOf, section } from '../../packages/wasm/test/fixture/builder.ts';
import { assemble } from '../fixtures/modules/assemble.ts';
import { ECHO, guest, importOf } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A module asks for what nobody gave it, or uses what no engine here takes: it is refused before a byte of it runs. */

/** A guest like any other, with more in front. */
const around = (more: string) =>
  assemble(`(module ${more} (memory (export "memory") 8)
    (func (export "palisade_alloc") (param i32) (result i32) (i32.const 196608))
    (func (export "tool") (param $at i32) (param $length i32) (result i64) ${ECHO}))`);

const STRANGE = {
  'env.system': '(import "env" "system" (func (param i32) (result i32)))',
  'env.table': '(import "env" "table" (table 1 funcref))',
  'wasi_snapshot_preview1.fd_write':
    '(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))',
  'wasi_snapshot_preview1.proc_exit': '(import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))',
  'wasi_snapshot_preview1.path_open':
    '(import "wasi_snapshot_preview1" "path_open" (func (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))',
  'a function that the ABI does not have':
    '(import "palisade_v1" "spawn" (func (param i32 i32) (result i32)))',
  'a function of a later ABI': '(import "palisade_v2" "result_read" (func (param i32 i32) (result i32)))',
  'the prototype of the table': '(import "palisade_v1" "__proto__" (func))',
  'the constructor of the module': '(import "constructor" "constructor" (func (param i32) (result i32)))',
  'a function of the meter': '(import "palisade" "set" (func (param f64 i32)))',
  'a function under another type': '(import "palisade_v1" "result_read" (func (param i64) (result i64)))',
  'a number under the name of a function': '(import "palisade_v1" "result_read" (global i32))',
} as const;

/** What each function of the ABI needs, granted. */
const GRANTS: Readonly<Record<string, Partial<WasmGrants>>> = {
  http: { http: ['example.com'] },
  secret: { secrets: [{ name: 'token', mayReveal: false, hosts: [] }] },
  storage: { storage: [{ read: ['notes/'], write: ['notes/'] }] },
  channel: { channels: [{ name: 'news', publish: true, receive: true }] },
  log: { log: true },
  clock: { clock: true },
  random: { random: true },
  config: { config: {} },
};
const GRANTED = ABI_FUNCTIONS.flatMap(({ name, needs }) => (needs === null ? [] : [{ name, needs }]));

/** Uses of what the gate refuses, and the name that it has there. */
const FEATURES = {
  threads: guest(ECHO, { memory: '8 64 shared' }),
  'threads (a wait is a clock)': guest(ECHO, {
    more: '(func (drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const 1))))',
  }),
  exceptions: guest(ECHO, { more: '(tag $t) (func (throw $t))' }),
  memory64: guest(ECHO, { more: '', memory: 'i64 8' }),
  // A type with a nullable reference to itself, a structure, and a string; this assembler cannot spell them.
  'function-references': moduleOf([section(1, [1, 0x60, 1, 0x63, 0, 0])]),
  gc: moduleOf([section(1, [1, 0x5f, 1, 0x7f, 0])]),
  stringref: moduleOf([section(1, [1, 0x60, 1, 0x67, 0])]),
  'relaxed-simd': guest(ECHO, {
    more: '(func (param v128 v128) (result v128) (i8x16.relaxed_swizzle (local.get 0) (local.get 1)))',
  }),
} as const;
const SIMD = guest(ECHO, {
  more: '(func (param v128 v128) (result v128) (i8x16.swizzle (local.get 0) (local.get 1)))',
});

const nameOf = (what: string) => `test.${what.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
const { call } = sharedModules(() => ({
  tools: [
    ...Object.entries(STRANGE).map(([what, text]) => moduleTool(nameOf(what), around(text))),
    ...GRANTED.flatMap(({ name, needs }) => [
      moduleTool(nameOf(`without ${name}`), around(importOf(name))),
      moduleTool(nameOf(`with ${name}`), around(importOf(name)), { grants: GRANTS[needs] ?? {} }),
    ]),
    ...Object.entries(FEATURES).map(([what, bytes]) => moduleTool(nameOf(what), bytes)),
    moduleTool('test.simd', SIMD),
    moduleTool('test.plain', around(importOf('result_read'))),
  ],
}));

describe('a module that imports', () => {
  test.each(Object.entries(STRANGE))(
    '%s is refused, by who looks at it and by who would run it',
    async (what, text) => {
      expect(await call(nameOf(what))).toMatchObject({
        ...{ code: 'tier/invalid-module', usage: { fuel: 0 } },
      });
      expect(() => requireAbi(inspect(around(text)), NO_GRANTS)).toThrow(/Cannot run the module: it imports/);
      expect(await call('test.plain', { a: 1 })).toMatchObject({ output: { a: 1 } });
    },
  );

  test.each(GRANTED)('$name runs only where $needs was granted', async ({ name }) => {
    const refused = await call(nameOf(`without ${name}`));
    expect(refused).toMatchObject({ code: 'tier/invalid-module', message: expect.stringContaining(name) });
    expect(await call(nameOf(`with ${name}`), { a: 1 })).toMatchObject({ code: 'ok', output: { a: 1 } });
  });
});

describe('a module that uses', () => {
  test.each(Object.entries(FEATURES))('%s is refused by the name of it', async (what) => {
    const { code, message } = await call(nameOf(what));
    expect(code).toBe('tier/invalid-module');
    expect(message).toContain(`it uses "${what.replace(/ .*/, '')}"`);
  });

  test('vectors that are the same on every machine runs', async () => {
    expect(await call('test.simd', { a: 1 })).toMatchObject({ code: 'ok', output: { a: 1 } });
  });
});
