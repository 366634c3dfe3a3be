import { digestBytes } from '../../../src/core/digest.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/core/limits.ts';
import type { Tool } from '../../../src/core/tool.ts';
import { NO_GRANTS, type WasmGrants } from '../../../src/core/wasm.ts';
import { wat } from '../../fixture/wat.ts';

/** What every guest here can import, by the names that its body uses; only what is named is imported. */
const IMPORTS: Readonly<Record<string, string>> = {
  capability_count: '(param i32) (result i32)',
  capability_handle: '(param i32 i32) (result i32)',
  result_read: '(param i32 i32) (result i32)',
  fail: '(param i32 i32)',
  log: '(param i32 i32 i32)',
  random: '(param i32 i32)',
  config_get: '(param i32 i32) (result i32)',
  http_request: '(param i32 i32 i32 i32 i32) (result i32)',
  secret_read: '(param i32) (result i32)',
  storage_get: '(param i32 i32 i32) (result i32)',
  storage_put: '(param i32 i32 i32 i32 i32 f64) (result i32)',
  storage_list: '(param i32 i32 i32 i32 i32 i32) (result i32)',
  channel_publish: '(param i32 i32 i32) (result i32)',
  channel_receive: '(param i32 i32) (result i32)',
};

/** The place and the length of an answer as the guest returns them. */
export const packed = (at: string, length: string) =>
  `(i64.or (i64.shl (i64.extend_i32_u ${at}) (i64.const 32)) (i64.extend_i32_u ${length}))`;

export const ECHO = packed('(local.get $at)', '(local.get $length)');

/** A guest whose one tool has this body; texts that it needs are put into its memory from 16 on, one page apart. */
export function guest(body: string, texts: readonly string[] = []): Uint8Array<ArrayBuffer> {
  const used = Object.entries(IMPORTS).filter(
    ([name]) => body.includes(`$${name} `) || body.includes(`$${name})`),
  );
  const imports = used.map(([name, type]) => `(import "palisade_v1" "${name}" (func $${name} ${type}))`);
  const data = texts.map((text, index) => `(data (i32.const ${16 + 1024 * index}) ${JSON.stringify(text)})`);
  return wat(`(module ${imports.join(' ')} (memory (export "memory") 2 16) ${data.join(' ')}
    (func $self (call $self))
    (func (export "palisade_alloc") (param i32) (result i32) (i32.const 65536))
    (func $print (param $n i32) (result i64)
      (i32.store8 (i32.const 60000) (i32.const 45))
      (if (i32.ge_s (local.get $n) (i32.const 0)) (then (i32.store8 (i32.const 60000) (i32.const 32))))
      (if (i32.lt_s (local.get $n) (i32.const 0)) (then (local.set $n (i32.sub (i32.const 0) (local.get $n)))))
      (i32.store8 (i32.const 60001) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10))))
      ${packed('(i32.const 60000)', '(i32.const 2)')})
    (func (export "tool") (param $at i32) (param $length i32) (result i64) (local $n i32) ${body}))`);
}

/** A tool that is this guest, with these grants. */
export function wasmTool(
  id: string,
  bytes: Uint8Array,
  grants: Partial<WasmGrants> = {},
  limits: Partial<Limits> = {},
): Tool {
  return {
    id,
    description: 'A guest of a test.',
    category: 'test',
    risk: 'low',
    inputSchema: { type: 'object' },
    outputSchema: {},
    capabilities: [],
    tier: 'a',
    limits: { ...DEFAULT_LIMITS, ...limits },
    hosts: () => [],
    paths: () => [],
    artifacts: [],
    executor: {
      kind: 'wasm',
      program: {
        skill: id,
        sha256: digestBytes(bytes),
        read: async () => bytes,
        exportName: 'tool',
        grants: { ...NO_GRANTS, ...grants },
      },
    },
  };
}
