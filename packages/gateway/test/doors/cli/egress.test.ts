import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();

/** Explains requests under a list. */
function under(name: string, entries: readonly string[]) {
  const state = join(scratch, name);
  mkdirSync(state, { mode: 0o700 });
  const text = `[process]\negress_hosts = ${JSON.stringify(entries)}\n`;
  writeFileSync(join(state, 'palisade.toml'), text, { mode: 0o600 });
  return (...words: string[]) => palisade(['egress', 'explain', ...words, '--state', state]);
}

describe('palisade egress explain', () => {
  test('says which entry allows or denies a request, and ends accordingly', async () => {
    const explain = under('list', ['*.example.com', '!bad.example.com', 'GET https://api.example.org/v1/']);
    expect(await explain('https://a.example.com/x')).toEqual({
      status: 0,
      out: 'allowed a.example.com:443\nthe entry "*.example.com" allows it\n',
      err: '',
    });
    const denied = await explain('BAD.example.com.');
    expect(denied.status).toBe(2);
    expect(denied.out).toContain('denied  bad.example.com:443\n');
    expect(denied.out).toContain('the entry "!bad.example.com" denies it');
    const posted = await explain('https://api.example.org/v1/users', '--method', 'POST', '--json');
    expect(JSON.parse(posted.out)).toMatchObject({
      verdict: 'deny',
      rule: null,
      asked: 'api.example.org:443',
    });
    expect((await explain('https://api.example.org/v1/users')).status).toBe(0);
    expect((await explain('http://2130706433:80/')).out).toContain('denied  127.0.0.1:80');
  });

  test('says that the list is empty, and refuses what is no request', async () => {
    const explain = under('empty', []);
    expect((await explain('example.com')).out).toContain('The list is empty');
    const odd = await explain('https://user@example.com/');
    expect(odd.status).toBe(64);
    expect(odd.err).toContain('Cannot');
  });

  test('refuses a list with an entry that cannot be read', async () => {
    const explain = under('broken', ['example.com', '*']);
    const { status, err } = await explain('example.com');
    expect(status).not.toBe(0);
    expect(err).toContain('process.egress_hosts');
    expect(err).toContain('config/invalid');
  });
});
