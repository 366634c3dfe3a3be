import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom, type Message } from '../fixtures/egress/inside.ts';

const HOME = '127.0.0.1';

/** Spellings that one program takes for the allowed host and another for somebody else. */
const UNREADABLE = [
  ...['ok.test@evil.test', 'evil.test@ok.test', 'run:x@ok.test', '@ok.test', 'ok.test@'],
  ...['ok.test%00.evil.test', 'ok.test%2eevil.test', 'ok%2etest', 'evil.test%23.ok.test', 'ok.test%0d%0aX'],
  ...['ok.test#.evil.test', 'evil.test#ok.test', 'ok.test?evil.test', 'evil.test\\ok.test', 'ok..test'],
  ...['ok.test\\@evil.test', '.ok.test', 'ok.test..', 'ok.test:', '-ok.test', 'ok.test\0', '[ok.test]'],
  ...[
    'ok.test\x7f',
    'ok.test\xad',
    '\xefok.test',
    'ok,test',
    'ok.test;evil.test',
    '[::1',
    '::1]',
    '1.2.3.4.5',
  ],
];
/** Ways to end a word or a line early, so that what follows is a header or a request of its own. */
const BREAKS = ['\r\n', '\n', '\r', '\t', ' ', '\x0b', '\x0c', '\0'];

/** Every way to ask for a target, each with the Host header of who is allowed, which some programs would go by. */
function waysTo(target: string, allowed: string): [string, Message][] {
  const own = connectTo(target);
  const ways = {
    tunnel: own,
    'tunnel as another': own.replace(/Host: .*\r\n<credential>/s, () => `Host: ${allowed}\r\n<credential>`),
    page: `GET http://${target}/ HTTP/1.1\r\nHost: ${allowed}\r\n<credential>\r\n`,
  };
  return Object.entries(ways).map(([way, send]) => [`${way} to ${JSON.stringify(target)}`, { send }]);
}

describe('a run that asks its proxy for an odd target', () => {
  test('is answered with 400 for each that can be read in two ways, and no name is looked up', async () => {
    const server = await startServer();
    const { port } = server;
    const allowed = `ok.test:${port}`;
    const world = await openEgressWorld({
      entries: [allowed, `${HOME}:${port}`],
      names: { 'ok.test': [HOME], 'evil.test': [HOME] },
    });
    const targets = [
      ...UNREADABLE.flatMap((host) => [host, `${host}:${port}`]),
      ...BREAKS.flatMap((mark) => [`ok.test${mark}.evil.test:${port}`, `evil.test${mark}ok.test:${port}`]),
      ...['', ':', `:${port}`, 'ok.test:0', 'ok.test:65536', `ok.test:0${port}`, `ok.test:+${port}`],
      ...['ok.test:1e3', `ok.test:${port}:${port}`, `evil.test:443.ok.test:${port}`, `evil.test/${allowed}`],
    ];
    const odd = Object.fromEntries(targets.flatMap((target) => waysTo(target, allowed)));
    const { answers, egress } = await askInside(world, odd);
    expect(Object.keys(answers)).toHaveLength(targets.length * 3);
    expect(Object.entries(answers).filter(([, answer]) => answer !== '400')).toEqual([]);
    expect(egress).toMatchObject({ malformed: targets.length * 3, requests: 0, decisions: [] });
    expect([world.lookedUp, server.asked]).toEqual([[], []]);

    const plain = await askInside(world, Object.fromEntries(waysTo(allowed, allowed)));
    expect(Object.values(plain.answers)).toEqual(['200', '200', '200']);
    expect(world.lookedUp).toEqual(['ok.test', 'ok.test', 'ok.test']);
  });

  test('cannot put a second request or a header into the words of the first', async () => {
    const server = await startServer();
    const { port } = server;
    const world = await openEgressWorld({
      entries: [`ok.test:${port}`, `${HOME}:${port}`],
      names: { 'ok.test': [HOME], 'evil.test': [HOME] },
    });
    const url = `http://ok.test:${port}`;
    const { answers } = await askInside(world, {
      'after the page': { send: `${getFrom(`${url}/one`)}${getFrom('http://evil.test/two')}` },
      'after a body': {
        send: `${getFrom(`${url}/three`, 'Content-Length: 3\r\n', 'POST')}abc${getFrom(`${url}/four`)}`,
      },
      'in the path': { send: getFrom(`${url}/five%0d%0aHost:%20evil.test`) },
      'two lengths': { send: getFrom(url, 'Content-Length: 0\r\nTransfer-Encoding: chunked\r\n', 'POST') },
      'folded header': { send: getFrom(url, 'X-One: 1\r\n Host: evil.test\r\n') },
      'two hosts': { send: getFrom(url, `Host: ok.test:${port}\r\n`) },
    });
    expect(answers).toMatchObject({ 'after the page': '200', 'after a body': '200', 'in the path': '200' });
    expect(answers).toMatchObject({ 'two lengths': '400', 'folded header': '400', 'two hosts': '400' });
    expect(server.asked.map(({ url: path }) => path)).toEqual([
      '/one',
      '/three',
      '/five%0d%0aHost:%20evil.test',
    ]);
    expect(server.asked.map(({ headers }) => headers.host)).toEqual(Array(3).fill(`ok.test:${port}`));
  });
});

describe('a run that asks for a host like an allowed one', () => {
  test('is refused each of them, before a name is looked up', async () => {
    const server = await startServer();
    const { port } = server;
    const near = [
      ...['evilexample.test', 'example.test.evil.io', 'example.testevil', 'xexample.test', 'example-test'],
      ...[
        'test',
        'example',
        'a.example.test',
        'www.example.test.',
        'wild.test',
        'evilwild.test',
        'wild.test.io',
      ],
      ...['x.wild.test.io', 'wild-test', 'xn--exmple-4nf.test', 'example.test.127.0.0.1.nip.io'],
    ];
    const far = ['example.test', 'EXAMPLE.Test', 'example.test.', 'a.wild.test', 'a.b.wild.test'];
    const world = await openEgressWorld({
      entries: [`example.test:${port}`, `*.wild.test:${port}`, `${HOME}:${port}`],
      // All of them are there, so that only the list stands in the way.
      names: Object.fromEntries(
        [...near, ...far].map((name) => [name.toLowerCase().replace(/\.$/, ''), [HOME]]),
      ),
    });
    const ask = (hosts: readonly string[]) =>
      askInside(
        world,
        Object.fromEntries(
          hosts.flatMap((host) => [
            [`page of ${host}`, { send: getFrom(`http://${host}:${port}/`) }],
            [`tunnel to ${host}`, { send: connectTo(`${host}:${port}`) }],
          ]),
        ),
      );
    const refused = await ask(near);
    expect(new Set(Object.values(refused.answers))).toEqual(new Set(['403']));
    expect([world.lookedUp, server.asked]).toEqual([[], []]);
    expect(refused.egress.decisions.every(({ verdict, address }) => verdict === 'deny' && !address)).toBe(
      true,
    );

    const reached = await ask(far);
    expect(new Set(Object.values(reached.answers))).toEqual(new Set(['200']));
    expect(server.asked).toHaveLength(far.length);
  });
});

describe.each(['c', 'b'])('a run in tier %s that asks for other ports of an allowed host', (tier) => {
  test('is refused each of them, although a server listens there', async () => {
    const [granted, other] = [await startServer(), await startServer()];
    const world = await openEgressWorld({
      entries: [`ok.test:${granted.port}`, `${HOME}:${granted.port}`, `${HOME}:${other.port}`],
      names: { 'ok.test': [HOME] },
    });
    const ports = [22, 25, 53, 80, 443, 3128, 6379, other.port];
    const messages = Object.fromEntries(
      [...ports, granted.port].flatMap((port) => [
        [`page at ${port}`, { send: getFrom(`http://ok.test:${port}/`) }],
        [`tunnel to ${port}`, { send: connectTo(`ok.test:${port}`) }],
      ]),
    );
    const { answers } = await askInside(world, messages, { tier });
    const { [`page at ${granted.port}`]: page, [`tunnel to ${granted.port}`]: tunnel, ...others } = answers;
    expect([page, tunnel]).toEqual(['200', '200']);
    expect(new Set(Object.values(others))).toEqual(new Set(['403']));
    expect([granted.asked.length, other.asked.length]).toEqual([1, 0]);
  });
});

test('a run that calls an allowed host by its name finds a door at the granted port and none at others', async () => {
  const [granted, other] = [await startServer(), await startServer()];
  const world = await openEgressWorld({
    entries: [`ok.test:${granted.port}`, `${HOME}:${granted.port}`],
    names: { 'ok.test': [HOME] },
  });
  const send = getAt('ok.test');
  const { answers } = await askInside(world, {
    granted: { send, to: ['ok.test', granted.port] },
    other: { send, to: ['ok.test', other.port] },
    ssh: { send, to: ['ok.test', 22] },
  });
  expect(answers).toEqual({ granted: '200', other: 'ECONNREFUSED', ssh: 'ECONNREFUSED' });
  expect([granted.asked.length, other.asked.length]).toEqual([1, 0]);
});
