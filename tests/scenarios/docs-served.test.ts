import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { palisade, scratch } from '../fixtures/cli.ts';
import { serve } from '../fixtures/serving.ts';

/* A reader of the documentation: at the daemon without a token, following every link, and from the disk. */

/** Every page that can be reached from an address, with the links that lead out of the site. */
async function follow(start: string) {
  const pages = new Map<string, string>();
  const outside = new Set<string>();
  const left = [start];
  for (let url = left.pop(); url !== undefined; url = left.pop()) {
    if (pages.has(url)) continue;
    const answer = await fetch(url);
    expect([url, answer.status]).toEqual([url, 200]);
    const text = await answer.text();
    pages.set(url, text);
    if (!String(answer.headers.get('content-type')).startsWith('text/html')) continue;
    for (const [, target = ''] of text.matchAll(/ (?:href|src|action)="([^"]*)"/g)) {
      const to = new URL(target, url);
      to.hash = '';
      if (to.origin === new URL(start).origin) left.push(to.href);
      else outside.add(to.protocol);
    }
  }
  return { pages, outside };
}

test('the documentation of a daemon is read without a token, and no link leads nowhere', async () => {
  const folder = scratch();
  const [state, cwd] = [join(folder, 'state'), join(folder, 'work')];
  mkdirSync(cwd);
  const { url } = await serve(state, cwd);
  const first = await fetch(`${url}/docs`);
  expect([first.url, first.status]).toEqual([`${url}/docs/index.html`, 200]);
  const { pages, outside } = await follow(first.url);
  for (const name of ['policy.html', 'api.html', 'search.html', 'style.css', 'quickstart-agent.html'])
    expect([...pages.keys()]).toContain(`${url}/docs/${name}`);
  // Links to other sites are for the reader to follow; nothing of them is loaded.
  expect([...outside].filter((protocol) => !['https:', 'data:'].includes(protocol))).toEqual([]);
  // Nothing in them is of this gateway.
  for (const [page, text] of pages) expect([page, text.includes(folder)]).toEqual([page, false]);

  const { out } = await palisade(['docs', 'policy', '--state', state]);
  expect(out.trim()).toBe(`${url}/docs/policy.html`);
});

test('the documentation is read from the disk where no daemon runs', async () => {
  const state = join(scratch(), 'state');
  const { out, err } = await palisade(['docs', '--state', state]);
  expect(readFileSync(fileURLToPath(out.trim()), 'utf8')).toContain('Palisade documentation</h1>');
  expect(err).toContain('quickstart-agent');
  const wrong = await palisade(['docs', 'polices', '--state', state]);
  expect(wrong.status).toBe(64);
  expect(wrong.err).toContain('did you mean "policy"?');
});
