/** Heads that are good, nearly good, and bad in the ways that have fooled proxies. */
import type { Random } from '../../fuzz/random.ts';

/** What the good heads ask for; everything else is made from them. */
export type Ground = { readonly host: string; readonly port: number; readonly credential: string };

const SNIPPETS = [
  ...[
    '\r',
    '\n',
    '\r\n',
    '\r\n\r\n',
    '\n\n',
    '\0',
    ' ',
    '\t',
    '\x0b',
    '\x7f',
    '\xa0',
    '\xff',
    ':',
    ';',
    ',',
    '"',
  ],
  ...[
    '@',
    '#',
    '?',
    '\\',
    '/',
    '%00',
    '%2e',
    '%0d%0a',
    '..',
    '.',
    ':80',
    ':443',
    '0x',
    '_',
    '-',
    '(',
    '[',
    ']',
  ],
  ...[
    'Host',
    'chunked',
    'HTTP/1.1',
    'HTTP/1.0',
    'GET',
    'http://',
    'evil.test',
    '0',
    '1',
    '\r\n ',
    ' HTTP/1.1\r\n',
  ],
];
const LINES = [
  ...[
    'Content-Length: 4',
    'Content-Length: 0',
    'Content-Length: 4, 4',
    'Content-Length: +4',
    'content-length: 04',
  ],
  ...['Transfer-Encoding: chunked', 'transfer-encoding: CHUNKED', 'Transfer-Encoding: gzip, chunked'],
  ...[
    'Transfer-Encoding : chunked',
    'Transfer_Encoding: chunked',
    'Transfer-Encoding:\x0bchunked',
    'Content_Length: 4',
  ],
  ...[
    'Host: evil.test',
    'Host: allowed.test',
    ' folded',
    '\tfolded',
    'Connection: Host',
    'Connection: Content-Length',
  ],
  ...[
    'Connection: close, X-A',
    'Upgrade: websocket',
    'Upgrade: h2c',
    'X-A: b',
    'X-A:',
    ': b',
    'X-A',
    'X(A): b',
  ],
  ...[
    'Proxy-Connection: keep-alive',
    'TE: trailers',
    'Trailer: Host',
    'X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  ],
];
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/1.10',
  'http/1.1',
  '',
];
const METHODS = [
  'GET',
  'POST',
  'HEAD',
  'CONNECT',
  'CONNECT',
  'TRACE',
  'OPTIONS',
  'get',
  'M-SEARCH',
  'PRI',
  'GE T',
];
const BODIES = [
  '',
  'body',
  '4\r\nbody\r\n0\r\n\r\n',
  '0\r\n\r\n',
  '4\nbody\n0\n\n',
  'GET http://evil.test/ HTTP/1.1\r\n\r\n',
];

/** One text: a head and what follows it. */
export function makeText(random: Random, ground: Ground): string {
  const method = random.chance(3) ? random.pick(METHODS) : random.pick(['GET', 'POST', 'CONNECT']);
  const authority = makeAuthority(random, ground);
  const target = method === 'CONNECT' && !random.chance(12) ? authority : makeUrl(random, authority);
  const lines = [
    `${method} ${target} ${random.chance(6) ? random.pick(VERSIONS) : 'HTTP/1.1'}`,
    `Host: ${random.chance(8) ? makeAuthority(random, ground) : authority}`,
    `Proxy-Authorization: ${ground.credential}`,
  ];
  for (let count = random.below(3); count > 0; count -= 1) {
    lines.splice(1 + random.below(lines.length), 0, random.pick(LINES));
  }
  let text = `${lines.join('\r\n')}\r\n\r\n${random.pick(BODIES)}`;
  for (let count = random.chance(2) ? random.below(3) : 0; count > 0; count -= 1) text = mutate(random, text);
  return text;
}

function makeAuthority(random: Random, { host, port }: Ground): string {
  const name = random.chance(5)
    ? random.pick([host.toUpperCase(), `${host}.`, `evil${host}`, 'evil.test', '[::1]', '127.1'])
    : host;
  return random.chance(6)
    ? random.pick([name, `${name}:0`, `u@${name}:${port}`, `${name}:0${port}`])
    : `${name}:${port}`;
}

function makeUrl(random: Random, authority: string): string {
  const path = random.pick(['/', '', '/a/b?c=d', '?q', '/..//%2e', '//evil.test/']);
  const scheme = random.chance(12)
    ? random.pick(['https://', 'HTTP://', '//', '/', 'ftp://', 'http:/'])
    : 'http://';
  return `${scheme}${authority}${path}`;
}

function mutate(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const length = 1 + random.below(random.chance(4) ? 20 : 2);
  const kind = random.below(4);
  if (kind === 0) return text.slice(0, at) + random.pick(SNIPPETS) + text.slice(at);
  if (kind === 1) return text.slice(0, at) + text.slice(at + length);
  if (kind === 2) return text.slice(0, at) + text.slice(at, at + length).repeat(2) + text.slice(at + length);
  return text.slice(0, at) + random.pick(SNIPPETS) + text.slice(at + length);
}
