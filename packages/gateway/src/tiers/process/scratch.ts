import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '../../core/coded-error.ts';

export type Scratch = { readonly path: string; readonly remove: () => void };

/** A new directory with one file in it, a copy of the first of these that is there. */
export function makeScratch(prefix: string, name: string, sources: readonly string[]): Scratch {
  const path = mkdtempSync(join(tmpdir(), prefix));
  const remove = () => rmSync(path, { recursive: true, force: true });
  for (const source of sources) {
    try {
      copyFileSync(source, join(path, name));
      return { path, remove };
    } catch {
      // The next one, then.
    }
  }
  remove();
  throw new CodedError(
    'tier/unenforceable',
    `Cannot find "${name}": it is not built, expected it beside the gateway`,
  );
}
