import type { Place } from '../core/strict-json.ts';
import type { Path } from './problem.ts';

/** Gives the place of a path's key or value; undefined when the file does not mention it. */
export type Places = (path: Path, at: 'key' | 'value') => Place | undefined;

/**
 * Finds the places of everything in palisade.toml; a text that the second parser does not take has no places. That parser
 * is loaded only when a line is wanted (an error, `palisade config show`).
 */
export async function findPlaces(text: string): Promise<Places> {
  const { placeIn, readTree } = await import('./toml-tree.ts');
  const tree = readTree(text);
  return (path, at) => (tree.ok ? placeIn(tree.root, path, at) : undefined);
}
