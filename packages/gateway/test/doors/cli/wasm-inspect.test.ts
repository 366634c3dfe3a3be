import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { CODES } from '@palisade/sdk';
import { DEFAULT_LIMITS, FEATURES } from '@palisade/wasm';
import { describe, expect, test } from 'vitest';
import { wat, writeModule } from '../../fixture/wat.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();

/** A module that an audit has nothing to say about. */
const PLAIN = '(module (memory (export "memory") 1 2) (func (export "f") (result i32) (i32.const 1)))';

async function inspect(name: string, content: string | Uint8Array) {
  const path = writeModule(scratch, name, content);
  const { status, out } = await runInside(['wasm', 'inspect', path, '--json']);
  return { status, told: JSON.parse(out), path };
}

function custom(name: string, content: readonly number[]): number[] {
  const bytes = [name.length, ...Buffer.from(name), ...content];
  return [0, ...unsigned(bytes.length), ...bytes];
}

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function withCustom(name: string, content: readonly number[] = [0]): Uint8Array {
  return new Uint8Array([...wat(PLAIN), ...custom(name, content)]);
}

describe('palisade wasm inspect', () => {
  test('tells what a module is, as data', async () => {
    const text = `(module
      (import "env" "say" (func (param i32 i64)))
      (memory (export "memory") 2 3) (table 5 funcref) (global (mut i32) (i32.const 0))
      (data (i32.const 0) "aaaa") (func $s) (start $s)
      (func (export "sum") (param i32) (result f64 f64) (local i32 i32) (f64.const 1) (f64.const 2)))`;
    const { status, told } = await inspect('whole', text);
    const bytes = wat(text);
    expect(told).toMatchObject({
      ok: true,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      bytes: bytes.length,
      imports: [{ module: 'env', name: 'say', kind: 'function', type: '(i32, i64) -> ()' }],
      exports: [
        { name: 'memory', kind: 'memory', type: 'memory 2..3 pages' },
        { name: 'sum', kind: 'function', type: '(i32) -> (f64, f64)' },
      ],
      hasStart: true,
      counts: { definedFunctions: 2, importedFunctions: 1, globals: 1, dataBytes: 4 },
      memory: { minPages: 2, maxPages: 3 },
      table: { minElements: 5, maxElements: null },
      data: [{ mode: 'active', bytes: 4, bitsPerByte: 0 }],
      names: { state: 'absent' },
    });
    expect(told.metered.bytes).toBeGreaterThan(bytes.length);
    expect(told.limits).toContainEqual({
      limit: 'memoryBytes',
      found: 131_072,
      most: DEFAULT_LIMITS.memoryBytes,
    });
    expect(told.limits.map(({ limit }: { limit: string }) => limit)).toEqual(Object.keys(DEFAULT_LIMITS));
    expect(status).toBe(0);
  });

  test('says of every feature whether it is used and allowed', async () => {
    const { told } = await inspect(
      'features',
      '(module (func (export "f") (result i32 i32) (i32.const 1) (i32.const 2)))',
    );
    const used = told.features.filter((each: { used: boolean }) => each.used);
    expect(used.map(({ name }: { name: string }) => name)).toEqual(['mvp', 'multi-value']);
    expect(
      told.features.map(({ name, allowed }: { name: string; allowed: boolean }) => [name, allowed]),
    ).toEqual(FEATURES.map(({ name, allowed }) => [name, allowed]));
  });

  test('says the same to people, with what an audit would say at the end', async () => {
    const path = writeModule(scratch, 'people', PLAIN);
    const { status, out } = await runInside(['wasm', 'inspect', path]);
    expect(out).toContain('memory      1 page initially (65.5 KB), at most 2');
    expect(out).toMatch(/^memoryBytes +65536 +67108864$/m);
    expect(out).toMatch(/Findings of an audit\n✓ none\n$/);
    expect(status).toBe(0);
  });

  test('cuts long lists for people and gives all of them as data', async () => {
    const many = Array.from({ length: 40 }, (_, at) => `(func (export "f${at}"))`).join('');
    const path = writeModule(scratch, 'many', `(module ${many})`);
    const { out } = await runInside(['wasm', 'inspect', path]);
    expect(out).toContain('40 exports');
    expect(out).toContain('… and 28 more; --json lists them all');
    expect((await inspect('many', `(module ${many})`)).told.exports).toHaveLength(40);
  });

  test('cannot be made to write to the terminal by a name', async () => {
    const path = writeModule(scratch, 'evil', '(module (func (export "\\1b[31mred\\e2\\80\\ae\\0a! ours")))');
    const { out } = await runInside(['wasm', 'inspect', path]);
    expect(out).toContain('\\u{1b}[31mred\\u{202e}\\u{a}! ours');
    expect(out).not.toContain('\u001b');
  });

  test('reads standard input where the file is -', async () => {
    const piped = await palisade(['wasm', 'inspect', '-', '--json'], { stdin: wat(PLAIN) });
    expect(JSON.parse(piped.out)).toMatchObject({ ok: true, file: 'standard input' });
    expect(piped.status).toBe(0);
  });
});

const dense = Array.from({ length: 8192 }, (_, at) => `\\${(at & 0xff).toString(16).padStart(2, '0')}`).join(
  '',
);

/** Each thing an audit says, with a module that makes it say so. */
const observed: readonly (readonly [
  what: string,
  severity: string,
  module: string | Uint8Array,
  sentence: RegExp,
])[] = [
  [
    'an export of a reserved name',
    'refusal',
    '(module (func (export "palisade:set")))',
    /refused.*"palisade:set"/,
  ],
  [
    'types that do not fit',
    'refusal',
    new Uint8Array([...wat('(module)'), ...invalidCode()]),
    /refused.*Cannot accept module/,
  ],
  ["an import of the engine's own", 'refusal', '(module (import "palisade" "x" (func)))', /engine's own/],
  [
    'an imported table',
    'refusal',
    '(module (import "e" "t" (table 1 funcref)))',
    /e\.t; the engine gives functions and memories only/,
  ],
  ['an imported global', 'refusal', '(module (import "e" "g" (global i32)))', /e\.g; the engine/],
  [
    'imports of WASI',
    'warning',
    '(module (import "wasi_snapshot_preview1" "fd_write" (func)))',
    /1 function of WASI/,
  ],
  [
    'imported functions',
    'warning',
    '(module (import "a" "x" (func)) (import "b" "y" (func)))',
    /2 functions of "a", "b"/,
  ],
  ['a start function', 'warning', '(module (func $s) (start $s))', /start function/],
  [
    'a dense data segment',
    'warning',
    `(module (memory 1) (data (i32.const 0) "${dense}"))`,
    /8192 bytes has 8 bits/,
  ],
  ['many locals', 'warning', `(module (func (local ${'i32 '.repeat(1200)})))`, /1200 locals/],
  [
    'a large function',
    'warning',
    `(module (func ${'i32.const 1000000 drop '.repeat(60_000)}))`,
    /largest function has \d{6} bytes/,
  ],
  [
    'more than half of a limit',
    'warning',
    '(module (memory 600))',
    /half of memoryBytes \(39321600 of 67108864\)/,
  ],
  ['an object file', 'warning', withCustom('linking'), /object file: linking/],
  ['no function to call', 'warning', '(module (memory (export "memory") 1 1))', /exports no function/],
  ['a type that cannot cross', 'note', '(module (func (export "v") (param v128)))', /exports v with a type/],
  ['no memory', 'note', '(module)', /no memory/],
  [
    'a memory under another name',
    'note',
    '(module (memory (export "m") 1 1))',
    /export its memory as "memory"/,
  ],
  ['a memory without a maximum', 'note', '(module (memory 1))', /no maximum: it can grow to 1024 pages/],
  [
    'a memory that asks for more than there is',
    'note',
    '(module (memory 1 2000))',
    /up to 2000 pages: it can grow to 1024/,
  ],
  [
    'names for debuggers',
    'note',
    wat('(module (func $named))', { names: true }),
    /bytes for debuggers: name/,
  ],
  ['sections of other tools', 'note', withCustom('payload', [1, 2, 3]), /payload \(3 bytes\)/],
  ['malformed names', 'note', withCustom('name', [1, 99]), /names is malformed/],
];

/** A function without a result that leaves one on the stack, behind an empty module. */
function invalidCode(): number[] {
  return [1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 6, 1, 4, 0, 0x41, 0, 0x0b];
}

describe('what an audit would say', () => {
  test.each(observed)('names %s as a %s', async (what, severity, module, sentence) => {
    const { status, told } = await inspect(what.replaceAll(/[^a-z]/g, '-'), module);
    const found = told.findings.filter((each: { sentence: string }) => sentence.test(each.sentence));
    expect(found).toEqual([
      { severity, sentence: expect.any(String), remedy: expect.stringMatching(/^[A-Z].*\.$/) },
    ]);
    expect(told.ok).toBe(severity !== 'refusal');
    expect(status).toBe(severity === 'refusal' ? 2 : 0);
  });

  test('is nothing where there is nothing to say', async () => {
    expect((await inspect('plain', PLAIN)).told.findings).toEqual([]);
  });
});

const cut = wat(PLAIN).subarray(0, 20);

describe('palisade wasm inspect refuses', () => {
  test.each([
    ['text', 'wasm/malformed', Buffer.from('(module)'), 'text format', 0],
    ['a component that is cut', 'wasm/malformed', Buffer.from('\0asm\x0d\0\x01\0\x01'), 'end inside', 9],
    ['garbage', 'wasm/malformed', Buffer.from('hello, world'), 'does not begin with', 0],
    ['nothing', 'wasm/malformed', Buffer.alloc(0), 'does not begin with', 0],
    ['half a module', 'wasm/malformed', cut, 'expected', expect.any(Number)],
    ['shared memory', 'wasm/feature', wat('(module (memory 1 1 shared))'), '"threads"', expect.any(Number)],
    ['too much memory', 'wasm/limit', wat('(module (memory 2000))'), '"memoryBytes"', expect.any(Number)],
  ] as const)('%s as %s, with the place', async (name, code, bytes, why, offset) => {
    const path = writeModule(scratch, name.replaceAll(' ', '-'), bytes);
    const { status, out } = await runInside(['wasm', 'inspect', path, '--json']);
    const { remedy } = CODES[code];
    const reason = code.slice('wasm/'.length);
    expect(JSON.parse(out)).toMatchObject({ status: 'refused', code, reason, offset, remedy });
    expect(JSON.parse(out).message).toContain(why);
    expect(status).toBe(2);
    const { err } = await runInside(['wasm', 'inspect', path]);
    expect(err).toMatch(new RegExp(`^refused  ${code}\nCannot .*\\(at byte \\d+\\)\n→ `));
  });

  test('a component of another world, with what to build it for', async () => {
    const path = join(scratch, 'empty.component.wasm');
    writeFileSync(path, Buffer.from('\0asm\x0d\0\x01\0'));
    const { err, status } = await runInside(['wasm', 'inspect', path]);
    expect(err).toMatch(
      /^refused {2}wasm\/link\nCannot link component: it has no export "run".*\n→ .*components\.md/,
    );
    expect(status).toBe(2);
  });

  test.each([
    ['a file that is not there', () => join(scratch, 'missing'), 'ENOENT'],
    ['a directory', () => makeDirectory('folder'), 'EISDIR'],
    ['a pipe without a writer', () => makePipe('pipe'), 'not a regular file'],
  ])('%s as wrong usage', async (_, make, why) => {
    const { status, err } = await runInside(['wasm', 'inspect', make()]);
    expect(err).toContain(`Cannot read "`);
    expect(err).toContain(why);
    expect(status).toBe(64);
  });

  test('a file of many gigabytes without reading them', async () => {
    const path = join(scratch, 'huge');
    const fd = openSync(path, 'w');
    ftruncateSync(fd, 2 ** 35);
    closeSync(fd);
    const { status, out } = await runInside(['wasm', 'inspect', path, '--json']);
    expect(JSON.parse(out)).toMatchObject({ code: 'wasm/limit', reason: 'limit', detail: 'moduleBytes' });
    expect(status).toBe(2);
  });

  test('standard input that does not end, as soon as it is past the limit', async () => {
    let supplied = 0;
    const stdin = Readable.from(
      (function* () {
        for (;;) {
          supplied += 1_000_000;
          yield Buffer.alloc(1_000_000);
        }
      })(),
    );
    const { status, out } = await runInside(['wasm', 'inspect', '-', '--json'], { stdin });
    expect(JSON.parse(out)).toMatchObject({ code: 'wasm/limit', detail: 'moduleBytes' });
    expect(status).toBe(2);
    expect(supplied).toBeLessThan(DEFAULT_LIMITS.moduleBytes + 40_000_000);
  });
});

function makeDirectory(name: string): string {
  const path = join(scratch, name);
  mkdirSync(path);
  writeFileSync(join(path, 'inside'), '');
  return path;
}

function makePipe(name: string): string {
  const path = join(scratch, name);
  execFileSync('mkfifo', [path]);
  return path;
}
