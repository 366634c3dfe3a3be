import { wat } from '../../fixture/wat.ts';
import { HONEST, moduleText, TOOL } from './sample.ts';
import type { Trial } from './trial.ts';

const REQUESTS = '(import "palisade_v1" "http_request" (func (param i32 i32 i32) (result i32)))';
const LOGS = '(import "palisade_v1" "log" (func (param i32 i32 i32)))';
const HOST = { http: ['api.example.com:443'] };

const noise = (bytes: number) =>
  Array.from(
    { length: bytes },
    (_, at) => `\\${((at * 167 + (at >> 8) * 59) & 0xff).toString(16).padStart(2, '0')}`,
  ).join('');
const text = (bytes: number) => 'plain text '.repeat(bytes / 11);
const dataOf = (content: string) => ({
  'text.wasm': wat(moduleText({ more: `(data (i32.const 2048) "${content}")` })),
});
const module = (options: Parameters<typeof moduleText>[0]) => ({ 'text.wasm': wat(moduleText(options)) });

/** The honest module with a custom section behind it. */
export function withSection(
  name: string,
  content: Uint8Array | string,
  bytes: Uint8Array = HONEST,
): Uint8Array {
  const body = Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from(content)]);
  const length = [(body.length & 0x7f) | 0x80, ((body.length >> 7) & 0x7f) | 0x80, body.length >> 14];
  return new Uint8Array(Buffer.concat([bytes, Buffer.from([0, ...length]), body]));
}

const section = (name: string, content: Uint8Array | string) => ({ 'text.wasm': withSection(name, content) });

/** A function without a result that leaves one on the stack. */
const INVALID = new Uint8Array([
  ...wat('(module)'),
  ...[1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 6, 1, 4, 0, 0x41, 0, 0x0b],
]);

export const MODULE_TRIALS: readonly Trial[] = [
  {
    id: 'module/unreadable',
    what: 'bytes that only begin like a module',
    bad: { files: { 'text.wasm': new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 9]) } },
    good: {},
    says: /^It would be refused\. Cannot /,
  },
  {
    id: 'module/unreadable',
    what: 'a feature that is refused',
    bad: { files: { 'text.wasm': wat('(module (memory 1 1 shared))') } },
    good: {},
    says: /threads/,
  },
  {
    id: 'module/unreadable',
    what: 'a component of another world',
    bad: { files: { 'text.wasm': new Uint8Array(Buffer.from('\0asm\x0d\0\x01\0', 'latin1')) } },
    good: {},
    says: /"run"/,
  },
  { id: 'module/refused', what: 'types that do not fit', bad: { files: { 'text.wasm': INVALID } }, good: {} },
  {
    id: 'module/refused',
    what: 'an export of a reserved name',
    bad: { files: module({ more: '(func (export "palisade:set"))' }) },
    good: { files: module({ more: '(func (export "palisade_set"))' }) },
  },
  {
    id: 'module/foreign-import',
    what: 'a function of another host',
    bad: { files: module({ imports: '(import "env" "system" (func (param i32) (result i32)))' }) },
    good: { files: module({ imports: '(import "palisade_v1" "fail" (func (param i32 i32)))' }) },
    says: /imports env\.system which is not a function of palisade_v1/,
  },
  {
    id: 'module/foreign-import',
    what: 'WASI',
    bad: { files: module({ imports: '(import "wasi_snapshot_preview1" "fd_write" (func))' }) },
    good: {},
  },
  {
    id: 'module/foreign-import',
    what: 'a table of the host',
    bad: { files: module({ imports: '(import "palisade_v1" "fail" (table 1 funcref))' }) },
    good: { files: module({ more: '(table 1 funcref)' }) },
  },
  {
    id: 'module/foreign-import',
    what: 'a function of the ABI with another type',
    bad: {
      change: { asks: { log: true } },
      files: module({ imports: '(import "palisade_v1" "log" (func (param i32)))' }),
    },
    good: { change: { asks: { log: true } }, files: module({ imports: LOGS }) },
    says: /as \(i32\) -> \(\), expected \(i32, i32, i32\) -> \(\)/,
  },
  {
    id: 'module/undeclared-import',
    what: 'requests that nobody declared',
    bad: { change: { tool: { risk: 'high' } }, files: module({ imports: REQUESTS }) },
    good: { change: { tool: { risk: 'high' }, asks: HOST }, files: module({ imports: REQUESTS }) },
    says: /palisade_v1\.http_request, and the manifest does not ask for http/,
    where: 'text.wasm',
  },
  {
    id: 'manifest/excess-capability',
    what: 'hosts that no module asks for',
    bad: { change: { asks: HOST } },
    good: { change: { asks: HOST }, files: module({ imports: REQUESTS }) },
    where: 'skill.toml capabilities.http_egress_allowlist',
  },
  {
    id: 'manifest/excess-capability',
    what: 'a secret to read that no module reads',
    bad: {
      change: { asks: { ...HOST, secrets: [{ name: 'key', scope: 'skill', mayReveal: true, hosts: [] }] } },
      files: module({ imports: REQUESTS }),
    },
    good: {
      change: {
        asks: {
          ...HOST,
          secrets: [{ name: 'key', scope: 'skill', mayReveal: false, hosts: ['api.example.com'] }],
        },
      },
      files: module({ imports: REQUESTS }),
    },
    says: /asks for secret/,
  },
  {
    id: 'module/missing-entrypoint',
    what: 'an export that is not there',
    bad: { change: { tool: { export: 'gone' } } },
    good: {},
    says: /"gone", which it does not export/,
  },
  {
    id: 'module/missing-entrypoint',
    what: 'an export of another type',
    bad: {
      change: { tool: { export: 'f' } },
      files: module({ more: '(func (export "f") (param i32) (result i64) (i64.const 0))' }),
    },
    good: { change: { tool: { export: 'f' } }, files: module({ tool: 'f' }) },
    says: /has as \(i32\) -> i64/,
  },
  {
    id: 'module/no-place-for-input',
    what: 'a module without a place for its input',
    bad: {
      files: {
        'text.wasm': wat('(module (func (export "words") (param i32 i32) (result i64) (i64.const 0)))'),
      },
    },
    good: {},
    says: /palisade_alloc|memory/,
  },
  {
    id: 'module/undeclared-entrypoint',
    what: 'a second function that could be called as a tool',
    bad: { files: module({ more: '(func (export "backdoor") (param i32 i32) (result i64) (i64.const 0))' }) },
    good: { files: module({ more: '(func (export "__new") (param i32 i32) (result i32) (i32.const 0))' }) },
    says: /exports backdoor/,
  },
  {
    id: 'module/undeclared-entrypoint',
    what: 'the tool of another module',
    bad: {
      change: {
        tools: [
          TOOL,
          {
            ...TOOL,
            id: 'b',
            name: 'B',
            description: 'Another thing that is done.',
            module: 'b.wasm',
            export: 'b',
          },
        ],
      },
      files: {
        ...module({ more: '(func (export "b") (param i32 i32) (result i64) (i64.const 0))' }),
        'b.wasm': wat(moduleText({ tool: 'b' })),
      },
    },
    good: {
      change: {
        tools: [
          TOOL,
          {
            ...TOOL,
            id: 'b',
            name: 'B',
            description: 'Another thing that is done.',
            module: 'b.wasm',
            export: 'b',
          },
        ],
      },
      files: { 'b.wasm': wat(moduleText({ tool: 'b' })) },
    },
  },
  {
    id: 'module/extra-export',
    what: 'another function',
    bad: { files: module({ more: '(func (export "helper"))' }) },
    good: {
      files: module({
        more: '(func (export "_initialize")) (global (export "__heap_base") i32 (i32.const 0))',
      }),
    },
  },
  {
    id: 'module/memory-quota',
    what: 'more memory than the quota',
    bad: { change: { quotas: { wallMs: null, fuel: null, memoryBytes: 65_535 } } },
    good: { change: { quotas: { wallMs: null, fuel: null, memoryBytes: 65_536 } } },
    says: /65536 bytes, but the quota is 65535/,
  },
  {
    id: 'module/memory-quota',
    what: 'more memory than calls get by default',
    bad: { files: { 'text.wasm': wat(moduleText().replace('"memory") 1 4', '"memory") 1025')) } },
    good: {
      change: { quotas: { wallMs: null, fuel: null, memoryBytes: 128 * 1024 * 1024 } },
      files: { 'text.wasm': wat(moduleText().replace('"memory") 1 4', '"memory") 1025')) },
    },
  },
  {
    id: 'module/payload',
    what: 'a module that is mostly noise',
    bad: { files: dataOf(noise(16_384)) },
    good: { files: dataOf(text(16_384)) },
  },
  {
    id: 'module/dense-data',
    what: 'a little noise in a large module',
    bad: {
      files: {
        'text.wasm': wat(
          moduleText({
            more: `(data (i32.const 0) "${noise(8_192)}") (data (i32.const 8192) "${text(200_000)}")`,
          }),
        ),
      },
    },
    good: { files: dataOf(text(16_384)) },
  },
  {
    id: 'module/embedded-program',
    what: 'a program in its data',
    bad: { files: dataOf('some text \\7fELF\\02\\01\\01\\00\\00') },
    good: { files: dataOf('some text about \\7fELF files') },
    says: /an ELF program/,
  },
  {
    id: 'module/custom-payload',
    what: 'a large section of an unknown tool',
    bad: { files: section('stuff', 'x'.repeat(1_025)) },
    good: { files: section('name', Buffer.concat([Buffer.from([0, 5, 4]), Buffer.from('text')])) },
    says: /"stuff" of 1025 bytes/,
  },
  {
    id: 'module/custom-payload',
    what: 'a program in a section that only describes',
    bad: { files: section('producers', '\x7fELF') },
    good: { files: section('producers', new Uint8Array([0])) },
    says: /an ELF program/,
  },
  {
    id: 'module/custom-payload',
    what: 'noise in a section for debuggers',
    bad: {
      files: section(
        '.debug_info',
        Buffer.from(Array.from({ length: 16_000 }, (_, at) => (at * 167 + (at >> 8) * 59) & 0xff)),
      ),
    },
    good: { files: section('.debug_info', 'a line of text, '.repeat(1_000)) },
    says: /compressed or encrypted/,
  },
  {
    id: 'module/custom-payload',
    what: 'a page in a section that names the author',
    bad: { files: section('description', 'x'.repeat(1_025)) },
    good: { files: section('description', 'Counts words.') },
    says: /"description" of 1025 bytes is more/,
  },
  {
    id: 'module/custom-payload',
    what: 'a load in many small sections',
    bad: {
      files: {
        'text.wasm': Array.from({ length: 17 }).reduce<Uint8Array>(
          (bytes) => withSection('producers', `\0${'x'.repeat(999)}`, bytes),
          HONEST,
        ),
      },
    },
    good: { files: section('producers', `\0${'x'.repeat(999)}`) },
    says: /small custom sections have \d+ bytes in all/,
  },
  {
    id: 'module/custom-section',
    what: 'a section that only components have',
    bad: { files: section('component-type:x', 'x') },
    good: { files: section('version', '1.0.0') },
  },
  {
    id: 'module/custom-section',
    what: 'hints that no engine knows',
    bad: { files: section('metadata.code.other', 'x') },
    good: { files: section('metadata.code.branch_hint', new Uint8Array([0])) },
  },
  {
    id: 'module/payload',
    what: 'noise in pieces that are small by themselves',
    bad: {
      files: {
        'text.wasm': wat(
          moduleText({
            more: Array.from(
              { length: 8 },
              (_, at) => `(data (i32.const ${at * 4_000}) "${noise(4_000)}")`,
            ).join(' '),
          }),
        ),
      },
    },
    good: { files: dataOf(text(32_000)) },
  },
  {
    id: 'module/custom-section',
    what: 'a small section of an unknown tool',
    bad: { files: section('stuff', 'x') },
    good: { files: section('target_features', new Uint8Array([0])) },
    says: /stuff/,
  },
  {
    id: 'module/large-function',
    what: 'a function of hundreds of kilobytes',
    bad: { files: module({ more: `(func ${'i32.const 1000000 drop '.repeat(60_000)})` }) },
    good: { files: module({ more: `(func ${'i32.const 1000000 drop '.repeat(100)})` }) },
    says: /largest function has \d{6} bytes/,
  },
  {
    id: 'module/many-locals',
    what: 'a function of many locals',
    bad: { files: module({ more: `(func (local ${'i32 '.repeat(1200)}))` }) },
    good: { files: module({ more: `(func (local ${'i32 '.repeat(99)}))` }) },
  },
  {
    id: 'module/near-limit',
    what: 'more than half of what a limit allows',
    bad: { files: module({ more: '(table 60000 funcref)' }) },
    good: { files: module({ more: '(table 100 funcref)' }) },
    says: /tableElements/,
  },
  {
    id: 'module/object-file',
    what: 'an object file',
    bad: { files: section('linking', new Uint8Array([2])) },
    good: {},
  },
  {
    id: 'module/malformed-names',
    what: 'names that cannot be read',
    bad: { files: section('name', new Uint8Array([1, 99])) },
    good: { files: section('name', new Uint8Array([0, 5, 4, ...Buffer.from('text')])) },
  },
  {
    id: 'module/start',
    what: 'a start function',
    bad: { files: module({ more: '(func $s) (start $s)' }) },
    good: {},
  },
  {
    id: 'module/debug',
    what: 'names for debuggers',
    bad: { files: { 'text.wasm': wat(moduleText({ more: '(func $named)' }), { names: true }) } },
    good: {},
  },
  {
    id: 'module/foreign-type',
    what: 'a type that cannot cross',
    bad: { files: module({ more: '(func (export "v") (param v128))' }) },
    good: { files: module({ more: '(func (export "v") (param i64))' }) },
  },
  {
    id: 'manifest/low-risk',
    what: 'requests of tools that call themselves harmless',
    bad: { change: { asks: HOST }, files: module({ imports: REQUESTS }) },
    good: { change: { asks: HOST, tool: { risk: 'medium' } }, files: module({ imports: REQUESTS }) },
    says: /http_request/,
  },
  {
    id: 'manifest/closed-world',
    what: 'requests of tools that say they reach nothing',
    bad: { change: { asks: HOST }, files: module({ imports: REQUESTS }) },
    good: {
      change: { asks: HOST, tool: { annotations: { ...TOOL.annotations, openWorld: true } } },
      files: module({ imports: REQUESTS }),
    },
  },
  {
    id: 'manifest/read-only-writes',
    what: 'writing by tools that only read',
    bad: {
      change: { asks: { storage: { read: ['a/'], write: ['a/'] } } },
      files: module({
        imports: '(import "palisade_v1" "storage_delete" (func (param i32 i32 i32) (result i32)))',
      }),
    },
    good: {
      change: { asks: { storage: { read: ['a/'], write: [] } } },
      files: module({
        imports: '(import "palisade_v1" "storage_list" (func (param i32 i32 i32) (result i32)))',
      }),
    },
    says: /storage_delete/,
  },
];
