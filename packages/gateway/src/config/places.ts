import type { AST } from 'toml-eslint-parser';
import type { Place } from '../core/strict-json.ts';
import type { Path } from './problem.ts';

/*
 * Where things stand in palisade.toml. smol-toml reads the values; this asks a second parser for the syntax tree, and
 * only when a line is wanted (an error, `palisade config show`). The tree is walked by hand: that parser's own way to
 * turn it into values writes through `__proto__`.
 */

/** Gives the place of a path's key or value; undefined when the file does not mention it. */
export type Places = (path: Path, at: 'key' | 'value') => Place | undefined;

type Loc = { readonly start: { readonly line: number; readonly column: number } };
type Found = { readonly key: Loc; readonly value: Loc };
type Note = (path: Path, key: Loc, value: Loc) => void;

/** No path that a check names is longer: secret, index, key, element. */
const MAX_PATH_PARTS = 4;

/** Finds the places of everything in a text; a text that this parser does not take has no places. */
export async function findPlaces(text: string): Promise<Places> {
  const found = new Map<string, Found>();
  const note: Note = (path, key, value) => {
    const id = JSON.stringify(path);
    if (!found.has(id)) found.set(id, { key, value });
  };
  for (const node of await parseNodes(text)) {
    if (node.type === 'TOMLKeyValue') noteKeyValue(node, [], note);
    else noteTable(node, note);
  }
  return (path, at) => {
    const start = found.get(JSON.stringify(path))?.[at].start;
    return start && { line: start.line, column: start.column + 1 };
  };
}

async function parseNodes(text: string): Promise<AST.TOMLTopLevelTable['body']> {
  const { ParseError, parseTOML } = await import('toml-eslint-parser');
  try {
    return parseTOML(text, { tomlVersion: '1.1' }).body[0].body;
  } catch (error) {
    if (error instanceof ParseError) return [];
    throw error;
  }
}

function noteTable(table: AST.TOMLTable, note: Note): void {
  const path = table.resolvedKey.slice(0, MAX_PATH_PARTS);
  for (let i = 1; i <= path.length; i++) note(path.slice(0, i), table.key.loc, table.key.loc);
  if (path.length === MAX_PATH_PARTS) return;
  for (const pair of table.body) noteKeyValue(pair, path, note);
}

function noteKeyValue(pair: AST.TOMLKeyValue, base: Path, note: Note): void {
  let path = base;
  for (const key of pair.key.keys) {
    if (path.length === MAX_PATH_PARTS) return;
    path = [...path, key.type === 'TOMLBare' ? key.name : key.value];
    note(path, key.loc, pair.value.loc);
  }
  noteContent(pair.value, path, note);
}

function noteContent(content: AST.TOMLContentNode, path: Path, note: Note): void {
  if (path.length === MAX_PATH_PARTS || content.type === 'TOMLValue') return;
  if (content.type === 'TOMLInlineTable') {
    for (const pair of content.body) noteKeyValue(pair, path, note);
    return;
  }
  for (const [i, element] of content.elements.entries()) {
    note([...path, i], element.loc, element.loc);
    noteContent(element, [...path, i], note);
  }
}
