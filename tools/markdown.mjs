/** Reads the parts of a Markdown file the checks look at: prose, code, headings, links and tables. */

/** Splits a text into lines that know whether they are code, and in which language. */
export function linesOf(text) {
  const lines = [];
  let fence;
  for (const [at, content] of text.split('\n').entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})\s*([\w-]*)/.exec(content);
    if (mark && !fence) fence = { mark: mark[1], language: mark[2] ?? '', block: at };
    else if (mark?.[1].startsWith(fence.mark) && mark[2] === '') fence = undefined;
    else
      lines.push({
        line: at + 1,
        content,
        language: fence?.language,
        block: fence?.block,
        isCode: fence !== undefined,
      });
  }
  return lines;
}

const codeSpan = /(`+)(.+?)\1(?!`)/g;

/** Lists the code spans of one line of prose. */
export function spansOf(content) {
  return [...content.matchAll(codeSpan)].map((match) => match[2].trim());
}

/** Lists link and image targets of the prose: inline, by reference and in HTML. */
export function linksOf(lines) {
  const found = [];
  for (const { line, content, isCode } of lines) {
    if (isCode) continue;
    const prose = content.replace(codeSpan, (span) => ' '.repeat(span.length));
    const patterns = [
      /\]\(\s*<?([^)\s>]+)>?(?:\s+["'(][^)]*)?\)/g,
      /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/g,
      /(?:href|src)="([^"]+)"/g,
    ];
    for (const pattern of patterns)
      for (const match of prose.matchAll(pattern)) found.push({ line, target: match[1] });
  }
  return found;
}

/** Lists the anchors a file offers, spelled as GitHub spells them. */
export function anchorsOf(lines) {
  const anchors = new Set();
  const seen = new Map();
  for (const { content, isCode } of lines) {
    if (isCode) continue;
    for (const match of content.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) anchors.add(match[1]);
    const heading = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/.exec(content);
    if (!heading) continue;
    const slug = slugOf(heading[1]);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** The anchor of a heading, spelled as GitHub spells it. */
export function slugOf(heading) {
  const text = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  return text.replace(/[^\p{L}\p{N}\p{M} _-]/gu, '').replaceAll(' ', '-');
}

/** Lists the rows of the tables in some lines, without heads and rulers, as trimmed cells. */
export function rowsOf(lines) {
  const rows = [];
  for (const [at, { line, content, isCode }] of lines.entries()) {
    if (isCode || !/^\s*\|.*\|\s*$/.test(content) || isRuler(content)) continue;
    if (isRuler(lines[at + 1]?.content ?? '')) continue;
    rows.push({
      line,
      cells: content
        .trim()
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    });
  }
  return rows;
}

function isRuler(content) {
  return /^\s*\|[\s:|-]+\|\s*$/.test(content) && content.includes('-');
}

/** Writes one table row; a bar or a line break inside a cell would tear it. */
export function writeRow(cells) {
  return `| ${cells.map((cell) => cell.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`;
}
