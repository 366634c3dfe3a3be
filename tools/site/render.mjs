/** Turns a page of Markdown into HTML: headings with anchors, tables that scroll, commands that can be copied, no scripts. */
import { Marked } from 'marked';
import { slugOf } from '../markdown.mjs';
import { escapeHtml } from './escape.mjs';

/** What is typed into a terminal: these blocks get a button that copies. */
const TERMINALS = new Set(['sh', 'console']);
/** The HTML that a page may contain; whatever else looks like HTML is an error. */
const PERMITTED_HTML = /^(?:<!--[\s\S]*-->|<\/?su[bp]>|<br>)\s*$/;

/** Code in a line that is broken where it does not fit; shorter code is one word. */
const LONG_CODE = 28;

/** What only looks like an address (`left-pad@1.3.0`) is no link; a link is written as one. */
const NO_BARE_LINKS = { url: () => undefined };

/**
 * Gives the title, the HTML, the headings with their anchors and the texts of the sections, for the search.
 * `linkTo(href)` gives the address of a link in the site with the name of its page, or null where the site has no such page.
 */
export function render(markdown, linkTo) {
  const headings = [];
  const marked = new Marked({ gfm: true, tokenizer: NO_BARE_LINKS, renderer: rendererFor(headings, linkTo) });
  const tokens = marked.lexer(markdown);
  const html = marked.parser(tokens);
  const [first, ...others] = headings;
  if (first?.depth !== 1 || others.some(({ depth }) => depth === 1))
    throw new Error('Cannot render a page: it needs one heading of the first level, on top');
  return { title: first.text, html, headings: others, sections: sectionsOf(tokens, headings) };
}

function rendererFor(headings, linkTo) {
  return {
    heading({ tokens, depth, text }) {
      const id = anchorFor(text, headings);
      const plain = plainOf(tokens);
      headings.push({ id, depth, text: plain });
      const inner = this.parser.parseInline(tokens);
      if (depth === 1) return `<h1 id="${id}">${inner}</h1>\n`;
      const link = `<a class="anchor" href="#${id}" aria-label="Link to “${escapeHtml(plain)}”">#</a>`;
      return `<h${depth} id="${id}">${inner} ${link}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      const to = linkTo(href);
      // The name of a file says little where there are no files.
      const isFileName = /^[\w./-]+\.md$/.test(plainOf(tokens));
      if (to !== null)
        return `<a href="${escapeHtml(to.href)}">${isFileName && to.label !== undefined ? escapeHtml(to.label) : inner}</a>`;
      // A file of the source: the site has none, so the reader gets its path.
      const path = href.replace(/^(\.\.\/)+/, '').replace(/#.*$/, '');
      return plainOf(tokens).includes(path) ? inner : `${inner} (<code>${escapeHtml(path)}</code>)`;
    },
    code({ text, lang = '' }) {
      const inner = TERMINALS.has(lang) ? terminal(text, lang) : escapeHtml(text);
      return `<pre${TERMINALS.has(lang) ? ' class="terminal"' : ''}><code>${inner}</code></pre>\n`;
    },
    codespan({ text }) {
      return `<code${text.length > LONG_CODE ? ' class="long"' : ''}>${escapeHtml(text)}</code>`;
    },
    table(token) {
      const row = (cells, tag) =>
        `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>\n`;
      const isNamed = token.header.some(({ text }) => text !== '');
      const head = isNamed
        ? `<thead>${row(token.header, 'th scope="col"').replaceAll('</th scope="col">', '</th>')}</thead>\n`
        : '';
      const body = token.rows.map((cells) => row(cells, 'td')).join('');
      return `<div class="table"><table>${head}<tbody>${body}</tbody></table></div>\n`;
    },
    html({ text }) {
      if (!PERMITTED_HTML.test(text))
        throw new Error(`Cannot render ${JSON.stringify(text)}: the site takes no HTML`);
      return text.startsWith('<!--') ? '' : text;
    },
    image({ href }) {
      throw new Error(`Cannot render the image ${href}: the site has none`);
    },
  };
}

/** The anchor of the next heading; a second one of the same name is numbered, as GitHub does it. */
function anchorFor(text, headings) {
  const slug = slugOf(text);
  const count = headings.filter(({ id }) => id.replace(/-\d+$/, '') === slug || id === slug).length;
  const taken = headings.some(({ id }) => id === slug);
  return taken ? `${slug}-${count}` : slug;
}

/** Commands, what they print, and remarks, told apart: a copy takes the commands alone. */
function terminal(text, lang) {
  const isSession = lang === 'console' && /^\$ /m.test(text);
  let isOpen = false;
  return text
    .split('\n')
    .map((line) => {
      const isPrompted = /^\$ /.test(line);
      const isCommand = !isSession || isPrompted || isOpen;
      if (!isCommand) return `<span class="output">${escapeHtml(line)}</span>`;
      isOpen = /\\$/.test(line);
      const [, command = '', remark = ''] =
        /^(.*?)((?:^| {2,}| (?=# ))#[ !].*)?$/s.exec(line.replace(/^\$ /, '')) ?? [];
      const prompt = isPrompted ? '<span class="prompt">$ </span>' : '';
      const typed = command === '' ? '' : `<span class="command">${escapeHtml(command)}</span>`;
      return `${prompt}${typed}${remark === '' ? '' : `<span class="remark">${escapeHtml(remark)}</span>`}`;
    })
    .join('\n');
}

/** The text of each section, without markup. */
function sectionsOf(tokens, headings) {
  const sections = [];
  const left = [...headings];
  for (const token of tokens) {
    if (token.type === 'heading') sections.push({ ...left.shift(), parts: [] });
    else if (token.type !== 'html') sections.at(-1)?.parts.push(plainOf([token]));
  }
  return sections.map(({ parts, ...rest }) => ({
    ...rest,
    body: parts.join(' ').replace(/\s+/g, ' ').trim(),
  }));
}

/** What a reader sees of some tokens. */
function plainOf(tokens) {
  return tokens.map(plainOfOne).join('');
}

function plainOfOne(token) {
  if (token.type === 'table')
    return [token.header, ...token.rows]
      .map((cells) => cells.map(({ tokens }) => plainOf(tokens)).join(' '))
      .join(' ');
  if (token.type === 'list') return token.items.map(({ tokens }) => plainOf(tokens)).join(' ');
  if (token.type === 'html') return '';
  if (token.tokens !== undefined) return plainOf(token.tokens);
  return token.text ?? token.raw;
}
