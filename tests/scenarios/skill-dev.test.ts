import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensurePrograms } from '../../tools/programs.mjs';
import { setUpCompilers } from '../../tools/setup.mjs';
import { palisade, scratch } from '../fixtures/cli.ts';
import { ROOT } from '../fixtures/skills/build.ts';
import { type DevEvent, DevProcess } from '../fixtures/skills/dev.ts';
import { BUILD_MS } from '../fixtures/skills/example-skills.ts';

/* An author edits a skill while `palisade skill dev` runs: the built command, real compilers, real jails. */

const home = scratch();
const state = join(home, 'state');
const say = (step: string) => console.error(`skills: ${step}`);

beforeAll(async () => {
  await ensurePrograms(say);
  await setUpCompilers(ROOT, say);
}, BUILD_MS);

async function make(name: string, language: string): Promise<string> {
  const folder = join(home, name);
  const made = await palisade(['skill', 'new', folder, '--language', language, '--id', 'acme.text']);
  expect(made).toMatchObject({ status: 0 });
  return folder;
}

function edit(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
}

const of = (events: readonly DevEvent[], name: string) => events.filter(({ event }) => event === name);
const last = (events: readonly DevEvent[]) => events.at(-1);
/** What a session has put outside of its folder. */
const temporary = ({ pid }: DevProcess) =>
  readdirSync('/var/tmp').filter((name) => name.startsWith(`palisade-build-${pid}-`));
/** The processes that were started with a place of the session. */
const processes = ({ pid }: DevProcess) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => commandLine(name).includes(`palisade-build-${pid}-`));

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
const left = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('.palisade'));

const LANGUAGES = [
  {
    language: 'assemblyscript',
    source: 'src/skill.ts',
    good: 'lines += 1;',
    wrong: 'lines += 2;',
    broken: 'liens += 1;',
  },
  { language: 'c', source: 'src/skill.c', good: 'lines++;', wrong: 'lines += 2;', broken: 'liens++;' },
];

describe.each(LANGUAGES)('a skill in $language', ({ language, source, good, wrong, broken }) => {
  test(
    'is built and tested after each edit, and Ctrl-C leaves nothing behind',
    async () => {
      const folder = await make(language, language);
      // A module of an earlier build, which the first round replaces: that is not an edit.
      writeFileSync(join(folder, 'skill.wasm'), 'older');
      const dev = new DevProcess([folder, '--state', state, '--call', 'count', '--input', '{"text":"a b"}']);
      const first = await dev.round();
      expect(of(first, 'built')).toMatchObject([{ source, module: 'skill.wasm' }]);
      expect(of(first, 'case')).toHaveLength(6);
      expect(of(first, 'call')).toMatchObject([{ output: { characters: 3, lines: 1, words: 2 } }]);
      expect(last(first)).toMatchObject({ event: 'done', code: 'ok', passed: 6, failed: 0 });

      edit(join(folder, source), good, wrong);
      const failed = await dev.round();
      expect(of(failed, 'changed')).toMatchObject([{ files: [source] }]);
      expect(failed.find(({ verdict }) => verdict === 'failed')?.why).toContain('"lines":3');
      expect(last(failed)).toMatchObject({ code: 'skill/tests-failed', failed: 1 });

      edit(join(folder, source), wrong, broken);
      const unbuilt = await dev.round();
      const [{ problems, output } = { problems: [], output: '' }] = of(unbuilt, 'build-failed');
      expect(problems).toMatchObject([{ file: source, message: expect.stringMatching(/liens/) }]);
      expect((problems as { line: number }[])[0]?.line).toBeGreaterThan(1);
      expect(output).toContain('liens');
      expect(of(unbuilt, 'case')).toEqual([]);
      expect(last(unbuilt)).toMatchObject({ code: 'skill/build-failed' });

      edit(join(folder, source), broken, good);
      expect(last(await dev.round())).toMatchObject({ code: 'ok', passed: 6 });

      // An edit while another one is built is not lost.
      edit(join(folder, source), good, wrong);
      await dev.upTo('changed');
      edit(join(folder, source), wrong, good);
      await dev.upTo('changed');
      expect(last(await dev.round())).toMatchObject({ code: 'ok' });

      edit(join(folder, 'tests/slug.json'), '"hello-world-part-2"', '"hello"');
      const onlyTested = await dev.round();
      expect(of(onlyTested, 'built')).toEqual([]);
      expect(last(onlyTested)).toMatchObject({ code: 'skill/tests-failed', failed: 1 });

      // The compiler that stays; what was copied for a jail is there as well where this clone is hidden from jails.
      expect(processes(dev).length > 0).toBe(language === 'assemblyscript');
      expect(await dev.interrupt()).toBe(0);
      expect(left(folder)).toEqual([]);
      expect([...temporary(dev), ...processes(dev)]).toEqual([]);
      expect(dev.err).toBe('');
    },
    BUILD_MS,
  );
});

const REQUESTING = `#include <palisade.h>

PALISADE_TOOL(count) {
  (void)input;
  palisade_log(PALISADE_INFO, palisade_text("asking"));
  const palisade_request request = {
      .method = palisade_text("GET"), .url = palisade_text("https://api.example.com/v1/words?of=a")};
  const palisade_parts parts = palisade_send(palisade_handle(PALISADE_HTTP, 0), &request);
  if (parts.error) return palisade_fail(palisade_text("no-answer"), palisade_text("the other side did not answer"));
  return parts.body;
}
`;

const ANSWER = '{"characters":1,"lines":1,"words":1}';
const fixturesFor = (url: string) =>
  JSON.stringify({ fixtures: [{ request: { url }, response: { body: JSON.parse(ANSWER) } }] });

test(
  'a skill that makes requests is tested with fixtures, and a request without one says what to add',
  async () => {
    const folder = await make('requesting', 'c');
    writeFileSync(join(folder, 'src/skill.c'), REQUESTING);
    const toml = join(folder, 'skill.toml');
    edit(
      toml,
      '[compat]',
      '[capabilities]\nlog = true\nhttp_egress_allowlist = ["api.example.com"]\n[compat]',
    );
    const text = readFileSync(toml, 'utf8');
    const slug = text.slice(text.lastIndexOf('[[entrypoints.tools]]'), text.indexOf('# It requests'));
    writeFileSync(toml, text.replace(slug, ''));
    const needy = {
      name: 'asks',
      tool: 'count',
      input: { text: 'a' },
      output: JSON.parse(ANSWER),
      needs: ['http'],
    };
    writeFileSync(join(folder, 'tests/count.json'), JSON.stringify({ cases: [needy] }));
    writeFileSync(join(folder, 'tests/slug.json'), '{"cases":[]}');
    mkdirSync(join(folder, 'fixtures'));
    writeFileSync(join(folder, 'fixtures/http.json'), fixturesFor('https://api.example.com/v1/other'));

    const dev = new DevProcess([folder, '--state', state]);
    const missed = await dev.round();
    const [{ why } = { why: '' }] = of(missed, 'case');
    expect(why).toContain('the request GET https://api.example.com/v1/words?of=a has no fixture');
    expect(why).toContain(
      'Add one to fixtures/http.json: {"request":{"method":"GET","url":"https://api.example.com',
    );
    expect(of(missed, 'log')).toMatchObject([{ line: 'info: asking' }]);
    expect(last(missed)).toMatchObject({ code: 'skill/tests-failed' });

    writeFileSync(join(folder, 'fixtures/http.json'), fixturesFor('https://api.example.com/v1/words?of=a'));
    expect(last(await dev.round())).toMatchObject({ code: 'ok', passed: 1, failed: 0 });

    writeFileSync(join(folder, 'fixtures/http.json'), '{"fixtures":[{"request":{"url":"x"}}]}');
    const invalid = await dev.round();
    expect(of(invalid, 'checked')).toMatchObject([
      {
        problems: [{ file: 'fixtures/http.json', line: 1, message: expect.stringContaining('absolute URL') }],
      },
    ]);
    expect(await dev.interrupt()).toBe(0);
  },
  BUILD_MS,
);

test(
  'a folder that vanishes ends the session with the reason, and nothing of it is made anew',
  async () => {
    const folder = await make('vanishing', 'assemblyscript');
    const dev = new DevProcess([folder, '--state', state]);
    expect(last(await dev.round())).toMatchObject({ code: 'ok' });
    renameSync(folder, `${folder}-elsewhere`);
    expect(last(await dev.round())).toMatchObject({
      code: 'skill/build-failed',
      message: expect.stringContaining('it is gone'),
    });
    expect(await dev.ended).toBe(1);
    expect(existsSync(folder)).toBe(false);
    expect([...temporary(dev), ...processes(dev)]).toEqual([]);
  },
  BUILD_MS,
);

test(
  'one round with --once ends with the status of what it found',
  async () => {
    const folder = await make('once', 'c');
    const once = () => palisade(['skill', 'dev', folder, '--once', '--state', state]);
    const good = await once();
    expect(good.out).toMatch(/^✓ slug: says so where nothing is left {2}\d+ fuel$/m);
    expect(good.out).toMatch(/^ok {2}6 passed, 0 failed, 0 not run {2}build \d+ ms {2}\d+ ms in all$/m);
    expect(good.status).toBe(0);
    edit(join(folder, 'src/skill.c'), 'lines++;', 'liens++;');
    const broken = await once();
    expect(broken.err).toMatch(/^ {2}src\/skill\.c:\d+:\d+: error: .*liens/m);
    expect(broken.out).toMatch(/^skill\/build-failed {2}\d+ ms in all$/m);
    expect(broken.status).toBe(1);
    edit(join(folder, 'skill.toml'), 'risk = "low"', 'risk = "lowest"');
    const invalid = await once();
    expect(invalid.out).toMatch(/^skill\.toml:\d+:\d+: Cannot use entrypoints\.tools\[0\]\.risk/m);
    expect(invalid.status).toBe(2);
    expect(left(folder)).toEqual([]);
  },
  BUILD_MS,
);
