import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { scratch } from '../fixtures/cli.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { type Built, COMMANDS, CORE, type Language, ROOT, skillBuilder } from '../fixtures/skills/build.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import {
  BROKEN,
  counted,
  planters,
  TEXTS,
  VISITS,
  WRONG,
  WRONG_PAGES,
  WRONG_VISIT,
  WRONG_WORDS,
} from '../fixtures/skills/inputs.ts';
import { type RawEnd, type RawTool, rawTool } from '../fixtures/skills/raw.ts';
import { skillTool } from '../fixtures/skills/tool.ts';
import { CHARACTER } from '../volume/characters.ts';
import { sample, volume } from '../volume/volume.ts';

/* The same two tools in every language of the guide: who calls them cannot tell in which one they were written. */

/** All but one of them in a usual run. */
const LANGUAGES = sample(CORE, 2);
const build = skillBuilder();
const built = new Map<string, Built>();
const raw = new Map<Language, RawTool>();
const { call } = sharedModules(async () => {
  const wanted = LANGUAGES.flatMap((language) =>
    ['words', 'visits'].map((name) => [language, name] as const),
  );
  await Promise.all(
    wanted.map(async ([language, name]) => built.set(`${language}-${name}`, await build(language, name))),
  );
  return {
    tools: LANGUAGES.flatMap((language) => [
      skillTool(`${language}.words`, bytesOf(language, 'words'), 'words'),
      skillTool(`${language}.visit`, bytesOf(language, 'visits'), 'visit', {
        grants: VISITS,
        skill: 'visits',
      }),
      skillTool(`${language}.read-only`, bytesOf(language, 'visits'), 'visit', {
        grants: { storage: [{ read: ['visits/'], write: [] }] },
      }),
      skillTool(`${language}.elsewhere`, bytesOf(language, 'visits'), 'visit', {
        grants: { storage: [{ read: ['other/'], write: ['other/'] }] },
      }),
      skillTool(`${language}.not-granted`, bytesOf(language, 'visits'), 'visit'),
    ]).concat(planters()),
  };
});
const state = join(scratch(), 'state');

function builtOf(language: Language, name: string): Built {
  const found = built.get(`${language}-${name}`);
  if (found === undefined) throw new Error(`Cannot find ${name} in ${language}: it was not built`);
  return found;
}

const bytesOf = (language: Language, name: string) => builtOf(language, name).bytes;

beforeAll(async () => {
  for (const language of LANGUAGES) raw.set(language, await rawTool(bytesOf(language, 'words'), 'words'));
});

/** What all languages gave for an input, byte by byte; the gateway spells inputs in the one canonical way. */
function everywhere(input: Json): RawEnd | undefined {
  const [first, ...others] = LANGUAGES.map((language) => raw.get(language)?.(JSON.stringify(input)));
  for (const other of others) expect(other).toEqual(first);
  return first;
}

describe('words, in every language', () => {
  test.each(TEXTS.map((text) => [JSON.stringify(text).slice(0, 60), text]))('counts %s', async (_, text) => {
    const expected = counted(text);
    for (const language of LANGUAGES) {
      const { code, output } = await call(`${language}.words`, { text });
      expect([language, code, output]).toEqual([language, 'ok', expected]);
    }
    expect(everywhere({ text })).toEqual({ output: JSON.stringify(expected) });
  });

  test('gives the same bytes for every text', () => {
    const spaces = fc.constantFrom(
      ...' \t\n\v\f\r\u0085\u00a0\u1680\u2003\u2028\u202f\u205f\u3000\u200b\ufeff',
    );
    const text = fc.array(fc.oneof(spaces, fc.string({ unit: CHARACTER, maxLength: 6 })), { maxLength: 20 });
    fc.assert(
      fc.property(
        text.map((pieces) => pieces.join('')),
        (each) => {
          expect(everywhere({ text: each })).toEqual({ output: JSON.stringify(counted(each)) });
        },
      ),
      { numRuns: volume(500, 30) },
    );
  });

  test.each(WRONG.map((input) => [JSON.stringify(input), input] as const))('refuses %s', async (_, input) => {
    for (const language of LANGUAGES) {
      const { code, message } = await call(`${language}.words`, input);
      expect([language, code]).toEqual([language, 'tier/tool-error']);
      expect(message).toContain(`"${WRONG_WORDS}" (wrong-input)`);
    }
    expect(everywhere(input)).toEqual({ failure: `{"code":"wrong-input","message":"${WRONG_WORDS}"}` });
  });
});

describe('visit, in every language', () => {
  test('counts on where the others stopped', async () => {
    const turns = [...LANGUAGES, ...LANGUAGES];
    const counts = [];
    for (const language of turns) counts.push((await call(`${language}.visit`, { page: 'home' })).output);
    expect(counts).toEqual(turns.map((_, at) => ({ page: 'home', visits: at + 1 })));
  });

  test('loses no visit when many count at once', async () => {
    const many = Array.from({ length: 8 }, () => LANGUAGES).flat();
    const ends = await Promise.all(many.map((language) => call(`${language}.visit`, { page: 'busy-page' })));
    expect(ends.map(({ code }) => code)).toEqual(many.map(() => 'ok'));
    const counts = ends.map(({ output }) => (output as { visits: number }).visits).sort((a, b) => a - b);
    expect(counts).toEqual(many.map((_, at) => at + 1));
  });

  test.each(WRONG_PAGES.map((input) => [JSON.stringify(input), input] as const))(
    'refuses %s',
    async (_, input) => {
      for (const language of LANGUAGES) {
        const { code, message } = await call(`${language}.visit`, input);
        expect([language, code]).toEqual([language, 'tier/tool-error']);
        expect(message).toContain(`"${WRONG_VISIT}" (wrong-input)`);
      }
    },
  );

  test.each(Object.keys(BROKEN))('says that what is stored is no count: %s', async (page) => {
    expect((await call(`test.${page}`)).output).toEqual([0]);
    for (const language of LANGUAGES) {
      const { message } = await call(`${language}.visit`, { page });
      expect([language, message]).toEqual([language, expect.stringContaining('(no-count)')]);
    }
  });

  test.each([
    ['read-only', 'the visit cannot be written'],
    ['elsewhere', 'the visits cannot be read'],
  ])('says that it may not, where the grant is %s', async (grant, sentence) => {
    for (const language of LANGUAGES) {
      const { message } = await call(`${language}.${grant}`, { page: 'home' });
      expect([language, message]).toEqual([language, expect.stringContaining(`"${sentence}" (no-storage)`)]);
    }
  });

  test('does not start where it was granted no storage', async () => {
    for (const language of LANGUAGES)
      expect((await call(`${language}.not-granted`, { page: 'home' })).code).toBe('tier/invalid-module');
  });
});

describe('a module of the library', () => {
  const importsOf = (language: Language, name: string) =>
    WebAssembly.Module.imports(new WebAssembly.Module(bytesOf(language, name))).map((each) => each.name);

  test.each(LANGUAGES)('imports in %s what it uses and nothing else', (language) => {
    expect(importsOf(language, 'words')).toEqual(['fail']);
    expect(importsOf(language, 'visits').sort()).toEqual(
      ['capability_handle', 'fail', 'result_read', 'storage_get', 'storage_put'].sort(),
    );
  });

  test.each(LANGUAGES)('runs from its file as the guide says, in %s', async (language) => {
    const words = ['wasm', 'run', builtOf(language, 'words').path, '--tool', 'words', '--state', state];
    const good = await palisade([...words, '--input', '{"text":"one three two"}']);
    expect(JSON.parse(good.out)).toEqual({ longest: 'three', words: 3 });
    expect(good.status).toBe(0);
  });
});

test('the guide tells the commands that the examples are built with', () => {
  const guide = readFileSync(join(ROOT, 'docs/writing-skills.md'), 'utf8').replace(/ \\\n\s*/g, ' ');
  for (const language of Object.keys(COMMANDS) as Language[]) {
    const name = language === 'javascript' ? 'skill' : 'words';
    expect(guide).toContain(`$ ${COMMANDS[language](name, `${name}.wasm`)}\n`);
  }
});
