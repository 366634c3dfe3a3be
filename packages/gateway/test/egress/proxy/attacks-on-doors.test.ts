import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parseAllowList } from '../../../src/egress/allowlist.ts';
import { listOf } from '../sample.ts';
import { startOpened } from './tls-world.ts';
import {
  AUTHORIZED,
  allowing,
  basic,
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

describe('N15: a port that was not granted', () => {
  it.each([22, 25, 53, 6379])('%i is refused on an allowed host', async (other) => {
    const { port, asked, target } = await startBoth();
    const { text } = await talk(port, connectHead(`${NAME}:${other}`));
    expect(statusOf({ text })).toBe(403);
    expect(text).toContain(`its port is not allowed by the entry "${NAME}:${target.port}"`);
    expect(asked).toEqual([]);
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.end('GET / HTTP/1.0\r\n\r\n');
    expect((await client.ended).body).toBe(HELLO);
  });

  it('is no way around an entry with a scheme, a method or a path', async () => {
    const target = await startAnswering(HELLO);
    const { port } = await startProxy({
      entries: [`GET http://${NAME}:${target.port}/v1/`, `127.0.0.1:${target.port}`],
      answers: { [NAME]: ['127.0.0.1'] },
    });
    const ask = (method: string, path: string) =>
      talk(port, plainHead(method, `http://${NAME}:${target.port}${path}`));
    expect(statusOf(await ask('POST', '/v1/a'))).toBe(403);
    expect(statusOf(await ask('GET', '/v2/a'))).toBe(403);
    expect(statusOf(await ask('GET', '/v1/../v2/a'))).toBe(403);
    expect(statusOf(await ask('GET', '/v1/%2e%2e/v2/a'))).toBe(403);
    expect(statusOf(await ask('GET', '/v1/a?b=c'))).toBe(200);
  });
});

describe('N17: the credential', () => {
  it.each([
    ['none', ''],
    ['another token', `Proxy-Authorization: ${basic('run:a-token-of-another-run')}\r\n`],
    ['another user', `Proxy-Authorization: ${basic('root:a-token-of-this-run-alone')}\r\n`],
    ['no user', `Proxy-Authorization: ${basic('a-token-of-this-run-alone')}\r\n`],
    ['the token in the open', 'Proxy-Authorization: Bearer a-token-of-this-run-alone\r\n'],
    ['a part of the token', `Proxy-Authorization: ${basic('run:a-token-of-this')}\r\n`],
    ['nothing', 'Proxy-Authorization:\r\n'],
    ['that of the target', `${AUTHORIZED.replace('Proxy-', '')}\r\n`],
  ])('that is %s gets a 407 and nothing else', async (_what, line) => {
    const { port, asked, target, proxy } = await startBoth();
    const url = `http://${NAME}:${target.port}/`;
    const heads = [plainHead('GET', url), connectHead(`${NAME}:${target.port}`)];
    for (const head of heads) {
      const answer = await talk(port, head.replace(`${AUTHORIZED}\r\n`, line));
      expect(statusOf(answer)).toBe(407);
      expect(answer.head).toContain('Proxy-Authenticate: Basic realm="palisade"');
      // Behind the head of a tunnel this is for the target; behind that of a plain request it is for nobody.
      expect(statusOf(await talk(port, `${head}GET / HTTP/1.1\r\n\r\n`))).toBe(200);
    }
    expect(proxy.facts()).toMatchObject({ unauthorized: 2, requests: 2 });
    expect({ asked: asked.length, seen: target.seen.length }).toEqual({ asked: 2, seen: 2 });
  });

  it('of one run does not open the proxy of another', async () => {
    const first = await startBoth();
    const second = await startProxy({ entries: ['allowed.test'], token: 'a-token-of-the-second-run' });
    const head = plainHead('GET', `http://${NAME}:${first.target.port}/`);
    expect(statusOf(await talk(second.port, head))).toBe(407);
    expect(statusOf(await talk(first.port, head))).toBe(200);
  });

  it.each(['', 'short', 'has a space in the token', 'has:a:colon:in:the:token'])(
    'cannot be %j',
    async (token) => {
      await expect(startProxy({ token })).rejects.toThrow('Cannot open proxy');
    },
  );

  it('is not passed on to a target', async () => {
    const { get, target } = await startBoth();
    await get(NAME);
    expect(target.seen[0]).toContain('GET / HTTP/1.1');
    expect(target.seen[0]).not.toMatch(/authorization|cnVu/i);
  });
});

describe('N19: another protocol', () => {
  it.each([
    ['SOCKS5', Buffer.from([5, 1, 0])],
    ['SOCKS5 UDP ASSOCIATE', Buffer.from([5, 3, 0, 1, 0, 0, 0, 0, 0, 0])],
    ['SOCKS5 BIND', Buffer.from([5, 2, 0, 1, 127, 0, 0, 1, 0, 80])],
    ['SOCKS4', Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0])],
    ['TLS', Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])],
    ['HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
    ['HTTP/0.9', Buffer.from(`GET http://${NAME}/\r\n`)],
  ])('%s is told at once that it is the wrong one', async (name, bytes) => {
    const { port, target, get } = await startBoth();
    const { text } = await talk(port, bytes);
    expect(text).toMatch(/^HTTP\/1\.1 (400|505) /);
    expect(text).toContain(name.split(' ')[0]);
    expect(target.sockets).toEqual([]);
    expect(statusOf(await get(NAME))).toBe(200);
  });
});

describe('N20: a WebSocket', () => {
  const handshake = (host: string) =>
    `GET /socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
  const sentence = (authority: string) =>
    `501 Cannot use upgrade to "websocket": the proxy reads this request, expected CONNECT to "${authority}", with the entry "${authority}" in process.egress_hosts and without "${NAME}" in process.egress_intercept\r\n`;
  const startSocket = () =>
    startTarget((socket, received) => {
      socket.once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
      socket.on('data', () => {
        if (received().endsWith('\x81\x02hi')) socket.end('\x81\x02ho');
      });
    });

  it('goes through a tunnel to an allowed host, and through none to another', async () => {
    const target = await startSocket();
    const { port } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: { [NAME]: ['127.0.0.1'] },
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.write(handshake(NAME));
    await client.until('101 Switching');
    client.socket.end(Buffer.from('\x81\x02hi', 'latin1'));
    expect((await client.ended).body).toMatch(/ho$/);
    expect(target.seen[0]).toContain('Upgrade: websocket');
    expect(statusOf(await talk(port, connectHead(`denied.test:${target.port}`)))).toBe(403);
  });

  it('is refused in a plain request', async () => {
    const target = await startSocket();
    const { port } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: { [NAME]: ['127.0.0.1'] },
    });
    const url = `http://${NAME}:${target.port}/socket`;
    const { text } = await talk(port, plainHead('GET', url, 'Connection: Upgrade', 'Upgrade: websocket'));
    expect(text).toContain(sentence(`${NAME}:${target.port}`));
    expect(target.sockets).toEqual([]);
  });

  it('is refused at a door for HTTP, and inside a tunnel that is opened', async () => {
    const world = await startBoth();
    const door = await world.openDoor(NAME, world.target.port, true);
    expect((await talk(door, handshake(NAME))).text).toContain(sentence(`${NAME}:${world.target.port}`));
    expect(world.target.sockets).toEqual([]);
    const opened = await startOpened();
    const { text } = await opened.ask('GET /v1/', 'Connection: Upgrade', 'Upgrade: websocket');
    expect(text).toContain(sentence(opened.authority));
    expect(opened.target.raws).toEqual([]);
  });
});

describe('N22: a list that allows nothing', () => {
  it('lets nothing out, by name or by address', async () => {
    const target = await startAnswering(HELLO);
    const { port, asked } = await startProxy({ answers: { [NAME]: ['127.0.0.1'] } });
    for (const host of [NAME, '127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]']) {
      expect(statusOf(await talk(port, connectHead(`${host}:${target.port}`)))).toBe(403);
    }
    expect({ asked, sockets: target.sockets }).toEqual({ asked: [], sockets: [] });
  });

  it.each([null, undefined, '*', ['*'], ['10.0.0.0/'], [null]])('is not made from %j', (raw) => {
    expect(parseAllowList(raw).ok).toBe(false);
    expect(listOf(NAME).entries).toEqual([NAME]);
  });
});

describe('N23: a denial', () => {
  it('beats what allows, in any order, and is named', async () => {
    for (const order of [0, 1]) {
      const target = await startAnswering(HELLO);
      const entries = [`*.a.test:${target.port}`, `!b.a.test:${target.port}`, `127.0.0.1:${target.port}`];
      const { port, decisions } = await startProxy({
        entries: order === 0 ? entries : entries.toReversed(),
        answers: { 'a.a.test': ['127.0.0.1'], 'b.a.test': ['127.0.0.1'] },
      });
      const ask = (name: string) => talk(port, plainHead('GET', `http://${name}:${target.port}/`));
      expect(statusOf(await ask('a.a.test'))).toBe(200);
      const denied = await ask('b.a.test');
      expect(statusOf(denied)).toBe(403);
      expect(denied.body).toContain(`the entry "!b.a.test:${target.port}" denies it`);
      expect(decisions()[1]).toMatchObject({ rule: `!b.a.test:${target.port}`, verdict: 'deny' });
    }
  });
});

describe('N29: a list that changes', () => {
  it('cuts the tunnels that it does not allow any more, and no other', async () => {
    const target = await startEcho();
    const other = await startEcho();
    const kept = allowing('other.test', other.port);
    const { port, proxy, setList } = await startProxy({
      entries: [...allowing(NAME, target.port), ...kept],
      answers: { [NAME]: ['127.0.0.1'], 'other.test': ['127.0.0.1'] },
    });
    const revoked = await openTunnel(port, `${NAME}:${target.port}`);
    const staying = await openTunnel(port, `other.test:${other.port}`);
    setList(...allowing(NAME, target.port), ...kept);
    proxy.recheck();
    revoked.socket.write('still');
    await revoked.until('still');
    setList(...kept);
    proxy.recheck();
    expect((await revoked.ended).end).toBe('ECONNRESET');
    await eventually(() => target.sockets[0]?.destroyed === true);
    staying.socket.end('alive');
    expect((await staying.ended).body).toBe('alive');
    expect(statusOf(await talk(port, connectHead(`${NAME}:${target.port}`)))).toBe(403);
    expect(proxy.facts().decisions).toMatchObject([
      { host: NAME, verdict: 'allow', cut: expect.stringContaining('no entry of the allow-list') },
      { host: 'other.test', cut: null },
      { host: NAME, verdict: 'deny' },
    ]);
  });

  it('cuts a tunnel whose address is not allowed any more', async () => {
    const target = await startEcho();
    const entries = allowing(NAME, target.port);
    const { port, proxy, setList } = await startProxy({ entries, answers: { [NAME]: ['127.0.0.1'] } });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    setList(...entries, '!127.0.0.1');
    proxy.recheck();
    expect((await client.ended).end).toBe('ECONNRESET');
  });

  it.each([true, false])('refuses what was still being looked up; told: %s', async (isTold) => {
    const target = await startEcho();
    let release: (answer: readonly string[]) => void = () => {};
    const { port, asked, proxy, setList } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: {
        [NAME]: () =>
          new Promise((resolve) => {
            release = resolve;
          }),
      },
    });
    const client = openClient(port);
    client.socket.write(connectHead(`${NAME}:${target.port}`));
    await eventually(() => asked.length === 1);
    setList('other.test');
    if (isTold) proxy.recheck();
    else release(['127.0.0.1']);
    expect((await client.ended).text).toMatch(/^HTTP\/1\.1 403 .*no entry of the allow-list has this host/);
    release(['127.0.0.1']);
    expect(target.sockets).toEqual([]);
  });
});

describe('N30: the gateway itself', () => {
  it('is not reached through its proxy, by any of its names', async () => {
    const control = await startAnswering(HELLO);
    const terms = {
      entries: [`${NAME}:${control.port}`, `127.0.0.0/8:${control.port}`],
      answers: { [NAME]: ['127.0.0.1'] },
    };
    const guarded = await startProxy({ ...terms, own: { ports: new Set([control.port]) } });
    const open = await startProxy(terms);
    for (const host of [NAME, '127.0.0.1', '127.1']) {
      const head = connectHead(`${host}:${control.port}`);
      const refused = await talk(guarded.port, head);
      expect(refused.text).toMatch(/^HTTP\/1\.1 403 .*it is the gateway itself/);
      const client = openClient(open.port);
      client.socket.end(`${head}GET / HTTP/1.0\r\n\r\n`);
      expect((await client.ended).body).toBe(HELLO);
    }
    expect(control.sockets).toHaveLength(3);
    // Without the proxy it is there, or the refusal would prove nothing.
    await new Promise<void>((resolve) => {
      const socket = connect(control.port, '127.0.0.1', () => {
        socket.destroy();
        resolve();
      });
    });
  });
});
