import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sitePages } from '../../../src/doors/http/site.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { openTestDoor } from './open-door.ts';

/** Pages as the build writes them, with files in and above their folder that are in no table. */
const TYPES = {
  'decisions/index.html': 'text/html; charset=utf-8',
  'index.html': 'text/html; charset=utf-8',
  'policy.html': 'text/html; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
};

function buildSite(): string {
  const home = tempDir();
  const folder = join(home, 'site');
  mkdirSync(join(folder, 'decisions'), { recursive: true });
  for (const name of Object.keys(TYPES)) writeFileSync(join(folder, name), `<html>${name}`);
  writeFileSync(join(folder, 'notes.html'), '<html>not in the table');
  writeFileSync(join(home, 'secret.txt'), '<html>secret');
  writeFileSync(join(folder, 'pages.json'), JSON.stringify(TYPES));
  return join(folder, 'pages.json');
}

const openDoor = async () => {
  const { ask } = await openTestDoor({ parts: { docs: sitePages(buildSite()) } });
  return ask;
};

describe('the documentation at the door', () => {
  test('is read by anybody, from its address in a browser', async () => {
    const ask = await openDoor();
    const leads = await Promise.all(['/docs', '/docs/'].map((path) => ask(path)));
    expect(leads.map(({ status, headers }) => [status, headers.location])).toEqual([
      [308, 'docs/index.html'],
      [308, 'index.html'],
    ]);
    const index = await ask('/docs/index.html');
    expect([index.status, index.text]).toEqual([200, '<html>index.html']);
    expect(index.headers['content-type']).toBe('text/html; charset=utf-8');
    expect((await ask('/docs/policy.html')).text).toBe('<html>policy.html');
    expect((await ask('/docs/decisions/index.html')).text).toBe('<html>decisions/index.html');
    expect((await ask('/docs/style.css')).headers['content-type']).toBe('text/css; charset=utf-8');
    expect((await ask('/docs/policy.html', { method: 'POST' })).status).toBe(405);
  });

  test.each([
    '/docs/notes.html',
    '/docs/pages.json',
    '/docs/../secret.txt',
    '/docs/..%2fsecret.txt',
    '/docs/%2e%2e/secret.txt',
    '/docs/..%5csecret.txt',
    '/docs/decisions/../policy.html',
    '/docs//policy.html',
    '/docs/policy.html/',
    '/docs/polic%79.html',
    '/docs/policy.html%00',
    '/docs/constructor',
    '/docs/__proto__',
  ])('has nothing at %s', async (path) => {
    const ask = await openDoor();
    const { status, text } = await ask(path);
    expect([400, 404]).toContain(status);
    expect(text).not.toContain('<html');
  });

  test('lets a page run our script alone, load nothing from elsewhere and be in no frame', async () => {
    const ask = await openDoor();
    const { headers } = await ask('/docs/policy.html');
    const rules = new Map(
      String(headers['content-security-policy'])
        .split('; ')
        .map((rule) => [rule.split(' ')[0], rule]),
    );
    expect(rules.get('default-src')).toBe("default-src 'none'");
    expect(rules.get('script-src')).toBe("script-src 'self'");
    expect(rules.get('style-src')).toBe("style-src 'self'");
    expect(rules.get('frame-ancestors')).toBe("frame-ancestors 'none'");
    expect(rules.get('base-uri')).toBe("base-uri 'none'");
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
  });

  test('does not exist where it was not built', async () => {
    const { ask } = await openTestDoor({ parts: { docs: sitePages(null) } });
    expect((await ask('/docs')).status).toBe(404);
  });
});
