import { PACKAGE_LIMITS } from '../limits.ts';
import { showText } from './json-parts.ts';
import { collisionOf, pathProblem } from './paths.ts';
import type { Entries } from './skill-package.ts';

const WASM_MAGIC = Buffer.from('\0asm', 'latin1');

/** Why these files cannot be a package: the entry, what is and what should be; null: they can. */
export function entriesProblem(entries: Entries): string | null {
  if (entries.size > PACKAGE_LIMITS.entries) {
    return `it has ${entries.size} entries, expected at most ${PACKAGE_LIMITS.entries}`;
  }
  for (const [path, contents] of entries) {
    const problem = pathProblem(path) ?? contentsProblem(path, contents);
    if (problem !== null) return `entry ${showText(path)}: ${problem}`;
  }
  return collisionOf(entries.keys());
}

function contentsProblem(path: string, contents: Uint8Array): string | null {
  if (contents.length > PACKAGE_LIMITS.entryBytes) {
    return `it has ${contents.length} bytes, expected at most ${PACKAGE_LIMITS.entryBytes}`;
  }
  const name = path.toLowerCase();
  // Boundary: the text form of a module is never taken, under its own name or under that of a module.
  if (name.endsWith('.wat') || name.endsWith('.wast')) {
    return 'it is WebAssembly in its text form, expected the binary form in a .wasm file';
  }
  if (name.endsWith('.wasm') && !WASM_MAGIC.equals(contents.subarray(0, WASM_MAGIC.length))) {
    return 'it does not begin like a binary WebAssembly module, expected the bytes 00 61 73 6d';
  }
  return null;
}
