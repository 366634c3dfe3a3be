import { parse, TomlError } from 'smol-toml';
import { type AST, parseTOML } from 'toml-eslint-parser';
import type { Json } from '../../../../core/json.ts';
import {
  eolOf,
  type Format,
  lineEnd,
  lineStart,
  type Parsed,
  type Path,
  type Splice,
  splice,
  Uneditable,
} from './format.ts';

/*
 * TOML. A new entry is a table behind all others, which is always a place where one may stand; only where the file has the
 * parent in brackets is it put in there. smol-toml says what a text means, toml-eslint-parser where it says so.
 */

const MAX_DEPTH = 64;
const BARE = /^[A-Za-z0-9_-]+$/;

type Inline = AST.TOMLArray | AST.TOMLInlineTable;

export const toml: Format = { read, put, drop };

function read(text: string): Parsed {
  try {
    return { ok: true, value: parse(text, { integersAsBigInt: 'asNeeded', maxDepth: MAX_DEPTH }) };
  } catch (error) {
    if (error instanceof TomlError) {
      const [summary = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
      return { ok: false, place: { line: error.line, column: error.column }, why: summary };
    }
    // Boundary: the parser calls itself for each level.
    if (error instanceof RangeError) return { ok: false, place: null, why: 'it is nested too deeply' };
    throw error;
  }
}

function put(text: string, path: Path, value: Json): string {
  const nodes = nodesOf(text);
  const old = contentAt(nodes, path);
  if (old !== null) return splice(text, [{ start: old.range[0], end: old.range[1], text: literal(value) }]);
  const key = path[path.length - 1] ?? '';
  const parent = contentAt(nodes, path.slice(0, -1));
  if (parent !== null) return splice(text, [insideBrackets(text, parent, key, value)]);
  const table = nodes.find(
    (node) => node.type === 'TOMLTable' && isSame(node.resolvedKey, path.slice(0, -1)),
  );
  if (table?.type === 'TOMLTable' && (typeof value !== 'object' || Array.isArray(value)))
    return belowLast(text, table, `${keyOf(key)} = ${literal(value)}`);
  return appended(text, path, value);
}

function belowLast(text: string, table: AST.TOMLTable, line: string): string {
  const end = table.body[table.body.length - 1]?.range[1] ?? table.key.range[1];
  const start = lineEnd(text, end);
  const gap = text.slice(0, start).endsWith('\n') ? '' : eolOf(text);
  return splice(text, [{ start, end: start, text: `${gap}${line}${eolOf(text)}` }]);
}

/** Behind everything else, after an empty line. */
function appended(text: string, path: Path, value: Json): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Uneditable('there is no table to put it in');
  const eol = eolOf(text);
  const names = path
    .filter((step) => typeof step === 'string')
    .map(keyOf)
    .join('.');
  const header = typeof path[path.length - 1] === 'number' ? `[[${names}]]` : `[${names}]`;
  const lines = Object.entries(value).map(([key, each]) => `${keyOf(key)} = ${literal(each)}`);
  const gap = text === '' ? '' : text.endsWith('\n') ? eol : `${eol}${eol}`;
  return `${text}${gap}${[header, ...lines].join(eol)}${eol}`;
}

function insideBrackets(
  text: string,
  parent: AST.TOMLContentNode,
  key: string | number,
  value: Json,
): Splice {
  if (parent.type === 'TOMLValue') throw new Uneditable('the parent has another type');
  const close = parent.range[1] - 1;
  const parts = partsOf(parent);
  const last = parts[parts.length - 1];
  const item = parent.type === 'TOMLArray' ? literal(value) : `${keyOf(key)} = ${literal(value)}`;
  if (last === undefined) return { start: parent.range[0] + 1, end: parent.range[0] + 1, text: item };
  const comma = /^[\s]*,/.exec(text.slice(last.range[1], close))?.[0];
  const start = last.range[1] + (comma?.length ?? 0);
  return { start, end: start, text: `${comma === undefined ? ',' : ''} ${item}` };
}

function drop(text: string, path: Path): string {
  const nodes = nodesOf(text);
  const lines: Splice[] = [];
  for (const node of nodes) {
    if (node.type === 'TOMLTable' && isWithin(node.resolvedKey, path))
      lines.push(wholeLines(text, node.range));
    else
      for (const pair of pairsOf(node))
        if (isWithin(pair.path, path)) lines.push(wholeLines(text, pair.node.range));
  }
  if (lines.length > 0)
    return splice(
      text,
      lines.map((each) => withGap(text, each)),
    );
  const parent = contentAt(nodes, path.slice(0, -1));
  if (parent === null || parent.type === 'TOMLValue') throw new Uneditable('there is no such value');
  return splice(text, [withoutInBrackets(text, parent, path)]);
}

function withoutInBrackets(text: string, parent: Inline, path: Path): Splice {
  const key = path[path.length - 1];
  const parts = partsOf(parent);
  const index = parts.findIndex((part, i) =>
    part.type === 'TOMLKeyValue' ? isSame(namesOf(part.key), [key ?? '']) : i === key,
  );
  const [before, part, after] = [parts[index - 1], parts[index], parts[index + 1]];
  if (part === undefined) throw new Uneditable('there is no such value');
  if (before !== undefined) return { start: before.range[1], end: part.range[1], text: '' };
  const comma = /^\s*,/.exec(text.slice(part.range[1]))?.[0] ?? '';
  return { start: part.range[0], end: after?.range[0] ?? part.range[1] + comma.length, text: '' };
}

function wholeLines(text: string, [from, to]: AST.Range): Splice {
  return { start: lineStart(text, from), end: lineEnd(text, to), text: '' };
}

/** The empty line before a table that ends the file goes with it. */
function withGap(text: string, { start, end, text: fresh }: Splice): Splice {
  const isLast = text.slice(end).trim() === '';
  const gap = /\n(\r?\n)$/.exec(text.slice(0, start))?.[1] ?? '';
  return { start: isLast ? start - gap.length : start, end, text: fresh };
}

type TopNode = AST.TOMLKeyValue | AST.TOMLTable;
type Part = AST.TOMLKeyValue | AST.TOMLContentNode;

function nodesOf(text: string): readonly TopNode[] {
  // smol-toml has taken the text and bounded its depth before.
  return parseTOML(text, { tomlVersion: '1.1' }).body[0].body;
}

/** The value that is written at a path, in a table of its own or in brackets; null where none is written as such. */
function contentAt(nodes: readonly TopNode[], path: Path): AST.TOMLContentNode | null {
  for (const { path: names, node } of nodes.flatMap(pairsOf)) {
    if (isSame(names, path)) return node.value;
    if (isWithin(path, names)) return contentIn(node.value, path.slice(names.length));
  }
  return null;
}

function contentIn(content: AST.TOMLContentNode, path: Path): AST.TOMLContentNode | null {
  const [step, ...rest] = path;
  if (step === undefined) return content;
  if (content.type === 'TOMLArray') {
    const element = content.elements[Number(step)];
    return element === undefined ? null : contentIn(element, rest);
  }
  if (content.type === 'TOMLValue') return null;
  for (const pair of content.body) {
    const names = namesOf(pair.key);
    if (isWithin(path, names)) return contentIn(pair.value, path.slice(names.length));
  }
  return null;
}

function pairsOf(node: TopNode): readonly { readonly path: Path; readonly node: AST.TOMLKeyValue }[] {
  if (node.type === 'TOMLKeyValue') return [{ path: namesOf(node.key), node }];
  return node.body.map((pair) => ({ path: [...node.resolvedKey, ...namesOf(pair.key)], node: pair }));
}

function partsOf(content: Inline): readonly Part[] {
  return content.type === 'TOMLArray' ? content.elements : content.body;
}

function namesOf({ keys }: AST.TOMLKey): Path {
  return keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value));
}

function isWithin(path: Path, outer: Path): boolean {
  return outer.every((step, i) => path[i] === step);
}

function isSame(one: Path, other: Path): boolean {
  return one.length === other.length && isWithin(one, other);
}

function keyOf(key: string | number): string {
  const text = String(key);
  return BARE.test(text) ? text : literal(text);
}

/** A value on one line. */
function literal(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (value === null) throw new Uneditable('TOML has no null');
  if (typeof value !== 'object') return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
  const pairs = Object.entries(value).map(([key, each]) => `${keyOf(key)} = ${literal(each)}`);
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
}
