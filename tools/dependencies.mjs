/**
 * Checks DEPENDENCIES.md against the manifests: one row per dependency with its exact version and four answers.
 * Versions are exact everywhere, the closed packages have no dependency, and the lock file names no place to fetch
 * from, so that it works with any registry.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { problem, runAsCommand } from './check.mjs';
import { linesOf, rowsOf } from './markdown.mjs';
import { listPackages } from './source.mjs';

const PAGE = 'DEPENDENCIES.md';
const COLUMNS = ['Package', 'Version', 'Why', 'What it may touch', 'How to leave it'];
const CLIENTS = ['claude-code', 'codex', 'gemini', 'opencode'];
const CLOSED_PACKAGES = ['guest', 'sdk', 'wasm'];
/** What is in its bundle is not installed beside it, and has a section of its own. */
const BUNDLED = 'packages/gateway/package.json';

/** Checks the manifests, the page and the lock file under `root`. */
export function check(root) {
  const manifests = readManifests(root);
  const declared = manifests.flatMap(declaredIn);
  const problems = [
    ...manifests.flatMap(judgeClosed),
    ...declared.filter(({ version }) => !isExact(version)).map(inexact),
    ...judgePage(root, declared),
    ...judgeLock(root),
  ];
  return {
    problems,
    scanned: declared.length,
    unit: 'declared version',
    note: `${manifests.length} manifests`,
  };
}

function readManifests(root) {
  const packages = listPackages(root).map((name) => `packages/${name}/package.json`);
  return [
    'package.json',
    ...packages,
    'bench/peers/package.json',
    'packages/guest/tools/package.json',
    'tests/conformance/peers/package.json',
    ...CLIENTS.map((name) => `tests/clients/${name}/package.json`),
    'tests/servers/package.json',
  ]
    .filter((file) => existsSync(join(root, file)))
    .map((file) => ({ file, manifest: JSON.parse(readFileSync(join(root, file), 'utf8')) }));
}

function runtimeOf(manifest) {
  return { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies };
}

/** Lists what a manifest declares, with the section of the page it belongs to. */
function declaredIn({ file, manifest }) {
  const list = (section, versions) =>
    Object.entries(versions ?? {}).map(([name, version]) => ({ file, section, name, version }));
  return [
    ...list(`Runtime of \`${manifest.name}\``, runtimeOf(manifest)),
    ...list(file === BUNDLED ? `Bundled in \`${manifest.name}\`` : 'Development', manifest.devDependencies),
  ];
}

function judgeClosed({ file, manifest }) {
  const isClosed = CLOSED_PACKAGES.some((name) => file === `packages/${name}/package.json`);
  const names = isClosed ? Object.keys(runtimeOf(manifest)) : [];
  return names.map((name) => problem(file, 0, `depend on ${name}: this package has no dependencies`));
}

function isExact(version) {
  return /^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(version);
}

function inexact({ file, name, version }) {
  return problem(file, 0, `depend on ${name}: its version is "${version}", expected an exact one`);
}

function judgePage(root, declared) {
  if (!existsSync(join(root, PAGE))) return [problem(PAGE, 0, 'find the page: it does not exist')];
  const problems = [];
  const left = new Map(declared.map((each) => [`${each.section} ${each.name}`, each]));
  for (const { section, line, cells } of sectionedRows(readFileSync(join(root, PAGE), 'utf8'))) {
    const name = cells[0].replaceAll('`', '');
    const wanted = left.get(`${section} ${name}`);
    left.delete(`${section} ${name}`);
    const empty = COLUMNS.findIndex((_, at) => !cells[at]);
    if (!wanted)
      problems.push(
        problem(PAGE, line, `keep row ${name}: no manifest declares it once more in "${section}"`),
      );
    else if (empty !== -1)
      problems.push(problem(PAGE, line, `keep row ${name}: "${COLUMNS[empty]}" is empty`));
    else if (cells[1] !== wanted.version) {
      problems.push(
        problem(PAGE, line, `keep row ${name}: its version is "${cells[1]}", expected "${wanted.version}"`),
      );
    }
  }
  for (const { section, name } of left.values()) {
    problems.push(problem(PAGE, 0, `find row ${name}: expected one in "${section}"`));
  }
  return problems;
}

function sectionedRows(text) {
  const lines = linesOf(text);
  const headings = lines.filter(({ content, isCode }) => !isCode && content.startsWith('## '));
  return rowsOf(lines).map((row) => {
    const heading = headings.filter(({ line }) => line < row.line).at(-1);
    return { ...row, section: heading?.content.slice(3).trim() ?? '' };
  });
}

function judgeLock(root) {
  const file = 'package-lock.json';
  if (!existsSync(join(root, file))) return [problem(file, 0, 'find the lock file: it does not exist')];
  return readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((content, at) =>
      /"resolved":\s*"\w+:\/\//.test(content)
        ? [
            problem(
              file,
              at + 1,
              'keep "resolved": it is an address, expected none (npm config omit-lockfile-registry-resolved)',
            ),
          ]
        : [],
    );
}

await runAsCommand(import.meta.url, 'dependencies', check);
