import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * How another program starts this one. Clients with windows are not started from a shell, so their search path has neither
 * `palisade` nor, often, `node`: both are named by absolute paths. The path of Node is taken in the spelling that an update
 * leaves alone, where there is one.
 */

/** The command beside this package: seen from the bundle, and from the sources. */
const PROGRAMS = ['../bin/palisade.js', '../../../../bin/palisade.js'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** Where packages of systems put a link to the Node they have at the time. */
const STEADY_FOLDERS = ['/usr/local/bin', '/usr/bin', '/opt/homebrew/bin', '/home/linuxbrew/.linuxbrew/bin'];

export type Program = {
  readonly words: readonly string[];
  /** It lies where it may be cleaned away, as packages that npx fetched do. */
  readonly isPassing: boolean;
};

/** The words that start this very palisade, wherever and by whomever. */
export function programOf(node = process.execPath, folders = STEADY_FOLDERS): Program {
  const program = PROGRAMS.find((path) => existsSync(path)) ?? PROGRAMS[0] ?? '';
  return { words: [steady(node, folders), program], isPassing: /[\\/]_npx[\\/]/.test(program) };
}

function steady(node: string, folders: readonly string[]): string {
  const own = realOf(node);
  const links = folders.map((folder) => join(folder, 'node'));
  return links.find((link) => realOf(link) === own) ?? node;
}

function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
