/** The frame of every page: search, the list of pages, the headings of this one. */
import { escapeHtml } from './escape.mjs';

/** The whole document of a page; `groups` is the list of all pages, `page.path` is where it is in the site. */
export function layOut(page, groups) {
  const up = '../'.repeat(page.path.split('/').length - 1);
  const title = page.path === 'index.html' ? page.title : `${page.title} – Palisade`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}style.css">
<script src="${up}site.js" defer></script>
${(page.scripts ?? []).map((script) => `<script src="${up}${script}" defer></script>\n`).join('')}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="${up}index.html">Palisade</a>
<form role="search" action="${up}search.html"><input type="search" name="q" aria-label="Search the documentation" placeholder="Search" autocomplete="off" spellcheck="false"></form>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages"><details><summary>Pages</summary>
${groups.map((group) => groupOf(group, page, up)).join('')}</details></nav>
<main id="content" tabindex="-1">
${tocOf(page.headings ?? [])}<article>
${page.html}</article>
</main>
</div>
</body>
</html>
`;
}

function groupOf({ title, pages }, page, up) {
  const items = pages.map(({ path, label }) => {
    // A decision belongs to the page of all decisions.
    const isParent = path === page.parent;
    const current = path === page.path ? ' aria-current="page"' : isParent ? ' aria-current="true"' : '';
    return `<li><a href="${up}${path}"${current}>${escapeHtml(label)}</a></li>`;
  });
  return `<p>${escapeHtml(title)}</p>\n<ul>${items.join('')}</ul>\n`;
}

/** The headings of the second level, with those of the third where there are few. */
function tocOf(headings) {
  const top = headings.filter(({ depth }) => depth === 2);
  if (top.length < 2) return '';
  const all = headings.filter(({ depth }) => depth <= 3);
  const shown = all.length <= 24 ? all : top;
  const items = shown.map(
    ({ id, depth, text }) =>
      `<li${depth === 3 ? ' class="sub"' : ''}><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="toc" aria-label="On this page"><details><summary>On this page</summary>\n<ul>${items.join('')}</ul>\n</details></nav>\n`;
}
