import {
  createScanner,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser/lib/esm/main.js';
import type { Json } from '../../../../core/json.ts';
import { positionAt } from '../../../../core/text-position.ts';
import { nest } from '../values.ts';
import {
  eolOf,
  type Format,
  indentOf,
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
 * JSON, with comments and trailing commas where a file has them. The offsets come from the tree of jsonc-parser; its own
 * way to edit writes the neighbours of a change anew, so the splices are made here.
 */

/** What clients make of it is their matter; this reader takes what any of them takes. */
const LENIENT = { allowTrailingComma: true, disallowComments: false };
/** A document that is not there yet. */
const EMPTY = '{}';
const COMMA = 5;

export const json: Format = {
  read: (text) => readTree(text).parsed,
  put: (text, path, value) => put(text.trim() === '' ? `${EMPTY}${eolOf(text)}` : text, path, value),
  drop,
};

/** Whether a text has what strict JSON does not. */
export function hasExtras(text: string): boolean {
  const errors: ParseError[] = [];
  parseTree(text, errors, { allowTrailingComma: false, disallowComments: true });
  return errors.length > 0;
}

function readTree(text: string): { readonly parsed: Parsed; readonly root: Node | null } {
  if (text.trim() === '') return { parsed: { ok: true, value: {} }, root: null };
  const errors: ParseError[] = [];
  try {
    const root = parseTree(text, errors, LENIENT);
    const [first] = errors;
    if (first !== undefined || root === undefined) {
      const why = first === undefined ? 'there is no value' : words(printParseErrorCode(first.error));
      return { parsed: { ok: false, place: positionAt(text, first?.offset ?? 0), why }, root: null };
    }
    return { parsed: { ok: true, value: toValue(root) }, root };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // Boundary: the parser calls itself for each level, so a file of brackets ends here and not the program.
    return { parsed: { ok: false, place: null, why: 'it is nested too deeply' }, root: null };
  }
}

/** `CloseBraceExpected` → `close brace expected`. */
function words(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

function toValue(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(toValue);
  if (node.type !== 'object') return node.value;
  // Boundary: without a prototype, `__proto__` is a key like any other.
  const object: Record<string, unknown> = Object.create(null);
  for (const { children: [key, value] = [] } of node.children ?? [])
    if (key !== undefined && value !== undefined) object[String(key.value)] = toValue(value);
  return object;
}

function put(text: string, path: Path, fresh: Json): string {
  const { parsed, root } = readTree(text);
  if (!parsed.ok || root === null) throw new Uneditable('the text cannot be read');
  const { path: steps, value } = nest(parsed.value, path, fresh);
  const old = find(root, steps);
  if (old !== null) {
    const isLong = text.slice(old.offset, endOf(old)).includes('\n') || old.type === 'null';
    return splice(text, [
      { start: old.offset, end: endOf(old), text: write(text, value, old.offset, isLong) },
    ]);
  }
  const parent = find(root, steps.slice(0, -1));
  const key = steps[steps.length - 1];
  if (parent === null || (parent.type === 'array') !== (typeof key === 'number'))
    throw new Uneditable('the parent has another type');
  return splice(text, inserted(text, parent, key ?? 0, value));
}

/** Before the closing bracket, on lines of its own where that bracket is on one; and a comma behind the last neighbour. */
function inserted(text: string, parent: Node, key: string | number, value: Json): Splice[] {
  const close = endOf(parent) - 1;
  const last = parent.children?.[parent.children.length - 1];
  const isEmpty = text.slice(parent.offset + 1, close).trim() === '';
  const isLong = isEmpty || isFirstOnLine(text, close);
  const lead = typeof key === 'number' ? '' : `${JSON.stringify(key)}: `;
  const comma = last === undefined ? null : commaAfter(text, endOf(last));
  const end = last === undefined ? close : endOf(last);
  if (!isLong) {
    const start = comma === null ? end : comma + 1;
    const gap = last === undefined ? '' : comma === null ? ', ' : ' ';
    return [{ start, end: start, text: `${gap}${lead}${compact(value)}` }];
  }
  const parts = last === undefined || comma !== null ? [] : [{ start: end, end, text: ',' }];
  const eol = eolOf(text);
  const outer = indentAt(text, isEmpty ? parent.offset : close);
  const inner = `${outer}${indentOf(text)}`;
  const tail = comma === null ? '' : ',';
  const item = `${inner}${lead}${pretty(value, inner, text)}${tail}${eol}`;
  const start = isEmpty ? parent.offset + 1 : lineStart(text, close);
  const fresh = isEmpty ? `${eol}${item}${outer}` : item;
  return [...parts, { start, end: isEmpty ? close : start, text: fresh }];
}

function drop(text: string, path: Path): string {
  const { root } = readTree(text);
  const found = root === null ? null : find(root, path);
  const node = found?.parent?.type === 'property' ? found.parent : found;
  const siblings = node?.parent?.children ?? [];
  if (node === null || node === undefined || node.parent === undefined)
    throw new Uneditable('there is no such value');
  const index = siblings.indexOf(node);
  const [before, after] = [siblings[index - 1], siblings[index + 1]];
  const comma = commaAfter(text, endOf(node));
  const end = comma === null ? endOf(node) : comma + 1;
  const parts: Splice[] = [];
  // The comma before the last one goes with it, unless the file has commas there.
  if (after === undefined && comma === null && before !== undefined) {
    const start = commaAfter(text, endOf(before));
    if (start === null) throw new Uneditable('there is no comma between two values');
    parts.push({ start, end: start + 1, text: '' });
  }
  const isAlone = isFirstOnLine(text, node.offset) && /^[ \t]*\r?(\n|$)/.test(text.slice(end));
  if (isAlone) parts.push({ start: lineStart(text, node.offset), end: lineEnd(text, end), text: '' });
  else
    parts.push({
      start: node.offset - gapBefore(text, node, before),
      end: end + gapAfter(text, end, before),
      text: '',
    });
  return splice(text, parts);
}

/** A blank before the last one of a line goes with it. */
function gapBefore(text: string, node: Node, before: Node | undefined): number {
  return before !== undefined && text[node.offset - 1] === ' ' ? 1 : 0;
}

function gapAfter(text: string, end: number, before: Node | undefined): number {
  return before === undefined && text[end] === ' ' && text[end - 1] === ',' ? 1 : 0;
}

/** The offset of the comma behind a value, comments and lines between them notwithstanding. */
function commaAfter(text: string, offset: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  return scanner.scan() === COMMA ? scanner.getTokenOffset() : null;
}

function find(root: Node, path: Path): Node | null {
  let here: Node | undefined = root;
  for (const step of path) {
    if (typeof step === 'number') here = here.type === 'array' ? here.children?.[step] : undefined;
    else here = here.type === 'object' ? ofKey(here, step) : undefined;
    if (here === undefined) return null;
  }
  return here;
}

/** Of a key that is there twice, parsers take the last. */
function ofKey(object: Node, key: string): Node | undefined {
  return object.children?.findLast(({ children }) => children?.[0]?.value === key)?.children?.[1];
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? '';
}

function write(text: string, value: Json, offset: number, isLong: boolean): string {
  return isLong ? pretty(value, indentAt(text, offset), text) : compact(value);
}

function pretty(value: Json, indent: string, text: string): string {
  return JSON.stringify(value, null, indentOf(text)).replaceAll('\n', `${eolOf(text)}${indent}`);
}

/** On one line, with a blank behind commas and colons as people write it. */
function compact(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(compact).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${compact(each)}`)
    .join(', ')}}`;
}
