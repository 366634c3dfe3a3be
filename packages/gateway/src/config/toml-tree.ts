import { type AST, ParseError, parseTOML } from 'toml-eslint-parser';
import {
  accept,
  type Problem,
  type Result,
  reject,
  type SourcePosition,
  type ValuePath,
} from '../core/result.ts';
import type { Positions } from '../core/shape-problem.ts';

/*
 * Positions in a TOML file. smol-toml reads the values; a second parser gives the syntax tree. The tree is walked by
 * hand: that parser's own conversion to values writes through `__proto__`. Its parser recurses into inline lists and
 * tables, so callers must limit the depth first.
 */

/** One key, element or table: where it is written, what is written there, and what is in it. */
export type Spot = {
  readonly key: Loc;
  readonly value: Loc;
  /** Null: created by a header or a dotted key. */
  readonly content: AST.TOMLContentNode | null;
  readonly children: Map<string | number, Spot>;
};

type Loc = { readonly start: { readonly line: number; readonly column: number } };

const START: Loc = { start: { line: 1, column: 0 } };

/** The tree of everything in a text, or why the second parser rejects it. */
export function readTree(text: string): Result<Spot, Problem & { readonly position: SourcePosition }> {
  try {
    const root: Spot = { key: START, value: START, content: null, children: new Map() };
    for (const node of parseTOML(text, { tomlVersion: '1.1' }).body[0].body) {
      if (node.type === 'TOMLKeyValue') growPair(root, node);
      else growTable(root, node);
    }
    return accept(root);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const position = { line: error.lineNumber, column: error.column + 1 };
    return reject({ subject: 'the file', is: error.message, expected: 'valid TOML', position });
  }
}

/** Finds positions in a text; one that the second parser rejects has none. */
export function positionsIn(text: string): Positions {
  const tree = readTree(text);
  return (path, at) => (tree.ok ? positionIn(tree.value, path, at) : undefined);
}

/** The position of a path's key or value; undefined when the file does not mention it. */
export function positionIn(root: Spot, path: ValuePath, at: 'key' | 'value'): SourcePosition | undefined {
  let spot: Spot | undefined = root;
  for (const part of path) spot = spot?.children.get(part);
  const start = spot?.[at].start;
  return start && { line: start.line, column: start.column + 1 };
}

/** The first mention is the position: what a later header adds to a table does not move it. */
function grow(parent: Spot, part: string | number, spot: Omit<Spot, 'children'>): Spot {
  const known = parent.children.get(part);
  if (known !== undefined) return known;
  const grown = { ...spot, children: new Map() };
  parent.children.set(part, grown);
  return grown;
}

function growTable(root: Spot, table: AST.TOMLTable): void {
  let spot = root;
  let named = 0;
  for (const part of table.resolvedKey) {
    const loc = typeof part === 'number' ? table.key.loc : (table.key.keys[named++]?.loc ?? table.key.loc);
    spot = grow(spot, part, { key: loc, value: loc, content: null });
  }
  for (const pair of table.body) growPair(spot, pair);
}

function growPair(table: Spot, { key: { keys }, value }: AST.TOMLKeyValue): void {
  let spot = table;
  for (const [i, key] of keys.entries()) {
    const content = i === keys.length - 1 ? value : null;
    const part = key.type === 'TOMLBare' ? key.name : key.value;
    spot = grow(spot, part, { key: key.loc, value: value.loc, content });
  }
  growContent(spot, value);
}

function growContent(spot: Spot, content: AST.TOMLContentNode): void {
  if (content.type === 'TOMLValue') return;
  if (content.type === 'TOMLInlineTable') {
    for (const pair of content.body) growPair(spot, pair);
    return;
  }
  for (const [i, element] of content.elements.entries()) {
    growContent(grow(spot, i, { key: element.loc, value: element.loc, content: element }), element);
  }
}
