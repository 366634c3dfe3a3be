/** Attempts to get more out of a tunnel for HTTP in the open than the one request that the list allows. */
import { describe, expect, it } from 'vitest';
import { type AllowList, narrowList } from '../../../src/egress/allowlist.ts';
import type { ProxyLimits } from '../../../src/egress/limits.ts';
import type { BoundSecret } from '../../../src/egress/secrets.ts';
import { listOf } from '../sample.ts';
import { RUN, speakTls } from './tls-world.ts';
import {
  AUTHORIZED,
  connectHead,
  eventually,
  HELLO,
  NAME,
  openTunnel,
  startAnswering,
  startProxy,
  startTarget,
  statusOf,
  talk,
} from './world.ts';

const ANSWERS = { [NAME]: ['127.0.0.1'], 'other.test': ['127.0.0.1'] };

type Terms = {
  /** The port of the target is written as PORT. */
  readonly entries?: readonly string[];
  readonly limits?: Partial<ProxyLimits>;
  readonly target?: Awaited<ReturnType<typeof startTarget>>;
  readonly secrets?: readonly BoundSecret[];
};

/** A target and a proxy that lets GET below /v1/ through to it, in the open alone. */
async function start({ entries, limits = {}, target: given, secrets = [] }: Terms = {}) {
  const target = given ?? (await startAnswering(HELLO));
  const all = entries ?? [`GET http://${NAME}:PORT/v1/`];
  const proxy = await startProxy({
    entries: [...all, '127.0.0.1:PORT'].map((entry) => entry.replace('PORT', String(target.port))),
    answers: ANSWERS,
    limits,
    options: { secrets },
  });
  const authority = `${NAME}:${target.port}`;
  const open = () => openTunnel(proxy.port, authority);
  /** Sends bytes into a tunnel, and gives what is heard inside it. */
  const say = async (...texts: string[]) => {
    const client = await open();
    for (const text of texts) client.socket.write(Buffer.from(text, 'latin1'));
    const { body, end } = await client.ended;
    return { text: body, end };
  };
  /** What is allowed works. */
  const control = async () => expect(statusOf(await say(get(authority)))).toBe(200);
  return { ...proxy, target, authority, open, say, control };
}

function get(host: string, ...headers: string[]): string {
  return ['GET /v1/ HTTP/1.1', `Host: ${host}`, ...headers, '', ''].join('\r\n');
}

/** Nothing of it left the machine. */
function untouched({ asked, target }: { asked: string[]; target: { sockets: readonly unknown[] } }) {
  expect({ asked, connections: target.sockets.length }).toEqual({ asked: [], connections: 0 });
}

describe('a request inside a tunnel for HTTP', () => {
  it.each([
    ['another method', 'POST /v1/a', 'its method is not allowed'],
    ['another path', 'GET /v2/a', 'its path is not allowed'],
    ['a path that climbs', 'GET /v1/../v2', 'its path is not allowed'],
    ['a path that climbs in disguise', 'GET /v1/%2e%2e/v2', 'its path is not allowed'],
  ])('with %s is refused inside, before a name is looked up', async (_what, line, why) => {
    const world = await start();
    const { text } = await world.say(`${line} HTTP/1.1\r\nHost: ${world.authority}\r\n\r\n`);
    expect(statusOf({ text })).toBe(403);
    expect(text).toContain('X-Palisade-Egress: denied');
    expect(text).toContain(why);
    untouched(world);
    const [method] = line.split(' ');
    expect(world.decisions()).toMatchObject([{ host: NAME, method, verdict: 'deny', intercepted: false }]);
    await world.control();
  });

  it.each([
    ['a Host of another name', () => get('other.test'), 400],
    ['a Host of another port', () => get(`${NAME}:1`), 400],
    ['two Hosts', (host: string) => get(host, 'Host: other.test'), 400],
    ['no Host', () => 'GET /v1/ HTTP/1.1\r\n\r\n', 400],
    ['the address of another host', (host: string) => to('http://other.test/v1/', host), 400],
    ['another host, in agreement', () => to('http://other.test/v1/', 'other.test'), 400],
    ['the address of another port', (host: string) => to(`http://${NAME}:1/v1/`, host), 400],
    ['the address of another scheme', (host: string) => to(`https://${host}/v1/`, host), 400],
    ['CONNECT', () => 'CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n', 400],
    ['CONNECT to its own host', (host: string) => `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 400],
    ['two lengths', (host: string) => get(host, 'Content-Length: 1', 'Content-Length: 2'), 400],
    ['a wish for a WebSocket', (host: string) => get(host, 'Upgrade: websocket'), 501],
    ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['HTTP/0.9', () => 'GET /v1/\r\n', 400],
    ['a line that ends in LF alone', (host: string) => get(host).replaceAll('\r', ''), 400],
  ])('with %s is refused inside', async (_what, make, status) => {
    const entries = [`http://${NAME}:PORT/`, 'other.test', `other.test:PORT`, `${NAME}:1`];
    const world = await start({ entries });
    expect(statusOf(await world.say(make(world.authority)))).toBe(status);
    untouched(world);
    expect(world.proxy.facts()).toMatchObject({ malformed: 1, decisions: [], faults: 0 });
    await world.control();
  });

  it.each([
    ['SSH', 'SSH-2.0-x\r\n'],
    ['SMTP', 'EHLO there\r\n'],
    ['Redis', '*1\r\n$4\r\nPING\r\n'],
    ['SOCKS5', '\x05\x01\x00'],
    ['NULs', '\0\0\0\0'],
    ['bytes above ASCII', '\xff\xfe\xfd\r\n'],
    ['an alert that is not of TLS', '\x15\x20\x00\x00\x02\x01\x00\r\n'],
  ])('that is %s is told that it is none', async (_what, text) => {
    const world = await start();
    expect(statusOf(await world.say(text))).toBe(400);
    untouched(world);
    await world.control();
  });

  it('goes on with HTTP/1.1 when it offers h2c', async () => {
    const { say, authority, target } = await start();
    const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];
    expect(statusOf(await say(get(authority, ...offer)))).toBe(200);
    expect(target.seen[0]).not.toMatch(/upgrade|http2/i);
  });

  it('does not carry the credential of the run on', async () => {
    const { say, authority, target } = await start();
    expect(statusOf(await say(get(authority, AUTHORIZED)))).toBe(200);
    expect(target.seen[0]).not.toMatch(/proxy-|Basic/i);
  });

  it('with a body that is too long is refused before any of it leaves', async () => {
    const world = await start({ limits: { bytes: 1_000 } });
    expect(statusOf(await world.say(get(world.authority, 'Content-Length: 1001')))).toBe(413);
    untouched(world);
    await world.control();
  });

  it('brings no secret to a host or a port that it is not for', async () => {
    const secret: BoundSecret = { name: 'key', placeholder: 'PLACE', value: 'sk-1', isFor: () => false };
    const { say, authority, target } = await start({ secrets: [secret] });
    await say(get(authority, 'X-A: PLACE'));
    expect(target.seen[0]).toContain('X-A: PLACE\r\n');
    const bound = await start({ secrets: [{ ...secret, isFor: () => true }] });
    await bound.say(get(bound.authority, 'X-A: PLACE'));
    expect(bound.target.seen[0]).toContain('X-A: sk-1\r\n');
  });
});

function to(url: string, host: string): string {
  return `GET ${url} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
}

describe('a second request inside a tunnel for HTTP', () => {
  it.each([
    ['the same one', (host: string) => get(host)],
    ['one for another host', () => get('other.test')],
    ['one that is not allowed', (host: string) => `DELETE /v1/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a hello of TLS', () => '\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00'],
  ])('in one piece with the first comes to nothing when it is %s', async (_what, second) => {
    const { say, authority, target, decisions } = await start();
    const { text } = await say(get(authority) + second(authority));
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(target.seen).toHaveLength(1);
    expect(target.seen[0]?.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(decisions()).toHaveLength(1);
  });

  it('in the body of the first is its body, and no byte of it behind that is passed on', async () => {
    const second = 'DELETE /v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n';
    const { say, authority, target, decisions } = await start();
    await say(get(authority, 'Content-Length: 6') + second);
    await eventually(() => target.seen[0]?.includes('\r\n\r\nDELETE') === true);
    expect(target.seen[0]).toMatch(/\r\n\r\nDELETE$/);
    expect(decisions()).toHaveLength(1);
  });

  it('after the answer comes to nothing on a connection that the client keeps', async () => {
    const { open, authority, target } = await start();
    const client = await open();
    client.socket.write(get(authority, 'Connection: keep-alive'));
    await client.until('hello');
    client.socket.write(get(authority));
    const { body } = await client.ended;
    expect(body.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(body).toContain('Connection: close');
    expect(target.seen).toHaveLength(1);
  });
});

describe('TLS inside a tunnel for HTTP', () => {
  it('is cut with the sentence on why the tunnel is denied', async () => {
    const world = await start();
    const { socket } = await world.open();
    const client = speakTls(socket, { ca: RUN.certificatePem, servername: NAME });
    expect(await client.ended).toMatchObject({ text: '', end: 'ECONNRESET' });
    untouched(world);
    const why = `Cannot reach "${world.authority}": the entry "GET http://${world.authority}/v1/" requires its scheme, which no one sees in a tunnel, expected the entry "${world.authority}", or "${NAME}" in process.egress_intercept`;
    expect(world.decisions()).toMatchObject([
      { method: 'CONNECT', verdict: 'deny', why, intercepted: false },
    ]);
    expect(world.proxy.facts()).toMatchObject({ denied: 1, cut: 0, faults: 0 });
    await world.control();
  });

  it.each([
    ['broken', '\x16\x03\x01\x00\x00'],
    ['behind a warning', '\x15\x03\x01\x00\x02\x01\x00'],
    ['of an odd version', '\x16\x02\x00\x00\x05\x01'],
    ['that stops', '\x16\x03\x01'],
  ])('with a hello that is %s is cut as well', async (_what, hello) => {
    const world = await start();
    const client = await world.open();
    client.socket.end(Buffer.from(hello, 'latin1'));
    expect(await client.ended).toMatchObject({ body: '', end: 'ECONNRESET' });
    untouched(world);
    expect(world.decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'deny' }]);
    expect(world.decisions()[0]?.why).toContain('requires its scheme');
  });
});

describe('a tunnel for HTTP', () => {
  it.each([
    ['no entry', ['other.test']],
    ['an entry for another port', [`http://${NAME}:1/`]],
    ['an entry for https alone', [`https://${NAME}:PORT/`]],
    ['a denial', [`http://${NAME}:PORT/`, `!${NAME}`]],
    ['a denial of http', [`http://${NAME}:PORT/`, `!http://${NAME}/`]],
    ['a denial of a path, and no entry for http', [`${NAME}:PORT`, `!http://${NAME}/admin`]],
  ])('is refused in the open when there is %s', async (_what, entries) => {
    const world = await start({ entries });
    const answer = await talk(world.port, connectHead(world.authority), get(world.authority));
    expect(statusOf(answer)).toBe(403);
    untouched(world);
    expect(world.decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'deny', intercepted: false }]);
  });

  it.each([
    [[NAME, `!https://${NAME}/admin`], 403],
    [[`http://${NAME}:443/`], 200],
  ])('on the port of TLS with %j gets %i', async (entries, status) => {
    const { port, proxy } = await startProxy({ entries });
    const client = talk(port, connectHead(`${NAME}:443`), 'PRI * HTTP/2.0\r\n');
    expect(statusOf(await client)).toBe(status);
    expect(proxy.facts()).toMatchObject({ denied: status === 403 ? 1 : 0 });
  });

  it('is refused when one of two lists has nothing for it, and there when both have', async () => {
    const [http, any, other] = [listOf(`http://${NAME}:8080/`), listOf(`${NAME}:8080`), listOf('other.test')];
    const ask = async (list: AllowList) => {
      const { port } = await startProxy({ options: { list: () => list } });
      return statusOf(await talk(port, connectHead(`${NAME}:8080`), 'PRI * HTTP/2.0\r\n'));
    };
    for (const list of [narrowList(http, other), narrowList(other, http)]) expect(await ask(list)).toBe(403);
    for (const list of [narrowList(http, any), narrowList(any, http)]) expect(await ask(list)).toBe(200);
  });

  it('needs the credential of the run', async () => {
    const { port, authority, target } = await start();
    const head = connectHead(authority).replace(`${AUTHORIZED}\r\n`, '');
    expect(statusOf(await talk(port, head, get(authority)))).toBe(407);
    expect(target.sockets).toEqual([]);
  });

  it('leads to no address that the list does not name', async () => {
    const target = await startAnswering(HELLO);
    const { port } = await startProxy({ entries: [`http://${NAME}:${target.port}/`], answers: ANSWERS });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.write(get(`${NAME}:${target.port}`));
    const { body } = await client.ended;
    expect(body).toMatch(/^HTTP\/1\.1 403 .*it is an address of the machine itself/);
    expect(target.sockets).toEqual([]);
  });

  it.each([
    ['sends nothing', '', ''],
    ['stops after a byte that may become TLS', '\x16', ''],
    ['stops in its head', 'GET /v1/ HTTP/1.1\r\nHo', '408'],
  ])('is over in time for a client that %s', async (_what, bytes, status) => {
    const world = await start({ limits: { headMs: 200 } });
    const { text } = await world.say(bytes);
    expect(text.slice(9, 12)).toBe(status);
    untouched(world);
    const why = 'the client has sent no request, expected it within 200 ms';
    const records =
      status === '' ? [{ method: 'CONNECT', verdict: 'deny', why: expect.stringContaining(why) }] : [];
    expect(world.proxy.facts().decisions).toMatchObject(records);
  });

  it('is over in time for a client that sends a byte now and then', async () => {
    const { open } = await start({ limits: { headMs: 200 } });
    const client = await open();
    const drip = setInterval(() => client.socket.write('A'), 20);
    const { body } = await client.ended;
    clearInterval(drip);
    expect(body).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('is served to a client whose first byte comes late, but in time', async () => {
    const { open, authority } = await start();
    const client = await open();
    await new Promise((resolve) => setTimeout(resolve, 150));
    client.socket.write(get(authority));
    expect((await client.ended).body).toContain('hello');
  });
});

describe('a list that changes', () => {
  it('counts for a request that comes after it on a tunnel that was there before', async () => {
    const world = await start();
    const client = await world.open();
    world.setList('other.test');
    world.proxy.recheck();
    client.socket.write(get(world.authority));
    const { body } = await client.ended;
    expect(body).toMatch(/^HTTP\/1\.1 403 .*no entry of the allow-list has this host/);
    untouched(world);
  });

  it('does not let TLS into a tunnel that was denied as such', async () => {
    const world = await start();
    const { socket } = await world.open();
    world.setList(world.authority, `127.0.0.1:${world.target.port}`);
    world.proxy.recheck();
    const client = speakTls(socket, { ca: RUN.certificatePem, servername: NAME });
    expect((await client.ended).text).toBe('');
    untouched(world);
    expect(world.decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'deny' }]);
  });

  it('cuts a response that is on its way and is not allowed any more, and no other', async () => {
    const target = await startTarget((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nso far')),
    );
    const { open, authority, setList, proxy } = await start({ target });
    const kept = [`GET http://${authority}/v1/`, `127.0.0.1:${target.port}`];
    const client = await open();
    client.socket.write(get(authority));
    await client.until('so far');
    setList(...kept);
    proxy.recheck();
    expect(target.sockets[0]?.destroyed).toBe(false);
    setList(...kept, `!http://${authority}/v1/`);
    proxy.recheck();
    expect((await client.ended).end).toBe('ECONNRESET');
    await eventually(() => target.sockets[0]?.destroyed === true);
    expect(proxy.facts().decisions[0]?.cut).toContain(`the entry "!http://${authority}/v1/" denies it`);
  });

  it('counts while the name is looked up', async () => {
    const target = await startAnswering(HELLO);
    const kept = [`http://${NAME}:${target.port}/`, `127.0.0.1:${target.port}`];
    let release: (answer: readonly string[]) => void = () => {};
    const { port, asked, setList } = await startProxy({
      entries: kept,
      answers: {
        [NAME]: () =>
          new Promise((resolve) => {
            release = resolve;
          }),
      },
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.write(get(`${NAME}:${target.port}`));
    await eventually(() => asked.length === 1);
    setList(...kept, '!127.0.0.1');
    release(['127.0.0.1']);
    expect((await client.ended).body).toMatch(/^HTTP\/1\.1 403 .*"!127\.0\.0\.1" denies it/);
    expect(target.sockets).toEqual([]);
  });
});
