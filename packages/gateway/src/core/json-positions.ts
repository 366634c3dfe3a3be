import { findNodeAtLocation, parseTree } from 'jsonc-parser/lib/esm/main.js';
import type { Positions } from './shape-problem.ts';
import { positionAt } from './text-position.ts';

/** Finds keys and values in a text that `parseStrict` accepted. */
export function jsonPositions(text: string): Positions {
  const tree = parseTree(text);
  return (path, at) => {
    const value = tree && findNodeAtLocation(tree, [...path]);
    const key = value?.parent?.type === 'property' ? value.parent.children?.[0] : undefined;
    const found = at === 'key' ? (key ?? value) : value;
    return found && positionAt(text, found.offset);
  };
}
