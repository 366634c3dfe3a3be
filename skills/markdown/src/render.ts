import { Json, joined } from '@palisade/guest/assembly';
import { Block, CODE, HEADING, LIST, PARAGRAPH, QUOTE, RULE } from './block';
import { isOrdered } from './block-starts';
import { isAsciiPunctuation, strip, stripEnd } from './characters';
import { unescaped } from './entity';
import { escaped } from './escape';
import { inlineHtml, inlineText } from './inline';

export function rendered(document: Block): string {
  const pieces: string[] = [];
  renderAll(document.children, pieces, false);
  return joined(pieces);
}

/** The headings of a document, in their order, also those in quotes and items. */
export function outlined(document: Block): Json {
  const headings = Json.list();
  const stack: Block[] = [document];
  while (stack.length > 0) {
    const block = stack.pop();
    if (block.kind === HEADING)
      headings.add(
        Json.object()
          .setNumber('level', block.level)
          .setText('text', inlineText(contentOf(block))),
      );
    for (let at = block.children.length - 1; at >= 0; at -= 1) stack.push(block.children[at]);
  }
  return headings;
}

function contentOf(block: Block): string {
  return stripEnd(joined(block.lines, '\n'));
}

function renderAll(blocks: Block[], pieces: string[], isTight: bool): void {
  for (let at = 0; at < blocks.length; at += 1) renderBlock(blocks[at], pieces, isTight);
}

function renderBlock(block: Block, pieces: string[], isTight: bool): void {
  if (block.kind === PARAGRAPH) renderParagraph(block, pieces, isTight);
  else if (block.kind === HEADING)
    pieces.push(`<h${block.level}>${inlineHtml(contentOf(block))}</h${block.level}>\n`);
  else if (block.kind === RULE) pieces.push('<hr />\n');
  else if (block.kind === CODE) renderCode(block, pieces);
  else if (block.kind === QUOTE) {
    pieces.push('<blockquote>\n');
    renderAll(block.children, pieces, false);
    pieces.push('</blockquote>\n');
  } else if (block.kind === LIST) renderList(block, pieces);
}

/** In a tight list a paragraph is its text. */
function renderParagraph(block: Block, pieces: string[], isTight: bool): void {
  const html = inlineHtml(contentOf(block));
  pieces.push(isTight ? html : `<p>${html}</p>\n`);
}

function renderCode(block: Block, pieces: string[]): void {
  let count = block.lines.length;
  if (!block.isFenced) while (count > 0 && strip(block.lines[count - 1]) === '') count -= 1;
  const language = languageOf(block.info);
  pieces.push(language === '' ? '<pre><code>' : `<pre><code class="language-${escaped(language)}">`);
  for (let at = 0; at < count; at += 1) {
    pieces.push(escaped(block.lines[at]));
    pieces.push('\n');
  }
  pieces.push('</code></pre>\n');
}

/** The first word behind a fence. */
function languageOf(info: string): string {
  const spaced = info.replaceAll('\t', ' ');
  const end = spaced.indexOf(' ');
  return unescaped(end < 0 ? spaced : spaced.slice(0, end), isAsciiPunctuation);
}

function renderList(list: Block, pieces: string[]): void {
  const name = isOrdered(list) ? 'ol' : 'ul';
  const start = isOrdered(list) && list.start !== 1 ? ` start="${list.start}"` : '';
  const isTight = list.isTight;
  pieces.push(`<${name}${start}>\n`);
  for (let at = 0; at < list.children.length; at += 1) renderItem(list.children[at], pieces, isTight);
  pieces.push(`</${name}>\n`);
}

/** Text that is no paragraph stands beside the tag; every other block has lines of its own. */
function renderItem(item: Block, pieces: string[], isTight: bool): void {
  pieces.push('<li>');
  for (let at = 0; at < item.children.length; at += 1) {
    const child = item.children[at];
    const isBare = isTight && child.kind === PARAGRAPH;
    const isFollowing = at > 0 && isTight && item.children[at - 1].kind === PARAGRAPH;
    if (!isBare && (at === 0 || isFollowing)) pieces.push('\n');
    renderBlock(child, pieces, isTight);
  }
  pieces.push('</li>\n');
}
