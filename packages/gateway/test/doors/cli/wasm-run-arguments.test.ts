import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { volume } from '../../../../../tests/volume/volume.ts';
import { isToolName } from '../../../src/core/principal.ts';
import { NO_GRANTS } from '../../../src/core/wasm.ts';
import { readGrants } from '../../../src/doors/cli/module/grants.ts';
import { localTool } from '../../../src/doors/cli/nouns/wasm-run.ts';
import { VERBS } from '../../../src/doors/cli/verbs.table.ts';
import { Registry } from '../../../src/registry/registry.ts';
import { hostsOf } from '../../../src/skills/capabilities/http.ts';
import { CAPABILITIES, capabilitiesOf, riskOf, spellGrants } from '../../../src/skills/capabilities/kinds.ts';
import { wat, writeModule } from '../../fixture/wat.ts';
import { ECHO, guest } from '../../tiers/a-wasm/guests.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';
import { orWrongUsage } from './wrong-usage.ts';

const scratch = makeScratch();
const HELLO = resolve(import.meta.dirname, '../../../../../examples/wasm/hello.wasm');

describe('readGrants()', () => {
  test('grants nothing without a word', () => {
    expect(readGrants([])).toEqual(NO_GRANTS);
  });

  test.each([
    ['http=api.example.com', { http: ['api.example.com'] }],
    ['http=GET,HEAD https://api.example.com/v1/', { http: ['GET,HEAD https://api.example.com/v1/'] }],
    ['http=10.1.2.0/24:8080', { http: ['10.1.2.0/24:8080'] }],
    ['storage=notes/', { storage: [{ read: ['notes/'], write: ['notes/'] }] }],
    ['storage=a/b:ro', { storage: [{ read: ['a/b'], write: [] }] }],
    ['storage=/', { storage: [{ read: ['/'], write: ['/'] }] }],
    ['channel=news', { channels: [{ name: 'news', publish: true, receive: true }] }],
    ['channel=news:publish', { channels: [{ name: 'news', publish: true, receive: false }] }],
    ['channel=news:receive', { channels: [{ name: 'news', publish: false, receive: true }] }],
    [
      'secret=github@api.github.com',
      { secrets: [{ name: 'github', mayReveal: false, hosts: ['api.github.com'] }] },
    ],
    [
      'secret=github@*.github.com,[::1]:8443',
      { secrets: [{ name: 'github', mayReveal: false, hosts: ['*.github.com', '[::1]:8443'] }] },
    ],
    ['secret=github:reveal', { secrets: [{ name: 'github', mayReveal: true, hosts: [] }] }],
    [
      'secret=github:reveal@api.github.com:8443',
      { secrets: [{ name: 'github', mayReveal: true, hosts: ['api.github.com:8443'] }] },
    ],
    ['log', { log: true }],
    ['clock', { clock: true }],
    ['random', { random: true }],
    ['config:region=eu=1:2', { config: { region: 'eu=1:2' } }],
    ['config:empty=', { config: { empty: '' } }],
  ])('reads %s as that and nothing more', (word, granted) => {
    expect(readGrants([word])).toEqual({ ...NO_GRANTS, ...granted });
    expect(spellGrants(readGrants([word]))).toEqual([word]);
  });

  test('keeps the order in which capabilities of a kind are granted: it gives their handles', () => {
    const { http, config } = readGrants([
      ...['http=b.example.com', 'config:b=1', 'http=a.example.com', 'config:a=2'],
    ]);
    expect(http).toEqual(['b.example.com', 'a.example.com']);
    expect(config).toEqual({ b: '1', a: '2' });
  });

  test.each([
    '',
    'http',
    'htttp=x',
    'HTTP=x',
    'all',
    '*',
    'files=/',
    'exec',
    '__proto__',
    'constructor=1',
    ' log',
  ])('refuses "%s"', (word) => {
    expect(orWrongUsage(() => readGrants([word]))).toMatch(/^Cannot use --grant .*, expected .*http=ENTRY/);
  });

  test('names every form where the kind is unknown', () => {
    const message = orWrongUsage(() => readGrants(['network']));
    for (const { form } of Object.values(CAPABILITIES)) expect(message).toContain(form);
  });

  test.each([
    ['log=1', 'it has a value, expected log'],
    ['clock:utc', 'it has a value, expected clock'],
    ['http=', 'it has no value, expected http=ENTRY'],
    ['http:api.example.com', 'it has no value, expected http=ENTRY'],
    ['http=*', 'it would mean every host'],
    ['http=*.com', 'every name of a top-level domain'],
    ['http=!api.example.com', '"!api.example.com" denies, expected only what is asked for, without "!"'],
    ['http=ftp://x.example', 'the scheme is "ftp" (entry "ftp://x.example"), expected "http" or "https"'],
    ['http=010.0.0.1', 'it is not plain'],
    ['storage=', 'it has no value, expected storage=PREFIX[:ro]'],
    ['storage=../x', 'the segment "." or ".."'],
    ['storage=/etc', 'it begins or ends with "/"'],
    ['storage=notes:rw', '"rw" follows its prefix, expected "ro" or nothing'],
    ['storage=notes:ro:ro', 'expected "ro" or nothing'],
    ['storage=:ro', 'its prefix is empty'],
    ['channel=News', 'its name is "News", expected up to 64 lower-case letters'],
    ['channel=news:both', '"both" follows its name, expected "publish" or "receive" or nothing'],
    ['secret=../github', 'its name is "../github"'],
    ['secret=github:show', '"show" follows its name, expected "reveal" or nothing'],
    ['secret=github:reveal:reveal', 'expected "reveal" or nothing'],
    ['secret=github', 'it names no host, expected secret=github@HOST, or secret=github:reveal'],
    ['secret=github@', 'entry ""'],
    ['secret=github@a.test,', 'entry ""'],
    ['secret=github@https://a.test/', 'it is "https://a.test/", expected a host such as'],
    ['secret=github@!a.test', 'it is "!a.test", expected a host such as'],
    ['secret=github@a.test:reveal', 'port "reveal"'],
    ['config:region', 'it has no "=", expected config:KEY=VALUE'],
    ['config=region', 'it has no value, expected config:KEY=VALUE'],
    ['config:=x', 'its key is ""'],
    ['config:__proto__=x', 'its key is "__proto__"'],
  ])('refuses "%s" and says what is expected', (word, why) => {
    const message = orWrongUsage(() => readGrants([word]));
    expect(message).toContain(`Cannot use --grant "${word}": `);
    expect(message).toContain(why);
  });

  test.each([
    [['log', 'log'], 'log is granted twice'],
    [['http=x.example.com', 'http=x.example.com'], 'http=x.example.com is granted twice'],
    [['secret=a@a.test', 'secret=a:reveal'], 'secret a is granted twice'],
    [['channel=a:publish', 'channel=a:receive'], 'channel a is granted twice'],
    [['storage=a', 'storage=a/:ro'], 'storage a/ is granted twice'],
    [['config:a=1', 'config:a=2'], 'config:a is granted twice'],
  ])('refuses %j: what is granted is granted once', (words, why) => {
    expect(orWrongUsage(() => readGrants(words))).toContain(why);
  });

  test('refuses more than a person can have meant', () => {
    const words = (count: number) => Array.from({ length: count }, (_, i) => `config:k${i}=x`);
    expect(Object.keys(readGrants(words(64)).config ?? {})).toHaveLength(64);
    expect(orWrongUsage(() => readGrants(words(65)))).toContain(
      '--grant is given 65 times, expected at most 64',
    );
  });

  test('reads exactly what it spells, or refuses, whatever it is given', () => {
    const kind = fc.constantFrom('http', 'secret', 'storage', 'channel', 'log', 'clock', 'config', 'x');
    const value = fc.oneof(
      fc.constantFrom('a.example.com', 'notes/', 'a', 'a:ro', 'a:reveal', 'a:publish', 'k=v', '', '!a', '..'),
      fc.string({ unit: CHARACTER }),
    );
    const word = fc.oneof(
      fc.tuple(kind, fc.constantFrom('', '=', ':'), value).map((parts) => parts.join('')),
      fc.string({ unit: CHARACTER }),
    );
    fc.assert(
      fc.property(word, (each) => {
        const read = orWrongUsage(() => readGrants([each]));
        if (typeof read === 'string') return read.startsWith('Cannot use --grant ');
        return spellGrants(read).join() === each;
      }),
      { numRuns: volume(3_000, 30) },
    );
  });

  test('is told by the help in the very forms of its table', () => {
    const flag = VERBS.find(({ words }) => words === 'wasm run')?.flags.find(({ name }) => name === 'grant');
    for (const { form } of Object.values(CAPABILITIES)) expect(flag?.sentence).toContain(form);
  });
});

describe('what the policies are told of grants', () => {
  const all = readGrants([
    ...['http=API.example.com:443', 'http=*.example.org', 'http=10.1.2.0/24:80', 'http=[fd12::1]:80'],
    ...[
      'secret=a@a.test',
      'secret=b:reveal',
      'storage=x',
      'channel=c',
      'log',
      'clock',
      'random',
      'config:k=v',
    ],
  ]);

  test('are the kinds, and that a secret may be read', () => {
    expect(capabilitiesOf(NO_GRANTS)).toEqual([]);
    expect(capabilitiesOf(readGrants(['secret=a@a.test']))).toEqual(['secret']);
    expect(capabilitiesOf(all)).toEqual([...Object.keys(CAPABILITIES), 'secret:reveal']);
  });

  test('are the hosts in their one spelling', () => {
    expect(hostsOf(all)).toEqual(['api.example.com', '*.example.org', '10.1.2.0/24', 'fd12::1']);
  });

  test.each([
    [[], 'low'],
    [['log', 'clock', 'random', 'config:k=v'], 'low'],
    [['http=a.example.com'], 'medium'],
    [['secret=a@a.test'], 'medium'],
    [['storage=a:ro'], 'medium'],
    [['channel=a:receive'], 'medium'],
  ])('is the risk: of %j it is %s', (words, risk) => {
    expect(riskOf(readGrants(words))).toBe(risk);
  });
});

describe('localTool()', () => {
  const file = (name: string) => ({ name, bytes: readFileSync(HELLO), sha256: '' });
  const toolOf = (name: string, exportName = 'greet', grants: readonly string[] = []) =>
    localTool({
      ...{ file: file(name), exportName, grants: readGrants(grants), limits: {}, isRecorded: true },
      schemas: { inputSchema: {}, outputSchema: {} },
    });

  test.each([
    ['hello.wasm', 'greet', 'local.hello.greet'],
    ['/a/b.c/My Tool.v2.WASM', 'greet', 'local.My-Tool-v2.greet'],
    ['Grüße.wasm', 'sag/es', 'local.Gru-e.sag-es'],
    ['.wasm', '', 'local.module.module'],
    ['../../etc/passwd', '__proto__', 'local.passwd.proto'],
    ['x'.repeat(300), 'y'.repeat(300), `local.${'x'.repeat(48)}.${'y'.repeat(64)}`],
  ])('names the export of %j, %j as %s', (name, exportName, id) => {
    expect(toolOf(name, exportName).id).toBe(id);
  });

  test('has a name of the grammar of tools, whatever file and export are called', () => {
    const text = fc.string({ unit: CHARACTER });
    fc.assert(fc.property(text, text, (name, exportName) => isToolName(toolOf(name, exportName).id)));
  });

  test('is another definition with other grants, so that an approval of one is none of the other', () => {
    const digestOf = (...grants: string[]) => {
      const tool = toolOf('hello.wasm', 'greet', grants);
      const limits = tool.limits;
      const input = { maxBytes: 1, maxDepth: 1 };
      const loadSchemas = () => Promise.reject(new Error('not asked'));
      return new Registry({ tools: [tool], input, limits, ceilings: limits, loadSchemas }).find(tool.id)
        ?.digest;
    };
    expect(digestOf('secret=a@a.test')).toBe(digestOf('secret=a@a.test'));
    const words = [
      [],
      ['secret=a@a.test'],
      ['secret=b@a.test'],
      ['secret=a@b.test'],
      ['secret=a:reveal'],
      ['http=a.example.com'],
      ['config:k=v'],
    ];
    expect(new Set(words.map((each) => digestOf(...each))).size).toBe(words.length);
  });
});

const MODULES = {
  echo: guest(ECHO),
  logs: guest(`(call $log (i32.const 1) (local.get $at) (local.get $length)) ${ECHO}`),
  stores: guest('(call $print (call $storage_get (i32.const 1) (i32.const 1) (i32.const 1)))'),
  foreign: wat(
    `(module (import "env" "say" (func (param i32))) (memory (export "memory") 1)
      (func (export "palisade_alloc") (param i32) (result i32) (i32.const 0))
      (func (export "tool") (param i32 i32) (result i64) (i64.const 0)))`,
  ),
  misread: wat(
    `(module (import "palisade_v1" "fail" (func (param i32))) (memory (export "memory") 1)
      (func (export "palisade_alloc") (param i32) (result i32) (i32.const 0))
      (func (export "tool") (param i32 i32) (result i64) (i64.const 0)))`,
  ),
  roomless: wat(
    '(module (memory (export "memory") 1) (func (export "tool") (param i32 i32) (result i64) (i64.const 0)))',
  ),
  narrow: wat(
    `(module (memory (export "memory") 1) (func (export "palisade_alloc") (param i64) (result i32) (i32.const 0))
      (func (export "tool") (param i32 i32) (result i64) (i64.const 0)))`,
  ),
  forgetful: wat(
    `(module (func (export "palisade_alloc") (param i32) (result i32) (i32.const 0))
      (func (export "tool") (param i32 i32) (result i64) (i64.const 0)))`,
  ),
  bare: wat('(module (func (export "tool") (result i32) (i32.const 0)))'),
  metered: wat(
    `(module (memory (export "memory") 1) (func (export "palisade:set"))
      (func (export "palisade_alloc") (param i32) (result i32) (i32.const 0))
      (func (export "tool") (param i32 i32) (result i64) (i64.const 0)))`,
  ),
  text: Buffer.from('(module)'),
  cut: guest(ECHO).subarray(0, 60),
} as const;
const path = Object.fromEntries(
  Object.entries(MODULES).map(([name, bytes]) => [name, writeModule(scratch, name, bytes)]),
) as Record<keyof typeof MODULES, string>;

describe('palisade wasm run', () => {
  test.each([
    ['no tool', [path.echo], '--tool is missing, expected one of: tool'],
    ['an export that is not there', [path.echo, '--tool', 'toll'], 'no such export, expected one of: tool'],
    [
      'an export of another type',
      [path.echo, '--tool', 'palisade_alloc'],
      'it is (i32) -> i32, expected one of: tool',
    ],
    ['a memory as tool', [path.echo, '--tool', 'memory'], 'it is memory 2..16 pages'],
    ['a module without tools', [path.bare, '--tool', 'tool'], 'expected an export of type (i32, i32) -> i64'],
    ['standard input as module', ['-', '--tool', 'tool'], 'the tool is named after its file'],
    ['a file that is not there', ['/no/such.wasm', '--tool', 'tool'], 'ENOENT'],
    ['a directory', [scratch, '--tool', 'tool'], 'EISDIR'],
    [
      'two inputs',
      [path.echo, '--tool', 'tool', '--input', '1', '--input-file', 'x'],
      'expected one of them',
    ],
    ['an input file that is not there', [path.echo, '--tool', 'tool', '--input-file', '/no/such'], 'ENOENT'],
    [
      'an unknown grant',
      [path.echo, '--tool', 'tool', '--grant', 'files=/'],
      'it is not a grant, expected one of',
    ],
    [
      'no fuel',
      [path.echo, '--tool', 'tool', '--fuel', '0'],
      'expected a whole number from 1 to 10000000000',
    ],
    [
      'a memory without a unit we know',
      [path.echo, '--tool', 'tool', '--memory', '1t'],
      'expected bytes, or 64k',
    ],
    [
      'more memory than there can be',
      [path.echo, '--tool', 'tool', '--memory', '5g'],
      'from 1 to 4294967296',
    ],
    [
      'a time that is none',
      [path.echo, '--tool', 'tool', '--timeout', '1h'],
      'expected milliseconds, or 500ms',
    ],
    ['a principal that is none', [path.echo, '--tool', 'tool', '--as', 'root'], 'expected agent:NAME'],
    ['a receipt that cannot be written', [path.echo, '--tool', 'tool', '--receipt', '/no/x'], 'Cannot write'],
  ])('refuses %s before it opens anything', async (_, words, why) => {
    const { status, out, err } = await runInside(['wasm', 'run', ...words]);
    expect(err).toContain(why);
    expect(out).toBe('');
    expect(status).toBe(64);
  });

  test.each([
    ['is no module', path.text, 'wasm/malformed', 'Cannot read module'],
    ['is cut off', path.cut, 'wasm/malformed', ''],
    ['was metered', path.metered, 'wasm/malformed', 'it exports "palisade:set"'],
    [
      'has no place for input',
      path.roomless,
      'wasm/link',
      'does not export palisade_alloc, expected a function of type (i32) -> i32',
    ],
    ['has a place of another type', path.narrow, 'wasm/link', 'its palisade_alloc is (i64) -> i32'],
    ['has no memory', path.forgetful, 'wasm/link', 'it has no memory'],
    [
      'imports of another host',
      path.foreign,
      'wasm/link',
      'it imports env.say, expected functions of palisade_v1',
    ],
    [
      'imports by another type',
      path.misread,
      'wasm/link',
      'palisade_v1.fail as (i32) -> (), expected (i32, i32) -> ()',
    ],
    ['was not granted its log', path.logs, 'wasm/link', 'which was not granted, expected --grant log'],
    [
      'was not granted storage',
      path.stores,
      'wasm/link',
      'palisade_v1.storage_get, which was not granted, expected --grant storage=PREFIX[:ro]',
    ],
  ])('refuses a module that %s, with what to do, before it opens anything', async (_, file, code, why) => {
    const { status, err } = await runInside(['wasm', 'run', file, '--tool', 'tool']);
    expect(err).toContain(`refused  ${code}\n`);
    expect(err).toContain(why);
    expect(err).toMatch(/\n→ \S.*\n$/);
    expect(status).toBe(2);
  });

  test('tells programs the engine’s word and what it is about', async () => {
    const { out } = await runInside(['wasm', 'run', path.stores, '--tool', 'tool', '--json']);
    expect(JSON.parse(out)).toMatchObject({
      status: 'refused',
      code: 'wasm/link',
      reason: 'link',
      detail: 'palisade_v1.storage_get',
      remedy: expect.stringContaining('--grant storage=PREFIX[:ro]'),
    });
  });

  test('goes on to the gateway when all of that is well', async () => {
    for (const words of [[path.echo], [path.logs, '--grant', 'log'], [HELLO]]) {
      const tool = words[0] === HELLO ? 'greet' : 'tool';
      const { err } = await runInside(['wasm', 'run', ...words, '--tool', tool]);
      expect(err).toContain('nothing can be opened here');
    }
  });
});
