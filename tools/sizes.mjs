/** How big a file, a function and a parameter list may be. Past these, split by concept. */
import { problem, runAsCommand } from './check.mjs';
import { isCode, listFiles, listPackages, readSource, walk } from './source.mjs';

const SOURCE_FILE_LINES = 300;
const TEST_FILE_LINES = 500;
const FUNCTION_LINES = 60;
const POSITIONAL_PARAMETERS = 4;

/** Checks the sizes of sources (files, functions, parameters) and of tests (files). */
export function check(root) {
  const packages = listPackages(root);
  const sources = [
    ...packages.flatMap((name) => listFiles(root, `packages/${name}/src`, isCode)),
    ...listFiles(root, 'tools', (path) => isCode(path) && !path.startsWith('tools/test/')),
  ];
  const tests = [...packages.map((name) => `packages/${name}/test`), 'tests', 'tools/test'].flatMap(
    (folder) => listFiles(root, folder, isCode),
  );
  const longest = { lines: 0 };
  const problems = [
    ...sources.flatMap((file) => judgeSource(readSource(root, file), longest)),
    ...tests.flatMap((file) => judgeFile(readSource(root, file), TEST_FILE_LINES)),
  ];
  const note = `longest function ${longest.lines} lines`;
  return { problems, scanned: sources.length + tests.length, unit: 'file', note };
}

function judgeSource(source, longest) {
  const problems = /\.(?:table|generated)\.[cm]?ts$/.test(source.path)
    ? []
    : judgeFile(source, SOURCE_FILE_LINES);
  walk(source.tree, (node) => {
    if (!Array.isArray(node.params) || !/Function/.test(node.type)) return;
    const line = source.lineAt(node.start);
    const lines = source.lineAt(node.end - 1) - line + 1;
    longest.lines = Math.max(longest.lines, lines);
    if (lines > FUNCTION_LINES) {
      problems.push(
        problem(
          source.path,
          line,
          `keep function: it has ${lines} lines, expected at most ${FUNCTION_LINES}`,
        ),
      );
    }
    const count = node.params.filter((each) => each.name !== 'this').length;
    if (count > POSITIONAL_PARAMETERS && !/^TS.*Type$/.test(node.type)) {
      problems.push(
        problem(
          source.path,
          line,
          `keep function: it has ${count} parameters, expected at most ${POSITIONAL_PARAMETERS}`,
        ),
      );
    }
  });
  return problems;
}

function judgeFile(source, most) {
  const lines = source.lineAt(Math.max(0, source.text.length - 1));
  return lines > most
    ? [problem(source.path, 0, `keep file: it has ${lines} lines, expected at most ${most}`)]
    : [];
}

await runAsCommand(import.meta.url, 'sizes', check);
