import { describe, expect, test } from 'vitest';
import { sharedModules } from '../fixtures/modules/index.ts';
import { type Built, skillBuilder } from '../fixtures/skills/build.ts';
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
import { skillTool } from '../fixtures/skills/tool.ts';
import { sample } from '../volume/volume.ts';

/* The tools of the guide as a component in JavaScript, beside the same ones as modules in C: nobody can tell them apart. */

/** An engine for JavaScript inside of a guest is an interpreter: it takes more than the default for a long text. */
const FUEL = 500_000_000;

const build = skillBuilder();
const built: { component?: Built } = {};

const { call, opened } = sharedModules(async () => {
  const [component, words, visits] = await Promise.all([
    build('javascript', 'skill'),
    build('c', 'words'),
    build('c', 'visits'),
  ]);
  built.component = component;
  const wishes = { grants: VISITS, skill: 'visits', limits: { fuel: FUEL } };
  return {
    config: `[limits]\nfuel = ${FUEL}\n`,
    tools: [
      skillTool('component.words', component.bytes, 'words', wishes),
      skillTool('component.visit', component.bytes, 'visit', wishes),
      skillTool('component.other', component.bytes, 'other', wishes),
      skillTool('component.not-granted', component.bytes, 'words'),
      skillTool('module.words', words.bytes, 'words'),
      skillTool('module.visit', visits.bytes, 'visit', wishes),
      ...planters(),
    ],
  };
});

/** How a call of a component and one of a module end, which is the same. */
async function both(tool: string, input: Parameters<typeof call>[1]) {
  const ends = [await call(`component.${tool}`, input), await call(`module.${tool}`, input)];
  const [component, module] = ends.map(({ code, output, message }) => [code, output, message]);
  expect(component).toEqual(module);
  return ends[0];
}

describe('words, as a component', () => {
  test.each(sample(TEXTS, 6).map((text) => [JSON.stringify(text).slice(0, 60), text]))(
    'counts %s',
    async (_, text) => {
      expect(await both('words', { text })).toMatchObject({ code: 'ok', output: counted(text) });
    },
  );

  test.each(sample(WRONG, 3).map((input) => [JSON.stringify(input), input] as const))(
    'refuses %s',
    async (_, input) => {
      const end = await both('words', input);
      expect(end?.message).toContain(`"${WRONG_WORDS}" (wrong-input)`);
    },
  );
});

describe('visit, as a component', () => {
  test('counts on where a module stopped, and the other way round', async () => {
    const counts = [];
    for (const kind of ['component', 'module', 'component', 'module'])
      counts.push((await call(`${kind}.visit`, { page: 'home' })).output);
    expect(counts).toEqual([1, 2, 3, 4].map((visits) => ({ page: 'home', visits })));
  });

  test('loses no visit when many count at once', async () => {
    const many = Array.from({ length: 4 }, () => ['component', 'module']).flat();
    const ends = await Promise.all(many.map((kind) => call(`${kind}.visit`, { page: 'busy-page' })));
    const counts = ends.map(({ output }) => (output as { visits: number } | null)?.visits);
    expect(counts.sort()).toEqual(many.map((_, at) => at + 1));
  });

  test.each(sample(WRONG_PAGES, 4).map((input) => [JSON.stringify(input), input] as const))(
    'refuses %s',
    async (_, input) => {
      const end = await both('visit', input);
      expect(end?.message).toContain(`"${WRONG_VISIT}" (wrong-input)`);
    },
  );

  test.each(sample(Object.keys(BROKEN), 2))('says that what is stored is no count: %s', async (page) => {
    expect((await call(`test.${page}`)).output).toEqual([0]);
    expect((await both('visit', { page }))?.message).toContain('(no-count)');
  });
});

describe('a component', () => {
  test('says that it has no such tool', async () => {
    const { code, message } = await call('component.other', {});
    expect([code, message]).toEqual(['tier/tool-error', expect.stringContaining('(no-tool)')]);
  });

  test('does not start where it was granted no storage', async () => {
    expect((await call('component.not-granted', { text: 'a' })).code).toBe('tier/invalid-module');
  });

  test('runs from its file as the guide says', async () => {
    // What the gateway of this file prepared need not be prepared again.
    const { stateDir } = opened();
    const { out, status } = await palisade([
      ...['wasm', 'run', built.component?.path ?? '', '--tool', 'words', '--grant', 'storage=visits/'],
      ...['--state', stateDir, '--input', '{"text":"one three two"}'],
    ]);
    expect(JSON.parse(out)).toEqual({ longest: 'three', words: 3 });
    expect(status).toBe(0);
  });
});
