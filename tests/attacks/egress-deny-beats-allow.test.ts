import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom, type Message } from '../fixtures/egress/inside.ts';
import { sample } from '../volume/volume.ts';

const HOME = '127.0.0.1';
const DENIED_HOME = '127.0.9.9';

/** A way of asking and what comes of it: P and Q are the ports of servers, `h` is the name of the row. */
type Row = {
  readonly says: string;
  readonly entries: readonly string[];
  readonly asks: Readonly<Record<string, string>>;
  readonly at?: string;
};

const TABLE: readonly Row[] = [
  {
    says: 'nothing is denied',
    entries: ['h:P'],
    asks: { 'GET h:P/': '200', 'CONNECT h:P/': '200', 'GET h:Q/': '403' },
  },
  { says: 'the host is denied', entries: ['h:P', '!h'], asks: { 'GET h:P/': '403', 'CONNECT h:P/': '403' } },
  {
    says: 'that port is denied',
    entries: ['h:P', '!h:P'],
    asks: { 'GET h:P/': '403', 'CONNECT h:P/': '403' },
  },
  {
    says: 'one of two ports is denied',
    entries: ['h:P', 'h:Q', '!h:Q'],
    asks: { 'GET h:P/': '200', 'CONNECT h:P/': '200', 'GET h:Q/': '403', 'CONNECT h:Q/': '403' },
  },
  {
    says: 'the name is denied in other letters',
    entries: ['h:P', '!H'],
    asks: { 'GET h:P/': '403', 'GET H:P/': '403' },
  },
  {
    says: 'one below a wildcard is denied',
    entries: ['*.h:P', '!a.h'],
    asks: { 'GET b.h:P/': '200', 'GET a.h:P/': '403', 'GET x.a.h:P/': '200', 'GET h:P/': '403' },
  },
  {
    says: 'all below a name are denied',
    entries: ['h:P', 'a.h:P', '!*.h'],
    asks: { 'GET h:P/': '200', 'GET a.h:P/': '403', 'CONNECT a.h:P/': '403' },
  },
  {
    says: 'a path is denied',
    entries: ['h:P', '!http://h:P/no'],
    asks: {
      ...{ 'GET h:P/yes': '200', 'GET h:P/nono': '200', 'GET h:P/no': '403', 'GET h:P/no/more': '403' },
      ...{ 'GET h:P/NO': '403', 'GET h:P/%6eo': '403', 'GET h:P//no': '403', 'GET h:P/no;x': '403' },
      ...{ 'GET h:P/yes/../no': '403', 'GET h:P/yes%2f..%2fno': '403', 'GET h:P/no?yes': '403' },
      ...{ 'CONNECT h:P/no': '403', 'CONNECT h:P//NO': '403' },
    },
  },
  {
    says: 'a method is denied',
    entries: ['h:P', '!POST http://h:P'],
    asks: { 'GET h:P/': '200', 'POST h:P/': '403' },
  },
  {
    says: 'another scheme is denied',
    entries: ['h:P', '!https://h:P'],
    asks: { 'GET h:P/': '200', 'CONNECT h:Q/': '403' },
  },
  {
    says: 'a wider entry allows what a narrower one denies',
    entries: ['http://h:P/api/', 'h:P', '!GET http://h:P/api/keys'],
    asks: {
      'GET h:P/api/x': '200',
      'GET h:P/api/keys': '403',
      'POST h:P/api/keys': '200',
      'GET h:P/': '200',
    },
  },
  {
    says: 'the address behind the name is denied',
    at: DENIED_HOME,
    entries: ['h:P', `${DENIED_HOME}:P`, '!127.0.9.0/24'],
    asks: { 'GET h:P/': '403', 'CONNECT h:P/': '403', [`GET ${DENIED_HOME}:P/`]: '403' },
  },
];

const ORDERS = {
  'as they are written': (entries: readonly string[]) => entries,
  'in the opposite order': (entries: readonly string[]) => entries.toReversed(),
  'denials first': (entries: readonly string[]) =>
    entries.toSorted((a, b) => Number(b[0] === '!') - Number(a[0] === '!')),
  'denials last': (entries: readonly string[]) =>
    entries.toSorted((a, b) => Number(a[0] === '!') - Number(b[0] === '!')),
};

/** CONNECT is a tunnel with a request for the page in it. */
function messageOf(ask: string): Message {
  const [, method = '', authority = '', path = ''] = /^(\w+) ([^/]+)(.*)$/.exec(ask) ?? [];
  return method === 'CONNECT'
    ? { send: connectTo(authority), inside: getAt(authority, path) }
    : { send: getFrom(`http://${authority}${path}`, 'Content-Length: 0\r\n', method) };
}

describe('a denying entry beats every allowing one', () => {
  test.each(sample(Object.entries(ORDERS), 2))('with the entries %s', async (_, order) => {
    const [one, other] = [await startServer(undefined, '0.0.0.0'), await startServer(undefined, '0.0.0.0')];
    const fill = (text: string, row: number) =>
      text
        .replace(/\bP\b/, String(one.port))
        .replace(/\bQ\b/, String(other.port))
        .replace(/\bh\b(?=[:]|$)/, `r${row}.test`)
        .replace(/\bH\b(?=[:]|$)/, `R${row}.TEST`);
    const names = TABLE.flatMap(({ at = HOME }, row) =>
      ['', 'a.', 'b.', 'x.a.'].map((below) => [`${below}r${row}.test`, [at]] as const),
    );
    const entries = TABLE.flatMap((row, index) => row.entries.map((entry) => fill(entry, index)));
    const world = await openEgressWorld({
      entries: order([...entries, `${HOME}:${one.port}`, `${HOME}:${other.port}`]),
      names: Object.fromEntries(names),
    });
    const requested = TABLE.flatMap(({ says, asks }, index) =>
      Object.entries(asks).map(([ask, expected]) => {
        return { name: `${says}: ${ask}`, message: messageOf(fill(ask, index)), expected };
      }),
    );
    const messages = Object.fromEntries(requested.map(({ name, message }) => [name, message]));
    const { answers } = await askInside(world, messages);
    expect(answers).toEqual(Object.fromEntries(requested.map(({ name, expected }) => [name, expected])));
  });
});
