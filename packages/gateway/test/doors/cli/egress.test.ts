import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();

/** Explains requests under a list, and what else the configuration says. */
function under(name: string, entries: readonly string[], more = '') {
  const state = join(scratch, name);
  mkdirSync(state, { mode: 0o700 });
  const text = `[process]\negress_hosts = ${JSON.stringify(entries)}\n${more}`;
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
    expect((await explain('example.com')).out).toContain('The allow-list is empty');
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

  test('says when TLS is opened, when it would have to be, and which secrets are for the host', async () => {
    const more = `egress_intercept = ["api.example.com"]
[[secret]]
name = "api"
variable = "API_TOKEN"
hosts = ["api.example.com", "*.example.org:8443"]
file = "/nowhere/api"
[[secret]]
name = "other"
variable = "OTHER"
hosts = ["other.example"]
file = "/nowhere/other"
`;
    const entries = [
      'GET https://api.example.com/v1/',
      'GET https://b.example.org:8443/',
      'http://plain.example',
    ];
    const explain = under('opened', entries, more);
    expect(await explain('https://api.example.com/v1/x')).toEqual({
      status: 0,
      out: [
        'allowed api.example.com:443',
        'the entry "GET https://api.example.com/v1/" allows it',
        'TLS to this host is intercepted for commands: method and path are checked.',
        'The secret "api" is for this host; a command that uses it has its placeholder in API_TOKEN.',
        '',
      ].join('\n'),
      err: '',
    });
    const closed = 'TLS to this host is not intercepted; set process.egress_intercept.';
    const shut = await explain('https://b.example.org:8443/v1/x');
    expect(shut.out).toContain(`A command cannot send it: ${closed}\n`);
    expect(shut.out).toContain(`The secret "api" is for this host and cannot be inserted: ${closed}\n`);
    expect(shut.status).toBe(0);
    const host = await explain('api.example.com');
    expect(host.out).toContain('method and path are checked; give a URL to check them.');
    const { out } = await explain('http://plain.example/', '--json');
    expect(JSON.parse(out)).toMatchObject({ verdict: 'allow', intercepted: false, secrets: [], notes: [] });
    const document = JSON.parse((await explain('https://api.example.com/v2/', '--json')).out);
    expect(document).toMatchObject({ verdict: 'deny', intercepted: true, secrets: ['api'] });
    expect(document.notes).toHaveLength(2);
  });

  test.each([
    ['intercept', 'egress_intercept = ["*.com"]\n', 'process.egress_intercept: '],
    [
      'secret',
      '[[secret]]\nname = "a"\nvariable = "A"\nfile = "/a"\nhosts = ["a..b"]\n',
      'secret[0].hosts: ',
    ],
    ['line', 'egress_intercept = [\n  "a.example",\n  "!b.example",\n]\n', 'palisade.toml:5:3: '],
  ])('refuses a configuration with a wrong %s', async (name, more, where) => {
    const { status, err } = await under(`wrong-${name}`, ['a.example'], more)('a.example');
    expect(status).not.toBe(0);
    expect(err).toContain(`config/invalid`);
    expect(err).toContain(where);
  });
});
