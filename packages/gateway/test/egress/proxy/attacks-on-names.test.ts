import { describe, expect, it } from 'vitest';
import { addressOf } from '../sample.ts';
import {
  allowing,
  connectHead,
  eventually,
  HELLO,
  NAME,
  openClient,
  openTunnel,
  plainHead,
  startAnswering,
  startBoth,
  startEcho,
  startProxy,
  startTarget,
  statusOf,
  talk,
} from './world.ts';

describe('N3: a denied name', () => {
  it('is never asked for, in a tunnel or in the open', async () => {
    const { port, asked, get, target, proxy } = await startBoth();
    const secret = 'c2vjcmv0.attacker.test';
    const denied = await get(secret);
    expect(statusOf(denied)).toBe(403);
    expect(denied.head).toContain('X-Palisade-Egress: denied');
    expect(denied.head).toContain('Content-Type: text/plain');
    expect(denied.body).toBe(
      `Cannot reach "${secret}:${target.port}": no entry of the allow-list has this host, expected one such as "${secret}:${target.port}"\n`,
    );
    expect(statusOf(await talk(port, connectHead(`${secret}:443`)))).toBe(403);
    expect(asked).toEqual([]);
    expect(proxy.facts().decisions).toMatchObject([
      { host: secret, verdict: 'deny', address: null, method: 'GET', bytesOut: 0 },
      { host: secret, verdict: 'deny', address: null, method: 'CONNECT', port: 443 },
    ]);
    expect(statusOf(await get(NAME))).toBe(200);
    expect(asked).toEqual([NAME]);
  });

  it('without an answer is a 502', async () => {
    const { port } = await startProxy({ entries: ['gone.test'] });
    const { text } = await talk(port, plainHead('GET', 'http://gone.test/'));
    expect(text).toMatch(/^HTTP\/1\.1 502 Cannot reach "gone\.test:80": its name has no address/);
  });
});

describe('N5: an authority with two readings', () => {
  it.each([
    `${NAME}:80 HTTP/1.1\r\nX: y`,
    `${NAME}\r\nX: y`,
    `user@${NAME}:80`,
    `${NAME}:80@evil.test:80`,
    `${NAME}%00.evil.test:80`,
    `${NAME}%2eevil.test:80`,
    `${NAME}\t:80`,
    `${NAME} :80`,
    `${NAME}#.evil.test:80`,
    `${NAME}\\.evil.test:80`,
    `${NAME}\0.evil.test:80`,
    `${NAME}:80:80`,
    `${NAME}:`,
  ])('such as %j is refused in both forms', async (authority) => {
    const { port, asked, target } = await startBoth('*.evil.test', 'evil.test');
    const plain = await talk(port, plainHead('GET', `http://${authority}/`));
    const tunnel = await talk(port, connectHead(authority));
    expect([statusOf(plain), statusOf(tunnel)]).toEqual([400, 400]);
    expect({ asked, seen: target.seen }).toEqual({ asked: [], seen: [] });
  });

  it('is told from one with a single reading', async () => {
    const { get } = await startBoth();
    expect(statusOf(await get('ALLOWED.test.'))).toBe(200);
  });
});

describe('N7: a name that looks like an allowed one', () => {
  it.each(['evilexample.test', 'example.test.evil.test', 'example.test', 'a.example.test.evil'])(
    '%s is denied',
    async (name) => {
      const { get, asked } = await startBoth('*.example.test');
      expect(statusOf(await get(name))).toBe(403);
      expect(asked).toEqual([]);
    },
  );

  it('is told from one that is below the wildcard', async () => {
    const target = await startAnswering(HELLO);
    const { port } = await startProxy({
      entries: [`*.example.test:${target.port}`, `127.0.0.1:${target.port}`],
      answers: { 'a.example.test': ['127.0.0.1'] },
    });
    expect(statusOf(await talk(port, plainHead('GET', `http://a.example.test:${target.port}/`)))).toBe(200);
  });
});

describe('N9: an allowed name that leads inside', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '192.168.1.1',
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    'fd00:ec2::254',
    '::1',
    '::ffff:127.0.0.1',
    '203.0.112.9',
  ])('to %s is refused', async (address) => {
    const target = await startEcho();
    const { port, decisions } = await startProxy({
      entries: [`${NAME}:${target.port}`],
      answers: { [NAME]: [address] },
      own: { addresses: [addressOf('203.0.112.9')] },
    });
    const { text } = await talk(port, connectHead(`${NAME}:${target.port}`));
    expect(text).toMatch(/^HTTP\/1\.1 403 Cannot reach "allowed\.test:\d+" at ".*": it is /);
    expect(text).toContain('X-Palisade-Egress: denied');
    expect(decisions()).toMatchObject([{ host: NAME, verdict: 'deny', address: null }]);
    expect(target.sockets).toEqual([]);
  });

  it('is told from one whose address is named', async () => {
    const { get } = await startBoth();
    expect(statusOf(await get(NAME))).toBe(200);
  });
});

describe('N10: a name server that changes its mind', () => {
  it('is asked once for each request, and what it says later is not dialled', async () => {
    const good = await startEcho();
    const bad = await startTarget((socket) => socket.end('inside'));
    let count = 0;
    const { port, asked, decisions } = await startProxy({
      entries: [`${NAME}:${good.port}`, `127.0.0.1:${good.port}`],
      answers: {
        [NAME]: async () => {
          count += 1;
          return [count === 1 ? '127.0.0.1' : '127.0.0.2'];
        },
      },
    });
    const client = await openTunnel(port, `${NAME}:${good.port}`);
    client.socket.end('hi');
    expect((await client.ended).body).toBe('hi');
    expect({ asked, addresses: decisions().map(({ address }) => address) }).toEqual({
      asked: [NAME],
      addresses: ['127.0.0.1'],
    });
    expect(statusOf(await talk(port, connectHead(`${NAME}:${good.port}`)))).toBe(403);
    expect(bad.sockets).toEqual([]);
  });

  it.each([[['127.0.0.1', '127.0.0.2']], [['127.0.0.2', '127.0.0.1']]])(
    'with one bad address among %j gets nothing',
    async (answer) => {
      const target = await startEcho();
      const { port } = await startProxy({
        entries: allowing(NAME, target.port),
        answers: { [NAME]: answer },
      });
      expect(statusOf(await talk(port, connectHead(`${NAME}:${target.port}`)))).toBe(403);
      expect(target.sockets).toEqual([]);
    },
  );
});

describe('what follows a body', () => {
  it.each([
    ['a length', 'Content-Length: 4', 'body', 'body'],
    ['chunks', 'Transfer-Encoding: chunked', '4\r\nbody\r\n0\r\n\r\n', '4\r\nbody\r\n0\r\n\r\n'],
  ])('with %s is not passed on', async (_what, header, body, expected) => {
    const target = await startTarget((socket, received) => {
      socket.on('data', () => {
        if (received().endsWith(expected)) setTimeout(() => socket.end(HELLO), 50);
      });
    });
    const { port } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: { [NAME]: ['127.0.0.1'] },
    });
    const url = `http://${NAME}:${target.port}/`;
    const client = openClient(port);
    client.socket.write(plainHead('POST', url, header) + body + plainHead('GET', url));
    await eventually(() => (target.seen[0] ?? '').endsWith(expected));
    client.socket.write(plainHead('GET', url));
    expect(statusOf(await client.ended)).toBe(200);
    expect(target.seen).toHaveLength(1);
    expect(target.seen[0]?.split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(expected);
  });
});

describe('N12: a Host header of another host', () => {
  it('is refused, with and without a tunnel', async () => {
    const { port, target, get } = await startBoth('other.test');
    const url = `http://${NAME}:${target.port}/`;
    const plain = plainHead('GET', url).replace(/Host: .*\r/, 'Host: other.test\r');
    const tunnel = connectHead(`${NAME}:${target.port}`).replace(/Host: .*\r/, 'Host: other.test\r');
    const answers = [await talk(port, plain), await talk(port, tunnel)];
    expect(answers.map(statusOf)).toEqual([400, 400]);
    expect(answers[0]?.body).toContain('its Host header is "other.test"');
    expect(target.seen).toEqual([]);
    expect(statusOf(await get(NAME))).toBe(200);
  });
});

describe('a second request on one connection', () => {
  it.each([
    ['another host', 'http://denied.test/'],
    ['the same host', null],
  ])('for %s is not read as one', async (_what, other) => {
    const { port, target, proxy } = await startBoth();
    const url = `http://${NAME}:${target.port}/`;
    const both = plainHead('GET', `${url}first`) + plainHead('GET', other ?? `${url}second`);
    const { text } = await talk(port, both);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(text).toContain('Connection: close');
    expect(target.seen).toHaveLength(1);
    expect(target.seen[0]).toMatch(/^GET \/first HTTP\/1\.1\r\n(?:.+\r\n)*\r\n$/);
    expect(proxy.facts().requests).toBe(1);
  });
});
