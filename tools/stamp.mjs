/** Stamps say from which sources something was made, by content: changed file times alone do not count. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What each build is made of, and where its stamp is. */
export const BUILDS = {
  sdk: {
    stamp: 'packages/sdk/dist/.sources',
    sources: [
      'packages/sdk/src',
      'packages/sdk/package.json',
      'packages/sdk/tsconfig.json',
      'tsconfig.base.json',
    ],
  },
  wasm: {
    stamp: 'packages/wasm/dist/.sources',
    sources: [
      'packages/wasm/src',
      'packages/wasm/package.json',
      'packages/wasm/tsconfig.json',
      'tsconfig.base.json',
    ],
  },
  gateway: {
    stamp: 'packages/gateway/dist/.sources',
    sources: [
      'packages/gateway/src',
      'packages/gateway/package.json',
      'packages/sdk/src',
      'packages/sdk/package.json',
      'packages/wasm/src',
      'packages/wasm/package.json',
    ],
  },
  site: {
    stamp: 'packages/gateway/site/.sources',
    sources: [
      'docs',
      ...['ARCHITECTURE', 'CHANGELOG', 'CONTRIBUTING', 'DEPENDENCIES', 'SECURITY'].map(
        (name) => `${name}.md`,
      ),
      'tools/site',
      ...['site', 'markdown', 'ts-table'].map((name) => `tools/${name}.mjs`),
      // The page of every request is made from the operations.
      'packages/gateway/src',
      'packages/sdk/src',
    ],
  },
};

const madeBy = [
  ...['build', 'packs', 'assets', 'licences'].map((name) => `tools/${name}.mjs`),
  'package-lock.json',
];

/** Digests names and contents of files and folders. What does not exist digests as such. */
export function digestOf(root, paths) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap((each) => filesUnder(root, each)).sort()) {
    hash.update(`${path}\0`);
    hash.update(
      createHash('sha256')
        .update(readFileSync(join(root, path)))
        .digest(),
    );
  }
  return hash.digest('hex');
}

function filesUnder(root, path) {
  const full = join(root, path);
  if (!existsSync(full)) return [];
  if (statSync(full).isFile()) return [path];
  return readdirSync(full).flatMap((name) => filesUnder(root, `${path}/${name}`));
}

/** The stamp a build made now would carry. */
export function stampOf(root, name) {
  return digestOf(root, [...BUILDS[name].sources, ...madeBy]);
}

/** Lists the builds whose stamp is not that of the sources. */
export function staleBuilds(root) {
  return Object.keys(BUILDS).filter(
    (name) => readStamp(join(root, BUILDS[name].stamp)) !== stampOf(root, name),
  );
}

/** Reads a stamp; undefined when there is none. */
export function readStamp(path) {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}
