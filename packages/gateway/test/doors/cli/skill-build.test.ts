import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { layOutWorld, makeScratchFolder } from '../../../src/doors/cli/skill/build-tool.ts';
import type { Edge } from '../../../src/doors/cli/verb.ts';
import { openRecords, systemClock, systemRandom } from '../../../src/open.ts';
import { runInside } from './fake-edge.ts';
import { holdGateways } from './held-gateways.ts';
import { makeScratch, useBuild } from './palisade.ts';

/* Real compilers in a real jail, with the policies that a new state directory starts with. */
useBuild();
const scratch = makeScratch();
const { open: openGateway, close } = holdGateways();
afterAll(close);
const ROOT = resolve(import.meta.dirname, '../../../../..');
const at = (...parts: string[]) => join(scratch, ...parts);

function palisade(words: readonly string[], parts: Partial<Edge> = {}) {
  return runInside([...words, '--state', at('state')], {
    ...{ clock: systemClock, random: systemRandom, cwd: scratch, openGateway, openRecords },
    packageFolders: [join(ROOT, 'node_modules')],
    ...parts,
  });
}

const build = (name: string, ...words: string[]) => palisade(['skill', 'build', name, ...words]);

/** A new skill in C; gives the path of its source. */
async function make(name: string, language = 'c'): Promise<string> {
  expect((await palisade(['skill', 'new', name, '--language', language, '--id', 'acme.text'])).status).toBe(
    0,
  );
  return at(name, 'src', language === 'c' ? 'skill.c' : 'skill.ts');
}

/** What is in the folder of a skill, beside what `new` has put there. */
const left = (name: string) =>
  readdirSync(at(name)).filter((each) => /^(?:\.palisade|.*\.wasm|planted)/.test(each));

describe('palisade skill build', () => {
  test('builds the modules of the manifest by a call that is recorded like any other', async () => {
    await make('good');
    const { status, out } = await build('good', '--json');
    const reported = JSON.parse(out);
    expect(reported).toMatchObject({ ok: true, skill: 'acme.text', language: 'c' });
    expect(status).toBe(0);
    const bytes = readFileSync(at('good', 'skill.wasm'));
    expect(bytes.subarray(0, 4).toString('latin1')).toBe('\0asm');
    expect(reported.modules).toMatchObject([
      { source: 'src/skill.c', module: 'skill.wasm', bytes: bytes.length },
    ]);
    expect(left('good')).toEqual(['skill.wasm']);
    const receipt = await palisade(['receipt', reported.modules[0].callId, '--decode', '--json']);
    expect(receipt.out).toContain('palisade.skill.build');
    expect(receipt.out).toContain('bubblewrap');
  });

  test('gives the same bytes again', async () => {
    await make('twice');
    await build('twice');
    const first = readFileSync(at('twice', 'skill.wasm'));
    await build('twice');
    expect(readFileSync(at('twice', 'skill.wasm')).equals(first)).toBe(true);
  });

  test('shows what the compiler says, and leaves the old module where it was', async () => {
    const source = await make('broken');
    writeFileSync(source, '#include <palisade.h>\nPALISADE_TOOL(count) { return oops; }\n');
    writeFileSync(at('broken', 'skill.wasm'), 'old');
    const { status, err } = await build('broken');
    expect(err).toMatch(/^ {2}src\/skill\.c:2:\d+: error: .*oops/m);
    expect(err).toContain(
      'failed  skill/build-failed\nCannot build "skill.wasm" from "src/skill.c": clang exited',
    );
    expect(status).toBe(1);
    expect(readFileSync(at('broken', 'skill.wasm'), 'utf8')).toBe('old');
    expect(left('broken')).toEqual(['skill.wasm']);
    const { out } = await build('broken', '--json');
    expect(JSON.parse(out)).toMatchObject({
      code: 'skill/build-failed',
      output: expect.stringContaining('oops'),
    });
  });

  test('needs an approval for agents by the policies that a new state directory starts with', async () => {
    await make('agents');
    const { status, out } = await build('agents', '--as', 'agent:ada', '--json');
    expect(JSON.parse(out)).toMatchObject({ status: 'refused', code: 'policy/approval-required' });
    expect(status).toBe(2);
    expect(left('agents')).toEqual([]);
  });

  test('shows the compiler nothing of this machine but the system and the skill', async () => {
    const source = await make('curious');
    writeFileSync(at('outside.h'), '#define SECRET 1\n');
    const include = (path: string) =>
      writeFileSync(source, `#include <palisade.h>\n#include "${path}"\nint secret = SECRET;\n`);
    include(at('outside.h'));
    const refused = await build('curious');
    expect(refused.err).toContain("outside.h' file not found");
    expect(refused.status).toBe(1);
    writeFileSync(at('curious', 'src', 'inside.h'), '#define SECRET 1\n');
    include('inside.h');
    expect((await build('curious')).status).toBe(0);
  });

  test('does not write through a link that stands where the module goes', async () => {
    await make('linked');
    writeFileSync(at('victim'), 'mine');
    symlinkSync(at('victim'), at('linked', 'skill.wasm'));
    const { status, err } = await build('linked');
    expect(err).toContain('Cannot write "skill.wasm": it is not a regular file');
    expect(status).toBe(1);
    expect(readFileSync(at('victim'), 'utf8')).toBe('mine');
    expect(lstatSync(at('linked', 'skill.wasm')).isSymbolicLink()).toBe(true);
  });

  test.each([
    ['assemblyscript', 'assemblyscript', 'npm install --save-dev assemblyscript @palisade/guest'],
    [
      'javascript',
      '@bytecodealliance/componentize-js',
      'npm install --save-dev @bytecodealliance/componentize-js',
    ],
    ['c', '@palisade/guest', 'npm install --save-dev @palisade/guest'],
  ])('says what to install for %s', async (language, missing, command) => {
    await palisade(['skill', 'new', `bare-${language}`, '--language', language, '--id', 'acme.text']);
    const { status, err } = await palisade(['skill', 'build', `bare-${language}`], { packageFolders: [] });
    expect(err).toContain(`${missing} is not installed`);
    expect(err).toContain(`→ Run \`${command}`);
    expect(status).toBe(1);
    expect(left(`bare-${language}`)).toEqual([]);
  });

  test('refuses a folder of tools that is not there', async () => {
    await make('tools');
    const { status, err } = await build('tools', '--tools', 'nowhere');
    expect(err).toContain('Cannot use --tools "nowhere": no such folder');
    expect(status).toBe(64);
  });

  test('says so where nothing can be written', () => {
    expect(() => makeScratchFolder('/proc')).toThrow(
      expect.objectContaining({ code: 'skill/build-failed', message: expect.stringContaining('"/proc"') }),
    );
  });

  test('says so where the manifest builds nothing', async () => {
    await make('nothing');
    const manifest = readFileSync(at('nothing', 'skill.toml'), 'utf8');
    writeFileSync(at('nothing', 'skill.toml'), manifest.replace(/\[build\][\s\S]*$/, ''));
    const { status, err } = await build('nothing');
    expect(err).toContain('Cannot build: skill.toml has no [build] section');
    expect(status).toBe(1);
  });
});

describe('a compiler that is not what it seems', () => {
  /** Puts a script in the place of asc, into the skill itself. */
  async function withCompiler(name: string, script: string): Promise<void> {
    await make(name, 'assemblyscript');
    const folder = at(name, 'node_modules/assemblyscript/bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'asc.js'), script);
  }

  const OUT = `process.argv[process.argv.indexOf('--outFile') + 1]`;

  test('reads, writes and reaches nothing outside of the skill', async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    writeFileSync(at('private.txt'), 'private');
    await withCompiler(
      'hostile',
      `const fs = require('node:fs');
       const tried = {};
       const attempt = (name, act) => { try { act(); tried[name] = 'done'; } catch (error) { tried[name] = error.code; } };
       attempt('read', () => fs.readFileSync(${JSON.stringify(at('private.txt'))}));
       attempt('write', () => fs.writeFileSync('/usr/planted', 'x'));
       attempt('inside', () => fs.writeFileSync('planted', 'x'));
       const socket = require('node:net').connect(${port}, '127.0.0.1');
       const end = (how) => { tried.network = how; console.log(JSON.stringify(tried)); process.exit(3); };
       socket.on('connect', () => end('done'));
       socket.on('error', (error) => end(error.code));`,
    );
    const { status, out } = await build('hostile', '--json');
    const { code, output } = JSON.parse(out);
    expect(code).toBe('skill/build-failed');
    const tried = JSON.parse(output);
    expect(tried.inside).toBe('done');
    expect([tried.read, tried.write, tried.network]).not.toContain('done');
    expect(tried.read).toBe('ENOENT');
    expect(status).toBe(1);
  });

  test('cannot leave a link as its module', async () => {
    writeFileSync(at('private.txt'), 'private');
    await withCompiler(
      'links',
      `require('node:fs').symlinkSync(${JSON.stringify(at('private.txt'))}, ${OUT});`,
    );
    const { status } = await build('links');
    expect(status).toBe(2);
    expect(left('links')).toEqual([]);
  });

  test('cannot have us write through a folder that it made a link', async () => {
    await withCompiler(
      'moves',
      `const fs = require('node:fs');
       fs.writeFileSync(${OUT}, Buffer.from('\\0asm\\1\\0\\0\\0', 'latin1'));
       fs.symlinkSync(${JSON.stringify(at('elsewhere'))}, 'out');`,
    );
    mkdirSync(at('elsewhere'));
    const manifest = readFileSync(at('moves', 'skill.toml'), 'utf8');
    writeFileSync(at('moves', 'skill.toml'), manifest.replaceAll('"skill.wasm"', '"out/skill.wasm"'));
    const { status, err } = await build('moves');
    expect(err).toContain('Cannot write "out/skill.wasm": "out" is not a folder');
    expect(status).toBe(1);
    expect(readdirSync(at('elsewhere'))).toEqual([]);
    rmSync(at('moves', 'out'));
    await withCompilerAgain(
      'moves',
      `require('node:fs').writeFileSync(${OUT}, Buffer.from('\\0asm\\1\\0\\0\\0', 'latin1'));`,
    );
    expect((await build('moves')).status).toBe(0);
    expect(readdirSync(at('moves', 'out'))).toEqual(['skill.wasm']);
  });

  async function withCompilerAgain(name: string, script: string): Promise<void> {
    writeFileSync(at(name, 'node_modules/assemblyscript/bin/asc.js'), script);
  }

  test('is not taken from where a link in the skill leads', async () => {
    mkdirSync(at('private/include'), { recursive: true });
    writeFileSync(at('private/package.json'), '{}');
    writeFileSync(at('private/include/palisade.h'), 'int secret;\n');
    await make('lured');
    mkdirSync(at('lured/node_modules/@palisade'), { recursive: true });
    symlinkSync(at('private'), at('lured/node_modules/@palisade/guest'));
    const lured = await palisade(['skill', 'build', 'lured'], { packageFolders: [] });
    expect(lured.err).toContain('@palisade/guest is not installed');
    expect(lured.status).toBe(1);
    const trusted = await build('lured');
    expect(trusted.status).toBe(0);
  });

  test('is given no world that is a link', () => {
    const guest = at('guest');
    mkdirSync(join(guest, 'wit'), { recursive: true });
    writeFileSync(join(guest, 'wit/tool.wit'), 'package a:b;');
    const [folder, source] = [at('state'), 'src/skill.js'];
    const scratchFolder = makeScratchFolder(folder);
    expect(layOutWorld(scratchFolder, { folder, source, guest })).toBe(`${scratchFolder.name}/wit`);
    symlinkSync(at('private.txt'), join(guest, 'wit/evil.wit'));
    expect(() => layOutWorld(scratchFolder, { folder, source, guest })).toThrow(
      'it is a link, expected a file',
    );
    scratchFolder.remove();
    expect(readdirSync(folder).filter((name) => name.startsWith('.palisade'))).toEqual([]);
  });

  test('that leaves a trap in the folder is told on', async () => {
    await withCompiler(
      'traps',
      `const fs = require('node:fs');
       fs.mkdirSync('.git/hooks', { recursive: true });
       fs.writeFileSync('.git/hooks/pre-commit', '#!/bin/sh\\n', { mode: 0o755 });
       fs.writeFileSync(${OUT}, Buffer.from('\\0asm\\1\\0\\0\\0', 'latin1'));`,
    );
    const { status, err } = await build('traps');
    expect(err).toContain('.git/hooks/pre-commit');
    expect(status).toBe(0);
  });

  test('that writes nothing has built nothing', async () => {
    await withCompiler('silent', '');
    const { status, err } = await build('silent');
    expect(err).toContain('Cannot build "skill.wasm": the compiler wrote no module');
    expect(status).toBe(1);
  });
});
