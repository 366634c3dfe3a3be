import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../../../tests/volume/characters.ts';
import type { HeaderPair } from '../../../src/egress/fetch/outcome.ts';
import { type FetchRequest, formatMessage, readRequest } from '../../../src/egress/fetch/request.ts';
import { DEFAULT_FETCH_LIMITS } from '../../../src/egress/limits.ts';

const GOOD: FetchRequest = { url: 'https://a.test/b', method: 'GET', headers: [], body: null };
const LIMITS = DEFAULT_FETCH_LIMITS;

function read(request: Partial<FetchRequest>, limits = {}) {
  return readRequest({ ...GOOD, ...request }, { ...LIMITS, ...limits });
}

function headOf(request: Partial<FetchRequest>): string {
  const prepared = read(request);
  return prepared.ok ? formatMessage(prepared.value).head.toString('latin1') : prepared.problem.why;
}

describe('readRequest()', () => {
  it('reads a request so that it can be sent', () => {
    const headers: HeaderPair[] = [
      ['Authorization', 'Bearer x'],
      ['X-A', ''],
      ['X-A', 'a\tb'],
      ['accept', '*/*'],
      ['Accept', 'text/html'],
    ];
    expect(headOf({ headers })).toBe(
      [
        'GET /b HTTP/1.1',
        'Host: a.test',
        'Authorization: Bearer x',
        'X-A: ',
        'X-A: a\tb',
        'accept: */*',
        'Accept: text/html',
        'Accept-Encoding: gzip, deflate, br',
        'Connection: close\r\n\r\n',
      ].join('\r\n'),
    );
  });

  it.each([
    ['', 'begin'],
    ['a.test', 'begin'],
    ['/path', 'begin'],
    ['ftp://a.test/', 'begin'],
    ['file:///etc/passwd', 'begin'],
    [' https://a.test/', 'begin'],
    ['https://user@a.test/', 'user name'],
    ['https://user:pass@a.test/', 'user name'],
    ['https://a.test\\@b.test/', 'user name or is malformed'],
    ['https://a.test/a b', 'printable'],
    ['https://a.test/a\r\nX: y', 'printable'],
    ['https://a.test/#f', '"#"'],
    ['https://a.test:0/', 'port'],
    ['https:// a.test/', 'white space'],
    ['https://a.test\0/', 'NUL'],
  ])('refuses the URL %j', (url, part) => {
    const prepared = read({ url });
    expect(prepared).toMatchObject({
      ok: false,
      problem: { code: 'invalid', why: expect.stringContaining(part) },
    });
  });

  it('does not repeat a password', () => {
    for (const url of ['https://u:hunter2@a.test/', 'https:u:hunter2@a.test', 'https:\\\\u:hunter2@a.test'])
      expect(JSON.stringify(read({ url }))).not.toContain('hunter2');
  });

  it.each([
    '',
    'get',
    'CONNECT',
    'TRACE',
    'TRACK',
    'PRI',
    'GET ',
    'GET / HTTP/1.1\r\nX:',
    'G\0T',
    'A'.repeat(99),
  ])('refuses the method %j', (method) => {
    expect(read({ method })).toMatchObject({ ok: false, problem: { code: 'invalid' } });
    expect(read({ method: 'DELETE' }).ok).toBe(true);
  });

  it.each([
    ...['Host', 'host', 'Content-Length', 'Transfer-Encoding', 'Connection', 'Keep-Alive', 'TE', 'Trailer'],
    ...[
      'Upgrade',
      'HTTP2-Settings',
      'Proxy-Authorization',
      'Proxy-Connection',
      'Expect',
      'X-Palisade-Egress',
    ],
    ...['Content_Length', 'Transfer_Encoding', '', ' X', 'X ', 'X:', 'X: y\r\nZ', 'X\n', 'X\0', 'Ä', 'a b'],
  ])('refuses the header %j', (name) => {
    expect(read({ headers: [[name, '5']] })).toMatchObject({ ok: false, problem: { code: 'invalid' } });
    expect(read({ headers: [['X-Fine', '5']] }).ok).toBe(true);
  });

  it.each(['a\r\nX: y', 'a\n', 'a\r', '\0', '\x7f', '\x01', 'ä', '\u{1f600}'])(
    'refuses the value %j, and does not repeat it',
    (value) => {
      const prepared = read({ headers: [['X-A', `secret${value}`]] });
      expect(prepared).toMatchObject({
        ok: false,
        problem: { code: 'invalid', why: expect.stringContaining('"X-A"') },
      });
      expect(JSON.stringify(prepared)).not.toContain('secret');
    },
  );

  it.each(['Authorization', 'Content-Type', 'Cookie', 'Range', 'User-Agent', 'Accept-Encoding'])(
    'refuses a second %s',
    (name) => {
      const twice: HeaderPair[] = [
        [name, 'a'],
        [name.toLowerCase(), 'a'],
      ];
      expect(read({ headers: twice })).toMatchObject({
        problem: { code: 'invalid', why: expect.stringContaining('more than once') },
      });
      expect(read({ headers: twice.slice(1) }).ok).toBe(true);
    },
  );

  it('refuses a body where no server expects one', () => {
    const body = Buffer.from('x');
    for (const method of ['GET', 'HEAD'])
      expect(read({ method, body })).toMatchObject({ problem: { code: 'invalid' } });
    expect(read({ method: 'POST', body }).ok).toBe(true);
  });

  it.each([
    ['a long URL', { url: `https://a.test/${'a'.repeat(100)}` }, { requestHeaderBytes: 100 }],
    ['a long header', { headers: [['A', 'a'.repeat(100)]] as HeaderPair[] }, { requestHeaderBytes: 100 }],
    ['many headers', { headers: Array.from({ length: 300 }, (): HeaderPair => ['A', '']) }, {}],
    ['a long body', { method: 'POST', body: Buffer.alloc(11) }, { requestBytes: 10 }],
  ])('refuses %s', (_what, request, limits) => {
    expect(read(request, limits)).toMatchObject({ ok: false, problem: { code: 'too-large' } });
  });

  it('never lets a text of the caller begin a line', () => {
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[\r\n\t :a-zA-Z0-9-]{0,12}$/),
      fc.constantFrom('X', 'Host', 'a'),
    );
    let sent = 0;
    fc.assert(
      fc.property(
        fc.oneof(text, fc.constantFrom('GET', 'POST')),
        fc.oneof(
          text,
          webUrl(),
          text.map((path) => `https://a.test/${path}`),
        ),
        fc.array(fc.tuple(text, text), { maxLength: 4 }),
        (method, url, headers) => {
          const prepared = read({ method, url, headers });
          if (!prepared.ok) return;
          sent += 1;
          const head = formatMessage(prepared.value).head.toString('latin1');
          const lines = head.slice(0, -4).split('\r\n');
          const own = prepared.value.fields.length;
          expect(head.endsWith('\r\n\r\n')).toBe(true);
          expect(lines.filter((line) => /^host:/i.test(line))).toHaveLength(1);
          expect(lines).toHaveLength(own + (prepared.value.method === 'POST' ? 5 : 4));
          expect(head.replaceAll('\r\n', '')).toMatch(/^[\t -~]*$/);
        },
      ),
      { numRuns: 3_000 },
    );
    expect(sent).toBeGreaterThan(30);
  });
});
