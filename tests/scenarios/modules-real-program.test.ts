import { init, mdToHtml } from 'md4w';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedModules } from '../fixtures/modules/index.ts';
import { markdownGuest, RENDERER } from '../fixtures/modules/markdown.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A program that others wrote, with nothing but the ABI put around it, is a tool like any other. */

const DOCUMENTS: Readonly<Record<string, string>> = {
  'headings and paragraphs': '# One\n\nText with *stress*, **strength** and `code`.\n\n## Two\n\nMore text.',
  'lists inside lists': '- a\n  - b\n    1. c\n    2. d\n- [x] done\n- [ ] open',
  'a table': '| a | b |\n|---|:-:|\n| 1 | "2" |\n| ü | 😀 |',
  'links and quotes':
    '> See [here](https://example.com "title") and https://example.org.\n\n---\n\n![alt](a.png)',
  'what looks like HTML': 'a <b>bold</b> & a < b\n\n<script>alert("x\\y")</script>',
  'many lines': Array.from(
    { length: 500 },
    (_, line) => `* item ${line} with "quotes" and \\\\ backslashes`,
  ).join('\n'),
};

const { call } = sharedModules(() => ({ tools: [moduleTool('docs.render', markdownGuest())] }));

beforeAll(() => init(RENDERER));

describe('a Markdown renderer as a tool', () => {
  test.each(Object.entries(DOCUMENTS))('renders %s as it does by itself', async (_, markdown) => {
    const { code, output, usage } = await call('docs.render', { markdown });
    expect([code, output]).toEqual(['ok', mdToHtml(markdown)]);
    expect(usage.fuel).toBeGreaterThan(1_000);
  });

  test('renders for many tenants at once, each its own', async () => {
    const texts = Array.from(
      { length: 40 },
      (_, number) => `# Of tenant ${number}\n\n${'text '.repeat(number)}.`,
    );
    const ends = await Promise.all(
      texts.map((markdown, number) => call('docs.render', { markdown }, { tenant: `tenant-${number % 4}` })),
    );
    expect(ends.map(({ output }) => output)).toEqual(texts.map((text) => mdToHtml(text)));
  });

  test('costs the same every time', async () => {
    const markdown = DOCUMENTS['a table'] ?? '';
    const runs = [await call('docs.render', { markdown }), await call('docs.render', { markdown })];
    expect(new Set(runs.map(({ usage }) => usage.fuel)).size).toBe(1);
  });
});
