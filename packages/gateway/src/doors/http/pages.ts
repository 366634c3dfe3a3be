import { docsPage } from './docs-page.ts';
import { openApiDocument } from './openapi.ts';
import type { Route } from './route.ts';

/** A page that anybody may read. */
export type Page = { readonly type: string; readonly text: string };

/** What the door says of itself, for programs and for people, by path. */
export function makePages(routes: readonly Route[], version: string): Readonly<Record<string, Page>> {
  const document = openApiDocument(routes, version);
  return {
    '/openapi.json': { type: 'application/json; charset=utf-8', text: JSON.stringify(document) },
    '/docs': { type: 'text/html; charset=utf-8', text: docsPage(document) },
  };
}
