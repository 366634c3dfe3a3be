import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensurePrograms } from '../../tools/programs.mjs';
import { setUpCompilers } from '../../tools/setup.mjs';
import { scratch } from '../fixtures/cli.ts';
import { ROOT } from '../fixtures/skills/build.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { BUILD_MS } from '../fixtures/skills/example-skills.ts';

/*
 * A trap of a skill in each language, built by its real compiler: with `--debug` its author is told the line, without it the
 * functions, and what is packed has only the names of these.
 */

const home = scratch();
const STATE = ['--state', join(home, 'state')];
const skill = (...words: string[]) => palisade(['skill', ...words, ...STATE]);

beforeAll(async () => {
  const say = (step: string) => console.error(`skills: ${step}`);
  await ensurePrograms(say);
  await setUpCompilers(ROOT, say);
}, BUILD_MS);

/** What makes the tool `slug` trap for "!", with the line to which the marker belongs. */
const TRAPS = [
  {
    language: 'c',
    source: 'src/skill.c',
    before: 'PALISADE_TOOL(slug) {\n',
    added:
      '__attribute__((noinline)) static uint32_t part(uint32_t of, uint32_t by) {\n  if (by > 1000000) return 1;\n  return of / by; // here\n}\n\nPALISADE_TOOL(slug) {\n  if (part(input->size, palisade_get(input, palisade_text("text"))->text.length - 1) > 1000) return wrong_input();\n',
    first: 'part',
    own: 'palisade_export_slug',
  },
  {
    language: 'assemblyscript',
    source: 'src/skill.ts',
    before: '  const small = text.toLowerCase();\n',
    added: '  const small = text.toLowerCase();\n  assert(small != "!"); // here\n',
    first: 'src/skill/shortened',
    own: 'src/skill/slug~anonymous|0',
  },
  {
    language: 'rust',
    source: 'src/skill.rs',
    before: 'fn slug(input: &Json) -> Result<Json, Failure> {\n',
    added:
      '#[inline(never)]\nfn part(text: &str) -> u32 {\n    if text == "!" { unreachable!() } // here\n    text.len() as u32\n}\n\nfn slug(input: &Json) -> Result<Json, Failure> {\n    if part(text_in(input)?) > 1000000 { return Err(failure("long", "expected less")); }\n',
    first: 'rust_panic',
    own: 'skill::part',
  },
] as const;

describe.each(TRAPS)('a trap in $language', ({ language, source, before, added, first, own }) => {
  const folder = join(home, language);
  const path = join(folder, source);
  const trapped = async () => {
    const { out, err } = await skill('test', folder);
    return `${out}${err}`.split('\n').find((line) => line.includes('trapped in')) ?? '';
  };

  test(
    'names its functions as the skill is built for others',
    async () => {
      await skill('new', folder, '--language', language, '--id', 'acme.text');
      const text = readFileSync(path, 'utf8');
      expect(text).toContain(before);
      writeFileSync(path, text.replace(before, added));
      const cases = [{ name: 'traps', tool: 'slug', input: { text: '!' }, output: {} }];
      writeFileSync(join(folder, 'tests/trap.json'), JSON.stringify({ cases }));
      expect(await skill('build', folder)).toMatchObject({ status: 0 });
      const told = await trapped();
      expect(told).toContain(`trapped in "${first}" (function `);
      expect(told).toContain(`called by "${own}" (function `);
      expect(told).not.toContain(`${source}:`);
    },
    BUILD_MS,
  );

  test(
    'names the line where it was built with --debug, and in `skill dev`',
    async () => {
      const line =
        readFileSync(path, 'utf8')
          .split('\n')
          .findIndex((each) => each.includes('// here')) + 1;
      const place = `at ${source}:${line}`;
      expect(await skill('build', folder, '--debug')).toMatchObject({ status: 0 });
      expect(await trapped()).toContain(place);
      appendFileSync(path, '\n');
      const dev = await skill('dev', folder, '--once', '--call', 'slug', '--input', '{"text":"!"}');
      expect(dev.out).toContain(place);
      const [, callId = ''] = /tier\/trapped .*(call_[0-9a-z]{25})/.exec(dev.out) ?? [];
      expect((await palisade(['log', callId, ...STATE])).out).toContain(place);
    },
    BUILD_MS,
  );

  test(
    'leaves the lines out of what is packed, and says so',
    async () => {
      const out = join(home, `${language}.skill`);
      const packed = await skill('pack', folder, '--out', out);
      expect(`${packed.out}${packed.err}`).toContain('The lines of sources were left out of skill.wasm');
      const tested = await skill('test', out);
      expect(`${tested.out}${tested.err}`).toContain(`trapped in "${first}"`);
      expect(`${tested.out}${tested.err}`).not.toContain(`${source}:`);
      await skill('build', folder);
      expect(JSON.parse((await skill('pack', folder, '--out', out, '--json')).out).stripped).toEqual([]);
    },
    BUILD_MS,
  );
});

test(
  'a denied host call is told of a case that passes too, with what the author can do',
  async () => {
    const folder = join(home, 'denied');
    await skill('new', folder, '--language', 'c', '--id', 'acme.denied');
    const replace = (file: string, from: string, to: string) => {
      const text = readFileSync(join(folder, file), 'utf8');
      expect(text).toContain(from);
      writeFileSync(join(folder, file), text.replace(from, to));
    };
    const put =
      'palisade_put_stored(palisade_handle(PALISADE_STORAGE, 0), palisade_text("elsewhere/a"), palisade_text("1"), -1);';
    replace('src/skill.c', 'PALISADE_TOOL(slug) {\n', `PALISADE_TOOL(slug) {\n  ${put}\n`);
    const requested = '[capabilities.filesystem]\nread_roots = ["notes/"]\nwrite_roots = ["notes/"]\n';
    expect((await skill('build', folder)).status).toBe(0);
    expect((await skill('check', folder)).out).toContain('write_roots = ["notes/"]');
    replace('skill.toml', '[compat]', `${requested}\n[compat]`);
    const without = await skill('test', folder);
    expect(without).toMatchObject({ status: 0 });
    expect(without.out).toContain('denied: storage_put "elsewhere/a": This call has no grant of it.');
    expect(without.out).toContain('--with-capabilities');
    const granted = await skill(
      'dev',
      folder,
      '--once',
      '--with-capabilities',
      '--call',
      'slug',
      '--input',
      '{"text":"a"}',
    );
    expect(granted.out).toContain('denied: storage_put "elsewhere/a": No prefix of the storage');
  },
  BUILD_MS,
);
