import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { wat } from '../../fixture/wat.ts';
import { ECHO, guest } from '../../tiers/a-wasm/guests.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';
import { type Changes, ECHO_CASES, ECHO_MANIFEST, writeSkill } from './skill-fixture.ts';

const scratch = makeScratch();
const check = (name: string, ...words: string[]) =>
  runInside(['skill', 'check', name, ...words], { cwd: scratch });

async function checkedWith(name: string, changes: Changes) {
  writeSkill(join(scratch, name), changes);
  const { status, out } = await check(name, '--json');
  return { status, told: JSON.parse(out) };
}

describe('palisade skill check', () => {
  test('finds nothing wrong with a skill that can be packed', async () => {
    writeSkill(join(scratch, 'good'));
    const { status, out, err } = await check('good');
    expect({ status, out, err }).toEqual({ status: 0, out: '', err: 'ok  acme.echo 1.2.0, 1 tool\n' });
  });

  test('lists every problem of the manifest with its line, and the prose as well', async () => {
    const manifest = ECHO_MANIFEST.replace('version = "1.2.0"', 'version = "v1"').replace('risk =', 'riks =');
    writeSkill(join(scratch, 'bad'), { 'skill.toml': manifest, 'SKILL.md': 'no front matter\n' });
    const { status, out, err } = await check('bad');
    expect(out).toMatch(/^skill\.toml:3:\d+: Cannot use .*version/m);
    expect(out).toMatch(/^skill\.toml:11:\d+: .*riks/m);
    expect(out).toMatch(/^ {2}.*risk/m);
    expect(out).toMatch(/^SKILL\.md:1:1: /m);
    expect(err).toMatch(/^refused {2}\d problems\n$/);
    expect(status).toBe(2);
  });

  test('warns of a module that is still to be built, and misses one that nobody builds', async () => {
    const build = '\n[build]\nlanguage = "c"\nmodules = [{ source = "src/echo.c", module = "echo.wasm" }]\n';
    const unbuilt = await checkedWith('unbuilt', {
      ...{ 'skill.toml': `${ECHO_MANIFEST}${build}`, 'src/echo.c': 'int x;', 'echo.wasm': null },
    });
    expect(unbuilt.told).toMatchObject({
      ok: true,
      problems: [],
      warnings: [{ file: 'echo.wasm', line: null }],
    });
    expect(unbuilt.status).toBe(0);
    const missing = await checkedWith('missing', { 'echo.wasm': null });
    expect(missing.told).toMatchObject({ ok: false, problems: [{ file: 'echo.wasm' }], warnings: [] });
    expect(missing.status).toBe(2);
  });

  test('finds a module that packing would refuse', async () => {
    const { status, told } = await checkedWith('text-form', { 'echo.wasm': '(module)' });
    expect(told).toMatchObject({ ok: false, problems: [{ file: 'echo.wasm', line: null }] });
    expect(status).toBe(2);
    const packed = await runInside(['skill', 'pack', 'text-form'], { cwd: scratch });
    expect([packed.status, packed.err]).toEqual([2, expect.stringContaining('`palisade skill build`')]);
  });

  test('finds a schema that is none, and one that could be slow for ever', async () => {
    const { told } = await checkedWith('schemas', {
      'schemas/any.json':
        '{ "type": "object", "properties": { "a": { "type": "string", "pattern": "(?=a)b" } } }',
    });
    expect(told.ok).toBe(false);
    expect(told.problems[0].message).toContain('input_schema');
  });

  test('says where a schema cannot be used, and which of its keywords look like slips', async () => {
    const { told } = await checkedWith('schema-places', {
      'schemas/any.json':
        '{ "type": "object", "maxPropertys": 8, "properties": { "a": { "type": "strng" } } }',
    });
    expect(told.problems[0].message).toContain('(/properties/a/type ');
    expect(told.warnings[0].message).toContain(
      '/maxPropertys is unknown and has no effect; did you mean "maxProperties"?',
    );
  });

  test('finds what a module imports and the manifest does not request, with what to write', async () => {
    const logging = guest(
      `(call $log (i32.const 1) (i32.const 16) (i32.const 2)) (call $random (i32.const 16) (i32.const 2)) ${ECHO}`,
      ['hi'],
    );
    const files = { 'echo.wasm': logging };
    const { status, told } = await checkedWith('imports', files);
    expect(told.problems).toMatchObject([
      {
        file: 'echo.wasm',
        message: 'Cannot use "echo.wasm": it imports palisade_v1.log, and skill.toml does not request log',
        hint: 'Request it with `log = true` under [capabilities] in skill.toml, or build the module without the import.',
      },
      { file: 'echo.wasm', hint: expect.stringContaining('`random = true`') },
    ]);
    expect(status).toBe(2);
    const requested = await checkedWith('imports', {
      ...files,
      'skill.toml': `${ECHO_MANIFEST}\n[capabilities]\nlog = true\nrandom = true\n`,
    });
    expect(requested).toMatchObject({ status: 0, told: { ok: true, problems: [], warnings: [] } });
  });

  test('warns of what the manifest requests and no module imports, at its line', async () => {
    const { status, told } = await checkedWith('unused', {
      'skill.toml': `${ECHO_MANIFEST}\n[capabilities]\nlog = true\n[capabilities.filesystem]\nread_roots = ["a/"]\n`,
    });
    const line = ECHO_MANIFEST.split('\n').length;
    expect(told.warnings).toMatchObject([
      {
        file: 'skill.toml',
        line: line + 3,
        message: 'It requests storage, and none of its modules imports it',
      },
      { file: 'skill.toml', line: line + 2, message: 'It requests log, and none of its modules imports it' },
    ]);
    expect(status).toBe(0);
  });

  test('finds imports that are of no one’s ABI, without obeying their names', async () => {
    const foreign =
      wat(`(module (import "env" "pri\\1b[2Jntf" (func (param i32) (result i32))) (memory (export "memory") 1)
      (func (export "palisade_alloc") (param i32) (result i32) (i32.const 0))
      (func (export "tool") (param i32 i32) (result i64) (i64.const 0)))`);
    const { status, told } = await checkedWith('foreign', { 'echo.wasm': foreign });
    expect(told.problems).toMatchObject([
      { file: 'echo.wasm', message: expect.stringContaining('env.pri\\u{1b}') },
    ]);
    expect(status).toBe(2);
  });

  test.each([
    ['that are no JSON', '{'],
    ['of a tool that is not there', JSON.stringify({ cases: [{ ...ECHO_CASES.cases[0], tool: 'other' }] })],
  ])('finds cases %s', async (what, text) => {
    const { status, told } = await checkedWith(what, { 'tests/echo.json': text });
    expect(told.problems).toMatchObject([{ file: expect.stringContaining('tests/echo.json') }]);
    expect(status).toBe(2);
  });

  test('names each file that must not be packed', async () => {
    writeSkill(join(scratch, 'files'), { 'src/naïve.c': 'int x;' });
    symlinkSync('/etc/hostname', join(scratch, 'files', 'src/host.c'));
    const { out, status } = await check('files');
    expect(out).toContain('src/host.c: Cannot use "src/host.c": it is a link, expected a file\n');
    expect(out).toMatch(/^src\/naïve\.c: Cannot use /m);
    expect(status).toBe(2);
  });

  test('shows what a stranger wrote without obeying it', async () => {
    const manifest = ECHO_MANIFEST.replace(
      'publisher = "acme"',
      'publisher = "\\u001b[2J\\u202e"\n"\\u001b]0;x" = 1',
    );
    writeSkill(join(scratch, 'hostile'), { 'skill.toml': manifest });
    const { out, err, status } = await check('hostile');
    for (const active of ['\u001b', '\u202e']) expect(`${out}${err}`).not.toContain(active);
    expect(out).toContain('skill.toml:4:');
    expect(status).toBe(2);
  });
});
