import {
  applyEdits,
  createScanner,
  type Edit,
  findNodeAtLocation,
  format,
  modify,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser/lib/esm/main.js';
import type { Json } from '../../../../core/json.ts';
import { accept, type Result, reject, type ValuePath } from '../../../../core/result.ts';
import { positionAt } from '../../../../core/text-position.ts';
import {
  eolOf,
  type FileFormat,
  type Holder,
  isFirstOnLine,
  lineEnd,
  lineStart,
  Uneditable,
} from './format.ts';

/*
 * JSON, with comments and trailing commas where a file has them. jsonc-parser finds the edit; only the inserted part is
 * formatted, because its own formatting would also reformat the surrounding lines.
 */

/** Every client's dialect is read; whether the client takes comments is its own matter. */
const LENIENT = { allowTrailingComma: true, disallowComments: false };
const COMMA = 5;
/** A comment that ends the line of a value, and the comma between them. */
const COMMENT_BEHIND = /^(\s*,)?[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*(?=\r?\n))/;

export const json: FileFormat = {
  name: 'JSON',
  read,
  insert,
  put,
  drop,
  line: (_, name, value) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
};

/** Whether a text has what strict JSON does not. */
export function hasExtras(text: string): boolean {
  const errors: ParseError[] = [];
  parseTree(text, errors, { allowTrailingComma: false, disallowComments: true });
  return errors.length > 0;
}

function read(text: string): Result<unknown> {
  if (text.trim() === '') return accept({});
  const problem = { subject: 'the text', expected: 'JSON' };
  const errors: ParseError[] = [];
  try {
    const root = parseTree(text, errors, LENIENT);
    const [first] = errors;
    if (first === undefined && root !== undefined) return accept(toValue(root));
    // `CloseBraceExpected` becomes `close brace expected`.
    const code = first && printParseErrorCode(first.error).replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
    const is = code?.toLowerCase() ?? 'it has no value';
    return reject({ ...problem, is, position: positionAt(text, first?.offset ?? 0) });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // Boundary: the parser calls itself for each level, so a file of brackets is refused and does not end the program.
    return reject({ ...problem, is: 'it is nested too deeply' });
  }
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

function insert(text: string, { key }: Holder, name: string, value: Json): string {
  const whole = text.trim() === '' ? `{}${eolOf(text)}` : text;
  const holder = nodeAt(whole, [key]);
  return holder?.type === 'object' ? put(whole, [key, name], value) : put(whole, [key], { [name]: value });
}

function put(text: string, path: ValuePath, value: Json): string {
  const replaced = nodeAt(text, path);
  const node = replaced ?? nodeAt(text, path.slice(0, -1));
  if (node === undefined) throw new Uneditable('a key that should hold it is missing');
  const edits = modify(text, [...path], value, {}).flatMap((edit) => behindComment(text, edit, node));
  const edited = applyEdits(text, edits);
  if (!spansLines(text, node, replaced !== undefined)) return edited;
  const lead = edits.slice(0, -1).reduce((sum, edit) => sum + edit.content.length, 0);
  const { offset = 0, content = '' } = edits[edits.length - 1] ?? {};
  const [start, end] = [offset + lead, offset + lead + content.length];
  // The brackets of an object that was empty go on lines of their own.
  const isClosed = edited[end] === '}';
  const range = { offset: Math.max(0, start - 1), length: end - start + (isClosed ? 2 : 1) };
  return applyEdits(edited, format(edited, range, layoutOf(text)));
}

/** A new member goes behind the comment of the one before it, and behind the comments of an empty object. */
function behindComment(text: string, edit: Edit, parent: Node): readonly Edit[] {
  const [eol, { offset, content }] = [eolOf(text), edit];
  if (edit.length > 0) return [edit];
  if (!content.startsWith(',')) {
    const end = text.slice(0, endOf(parent) - 1).trimEnd().length;
    return [{ offset: end, length: 0, content: end === offset ? content : `${eol}${content}` }];
  }
  const found = COMMENT_BEHIND.exec(text.slice(offset));
  if (found === null) return [edit];
  const [{ length }, comma] = found;
  const member = { offset: offset + length, length: 0, content: `${eol}${content.slice(1)}` };
  if (comma !== undefined) return [{ ...member, content: `${member.content},` }];
  return [{ offset, length: 0, content: ',' }, member];
}

/** Whether what is written there is laid out on several lines. */
function spansLines(text: string, node: Node, isReplaced: boolean): boolean {
  if (text.slice(node.offset, endOf(node)).includes('\n')) return true;
  const isEmpty = node.type === 'null' || (!isReplaced && (node.children ?? []).length === 0);
  return isEmpty && (node.parent === undefined || text.trim().includes('\n'));
}

function layoutOf(text: string) {
  const [, indent = '  '] = /^([ \t]+)\S/m.exec(text) ?? [];
  return { insertSpaces: !indent.startsWith('\t'), tabSize: Math.min(indent.length, 8), eol: eolOf(text) };
}

function drop(text: string, path: ValuePath): string {
  const node = nodeAt(text, path)?.parent;
  const siblings = node?.parent?.children;
  if (node === undefined || siblings === undefined) throw new Uneditable('the value is missing');
  const before = siblings[siblings.indexOf(node) - 1];
  const comma = commaAfter(text, endOf(node));
  const end = comma === null ? endOf(node) : comma + 1;
  const edits: Edit[] = [];
  // The comma before the last member goes with it.
  const orphan = comma === null && before !== undefined ? commaAfter(text, endOf(before)) : null;
  if (orphan !== null) edits.push({ offset: orphan, length: 1, content: '' });
  const isAlone = isFirstOnLine(text, node.offset) && /^[ \t]*\r?(\n|$)/.test(text.slice(end));
  const gap = before !== undefined && text[node.offset - 1] === ' ' ? 1 : 0;
  const [from, to] = isAlone
    ? [lineStart(text, node.offset), lineEnd(text, end)]
    : [node.offset - gap, gap === 0 && comma !== null && text[end] === ' ' ? end + 1 : end];
  return applyEdits(text, [...edits, { offset: from, length: to - from, content: '' }]);
}

/** The offset of the comma behind a value, past comments and lines. */
function commaAfter(text: string, offset: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  return scanner.scan() === COMMA ? scanner.getTokenOffset() : null;
}

function nodeAt(text: string, path: ValuePath): Node | undefined {
  const root = parseTree(text, [], LENIENT);
  return root === undefined ? undefined : findNodeAtLocation(root, [...path]);
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}
