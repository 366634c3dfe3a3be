import {
  type Document,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Json } from '../../../../core/json.ts';
import { accept, type Problem, type Result, reject, type ValuePath } from '../../../../core/result.ts';
import {
  eolOf,
  type FileFormat,
  type Holder,
  isFirstOnLine,
  lineEnd,
  lineStart,
  type Splice,
  splice,
  Uneditable,
} from './format.ts';

/*
 * YAML. The Document of `yaml` knows where each node is. Writing a Document out would re-wrap, re-quote and re-indent
 * the whole file, so only the lines of one server are written, right below the key that holds the servers: nothing
 * before them can be a block scalar that keeps the blank lines after it.
 */

/** How many times an alias may multiply the node it refers to. */
const READING = { maxAliasCount: 1000 };
const WRITING = { lineWidth: 0 };
/** How much deeper our lines are than the key that holds them. */
const STEP = 2;

type Collection = YAMLMap<Node, Node | null> | YAMLSeq<Node>;
type Item = ReturnType<typeof itemsOf>[number];

export const yaml: FileFormat = {
  name: 'YAML',
  read: (text) => {
    const parsed = parse(text);
    return parsed.ok ? accept(parsed.value.value) : parsed;
  },
  insert,
  put,
  drop,
  line: ({ isList }, name, value) =>
    isList ? `- ${JSON.stringify(value)}` : `${stringify(name).trimEnd()}: ${JSON.stringify(value)}`,
};

type Parsed = { readonly value: unknown; readonly root: Node | null };

function parse(text: string): Result<Parsed> {
  const lines = new LineCounter();
  const refuse = (is: string, offset: number): { ok: false; problem: Problem } => {
    const { line, col } = lines.linePos(offset);
    return reject({ subject: 'the text', is, expected: 'YAML', position: { line, column: col } });
  };
  try {
    const documents = parseAllDocuments(text, { lineCounter: lines });
    const [document, second] = Array.isArray(documents) ? (documents as Document.Parsed[]) : [];
    if (document === undefined) return accept({ value: {}, root: null });
    if (second !== undefined) return refuse('it has more than one document', second.range[0]);
    const [error] = document.errors;
    if (error !== undefined) return refuse(firstLine(error.message), error.pos[0]);
    return accept({ value: document.toJS(READING) ?? {}, root: document.contents });
  } catch (error) {
    // Boundary: a file of brackets, and one whose aliases multiply, are refused and do not end the program.
    if (!(error instanceof RangeError || error instanceof ReferenceError)) throw error;
    return reject({ subject: 'the text', is: 'its nesting or its aliases have no bound', expected: 'YAML' });
  }
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '').replace(/[.:]$/, '');
}

function insert(text: string, { key, isList }: Holder, name: string, value: Json): string {
  const root = rootOf(text);
  const item = isList ? [value] : { [name]: value };
  if (root === null || isNothing(root)) return appended(text, { [key]: item });
  if (!isMap(root)) throw new Uneditable('the file is not a map');
  const map = root as Collection;
  const pair = memberOf(root, key);
  if (pair === undefined)
    return map.flow ? inBrackets(text, map, { [key]: item }) : appended(text, { [key]: item });
  const held = pair.node;
  const isEmpty = held === null || isNothing(held) || (isCollection(held) && held.items.length === 0);
  if (map.flow)
    return isEmpty ? splice(text, [replaced(text, pair, item)]) : inBrackets(text, held as Collection, item);
  if (!isEmpty && isCollection(held) && held.flow === true) return inBrackets(text, held as Collection, item);
  return belowKey(text, pair, isEmpty ? null : columnOf(text, held?.range?.[0] ?? 0), item);
}

/** Right below the line of the key; an empty value like `{}` goes. */
function belowKey(text: string, pair: Item, column: number | null, item: Json): string {
  const colon = text.indexOf(':', pair.keyEnd);
  const end = lineEnd(text, colon);
  const indent = ' '.repeat(column ?? columnOf(text, pair.start) + STEP);
  const gap = text.slice(0, end).endsWith('\n') ? '' : eolOf(text);
  const fresh = `${gap}${block(item, indent, text)}`;
  const [from, to] = (column === null && pair.node?.range) || [end, end];
  // On the line of the key only the value goes, so that a comment behind it stays.
  if (to <= end && from < to)
    return splice(text, [
      { start: colon + 1, end: to, text: '' },
      { start: end, end, text: fresh },
    ]);
  if (text.slice(end, from).trim() !== '') throw new Uneditable('a comment precedes the empty value');
  return splice(text, [{ start: end, end: from < to ? lineEnd(text, to) : end, text: fresh }]);
}

function put(text: string, path: ValuePath, value: Json): string {
  const entry = nodeAt(text, path.slice(0, -1));
  const field = String(path[path.length - 1]);
  if (!isMap(entry)) throw new Uneditable('the server is not a map');
  const map = entry as Collection;
  const old = memberOf(entry, field);
  if (old !== undefined) return splice(text, [replaced(text, old, value)]);
  if (map.flow) return inBrackets(text, map, { [field]: value });
  const line = itemsOf(map).find(({ node }) => isScalar(node) && !/^BLOCK_/.test(node.type ?? ''));
  if (line === undefined) throw new Uneditable('the server has no key with a value on one line');
  const end = lineEnd(text, line.end);
  const gap = text.slice(0, end).endsWith('\n') ? '' : eolOf(text);
  const fresh = `${gap}${' '.repeat(columnOf(text, line.start))}${field}: ${JSON.stringify(value)}${eolOf(text)}`;
  return splice(text, [{ start: end, end, text: fresh }]);
}

/** In place of the old value, on one line: JSON is YAML. A value on lines of its own moves up behind its key. */
function replaced(text: string, item: Item, value: Json): Splice {
  const range = item.node?.range;
  if (!range) throw new Uneditable('the value is not written in the file');
  const colon = item.isPair ? text.indexOf(':', item.keyEnd) : -1;
  const isBelow =
    colon !== -1 && /^\s+$/.test(text.slice(colon + 1, range[0])) && isFirstOnLine(text, range[0]);
  const start = isBelow ? colon + 1 : range[0];
  const end = start + text.slice(start, range[1]).trimEnd().length;
  const gap = text[start - 1] === ':' ? ' ' : '';
  return { start, end: Math.max(start, end), text: `${gap}${oneLine(value)}` };
}

/** A value on one line; a short text as people write it, if brackets around it cannot matter. */
function oneLine(value: Json): string {
  const isSimple = typeof value === 'string' && !/[\n,[\]{}]/.test(value);
  return isSimple ? stringify(value, WRITING).trimEnd() : JSON.stringify(value);
}

/** Behind the opening bracket. */
function inBrackets(text: string, { items, range }: Collection, item: Json): string {
  if (!range) throw new Uneditable('the value is not written in the file');
  const written = `${JSON.stringify(item).slice(1, -1)}${items.length === 0 ? '' : ', '}`;
  return splice(text, [{ start: range[0] + 1, end: range[0] + 1, text: written }]);
}

function drop(text: string, path: ValuePath): string {
  const [parent, outer] = [nodeAt(text, path.slice(0, -1)), nodeAt(text, path.slice(0, -2))];
  const items = isCollection(parent) ? itemsOf(parent as Collection) : [];
  const item = memberOf(parent, path.at(-1));
  if (item === undefined) throw new Uneditable('the value is missing');
  const holder = memberOf(outer, path.at(-2));
  if (items.length === 1 && holder !== undefined)
    return splice(text, [replaced(text, holder, isSeq(parent) ? [] : {})]);
  if ((parent as Collection).flow === true) {
    const index = items.findIndex(({ start }) => start === item.start);
    const [before, after] = [items[index - 1], items[index + 1]];
    const end = before === undefined && after !== undefined ? after.start : item.end;
    return splice(text, [{ start: before?.end ?? item.start, end, text: '' }]);
  }
  const start = lineStart(text, item.start);
  if (!(isSeq(parent) ? /^ *-\s+$/ : /^ *$/).test(text.slice(start, item.start)))
    throw new Uneditable('it shares a line with another value');
  return splice(text, [{ start, end: lineEnd(text, item.end), text: '' }]);
}

function rootOf(text: string): Node | null {
  const parsed = parse(text);
  if (!parsed.ok) throw new Uneditable(parsed.problem.is);
  return parsed.value.root;
}

function nodeAt(text: string, path: ValuePath): Node | null {
  let here = rootOf(text);
  for (const step of path) here = memberOf(here, step)?.node ?? null;
  return here;
}

function memberOf(parent: Node | null, step: string | number | undefined): Item | undefined {
  if (!isCollection(parent)) return undefined;
  const items = itemsOf(parent as Collection);
  return items.find(({ key }, i) => (isSeq(parent) ? i : isScalar(key) && key.value) === step);
}

/** The members of a collection with their offsets: `keyEnd` is where the key ends, `end` where the value does. */
function itemsOf({ items }: Collection) {
  return items.map((item) => {
    const [key, node]: [Node, Node | null] = isPair(item) ? [item.key, item.value] : [item, item];
    const [start, keyEnd] = key.range ?? [0, 0];
    return { key, node, isPair: isPair(item), start, keyEnd, end: (node ?? key).range?.[1] ?? keyEnd };
  });
}

/** Whether a node has no value: `key:` and no more, or an empty file. */
function isNothing(node: Node): boolean {
  return isScalar(node) && node.value === null;
}

function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

function block(value: Json, indent: string, text: string): string {
  const lines = stringify(value, WRITING).trimEnd().split('\n');
  return lines.map((line) => `${line === '' ? '' : indent}${line}${eolOf(text)}`).join('');
}

function appended(text: string, value: Json): string {
  const gap = text === '' || text.endsWith('\n') ? '' : eolOf(text);
  return `${text}${gap}${block(value, '', text)}`;
}
