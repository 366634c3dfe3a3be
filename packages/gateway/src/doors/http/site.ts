import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HeaderFields } from './problem.ts';
import type { Page } from './static-pages.ts';

/*
 * The documentation, as pages that are the same for every reader and hold no state. The build wrote them with a table of
 * their names; each is a row of the door. No part of a requested path ever becomes the name of a file: a path that is not
 * in the table does not exist.
 */

export const DOCS_PATH = '/docs';

/** Boundary: pages run our script and no other, inline or not, load nothing from elsewhere and are in no frame. */
const HEADERS: HeaderFields = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
};

/** Beside the bundle, or seen from the sources. */
const TABLES = ['../site/pages.json', '../../../site/pages.json'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** The file of the table; null where the documentation was not built. */
export function findSite(): string | null {
  return TABLES.find((path) => existsSync(path)) ?? null;
}

/** The names of all files, with their types. */
export function readTable(table: string): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(table, 'utf8')) as Readonly<Record<string, string>>;
}

/** The rows of the pages of a table; none without one. */
export function sitePages(table: string | null): readonly Page[] {
  if (table === null) return [];
  const folder = dirname(table);
  const pages = Object.entries(readTable(table)).map(([name, type]) => ({
    path: `${DOCS_PATH}/${name}`,
    route: DOCS_PATH,
    answer: async () => ({
      status: 200,
      type,
      text: await readFile(join(folder, name), 'utf8'),
      headers: HEADERS,
    }),
  }));
  return [leadTo(DOCS_PATH, 'docs/index.html'), leadTo(`${DOCS_PATH}/`, 'index.html'), ...pages];
}

/** A redirection; relative, so that it holds behind a proxy that has the gateway below a path. */
function leadTo(path: string, location: string): Page {
  const answer = { status: 308, type: 'text/plain; charset=utf-8', text: '', headers: { location } };
  return { path, route: DOCS_PATH, answer: () => answer };
}
