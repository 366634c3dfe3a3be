import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import { openPackage } from '../../../src/skills/package/open-package.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';
import { ECHO_MANIFEST, writeSkill } from './skill-fixture.ts';

const scratch = makeScratch();
const skill = (...words: string[]) => runInside(['skill', ...words], { cwd: scratch });
const folder = (name: string) => join(scratch, name);
const entriesOf = (file: string) => [...openPackage(readFileSync(folder(file))).entries.keys()];

describe('palisade skill pack', () => {
  test('makes one file with a name of its own, and says what is in it', async () => {
    writeSkill(folder('plain'));
    const { status, out, err } = await skill('pack', 'plain');
    const bytes = readFileSync(folder('echo-1.2.0.skill'));
    expect(out).toContain('packed  acme.echo 1.2.0 into echo-1.2.0.skill\n');
    expect(out).toContain(`  ${bytes.length} bytes, sha256 ${digestBytes(bytes)}\n`);
    expect(out).toContain(`echo.wasm`);
    expect(err).toBe('→ palisade skill sign echo-1.2.0.skill --key FILE\n');
    expect(status).toBe(0);
  });

  test('gives the same bytes for the same files, whenever and wherever they were written', async () => {
    writeSkill(folder('one'));
    writeSkill(folder('two'), { 'echo-1.0.0.skill': 'an older one' });
    utimesSync(join(folder('two'), 'skill.toml'), 1, 1);
    await skill('pack', 'one', '--out', 'one.skill');
    await skill('pack', 'two', '--out', 'two.skill');
    expect(readFileSync(folder('one.skill')).equals(readFileSync(folder('two.skill')))).toBe(true);
    const { out } = await skill('pack', 'one', '-o', 'one.skill', '--json');
    expect(JSON.parse(out)).toMatchObject({ file: 'one.skill', skill: 'acme.echo', version: '1.2.0' });
  });

  test('takes what belongs to a skill and nothing that lies about', async () => {
    writeSkill(folder('full'), {
      'README.md': 'r',
      'LICENSE-APACHE.txt': 'l',
      'src/deep/er/echo.c': 'int x;',
      'schemas/more/b.json': '{}',
      'tests/notes.txt': 'n',
      'tests/deep/more.json': 'never read',
      '.env': 'TOKEN=1',
      'src/.secret': 's',
      'src/node_modules/a/index.js': 'x',
      'node_modules/a/index.js': 'x',
      'acme.key': 'created: now',
      'notes.txt': 'n',
      'other.wasm': 'x',
    });
    await skill('pack', 'full', '--out', 'full.skill');
    expect(entriesOf('full.skill')).toEqual([
      'LICENSE-APACHE.txt',
      'README.md',
      'SKILL.md',
      'echo.wasm',
      'provenance.json',
      'sbom.cdx.json',
      'schemas/any.json',
      'schemas/more/b.json',
      'skill.toml',
      'src/deep/er/echo.c',
      'tests/echo.json',
    ]);
  });

  test('refuses test cases that no audit could read, with their place, and writes nothing', async () => {
    writeSkill(folder('cases'), { 'tests/echo.json': '{"cases":[{"name":"a","input":{},"output":{}}]}' });
    const { status, err } = await skill('pack', 'cases', '--out', 'cases.skill');
    expect(err).toContain('tests/echo.json:1:11: Cannot use cases[0]: it has no tool');
    expect(err).toContain('palisade skill check');
    expect(err).not.toContain('author');
    expect(status).not.toBe(0);
    expect(readdirSync(scratch)).not.toContain('cases.skill');
  });

  test('takes the lock of npm along, so that the bill of materials has what was built in', async () => {
    const locked = { version: '1.3.0', integrity: `sha512-${Buffer.alloc(64).toString('base64')}` };
    writeSkill(folder('locked'), {
      'package.json': '{ "name": "locked", "dependencies": { "left-pad": "1.3.0" } }',
      'package-lock.json': JSON.stringify({
        ...{ name: 'locked', lockfileVersion: 3 },
        packages: { '': {}, 'node_modules/left-pad': locked },
      }),
    });
    await skill('pack', 'locked', '--out', 'locked.skill');
    const { entries } = openPackage(readFileSync(folder('locked.skill')));
    expect(Buffer.from(entries.get('sbom.cdx.json') ?? '').toString()).toContain('pkg:npm/left-pad@1.3.0');
  });

  test('says to build a module that is still to be built', async () => {
    const build = '[build]\nlanguage = "c"\nmodules = [{ source = "src/echo.c", module = "echo.wasm" }]\n';
    const manifest = `${ECHO_MANIFEST}\n${build}`;
    writeSkill(folder('unbuilt'), { 'skill.toml': manifest, 'src/echo.c': 'int x;', 'echo.wasm': null });
    const { status, err } = await skill('pack', 'unbuilt', '--out', 'unbuilt.skill');
    expect(err).toContain('Cannot find "echo.wasm": no such file\n→ Build it first');
    expect(status).toBe(2);
    expect(readdirSync(scratch)).not.toContain('unbuilt.skill');
  });

  test.each([
    ['a source', 'src/echo.c'],
    ['a schema', 'schemas/more.json'],
    ['the prose', 'SKILL.md'],
    ['the module', 'echo.wasm'],
  ])('refuses %s that is a link, and keeps the old package', async (what, path) => {
    const name = `linked-${what.replace(' ', '-')}`;
    writeFileSync(folder('outside'), '{ "not": "yours" }');
    writeSkill(folder(name), { [path]: null, 'src/other.c': 'int x;' });
    symlinkSync(folder('outside'), join(folder(name), path));
    writeFileSync(folder('kept.skill'), 'old');
    const { status, err } = await skill('pack', name, '--out', 'kept.skill');
    expect(err).toContain(`Cannot use "${path}": it is a link, expected a file`);
    expect(status).toBe(2);
    expect(readFileSync(folder('kept.skill'), 'utf8')).toBe('old');
  });

  test('does not look into a folder that is a link', async () => {
    writeSkill(folder('linked-folder'));
    mkdirSync(folder('elsewhere'));
    writeFileSync(join(folder('elsewhere'), 'private.txt'), 'p');
    symlinkSync(folder('elsewhere'), join(folder('linked-folder'), 'src'));
    const { status, err } = await skill('pack', 'linked-folder', '--out', 'never.skill');
    expect(err).toContain('it is a link, expected a file');
    expect(status).toBe(2);
  });

  test('does not wait for a pipe in the folder', async () => {
    writeSkill(folder('piped'));
    mkdirSync(join(folder('piped'), 'src'));
    execFileSync('mkfifo', [join(folder('piped'), 'src/pipe.c')]);
    const { status, err } = await skill('pack', 'piped', '--out', 'never.skill');
    expect(err).toContain('Cannot use "src/pipe.c": it is something else, expected a file');
    expect(status).toBe(2);
  });

  test('never packs a private key, whatever its name', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeSkill(folder('keyed'), { 'src/data.txt': `created: now\n${pem}` });
    const { status, err } = await skill('pack', 'keyed', '--out', 'never.skill');
    expect(err).toContain(
      'Cannot use "src/data.txt": it contains a private key, which a package must not have',
    );
    expect(status).toBe(2);
    writeSkill(folder('talks'), { 'src/data.txt': 'It begins with -----BEGIN PRIVATE KEY----- and then…' });
    expect((await skill('pack', 'talks', '--out', 'talks.skill')).status).toBe(0);
  });

  test.each([
    ['a folder that is not there', ['nowhere'], 64, 'no such folder'],
    ['a file', ['file'], 64, 'it is a file'],
    ['a folder without a skill', ['.'], 2, 'it has no skill.toml'],
  ])('refuses %s', async (_, words, status, message) => {
    writeFileSync(folder('file'), 'x');
    const ran = await skill('pack', ...words);
    expect(ran.err).toContain(message);
    expect(ran.status).toBe(status);
  });

  test('refuses a place that cannot be written', async () => {
    writeSkill(folder('plain'));
    const { status, err } = await skill('pack', 'plain', '--out', 'no/such/folder/a.skill');
    expect(err).toContain('Cannot write "');
    expect(status).toBe(64);
  });
});
