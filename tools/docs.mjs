/**
 * Checks the documentation against the code: tables that repeat one of the code, links and anchors, the commands in the
 * text. `--write` regenerates the tables between their markers.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { problem, runAsCommand } from './check.mjs';
import { judgeCommands } from './commands.mjs';
import { anchorsOf, linesOf, linksOf, rowsOf, writeRow } from './markdown.mjs';
import { MIRRORS } from './mirrors.mjs';
import { listFiles } from './source.mjs';
import { readTable } from './ts-table.mjs';

const VERBS_TABLE = 'packages/gateway/src/doors/cli/verbs.table.ts';

/** What README.md must tell a newcomer to type. */
const README_COMMANDS = ['npm run demo', 'npm test'];

/** Checks every Markdown file under `root`; with `write`, brings the mirrored tables up to date first. */
export async function check(root, { write = false } = {}) {
  const problems = [];
  for (const mirror of MIRRORS) problems.push(...(await judgeMirror(root, mirror, write)));
  const files = listFiles(root, '', (path) => path.endsWith('.md'));
  const pages = new Map(files.map((file) => [file, linesOf(readFileSync(join(root, file), 'utf8'))]));
  for (const [file, lines] of pages) problems.push(...judgeLinks(root, file, lines, pages));
  problems.push(...judgeReadme(root, pages));
  const [verbs, common] = await Promise.all(
    ['VERBS', 'COMMON_FLAGS'].map((name) => readTable(root, VERBS_TABLE, name)),
  );
  if (!verbs) problems.push(problem(VERBS_TABLE, 0, 'check commands: the table of verbs does not exist'));
  else for (const [file, lines] of pages) problems.push(...judgeCommands(file, lines, verbs, common));
  return { problems, scanned: files.length, unit: 'page' };
}

async function judgeMirror(root, mirror, write) {
  const tables = await Promise.all(mirror.names.map((name) => readTable(root, mirror.table, name)));
  if (tables.includes(undefined))
    return [problem(mirror.table, 0, `check ${mirror.file}: the table does not exist`)];
  const path = join(root, mirror.file);
  if (!existsSync(path))
    return [problem(mirror.file, 0, `check ${mirror.names[0]}: the page does not exist`)];
  const isPage = mirror.file.endsWith('.md');
  const [begin, end] = ['begin', 'end'].map((word) =>
    isPage ? `<!-- ${mirror.mark}:${word} -->` : `// ${mirror.mark}:${word}`,
  );
  const gap = isPage ? '\n\n' : '\n';
  const text = readFileSync(path, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) {
    return [
      problem(mirror.file, 0, `find its table: the markers are missing, expected "${begin}" and "${end}"`),
    ];
  }
  const expected = mirror.rows?.(...tables);
  const written =
    mirror.text?.(...tables) ??
    [mirror.head, mirror.head.map(() => '---'), ...expected].map(writeRow).join('\n');
  if (write) {
    // The end of the table keeps its indentation.
    const rest = text.slice(isPage ? to : text.lastIndexOf('\n', to) + 1);
    const next = `${text.slice(0, from + begin.length)}${gap}${written}${gap}${rest}`;
    if (next !== text) writeFileSync(path, next);
    return [];
  }
  if (mirror.text) return compareText(mirror, text.slice(from + begin.length, to), written);
  const skipped = text.slice(0, from).split('\n').length - 1;
  const lines = linesOf(text.slice(from, to)).map((each) => ({ ...each, line: each.line + skipped }));
  return compareRows(mirror, expected, rowsOf(lines));
}

function compareText({ file, mark, table }, found, expected) {
  if (found.trim() === expected.trim()) return [];
  const reason = `${table} has changed, expected the text of \`node tools/docs.mjs --write\``;
  return [problem(file, 0, `keep "${mark}": ${reason}`)];
}

function compareRows({ file, table, head }, expected, rows) {
  const problems = [];
  const left = new Map(expected.map((cells) => [cells[0], cells]));
  const known = new Set(left.keys());
  for (const { line, cells } of rows) {
    const wanted = left.get(cells[0]);
    left.delete(cells[0]);
    if (!wanted) {
      const why = known.has(cells[0]) ? 'it is there twice' : `${table} has no such row`;
      problems.push(problem(file, line, `keep row ${cells[0]}: ${why}`));
      continue;
    }
    const off = head.findIndex((_, at) => writeRow([wanted[at]]) !== `| ${cells[at] ?? ''} |`);
    if (off !== -1) {
      problems.push(
        problem(
          file,
          line,
          `keep row ${cells[0]}: "${head[off]}" is "${cells[off] ?? ''}", expected "${wanted[off]}"`,
        ),
      );
    }
  }
  for (const missing of left.keys())
    problems.push(problem(file, 0, `find row ${missing}: ${table} has it, expected one row`));
  return problems;
}

function judgeLinks(root, file, lines, pages) {
  return linksOf(lines).flatMap(({ line, target }) => {
    if (/^[a-z][a-z+.-]*:/i.test(target)) return [];
    const [path, anchor] = decodeURI(target).split('#');
    const to =
      path === '' ? file : path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(file), path);
    if (to.startsWith('..') || !existsSync(join(root, to))) {
      return [problem(file, line, `follow link "${target}": no such file`)];
    }
    if (anchor === undefined || isLineOfFile(root, to, anchor)) return [];
    const page = pages.get(to);
    if (page && anchorsOf(page).has(anchor)) return [];
    return [problem(file, line, `follow link "${target}": no such heading`)];
  });
}

function isLineOfFile(root, to, anchor) {
  return /^L\d+(-L\d+)?$/.test(anchor) && !to.endsWith('.md') && statSync(join(root, to)).isFile();
}

function judgeReadme(root, pages) {
  if (!pages.has('README.md')) return [problem('README.md', 0, 'find README.md: the project has none')];
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  return README_COMMANDS.filter((command) => !text.includes(command)).map((command) =>
    problem('README.md', 0, `find "${command}": expected README.md to name it`),
  );
}

await runAsCommand(import.meta.url, 'docs', check);
