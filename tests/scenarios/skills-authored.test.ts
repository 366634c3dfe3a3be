import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensurePrograms } from '../../tools/programs.mjs';
import { setUpCompilers } from '../../tools/setup.mjs';
import { scratch } from '../fixtures/cli.ts';
import { ROOT } from '../fixtures/skills/build.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { BUILD_MS } from '../fixtures/skills/example-skills.ts';
import { sample, VOLUME } from '../volume/volume.ts';

/* What an author does, from an empty folder to a signed package, with the real compilers. */

const home = scratch();
const state = join(home, 'state');
const skill = (...words: string[]) => palisade(['skill', ...words, '--state', state]);
const say = (step: string) => console.error(`skills: ${step}`);

beforeAll(async () => {
  await ensurePrograms(say);
  await setUpCompilers(ROOT, say);
}, BUILD_MS);

/** One of them in a usual run; a build of JavaScript takes longer than all the rest of this file. */
const LANGUAGES = VOLUME === 1 ? ['assemblyscript', 'c', 'javascript'] : sample(['assemblyscript', 'c']);

describe.each(LANGUAGES)('a skill in %s', (language) => {
  const folder = join(home, language);
  const [file, key] = [join(home, `${language}.skill`), join(home, `${language}.key`)];

  test(
    'is made, built and tested without a word of editing',
    async () => {
      expect(await skill('new', folder, '--language', language, '--id', 'acme.text')).toMatchObject({
        status: 0,
      });
      expect(await skill('build', folder)).toMatchObject({ status: 0 });
      expect(await skill('check', folder)).toMatchObject({ status: 0, out: '' });
      const tested = await skill('test', folder, '--json');
      expect(JSON.parse(tested.out)).toMatchObject({ skill: 'acme.text', passed: 6, failed: 0, notRun: 0 });
      expect(tested.status).toBe(0);
      expect(readdirSync(folder).filter((name) => name.startsWith('.palisade'))).toEqual([]);
    },
    BUILD_MS,
  );

  test(
    'is packed to the same bytes twice, signed and looked at',
    async () => {
      const again = join(home, `${language}-again.skill`);
      expect(await skill('pack', folder, '--out', file)).toMatchObject({ status: 0 });
      expect(await skill('pack', folder, '--out', again)).toMatchObject({ status: 0 });
      expect(readFileSync(file).equals(readFileSync(again))).toBe(true);
      expect(await skill('sign', file, '--key', key, '--new-key')).toMatchObject({ status: 0 });
      const { keyId } = JSON.parse(readFileSync(`${key}.pub.json`, 'utf8'));
      const inspected = await skill('inspect', file, '--json');
      expect(JSON.parse(inspected.out)).toMatchObject({
        ...{ id: 'acme.text', version: '0.1.0', publisher: 'acme', signer: { keyId }, capabilities: [] },
        tools: [{ tool: 'acme.text.count' }, { tool: 'acme.text.slug' }],
      });
    },
    BUILD_MS,
  );

  test('is refused once a byte of the package is another', async () => {
    const bytes = readFileSync(file);
    const place = bytes.indexOf('Counts the characters');
    expect(place).toBeGreaterThan(0);
    bytes[place] = 0x63;
    const changed = join(home, `${language}-changed.skill`);
    writeFileSync(changed, bytes);
    for (const verb of ['inspect', 'test']) expect(await skill(verb, changed)).toMatchObject({ status: 2 });
  });
});

test('a mistake in the source is shown with its line, a wrong answer with the difference', async () => {
  const folder = join(home, 'mistaken');
  await skill('new', folder, '--language', 'c', '--id', 'acme.text');
  const path = join(folder, 'src/skill.c');
  const source = readFileSync(path, 'utf8');
  writeFileSync(path, source.replace('lines++;', 'liens++;'));
  const built = await skill('build', folder);
  expect(built.err).toMatch(/src\/skill\.c:\d+:\d+: error: .*liens/);
  expect(built.status).toBe(1);
  writeFileSync(path, source.replace('lines++;', 'lines += 2;'));
  expect(await skill('build', folder)).toMatchObject({ status: 0 });
  const tested = await skill('test', folder);
  expect(tested.out).toContain(
    'it gave {"characters":24,"lines":3,"words":5}, expected {"characters":24,"lines":2,"words":5}',
  );
  expect(tested.err).toContain('failed  skill/tests-failed');
  expect(tested.status).toBe(1);
});

test('an agent may not run a compiler without an approval, and a folder with files is left alone', async () => {
  const folder = join(home, 'guarded');
  await skill('new', folder, '--language', 'c', '--id', 'acme.text');
  const built = await skill('build', folder, '--as', 'agent:ada');
  expect(built.err).toContain('refused  policy/approval-required');
  expect(built.status).toBe(2);
  const full = join(home, 'full');
  mkdirSync(full);
  writeFileSync(join(full, 'mine.txt'), 'mine');
  expect(await skill('new', full, '--language', 'c')).toMatchObject({ status: 64 });
  expect(readdirSync(full)).toEqual(['mine.txt']);
});
