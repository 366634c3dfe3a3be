import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Json } from '../../../../core/json.ts';
import { nest } from '../values.ts';
import {
  eolOf,
  type Format,
  isFirstOnLine,
  lineEnd,
  lineStart,
  type Parsed,
  type Path,
  type Splice,
  splice,
  Uneditable,
} from './format.ts';

/*
 * YAML. The documents of `yaml` know where each node stands; writing them out would wrap, quote and indent the whole file
 * anew, so only the lines of one entry are written and spliced in.
 */

/** Values that are references to others are not followed without end. */
const READING = { maxAliasCount: 1000 };
const WRITING = { lineWidth: 0 };

type Item = Node | Pair<Node, Node | null>;
type Read = { readonly parsed: Parsed; readonly root: Node | null };

export const yaml: Format = { read: (text) => readTree(text).parsed, put, drop };

function readTree(text: string): Read {
  const lines = new LineCounter();
  try {
    const documents = parseAllDocuments(text, { lineCounter: lines });
    const [document, second] = Array.isArray(documents) ? (documents as Document.Parsed[]) : [];
    if (document === undefined) return { parsed: { ok: true, value: {} }, root: null };
    if (second !== undefined) return refuse(lines, second.range[0], 'it has more than one document');
    const [error] = document.errors;
    if (error !== undefined) return refuse(lines, error.pos[0], firstLine(error.message));
    const value: unknown = document.toJS(READING) ?? {};
    return { parsed: { ok: true, value }, root: document.contents };
  } catch (error) {
    // Boundary: a file of brackets, and one whose references multiply, are refused and end nothing.
    if (!(error instanceof RangeError || error instanceof ReferenceError)) throw error;
    return {
      parsed: { ok: false, place: null, why: 'it is nested or refers to itself too often' },
      root: null,
    };
  }
}

function refuse(lines: LineCounter, offset: number, why: string): Read {
  const { line, col } = lines.linePos(offset);
  return { parsed: { ok: false, place: { line, column: col }, why }, root: null };
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '').replace(/[.:]$/, '');
}

function put(text: string, path: Path, fresh: Json): string {
  const { parsed, root } = readTree(text);
  if (!parsed.ok) throw new Uneditable(parsed.why);
  const { path: steps, value } = nest(parsed.value, path, fresh);
  const key = steps[steps.length - 1] ?? 0;
  if (root === null || isNothing(root)) return appended(text, block({ [key]: value }, '', text));
  const old = find(root, steps);
  if (old !== null) return splice(text, [belowKey(text, old, value) ?? replaced(text, old, value)]);
  const parent = find(root, steps.slice(0, -1))?.node;
  if (parent === undefined || !isCollection(parent) || isSeq(parent) !== (typeof key === 'number'))
    throw new Uneditable('the parent has another type');
  const item = typeof key === 'number' ? [value] : { [key]: value };
  return parent.flow === true ? insideBrackets(text, parent, item) : behindLast(text, parent, item);
}

type Found = { readonly node: Node | null; readonly item: Item; readonly parent: YAMLMap | YAMLSeq | null };

function find(root: Node, path: Path): Found | null {
  let here: Found = { node: root, item: root, parent: null };
  for (const step of path) {
    const { node } = here;
    const item = isSeq(node)
      ? node.items[Number(step)]
      : isMap(node)
        ? node.items.find(({ key }) => isScalar(key) && key.value === step)
        : undefined;
    if (item === undefined || item === null || !isCollection(node)) return null;
    const parent = node as YAMLMap | YAMLSeq;
    const value = isPair(item) ? item.value : item;
    here = { node: isNode(value) ? value : null, item: item as Item, parent };
  }
  return here;
}

/** Whether a node says nothing: `key:` and no more, or an empty file. */
function isNothing(node: Node): boolean {
  return isScalar(node) && node.value === null;
}

/** In the place of the old value, on one line; JSON is YAML. */
function replaced(text: string, { node, item }: Found, value: Json): Splice {
  const range = node?.range;
  const key = isPair(item) ? item.key.range : null;
  if (range === null || range === undefined) throw new Uneditable('the value stands nowhere');
  // A value that stands on lines of its own moves up behind its key, where nothing is between them.
  const colon = key === null || key === undefined ? -1 : text.indexOf(':', key[1]);
  const isBelow =
    colon !== -1 && /^\s+$/.test(text.slice(colon + 1, range[0])) && isFirstOnLine(text, range[0]);
  const start = isBelow ? colon + 1 : range[0];
  const old = text.slice(start, range[1]);
  const end = start + old.trimEnd().length;
  const gap = text[start - 1] === ':' ? ' ' : '';
  return { start, end: Math.max(end, start), text: `${gap}${JSON.stringify(value)}` };
}

/** Below a key that nothing is written behind. */
function belowKey(text: string, { node, item, parent }: Found, value: Json): Splice | null {
  const isUnwritten = node !== null && isNothing(node) && node.range?.[0] === node.range?.[1];
  if (!isUnwritten || !isPair(item) || parent?.flow === true || typeof value !== 'object') return null;
  const key = contentStart(item);
  const offset = lineEnd(text, contentEnd(item));
  const indent = ' '.repeat(key - lineStart(text, key) + 2);
  const gap = text.slice(0, offset).endsWith('\n') ? '' : eolOf(text);
  return { start: offset, end: offset, text: `${gap}${block(value, indent, text)}` };
}

/** On lines of its own behind the last of its neighbours, and indented like them. */
function behindLast(text: string, parent: Node & { items: unknown[] }, item: Json): string {
  const last = parent.items[parent.items.length - 1] as Item | undefined;
  const start = parent.range?.[0];
  if (last === undefined || start === undefined) throw new Uneditable('the collection is empty');
  // In a list, the first line of an element begins with its dash.
  const indent = text.slice(lineStart(text, start), start).replace(/[^ ]/g, ' ');
  const offset = lineEnd(text, contentEnd(last));
  const fresh = block(item, indent, text);
  if (offset === text.length && !text.endsWith('\n')) return appended(text, fresh).trimEnd();
  return splice(text, [{ start: offset, end: offset, text: fresh }]);
}

function insideBrackets(text: string, parent: Node & { items: unknown[] }, item: Json): string {
  const close = (parent.range?.[1] ?? 0) - 1;
  const written = JSON.stringify(item).slice(1, -1);
  const before = text.slice(0, close).trimEnd();
  const gap = parent.items.length === 0 || before.endsWith(',') ? '' : ', ';
  return splice(text, [{ start: before.length, end: before.length, text: `${gap}${written}` }]);
}

function drop(text: string, path: Path): string {
  const { root } = readTree(text);
  const found = root === null ? null : find(root, path);
  const { item, parent } = found ?? {};
  if (item === undefined || parent === undefined || parent === null)
    throw new Uneditable('there is no such value');
  const items = parent.items as readonly Item[];
  if (items.length === 1) {
    const empty = find(root as Node, path.slice(0, -1));
    if (empty === null) throw new Uneditable('the collection stands nowhere');
    return path.length === 1
      ? onlyComments(text, item)
      : splice(text, [replaced(text, empty, isSeq(parent) ? [] : {})]);
  }
  if (parent.flow === true) return withoutInBrackets(text, items, items.indexOf(item));
  const start = lineStart(text, contentStart(item));
  const prefix = text.slice(start, contentStart(item));
  if (!(isSeq(parent) ? /^ *-\s+$/ : /^ *$/).test(prefix))
    throw new Uneditable('it shares a line with another value');
  return splice(text, [{ start, end: lineEnd(text, contentEnd(item)), text: '' }]);
}

function onlyComments(text: string, item: Item): string {
  const start = lineStart(text, contentStart(item));
  return splice(text, [{ start, end: lineEnd(text, contentEnd(item)), text: '' }]);
}

function withoutInBrackets(text: string, items: readonly Item[], index: number): string {
  const [before, item, after] = [items[index - 1], items[index], items[index + 1]];
  if (item === undefined) throw new Uneditable('there is no such value');
  const start = before === undefined ? contentStart(item) : contentEnd(before);
  const end = before === undefined && after !== undefined ? contentStart(after) : contentEnd(item);
  return splice(text, [{ start, end, text: '' }]);
}

function contentStart(item: Item): number {
  const range = isPair(item) ? item.key.range : item.range;
  if (range === null || range === undefined) throw new Uneditable('the value stands nowhere');
  return range[0];
}

function contentEnd(item: Item): number {
  const value = isPair(item) ? (item.value ?? item.key) : item;
  const range = value.range;
  if (range === null || range === undefined) throw new Uneditable('the value stands nowhere');
  return range[1];
}

function block(value: Json, indent: string, text: string): string {
  const eol = eolOf(text);
  const lines = stringify(value, WRITING).trimEnd().split('\n');
  return lines.map((line) => (line === '' ? eol : `${indent}${line}${eol}`)).join('');
}

function appended(text: string, fresh: string): string {
  const gap = text === '' || text.endsWith('\n') ? '' : eolOf(text);
  return `${text}${gap}${fresh}`;
}
