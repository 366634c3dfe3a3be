import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ensurePrograms } from '../../tools/programs.mjs';
import { scratch } from '../fixtures/cli.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { BUILD_MS } from '../fixtures/skills/example-skills.ts';

/* A skill in Rust, from an empty folder to a call of the installed tool, with the compiler of the system. */

const home = scratch();
const [folder, file, key] = ['text', 'text.skill', 'text.key'].map((name) => join(home, name)) as [
  string,
  string,
  string,
];
const run = (...words: string[]) => palisade([...words, '--state', join(home, 'state')]);
const skill = (...words: string[]) => run('skill', ...words);

beforeAll(() => ensurePrograms((step: string) => console.error(`skills: ${step}`)), BUILD_MS);

test(
  'is made, built, checked and tested without a word of editing, and builds to the same bytes again',
  async () => {
    expect(await skill('new', folder, '--language', 'rust', '--id', 'acme.text')).toMatchObject({
      status: 0,
    });
    expect(await skill('build', folder)).toMatchObject({ status: 0 });
    const first = readFileSync(join(folder, 'skill.wasm'));
    expect(await skill('check', folder)).toMatchObject({ status: 0, out: '' });
    const tested = await skill('test', folder, '--json');
    expect(JSON.parse(tested.out)).toMatchObject({ passed: 6, failed: 0, notRun: 0 });
    await skill('build', folder);
    expect(readFileSync(join(folder, 'skill.wasm')).equals(first)).toBe(true);
  },
  BUILD_MS,
);

test(
  'is packed, signed, installed and called',
  async () => {
    expect(await skill('pack', folder, '--out', file)).toMatchObject({ status: 0 });
    expect(await skill('sign', file, '--key', key, '--new-key')).toMatchObject({ status: 0 });
    expect(await run('trust', 'add', 'acme', `${key}.pub.json`, '--yes')).toMatchObject({ status: 0 });
    const installed = JSON.parse((await skill('install', file, '--json')).out);
    expect(installed.skill.report).toMatchObject({ verdict: 'passed', cases: { passed: 6, failed: 0 } });
    const yes = ['--yes', '--reason', 'a test', '--accept-findings'];
    expect(await skill('approve', 'acme.text', ...yes)).toMatchObject({ status: 0 });
    const call = (tool: string, text: string) =>
      run('call', `acme.text.${tool}`, '--input', JSON.stringify({ text }), '--json', '--embedded');
    const counted = JSON.parse((await call('count', 'naïve 日本 🙂\n"\\"')).out);
    expect(counted).toMatchObject({ status: 'ok', output: { characters: 14, lines: 2, words: 4 } });
    const refused = JSON.parse((await call('slug', '?!')).out);
    expect(refused).toMatchObject({ code: 'tier/tool-error', message: expect.stringContaining('no-name') });
  },
  BUILD_MS,
);

test(
  'shows an error of its compiler with its line',
  async () => {
    const source = join(folder, 'src/skill.rs');
    writeFileSync(source, readFileSync(source, 'utf8').replace('let words =', 'let wrods ='));
    const dev = await skill('dev', folder, '--once', '--json');
    const failed = dev.out.split('\n').find((line) => line.includes('"event":"build-failed"')) ?? '{}';
    expect(JSON.parse(failed).problems).toContainEqual(
      expect.objectContaining({ file: 'src/skill.rs', message: expect.stringContaining('words') }),
    );
    expect(dev.status).toBe(1);
  },
  BUILD_MS,
);
