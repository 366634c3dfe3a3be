import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';

const scratch = makeScratch();
const packageFolders = [join(import.meta.dirname, '../../../../../node_modules')];
const skill = (...words: string[]) => runInside(['skill', ...words], { cwd: scratch, packageFolders });
const make = (name: string, ...words: string[]) => skill('new', name, '--language', 'c', ...words);
const manifestOf = (name: string) => readFileSync(join(scratch, name, 'skill.toml'), 'utf8');

describe('palisade skill new', () => {
  test.each([
    ['assemblyscript', 'src/skill.ts'],
    ['c', 'src/skill.c'],
    ['go', 'src/skill.go'],
    ['javascript', 'src/skill.js'],
    ['python', 'src/tools.py'],
    ['rust', 'src/skill.rs'],
  ])('makes a skill in %s that is valid as it is, and says how to go on', async (language, source) => {
    const { status, out, err } = await skill('new', language, '--language', language, '--id', 'acme.text');
    expect(out).toContain('created  acme.text in ');
    expect(out).toContain(`  ${source}\n`);
    expect(err).toBe(
      `→ palisade skill build ${language}\n→ palisade skill test ${language}\n→ palisade skill pack ${language}\n`,
    );
    expect(status).toBe(0);
    const checked = await skill('check', language, '--json');
    const missing = { file: 'skill.wasm', hint: 'Build it first with `palisade skill build`.' };
    expect(JSON.parse(checked.out)).toMatchObject({
      ...{ ok: true, skill: { id: 'acme.text', version: '0.1.0' }, problems: [] },
      warnings: [missing],
    });
  });

  test('says so where the library is missing that a new skill has a copy of', async () => {
    const words = ['skill', 'new', 'bare', '--language', 'rust', '--id', 'acme.text'];
    const { status, err } = await runInside(words, { cwd: scratch });
    expect(err).toContain('@palisade/guest is not installed');
    expect(err).toContain('→ Run `npm install @palisade/guest`');
    expect(status).toBe(1);
    expect(readdirSync(scratch)).not.toContain('bare');
  });

  test('writes no place that nobody has filled', async () => {
    await make('filled');
    const files = readdirSync(join(scratch, 'filled'), { recursive: true, withFileTypes: true });
    const texts = files
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
    expect(texts.length).toBeGreaterThan(8);
    expect(texts.filter((text) => /%[A-Z_]+%/.test(text))).toEqual([]);
  });

  test('takes the names from the folder and the user where none are given', async () => {
    await make('My Ünusual_tool.v2');
    expect(manifestOf('My Ünusual_tool.v2')).toContain(
      'skill_id = "ada.my-unusual-tool-v2"\nname = "My unusual tool v2"',
    );
  });

  test('says how to go on in words that a shell takes as they are', async () => {
    const { err } = await make("Ada's tool");
    expect(err).toContain(`→ palisade skill build 'Ada'\\''s tool'\n`);
  });

  test('takes the publisher from the id', async () => {
    const { out } = await make('by-id', '--id', 'acme.by.id', '--name', 'Say "hi"', '--json');
    expect(JSON.parse(out)).toMatchObject({ skill: 'acme.by.id', publisher: 'acme', language: 'c' });
    expect(manifestOf('by-id')).toContain('name = "Say \\"hi\\""');
  });

  test.each([
    ['a reserved publisher', ['--publisher', 'palisade']],
    ['a publisher that is another than that of the id', ['--publisher', 'acme', '--id', 'other.text']],
    ['an id that would be another line', ['--id', 'acme.text"\nname = "x']],
    ['a name with a control character', ['--name', 'a\u001b[31m']],
    ['a publisher with upper case', ['--publisher', 'Acme']],
  ])('refuses %s and makes nothing', async (_, words) => {
    const { status, out, err } = await make('never', ...words);
    expect(err).toMatch(/^refused {2}door\/wrong-usage\nCannot use /);
    expect(err).not.toContain('\u001b');
    expect(out).toBe('');
    expect(status).toBe(64);
    expect(readdirSync(scratch)).not.toContain('never');
  });

  test.each([
    ['no language', []],
    ['one that nobody speaks', ['--language', 'cobol']],
  ])('names the languages where there is %s', async (_, words) => {
    const { status, err } = await skill('new', 'never', ...words);
    expect(err).toContain('expected --language with one of assemblyscript, c, go, javascript, python, rust');
    expect(status).toBe(64);
  });

  test('leaves a folder with files as it is', async () => {
    mkdirSync(join(scratch, 'full'));
    writeFileSync(join(scratch, 'full', '.hidden'), 'mine');
    const { status, err } = await make('full');
    expect(err).toContain(
      'Cannot create the skill in "full": the folder has files, expected a new or empty one',
    );
    expect(status).toBe(64);
    expect(readdirSync(join(scratch, 'full'))).toEqual(['.hidden']);
  });

  test('does not write through a link that leads to a file', async () => {
    writeFileSync(join(scratch, 'target'), 'mine');
    symlinkSync(join(scratch, 'target'), join(scratch, 'link'));
    const { status, err } = await make('link');
    expect(err).toContain('it fails with ENOTDIR, expected a new or empty folder');
    expect(status).toBe(64);
    expect(readFileSync(join(scratch, 'target'), 'utf8')).toBe('mine');
  });

  test('uses an empty folder that is there', async () => {
    mkdirSync(join(scratch, 'empty'));
    expect((await make('empty')).status).toBe(0);
    expect(readdirSync(join(scratch, 'empty'))).toContain('skill.toml');
  });
});
