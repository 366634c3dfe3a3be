import { parse, TomlError } from 'smol-toml';
import { type AST, parseTOML } from 'toml-eslint-parser';
import type { Json } from '../../../../core/json.ts';
import { accept, type Result, reject, type ValuePath } from '../../../../core/result.ts';
import {
  eolOf,
  type FileFormat,
  type Holder,
  lineEnd,
  lineStart,
  type Splice,
  splice,
  Uneditable,
} from './format.ts';

/*
 * TOML. A new server is a table behind all others. It is found again by its header and removed as whole lines; a key of a
 * server is a line of its table. A server in braces is left to its owner. smol-toml reads what a text means,
 * toml-eslint-parser where it is written.
 */

const MAX_DEPTH = 64;
const BARE = /^[A-Za-z0-9_-]+$/;

type TopNode = AST.TOMLKeyValue | AST.TOMLTable;
type Written = { readonly path: ValuePath; readonly node: AST.TOMLKeyValue };

export const toml: FileFormat = {
  name: 'TOML',
  read,
  insert,
  put,
  drop,
  line: ({ isList }, name, value) => (isList ? literal(value) : `${keyOf(name)} = ${literal(value)}`),
};

function read(text: string): Result<unknown> {
  const problem = { subject: 'the text', expected: 'TOML' };
  try {
    return accept(parse(text, { integersAsBigInt: 'asNeeded', maxDepth: MAX_DEPTH }));
  } catch (error) {
    if (error instanceof TomlError) {
      const [is = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
      return reject({ ...problem, is, position: { line: error.line, column: error.column } });
    }
    // Boundary: the parser calls itself for each level.
    if (error instanceof RangeError) return reject({ ...problem, is: 'it is nested too deeply' });
    throw error;
  }
}

function insert(text: string, { key, isList }: Holder, name: string, value: Json): string {
  const whole = withoutEmpty(text, key);
  const eol = eolOf(whole);
  const header = isList ? `[[${keyOf(key)}]]` : `[${keyOf(key)}.${keyOf(name)}]`;
  const lines = Object.entries(value ?? {}).map(([each, one]) => `${keyOf(each)} = ${literal(one)}`);
  const gap = whole === '' ? '' : whole.endsWith('\n') ? eol : `${eol}${eol}`;
  return `${whole}${gap}${[header, ...lines].join(eol)}${eol}`;
}

/** Some clients write `mcp_servers = []`, beside which no table of that name may be. */
function withoutEmpty(text: string, key: string): string {
  const held = pairAt(nodesOf(text), [key])?.node;
  if (held === undefined || held.value.type === 'TOMLValue') return text;
  const { length } = held.value.type === 'TOMLArray' ? held.value.elements : held.value.body;
  if (length > 0) throw new Uneditable(`${key} is written in brackets`);
  const whole = wholeLines(text, held.range);
  const isAlone = text.slice(whole.start, whole.end).trim() === text.slice(...held.range);
  return splice(text, [isAlone ? whole : { start: held.range[0], end: held.range[1], text: '' }]);
}

function put(text: string, path: ValuePath, value: Json): string {
  const nodes = nodesOf(text);
  const old = pairAt(nodes, path)?.node.value.range;
  if (old !== undefined) return splice(text, [{ start: old[0], end: old[1], text: literal(value) }]);
  const table = tablesIn(nodes, path.slice(0, -1)).find(
    ({ resolvedKey }) => resolvedKey.length === path.length - 1,
  );
  if (table === undefined) throw new Uneditable('the server has no table of its own');
  const start = lineEnd(text, table.body[table.body.length - 1]?.range[1] ?? table.key.range[1]);
  const gap = text.slice(0, start).endsWith('\n') ? '' : eolOf(text);
  const line = `${keyOf(path[path.length - 1] ?? '')} = ${literal(value)}`;
  return splice(text, [{ start, end: start, text: `${gap}${line}${eolOf(text)}` }]);
}

function drop(text: string, path: ValuePath): string {
  const nodes = nodesOf(text);
  const pairs = nodes.flatMap(pairsOf).filter((pair) => isWithin(pair.path, path));
  const tables = tablesIn(nodes, path);
  // A pair of a table that goes is not removed twice.
  const ranges = [
    ...tables,
    ...pairs.filter(({ node }) => !tables.includes(node.parent as never)).map((each) => each.node),
  ];
  if (ranges.length === 0) throw new Uneditable('the server has no table of its own');
  return splice(
    text,
    ranges.map(({ range }) => withGap(text, wholeLines(text, range))),
  );
}

function wholeLines(text: string, [from, to]: AST.Range): Splice {
  return { start: lineStart(text, from), end: lineEnd(text, to), text: '' };
}

/** The blank line before a table goes with it where the file ends or another blank line follows. */
function withGap(text: string, { start, end, text: fresh }: Splice): Splice {
  const isSpare = /^(\s*$|\r?\n)/.test(text.slice(end));
  const gap = /\n(\r?\n)$/.exec(text.slice(0, start))?.[1] ?? '';
  return { start: isSpare ? start - gap.length : start, end, text: fresh };
}

function nodesOf(text: string): readonly TopNode[] {
  // smol-toml has accepted the text and bounded its depth before.
  return parseTOML(text, { tomlVersion: '1.1' }).body[0].body;
}

function tablesIn(nodes: readonly TopNode[], path: ValuePath): readonly AST.TOMLTable[] {
  return nodes
    .filter((node) => node.type === 'TOMLTable')
    .filter(({ resolvedKey }) => isWithin(resolvedKey, path));
}

function pairAt(nodes: readonly TopNode[], path: ValuePath): Written | undefined {
  return nodes.flatMap(pairsOf).find((pair) => pair.path.length === path.length && isWithin(pair.path, path));
}

function pairsOf(node: TopNode): readonly Written[] {
  if (node.type === 'TOMLKeyValue') return [{ path: namesOf(node.key), node }];
  return node.body.map((pair) => ({ path: [...node.resolvedKey, ...namesOf(pair.key)], node: pair }));
}

function namesOf({ keys }: AST.TOMLKey): ValuePath {
  return keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value));
}

function isWithin(path: ValuePath, outer: ValuePath): boolean {
  return outer.every((step, i) => path[i] === step);
}

function keyOf(key: string | number): string {
  const text = String(key);
  return BARE.test(text) ? text : literal(text);
}

function literal(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (value === null) throw new Uneditable('TOML has no null');
  if (typeof value !== 'object') return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
  const pairs = Object.entries(value).map(([key, each]) => `${keyOf(key)} = ${literal(each)}`);
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
}
