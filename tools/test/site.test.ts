import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { linesOf, linksOf } from '../markdown.mjs';
import { render } from '../site/render.mjs';
import { brokenLinks, siteFiles } from '../site.mjs';

const root = join(import.meta.dirname, '../..');

type Files = Map<string, string>;
const built: { files: Files; pages: [path: string, html: string][] } = { files: new Map(), pages: [] };
beforeAll(async () => {
  built.files = await siteFiles(root);
  built.pages = [...built.files].filter(([path]) => path.endsWith('.html'));
});

/** The page of a file, as seen from docs/. */
function pageOf(target: string): string {
  const path = target.startsWith('../') ? target.slice('../'.length).toLowerCase() : target;
  return path.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html');
}

const noLinks = () => ({ href: 'x.html' });
const htmlOf = (markdown: string) => render(`# Title\n\n${markdown}`, noLinks).html;

describe('the site', () => {
  test('has a page for each file of docs/, once in the list of pages', () => {
    const index = readFileSync(join(root, 'docs/README.md'), 'utf8');
    const listed = linksOf(linesOf(index)).map(({ target }) => target);
    expect(new Set(listed).size).toBe(listed.length);
    const pages = new Map(built.pages);
    for (const target of listed) expect([target, pages.has(pageOf(target))]).toEqual([target, true]);
    const unlisted = readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md') && name !== 'README.md')
      .filter((name) => !listed.includes(name));
    expect(unlisted).toEqual([]);
    for (const name of readdirSync(join(root, 'docs/decisions')).filter((each) => /^\d/.test(each)))
      expect([name, pages.has(pageOf(`decisions/${name}`))]).toEqual([name, true]);
  });

  test('is the same each time that it is built', async () => {
    expect([...(await siteFiles(root))]).toEqual([...built.files]);
  });

  test('takes nothing from elsewhere, and has no script and no style inside a page', () => {
    for (const [path, html] of built.pages) {
      const scripts = [...html.matchAll(/<script([^>]*)>([^<]*)/g)].map(([, attributes, body]) => [
        attributes?.replace(/"(?:\.\.\/)*/, '"'),
        body?.trim(),
      ]);
      expect([
        path,
        scripts.every(
          ([attributes, body]) => /^ src="[a-z-]+\.js" defer$/.test(attributes ?? '') && body === '',
        ),
      ]).toEqual([path, true]);
      expect([path, /<style|<img|<iframe| style="| on[a-z]+="/.exec(html)?.[0]]).toEqual([path, undefined]);
      expect([path, /<(?:link|script)[^>]*"https?:/.exec(html)?.[0]]).toEqual([path, undefined]);
    }
  });

  test('has on each page one title, one main part, a language and headings without a gap', () => {
    for (const [path, html] of built.pages) {
      const levels = [...html.matchAll(/<h([1-6])[ >]/g)].map(([, level]) => Number(level));
      const gaps = levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1);
      expect([path, levels.filter((level) => level === 1).length, gaps]).toEqual([path, 1, []]);
      expect([path, html.match(/<main /g)?.length, html.includes('<html lang="en">')]).toEqual([
        path,
        1,
        true,
      ]);
      const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      expect([path, ids.filter((id, at) => ids.indexOf(id) !== at)]).toEqual([path, []]);
      expect([path, [...html.matchAll(/<a [^>]*>\s*<\/a>/g)]]).toEqual([path, []]);
    }
  });

  test('finds in its search what the pages say', () => {
    const index = built.files.get('search-index.js') ?? '';
    const entries: string[][] = JSON.parse(
      index.replace('globalThis.searchIndex = ', '').replace(/;\n$/, ''),
    );
    const found = (words: string) =>
      entries.filter(([, , heading, body]) => `${heading} ${body}`.includes(words)).map(([url]) => url);
    expect(found('process.egress_hosts')).toContain('config.html#keys');
    expect(found('policy/approval-required')).toContain('errors.html#codes');
    expect(found('POST /v1/calls')).toContain('api.html#createCall');
    const urls = new Map(built.pages);
    for (const [url = ''] of entries) expect(urls.has(url.split('#')[0] ?? '')).toBe(true);
  });

  test('is not built with a link to a page or a heading that does not exist', () => {
    const pages = new Map([
      ['a.html', '<h1 id="a">A</h1><a href="b.html#b">b</a><a href="b.html#c">c</a><a href="d/e.html">e</a>'],
      [
        'b.html',
        '<h1 id="b">B</h1><a href="#b">b</a><a href="a.html">a</a><a href="https://example.com/#x">x</a>',
      ],
    ]);
    expect(brokenLinks(pages)).toEqual([
      'a.html: the link to b.html#c leads nowhere',
      'a.html: the link to d/e.html leads nowhere',
    ]);
  });
});

describe('render()', () => {
  test('keeps what looks like markup as text, in code and in prose', () => {
    expect(htmlOf('`<script>`')).toContain('<code>&lt;script&gt;</code>');
    expect(htmlOf('```html\n<script>alert(1)</script>\n```')).not.toContain('<script>');
    expect(() => htmlOf('<script>alert(1)</script>')).toThrow('takes no HTML');
    expect(() => htmlOf('a <img src=x onerror=alert(1)> b')).toThrow('takes no HTML');
  });

  test('makes no link of what only looks like an address', () => {
    expect(htmlOf('pkg:npm/left-pad@1.3.0 at http://127.0.0.1:4318/v1')).not.toContain('<a ');
    expect(htmlOf('[x](y.md) and <https://example.com/>').match(/<a /g)).toHaveLength(2);
  });

  test('tells commands from what they print, so that a copy has the commands alone', () => {
    const html = htmlOf(
      '```console\n$ palisade call \\\n    palisade.echo   # a call\n{"a": "$ b"}\n$ palisade keys list\n```',
    );
    const commands = [...html.matchAll(/<span class="command">([^<]*)<\/span>/g)].map(
      ([, command]) => command,
    );
    expect(commands).toEqual(['palisade call \\', '    palisade.echo', 'palisade keys list']);
    expect(html).toContain('<span class="output">{&quot;a&quot;: &quot;$ b&quot;}</span>');
    expect(html).toContain('<span class="remark">   # a call</span>');
  });

  test('numbers headings of the same name as GitHub does', () => {
    const { headings } = render('# A\n\n## B\n\n## B\n\n## B-1\n\n## C `d`: e_f\n', noLinks);
    expect(headings.map(({ id }: { id: string }) => id)).toEqual(['b', 'b-1', 'b-1-1', 'c-d-e_f']);
  });

  test('says of a file of the source where it is, since the site does not have it', () => {
    expect(render('# A\n\n[the table](../packages/a.ts#L2)\n', () => null).html).toContain(
      '<p>the table (<code>packages/a.ts</code>)</p>',
    );
  });
});
