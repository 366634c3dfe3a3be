/**
 * Finding and reading source files. Everything that judges code judges its syntax tree: a comment or a string can
 * neither cause a hit nor hide one, and formatting does not matter.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vitest/node';

const neverScanned = new Set(['node_modules', 'dist', 'results']);

/** Lists the files under `root/folder`, as sorted paths relative to root with forward slashes. */
export function listFiles(root, folder, accepts) {
  const found = [];
  const visit = (relative) => {
    for (const entry of entriesOf(join(root, relative))) {
      if (entry.name.startsWith('.') || neverScanned.has(entry.name)) continue;
      const path = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile() && accepts(path)) found.push(path);
    }
  };
  visit(folder);
  return found.sort();
}

/** Lists the names of the folders under `packages/`. */
export function listPackages(root) {
  return entriesOf(join(root, 'packages'))
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

function entriesOf(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  }
}

/** Accepts TypeScript and JavaScript in any of their spellings. */
export function isCode(path) {
  return /\.[cm]?[jt]sx?$/.test(path);
}

/** Reads and parses one file. `lineAt` turns an offset of the tree into a 1-based line. */
export function readSource(root, path) {
  const text = readFileSync(join(root, path), 'utf8');
  const lang = /\.d\.[cm]?ts$/.test(path) ? 'dts' : /x$/.test(path) ? 'tsx' : /ts$/.test(path) ? 'ts' : 'js';
  const starts = lineStarts(text);
  const tree = parse(text, lang, path);
  return { path, text, tree, lineAt: (offset) => countUpTo(starts, offset) };
}

function parse(text, lang, path) {
  try {
    return parseAst(text, { lang }, path);
  } catch (error) {
    throw new Error(`Cannot parse ${path}: ${error.message}`, { cause: error });
  }
}

function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function countUpTo(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Yields the child nodes of a node with the key they hang on. */
export function* childrenOf(node) {
  for (const key of Object.keys(node)) {
    const value = node[key];
    if (Array.isArray(value)) {
      for (const each of value) if (isNode(each)) yield [key, each];
    } else if (isNode(value)) yield [key, value];
  }
}

function isNode(value) {
  return typeof value === 'object' && value !== null && typeof value.type === 'string';
}

/** Calls `visit` for every node, parents first. */
export function walk(node, visit) {
  visit(node);
  for (const [, child] of childrenOf(node)) walk(child, visit);
}

/** The string value of a literal or of a template without substitutions, else undefined. */
export function stringOf(node) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0) return node.quasis[0].value.cooked;
  return undefined;
}
