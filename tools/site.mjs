/**
 * Builds the documentation into static pages, which the daemon serves at /docs and any browser opens from the disk. The
 * list of pages is docs/README.md; a link that leads nowhere fails the build. The same sources give the same bytes.
 *
 *   node tools/site.mjs DIRECTORY
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from './check.mjs';
import { linesOf } from './markdown.mjs';
import { apiPage } from './site/api-page.mjs';
import { layOut } from './site/layout.mjs';
import { render } from './site/render.mjs';
import { readModule } from './ts-table.mjs';

const INDEX = 'docs/README.md';
const DECISIONS = 'docs/decisions/README.md';
const ASSETS = ['style.css', 'site.js', 'search.js'];

const DOCUMENT = `
import { openApiDocument } from './packages/gateway/src/doors/http/openapi.ts';
import { OPERATIONS } from './packages/gateway/src/operations/all.ts';
import { VERSION } from './packages/gateway/src/version.ts';
export const document = openApiDocument(OPERATIONS, VERSION);
`;

/** A page that is no Markdown file, and the one it follows in the list. */
const API = { path: 'api.html', label: 'Every request', after: 'http.html' };

const SEARCH = {
  path: 'search.html',
  title: 'Search',
  scripts: ['search-index.js', 'search.js'],
  html: `<h1>Search</h1>
<noscript><p>The search needs JavaScript. Everything else works without: see the <a href="index.html">list of pages</a>.</p></noscript>
<p id="count" role="status"></p>
<ol id="results"></ol>
`,
};

const TYPES = { html: 'text/html', css: 'text/css', js: 'text/javascript' };

/** Builds the site of the documentation under `root` into `outDir`. */
export async function makeSite(root, outDir) {
  const files = await siteFiles(root);
  for (const [path, content] of files) {
    mkdirSync(dirname(join(outDir, path)), { recursive: true });
    writeFileSync(join(outDir, path), content);
  }
  for (const asset of ASSETS) copyFileSync(join(root, 'tools/site', asset), join(outDir, asset));
  const paths = [...files.keys(), ...ASSETS].sort();
  const types = paths.map((path) => [path, `${TYPES[posix.extname(path).slice(1)]}; charset=utf-8`]);
  writeFileSync(join(outDir, 'pages.json'), `${JSON.stringify(Object.fromEntries(types), null, 1)}\n`);
}

/** Every page and the index of the search, by path. Throws when a link or an anchor leads nowhere. */
export async function siteFiles(root) {
  const groups = readGroups(root);
  const sources = sourcesOf(root, groups);
  const byFile = new Map(sources.map((source) => [source.file, source]));
  const pages = sources.map((source) => ({ ...source, ...renderFile(root, source, byFile) }));
  const { document } = await readModule(root, DOCUMENT);
  const all = [...pages, { ...API, ...apiPage(document) }, SEARCH];
  const laidOut = new Map(all.map((page) => [page.path, layOut(page, withApi(groups))]));
  const broken = brokenLinks(laidOut);
  if (broken.length > 0) throw new Error(`Cannot build the documentation:\n${broken.join('\n')}`);
  return laidOut.set('search-index.js', searchIndex(all));
}

/** The list of pages: a group per heading of the index, a page per link. */
function readGroups(root) {
  const groups = [];
  for (const { content } of linesOf(readFileSync(join(root, INDEX), 'utf8'))) {
    const [, title] = /^## (.+)$/.exec(content) ?? [];
    if (title !== undefined) groups.push({ title, pages: [] });
    const [, label, target] = /^- \[([^\]]+)\]\(([^)]+)\):/.exec(content) ?? [];
    if (label === undefined) continue;
    const file = posix.join('docs', target);
    groups.at(-1)?.pages.push({ label, file, path: pathOf(file) });
  }
  return groups;
}

function withApi(groups) {
  return groups.map(({ title, pages }) => ({
    title,
    pages: pages.flatMap((page) => (page.path === API.after ? [page, API] : [page])),
  }));
}

/** The files of the site: the index, what it lists, and every decision. */
function sourcesOf(root, groups) {
  const listed = groups.flatMap(({ pages }) => pages);
  const decisions = [
    ...readFileSync(join(root, DECISIONS), 'utf8').matchAll(/\]\((\d{4}-[^)#]+\.md)\)/g),
  ].map(([, name]) => ({ file: `docs/decisions/${name}`, parent: pathOf(DECISIONS) }));
  return [{ file: INDEX }, ...listed, ...decisions].map((source) => ({
    ...source,
    path: pathOf(source.file),
  }));
}

/** Where the page of a file is in the site. */
function pathOf(file) {
  const path = file.startsWith('docs/') ? file.slice('docs/'.length) : file.toLowerCase();
  return path.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html');
}

function renderFile(root, { file, path }, byFile) {
  const linkTo = (href) => {
    if (/^(?:https?:|mailto:|#)/.test(href)) return { href };
    const [target, anchor] = href.split('#');
    const found = posix.join(dirname(file), target);
    const to = byFile.get(found);
    if (to === undefined && !existsSync(join(root, found)))
      throw new Error(`it links to ${href}, which does not exist`);
    if (to === undefined) return null;
    const { path: there, label } = to;
    return {
      href: `${posix.relative(dirname(path), there)}${anchor === undefined ? '' : `#${anchor}`}`,
      label,
    };
  };
  try {
    return render(readFileSync(join(root, file), 'utf8'), linkTo);
  } catch (error) {
    throw new Error(`Cannot build the page of ${file}: ${error.message}`);
  }
}

/** Links inside the site whose page or anchor is not there. */
export function brokenLinks(pages) {
  const anchors = new Map([...pages].map(([path, html]) => [path, new Set(valuesOf(html, 'id'))]));
  return [...pages].flatMap(([path, html]) =>
    valuesOf(html, 'href')
      .filter((href) => !/^[a-z]+:/.test(href) && !ASSETS.includes(posix.basename(href)))
      .filter((href) => {
        const [target, anchor] = href.split('#');
        const there = anchors.get(target === '' ? path : posix.join(dirname(path), target));
        return there === undefined || (anchor !== undefined && !there.has(decodeURIComponent(anchor)));
      })
      .map((href) => `${path}: the link to ${href} leads nowhere`),
  );
}

function valuesOf(html, attribute) {
  return [...html.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map(([, value]) => value);
}

/** What the search looks through, as a script: a page that was opened from the disk may read no other file. */
function searchIndex(pages) {
  const entries = pages.flatMap(({ path, title, parent, sections = [] }) =>
    sections
      .filter(({ depth }) => parent === undefined || depth === 1)
      .map(({ id, text, depth, body }) => [depth === 1 ? path : `${path}#${id}`, title, text, body]),
  );
  return `globalThis.searchIndex = ${JSON.stringify(entries).replaceAll('],["', '],\n["')};\n`;
}

const here = fileURLToPath(import.meta.url);
if (process.argv[1] && realpathSync(process.argv[1]) === here) {
  try {
    if (process.argv[2] === undefined)
      throw new Error('Cannot build the documentation: expected a directory');
    await makeSite(projectRoot, process.argv[2]);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
