import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sentenceOf } from '../../../src/core/result.ts';
import { formatAuthority } from '../../../src/egress/authority.ts';
import { formatRequestHead } from '../../../src/egress/http1/request.ts';
import { cutAt, readRequest, readText } from './read.ts';

/** A head with these lines after a good first line and Host. */
const withLines = (...lines: string[]) =>
  ['POST http://example.com/a HTTP/1.1', 'Host: example.com', ...lines, '', ''].join('\r\n');
const withTarget = (target: string, method = 'GET') =>
  `${method} ${target} HTTP/1.1\r\nHost: example.com\r\n\r\n`;

function statusOf(text: string): number | string {
  const read = readText(text);
  if (read === null) return 'incomplete';
  return read.ok ? 'taken' : read.problem.status;
}

function forwarded(text: string): string {
  const read = readText(text);
  if (!read?.ok || read.value.kind !== 'plain') throw new Error(`Cannot test: it is refused, ${text}`);
  return formatRequestHead(read.value).toString('latin1');
}

describe('a request', () => {
  it('is passed on with its path, its own headers, one Host and one end', () => {
    const text = [
      'GET http://Example.COM.:80/a//b?c=d HTTP/1.1',
      'Host: example.com',
      'Accept: */*',
      'Authorization: Bearer for-the-target',
      'Proxy-Authorization: Basic cnVuOnRva2Vu',
      'Proxy-Connection: keep-alive',
      'Connection: keep-alive, X-Hop',
      'Keep-Alive: timeout=5',
      'X-Hop: dropped',
      'TE: trailers',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABk',
      'X-Palisade-Egress: denied',
      '',
      '',
    ].join('\r\n');
    expect(forwarded(text)).toBe(
      'GET /a//b?c=d HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\nAuthorization: Bearer for-the-target\r\nConnection: close\r\n\r\n',
    );
  });

  it.each([
    ['Connection: Host, Content-Length', 'Content-Length: 3'],
    ['Connection: close', 'content-length: 3'],
  ])('keeps its host and its length whatever %j says', (...lines) => {
    const head = forwarded(withLines(...lines));
    expect(head).toContain('Host: example.com\r\n');
    expect(head.match(/content-length/gi)).toEqual(['Content-Length']);
  });

  it('to another port or an IPv6 address names it in Host', () => {
    const text = 'GET http://[2001:DB8::1]:8080?q HTTP/1.1\r\nHost: [2001:db8:0::1]:8080\r\n\r\n';
    expect(forwarded(text)).toContain('GET /?q HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n');
  });

  it('for a tunnel says nothing of what will go through it', () => {
    const read = readText('CONNECT Example.com.:443 HTTP/1.0\r\n\r\n');
    if (!read?.ok) throw new Error('Cannot test: CONNECT is refused');
    const { egress, kind } = read.value;
    expect({ kind, target: formatAuthority(egress.host, egress.port), terms: Object.keys(egress) }).toEqual({
      kind: 'tunnel',
      target: 'example.com:443',
      terms: ['host', 'port'],
    });
  });
});

describe('a first line', () => {
  it.each([
    ['a path', withTarget('/a'), 400],
    ['an asterisk', withTarget('*', 'OPTIONS'), 400],
    ['https in the open', withTarget('https://example.com/'), 400],
    ['another scheme', withTarget('ftp://example.com/'), 400],
    ['no scheme', withTarget('example.com/'), 400],
    ['a tunnel without a port', withTarget('example.com', 'CONNECT'), 400],
    ['a tunnel to a URL', withTarget('http://example.com:443/', 'CONNECT'), 400],
    ['no version', 'GET http://example.com/\r\n', 400],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['HTTP/1.2', 'GET http://example.com/ HTTP/1.2\r\nHost: example.com\r\n\r\n', 505],
    ['HTTP/11', 'GET http://example.com/ HTTP/11\r\nHost: example.com\r\n\r\n', 505],
    ['a version in small letters', 'GET http://example.com/ http/1.1\r\nHost: example.com\r\n\r\n', 400],
    ['two spaces', 'GET  http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n', 400],
    ['a tab', 'GET\thttp://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n', 400],
    ['a space at its end', 'GET http://example.com/ HTTP/1.1 \r\nHost: example.com\r\n\r\n', 400],
    ['an empty line above', '\r\nGET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n', 400],
    ['small letters', withTarget('http://example.com/', 'get'), 400],
    ['an odd method', withTarget('http://example.com/', 'GE(T'), 400],
    ['TRACE', withTarget('http://example.com/', 'TRACE'), 405],
    ['PRI', withTarget('http://example.com/', 'PRI'), 405],
    ['SOCKS4', '\x04\x01', 400],
    ['SOCKS5', '\x05\x01\x00', 400],
    ['TLS', '\x16\x03\x01\x02', 400],
  ])('with %s is refused', (_what, text, status) => {
    expect(statusOf(text)).toBe(status);
  });

  it.each([
    ['\x05\x01\x00', 'SOCKS5'],
    ['\x04\x01', 'SOCKS4'],
    ['\x16\x03\x01', 'TLS'],
    ['PRI * HTTP/2.0\r\n', 'the preface of HTTP/2'],
    ['GET http://example.com/\r\n', 'HTTP/0.9'],
    [withTarget('/etc'), 'this is a proxy, not a server'],
    [withTarget('https://example.com/'), 'expected CONNECT'],
  ])('that is %j is told what is wrong: %s', (text, words) => {
    const read = readText(text);
    expect(read?.ok === false && sentenceOf(read.problem)).toContain(words);
  });

  it.each([
    'http://user@example.com/',
    'http://user:pass@example.com/',
    'http://example.com@evil.test/',
    'http://example.com%00.evil.test/',
    'http://example.com%2eevil.test/',
    'http://example%2ecom/',
    'http://example.com%20/',
    'http://example.com\\@evil.test/',
    'http:\\\\example.com/',
    'http://example.com/a\\b',
    'http://example.com#@evil.test/',
    'http://example.com/#a',
    'http://example.com:80:443/',
    'http://example.com:443.evil.test/',
    'http://example.com:+80/',
    'http://example.com:080/',
    'http://example.com:0/',
    'http://example.com:65536/',
    'http://example..com/',
    'http://.example.com/',
    'http://[::1/',
    'http://[fe80::1%25eth0]/',
    'http://exa\xadmple.com/',
    'http:///example.com/',
    'http:/example.com/',
    'http://',
  ])('to %j is refused', (target) => {
    expect(statusOf(withTarget(target))).toBe(400);
  });

  it.each([
    'http://example.com/',
    'http://example.com',
    'http://example.com?x',
    'HTTP://EXAMPLE.com:80/%2e%2E/',
  ])('to %j is taken', (target) => expect(statusOf(withTarget(target))).toBe('taken'));
});

describe('a header', () => {
  it.each([
    ['obs-fold', 'X-A: 1\r\n b: 2'],
    ['obs-fold with a tab', 'X-A: 1\r\n\tb: 2'],
    ['a space before the colon', 'Content-Length : 3'],
    ['a space before the name', ' Content-Length: 3'],
    ['no colon', 'Content-Length 3'],
    ['no name', ': 3'],
    ['an odd sign', 'X(A): 3'],
    ['a sign outside ASCII', 'X-\xc4: 3'],
    ['a value outside ASCII', 'X-A: \xff'],
    ['NUL', 'X-A: a\0b'],
    ['a control character', 'X-A: a\x08b'],
    ['a lone CR', 'X-A: a\rContent-Length: 3'],
    ['a lone LF', 'X-A: a\nContent-Length: 3'],
    ['CR CR LF', 'X-A: a\r'],
    ['a masked length', 'Content_Length: 3'],
    ['a masked coding', 'Transfer_Encoding: chunked'],
    ['a masked credential', 'Proxy_Authorization: Basic x'],
    ['two credentials', 'Proxy-Authorization: Basic x\r\nProxy-Authorization: Basic y'],
    ['a Connection that is no list', 'Connection: a b'],
    ['a second Host', 'Host: example.com'],
    ['a second and other Host', 'Host: evil.test'],
  ])('with %s is refused', (_what, lines) => {
    expect(statusOf(withLines(lines))).toBe(400);
  });

  it.each([
    ['two lengths', ['Content-Length: 3', 'Content-Length: 4']],
    ['one length twice', ['Content-Length: 3', 'content-length: 3']],
    ['a list of lengths', ['Content-Length: 3, 3']],
    ['a signed length', ['Content-Length: +3']],
    ['a negative length', ['Content-Length: -3']],
    ['a hexadecimal length', ['Content-Length: 0x3']],
    ['a length with a zero in front', ['Content-Length: 03']],
    ['a length beyond numbers', ['Content-Length: 99999999999999999999']],
    ['an empty length', ['Content-Length:']],
    ['a length and a coding', ['Content-Length: 3', 'Transfer-Encoding: chunked']],
    ['a coding and a length', ['Transfer-Encoding: chunked', 'Content-Length: 3']],
    ['two codings', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['a list of codings', ['Transfer-Encoding: gzip, chunked']],
    ['identity', ['Transfer-Encoding: identity']],
    ['a coding with a tab inside', ['Transfer-Encoding: chun\tked']],
    ['a coding with quotes', ['Transfer-Encoding: "chunked"']],
    ['an empty coding', ['Transfer-Encoding:']],
  ])('with %s is refused', (_what, lines) => {
    expect(statusOf(withLines(...lines))).toBe(400);
  });

  it.each([
    [['Content-Length: 3']],
    [['Transfer-Encoding: Chunked']],
    [['Content-Length:3\t ', 'X_Odd-1: a\tb']],
  ])('such as %j is taken', (lines) => expect(statusOf(withLines(...lines))).toBe('taken'));

  it.each([
    ['GET http://example.com/ HTTP/1.1\r\nHost: evil.test\r\n\r\n', 400],
    ['GET http://example.com/ HTTP/1.1\r\nHost: example.com:8080\r\n\r\n', 400],
    ['GET http://example.com:8080/ HTTP/1.1\r\nHost: example.com\r\n\r\n', 400],
    ['GET http://example.com/ HTTP/1.1\r\nHost: example.com, evil.test\r\n\r\n', 400],
    ['GET http://example.com/ HTTP/1.1\r\nHost: example.com@evil.test\r\n\r\n', 400],
    ['GET http://example.com/ HTTP/1.1\r\nHost:\r\n\r\n', 400],
    ['GET http://example.com/ HTTP/1.1\r\n\r\n', 400],
    ['CONNECT example.com:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n', 400],
    ['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:22\r\n\r\n', 400],
    ['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nContent-Length: 9\r\n\r\n', 400],
    ['GET http://example.com/ HTTP/1.0\r\n\r\n', 'taken'],
    ['GET http://example.com/ HTTP/1.1\r\nHost: EXAMPLE.com.:80\r\n\r\n', 'taken'],
    ['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 'taken'],
    ['POST http://example.com/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
  ])('of the host fits the target or is refused: %j', (text, status) => {
    expect(statusOf(text)).toBe(status);
  });

  it.each([
    [['Connection: Upgrade', 'Upgrade: websocket'], 501],
    [['Upgrade: h2c, websocket'], 501],
    [['Upgrade: web socket'], 501],
    [['Expect: 200-ok'], 417],
    [['Expect: 100-Continue'], 'taken'],
  ])('that asks for %j gets %s', (lines, status) => {
    expect(statusOf(withLines(...lines))).toBe(status);
  });
});

describe('the size of a head', () => {
  it.each([
    ['bytes', withLines(`X-A: ${'a'.repeat(65_536)}`), 431],
    ['lines', withLines(...Array.from({ length: 300 }, (_, index) => `X-${index}: a`)), 431],
    ['bytes without an end', `GET http://example.com/${'a'.repeat(70_000)}`, 431],
    ['few enough bytes', withLines(`X-A: ${'a'.repeat(60_000)}`), 'taken'],
    ['few enough lines', withLines(...Array.from({ length: 200 }, (_, index) => `X-${index}: a`)), 'taken'],
  ])('is bounded in %s', (_what, text, status) => {
    expect(statusOf(text)).toBe(status);
  });
});

describe('a head that is made to be slow to read', () => {
  const long = 60_000;
  it.each([
    ['blanks inside a value', withLines(`X-A: a${' '.repeat(long)}b`), 'taken'],
    ['blanks inside a list', withLines(`Connection: a${' \t'.repeat(long / 2)}b`), 400],
    ['blanks around commas', withLines(`Connection: a${' ,a'.repeat(long / 3)}`), 'taken'],
    ['a name without end', withLines('a'.repeat(long)), 400],
    ['a path of dots', withTarget(`http://example.com/${'../'.repeat(long / 3)}`), 'taken'],
    ['a path of signs', withTarget(`http://example.com/${'%25'.repeat(long / 3)}`), 'taken'],
    ['a host without end', withTarget(`http://${'a.'.repeat(long / 2)}/`), 400],
    ['digits without end', withLines(`Content-Length: ${'1'.repeat(long)}`), 400],
  ])('with %s is read a hundred times before anybody notices', (_what, text, status) => {
    for (let count = 0; count < 100; count += 1) expect(statusOf(text)).toBe(status);
  });
});

describe('a head in pieces', () => {
  it('is read as the whole one, wherever it is cut', () => {
    const heads = [
      withLines('X-A: 1', 'Content-Length: 2'),
      withTarget('/a'),
      withLines('A: b\nC: d'),
      '\x05\x01',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...heads), fc.array(fc.nat(200), { maxLength: 12 }), (text, places) => {
        const bytes = Buffer.from(text, 'latin1');
        expect(readRequest(bytes, cutAt(bytes, places))).toEqual(readRequest(bytes));
      }),
    );
  });
});
