import { request as httpsRequest } from 'node:https';
import { describe, expect, it } from 'vitest';
import { formatHost } from '../../../src/egress/authority.ts';
import type { BoundSecret } from '../../../src/egress/secrets.ts';
import { newTestAuthority, RUN, startOpened } from './tls-world.ts';
import { connectHead, eventually, NAME, openClient, openTunnel, statusOf, talk } from './world.ts';

const STRANGER = newTestAuthority('stranger');

/** Nothing of it left the machine. */
function untouched({ asked, target }: { asked: string[]; target: { raws: readonly unknown[] } }) {
  expect({ asked, connections: target.raws.length }).toEqual({ asked: [], connections: 0 });
}

describe('a request inside an opened tunnel', () => {
  it.each([
    ['another method', 'POST /v1/a', 'its method is not allowed'],
    ['another path', 'GET /v2/a', 'its path is not allowed'],
    ['a path that climbs', 'GET /v1/../v2', 'its path is not allowed'],
    ['a path that climbs in disguise', 'GET /v1/%2e%2e/v2', 'its path is not allowed'],
    ['a path in other letters', 'GET /V1/a', 'its path is not allowed'],
  ])('with %s is refused inside, before a name is looked up', async (_what, line, why) => {
    const world = await startOpened();
    const answer = await world.ask(line);
    expect(statusOf(answer)).toBe(403);
    expect(answer.body).toContain(why);
    expect(answer.head).toContain('X-Palisade-Egress: denied');
    untouched(world);
    const [method] = line.split(' ');
    expect(world.decisions()).toMatchObject([{ host: NAME, method, verdict: 'deny', intercepted: true }]);
    expect(statusOf(await world.ask('GET /v1/a'))).toBe(200);
  });

  it.each([
    ['a Host of another name', 'GET /v1/ HTTP/1.1', ['Host: other.test']],
    ['a Host of another port', 'GET /v1/ HTTP/1.1', [`Host: ${NAME}:1`]],
    ['two Hosts', 'GET /v1/ HTTP/1.1', [`Host: ${NAME}`, 'Host: other.test']],
    ['no Host', 'GET /v1/ HTTP/1.1', []],
    ['the address of another host', 'GET https://other.test/v1/ HTTP/1.1', [`Host: ${NAME}`]],
    ['the address of another scheme', `GET http://${NAME}/v1/ HTTP/1.1`, [`Host: ${NAME}`]],
    ['another host, in agreement', 'GET https://other.test/v1/ HTTP/1.1', ['Host: other.test']],
    ['CONNECT', 'CONNECT other.test:443 HTTP/1.1', ['Host: other.test:443']],
    ['CONNECT with a path', 'CONNECT /v1/ HTTP/1.1', [`Host: ${NAME}`]],
    [
      'a wish for another protocol',
      'GET /v1/ HTTP/1.1',
      [`Host: ${NAME}`, 'Upgrade: websocket', 'Connection: Upgrade'],
    ],
    ['two lengths', 'POST /v1/ HTTP/1.1', [`Host: ${NAME}`, 'Content-Length: 1', 'Content-Length: 2']],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0', []],
  ])('with %s is refused inside', async (_what, line, headers) => {
    const world = await startOpened({ entries: [`https://${NAME}:PORT/`, 'other.test', `${NAME}:1`] });
    const client = await world.enter();
    client.socket.write(`${[line, ...headers].join('\r\n')}\r\n\r\n`);
    expect([400, 501, 505]).toContain(statusOf(await client.ended));
    untouched(world);
    expect(world.proxy.facts()).toMatchObject({ malformed: 1, decisions: [] });
    expect(statusOf(await world.ask('GET /v1/'))).toBe(200);
  });

  it('is the only one of its connection', async () => {
    const { enter, authority, target, decisions } = await startOpened({
      entries: [`https://${NAME}:PORT/`, 'other.test:PORT'],
    });
    const client = await enter();
    const first = `GET /1 HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
    client.socket.write(`${first}GET /2 HTTP/1.1\r\nHost: other.test\r\n\r\n`);
    const { text } = await client.ended;
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(target.seen).toHaveLength(1);
    expect(target.seen[0]).toMatch(/^GET \/1 /);
    expect(decisions()).toHaveLength(1);
  });

  it('that comes after the first on a connection that the client keeps is told that it ended', async () => {
    const { enter, authority, target } = await startOpened();
    const client = await enter();
    client.socket.write(`GET /v1/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await client.until('hello');
    client.socket.write('GET /v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n');
    const { text } = await client.ended;
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(text).toContain('Connection: close');
    expect(target.seen).toHaveLength(1);
  });

  it('is denied by an entry for a path or a method, and by none for another', async () => {
    const { ask } = await startOpened({
      entries: [`${NAME}:PORT`, `!https://${NAME}/admin`, `!DELETE https://${NAME}/`],
    });
    expect(statusOf(await ask('GET /a'))).toBe(200);
    expect(statusOf(await ask('GET /admin/a'))).toBe(403);
    expect(statusOf(await ask('GET /Admin;x=y/a'))).toBe(403);
    expect(statusOf(await ask('DELETE /a'))).toBe(403);
    expect(statusOf(await ask('POST /a'))).toBe(200);
  });

  it('keeps to the number of bytes', async () => {
    const { ask, proxy, target } = await startOpened({
      entries: [`https://${NAME}:PORT/`],
      limits: { bytes: 1_000 },
    });
    const answer = await ask('POST /', 'Content-Length: 1001');
    expect(statusOf(answer)).toBe(413);
    expect(target.raws).toHaveLength(0);
    expect(statusOf(await ask('GET /'))).toBe(200);
    expect(statusOf(await ask('GET /', `X-A: ${'a'.repeat(1_000)}`))).toBe(413);
    expect(target.seen).toHaveLength(1);
    expect(proxy.facts().decisions.at(-1)?.cut).toContain('used up its bytes in and out together');
  });
});

describe('a tunnel that is to be opened', () => {
  it.each([
    ['no entry', ['other.test']],
    ['an entry for another port', [`https://${NAME}:1/`]],
    ['an entry for http on another port', [`http://${NAME}/`]],
    ['a denial', [`${NAME}:PORT`, `!${NAME}`]],
    ['a denial of https', [`${NAME}:PORT`, `!https://${NAME}/`]],
  ])('is refused in the open when there is %s', async (_what, entries) => {
    const world = await startOpened({ entries });
    const answer = await talk(world.port, connectHead(world.authority));
    expect(statusOf(answer)).toBe(403);
    untouched(world);
    expect(world.decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'deny', intercepted: true }]);
    const allowed = await startOpened();
    expect(statusOf(await allowed.ask('GET /v1/'))).toBe(200);
  });

  it.each([
    ['an entry for http alone', [`http://${NAME}:PORT/`], 'its scheme is not allowed'],
    ['a denial of https', [`${NAME}:PORT`, `http://${NAME}:PORT/`, `!https://${NAME}/`], 'denies it'],
  ])('is cut when the client speaks TLS and there is %s', async (_what, entries, why) => {
    const world = await startOpened({ entries });
    const client = await world.enter();
    expect(await client.ended).toMatchObject({ text: '', end: 'ECONNRESET' });
    untouched(world);
    expect(world.decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'deny', intercepted: true }]);
    expect(world.decisions()[0]?.why).toContain(why);
  });

  it.each([
    ['methods', [`${NAME}:PORT`, `!GET https://${NAME}/`], 'POST /'],
    ['paths', [`https://${NAME}:PORT/`, `!https://${NAME}/a`], 'GET /b'],
  ])('is opened when only some %s are denied', async (_what, entries, line) => {
    const { ask } = await startOpened({ entries });
    expect(statusOf(await ask(line))).toBe(200);
  });

  it('through a door is reset when nothing could be allowed', async () => {
    const world = await startOpened({ entries: ['other.test'] });
    const door = await world.openDoor(NAME, world.target.port, false);
    expect(await talk(door, 'hello')).toMatchObject({ text: '', end: 'ECONNRESET' });
    untouched(world);
  });

  it.each([
    ['HTTP in the open', 'GET /v1/ HTTP/1.1\r\n\r\n'],
    ['SSH', 'SSH-2.0-x\r\n'],
    ['a broken hello', '\x16\x03\x01\x00\x00'],
  ])('is reset for a client that speaks %s, and recorded', async (_what, text) => {
    const world = await startOpened();
    const client = await openTunnel(world.port, world.authority);
    client.socket.write(Buffer.from(text, 'latin1'));
    expect(await client.ended).toMatchObject({ body: '', end: 'ECONNRESET' });
    untouched(world);
    expect(world.decisions()).toMatchObject([
      { method: 'CONNECT', verdict: 'deny', intercepted: true, why: expect.stringMatching(/^Cannot /) },
    ]);
    expect(world.proxy.facts()).toMatchObject({ denied: 1, faults: 0 });
    expect(statusOf(await world.ask('GET /v1/'))).toBe(200);
  });

  it.each([
    ['that names another host', { servername: 'other.test' }, 'names "other.test", expected "allowed.test"'],
    ['that names nobody', { servername: '' }, 'names no host, expected "allowed.test"'],
    ['that speaks HTTP/2 alone', { protocols: ['h2'] }, 'speaks "h2" alone, expected "http/1.1"'],
  ])('is reset for a hello %s, and recorded', async (_what, terms, why) => {
    const world = await startOpened();
    const client = await world.enter(terms);
    expect((await client.ended).text).toBe('');
    untouched(world);
    expect(world.decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'deny' }]);
    expect(world.decisions()[0]?.why).toContain(why);
    expect(statusOf(await world.ask('GET /v1/'))).toBe(200);
  });

  it('speaks HTTP/1.1 with a client that would rather speak HTTP/2', async () => {
    const { enter, authority } = await startOpened();
    const client = await enter({ protocols: ['h2', 'http/1.1'] });
    client.socket.write(`GET /v1/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    expect(statusOf(await client.ended)).toBe(200);
    expect(client.socket.alpnProtocol).toBe('http/1.1');
  });

  it('is worth nothing to a client that does not trust the run', async () => {
    const world = await startOpened();
    const client = await world.enter({ ca: STRANGER.certificatePem });
    expect((await client.ended).end).toMatch(/^(?:SELF_SIGNED|UNABLE_TO)/);
    await eventually(() => world.proxy.facts().connections === 1);
    untouched(world);
    expect(statusOf(await world.ask('GET /v1/'))).toBe(200);
  });

  it('shows a certificate that is good for its host alone', async () => {
    const { enter } = await startOpened();
    const client = await enter({ host: 'other.test', servername: NAME });
    await new Promise((resolve) => client.socket.once('secureConnect', resolve));
    expect(client.socket.getPeerCertificate().subjectaltname).toBe(`DNS:${NAME}`);
  });
});

describe('a list that changes', () => {
  const hanging = {
    serve: (socket: { write: (text: string) => unknown }) => socket.write('HTTP/1.1 200 OK\r\n\r\nso far'),
  };

  it('cuts what is open inside a tunnel and is not allowed any more', async () => {
    const { enter, authority, proxy, setList, target } = await startOpened(hanging);
    const [client, other] = [await enter(), await enter()];
    client.socket.write(`GET /v1/a HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    other.socket.write(`GET /v1/b HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await Promise.all([client.until('so far'), other.until('so far')]);
    const kept = [`GET https://${authority}/v1/`, `127.0.0.1:${target.port}`];
    setList(...kept);
    proxy.recheck();
    setList(...kept, `!https://${authority}/v1/a`);
    proxy.recheck();
    expect((await client.ended).end).toBe('ECONNRESET');
    await eventually(() => target.raws.some(({ destroyed }) => destroyed));
    target.sockets.find(({ destroyed }) => !destroyed)?.end(', and the rest');
    expect((await other.ended).text).toContain('so far, and the rest');
    const cuts = proxy.facts().decisions.flatMap(({ cut }) => cut ?? []);
    expect(cuts).toEqual([expect.stringContaining(`the entry "!https://${authority}/v1/a" denies it`)]);
  });

  it('counts for a request that comes after it on a tunnel that was opened before', async () => {
    const world = await startOpened();
    const client = await world.enter();
    await new Promise((resolve) => client.socket.once('secureConnect', resolve));
    world.setList('other.test');
    world.proxy.recheck();
    client.socket.write(`GET /v1/ HTTP/1.1\r\nHost: ${world.authority}\r\n\r\n`);
    expect(statusOf(await client.ended)).toBe(403);
    untouched(world);
  });
});

describe('a secret inside an opened tunnel', () => {
  const PLACEHOLDER = 'PALISADE_SECRET_KEY';
  const VALUE = 'sk-live-0123456789';
  const secret = (name: string): BoundSecret => ({
    ...{ name: 'key', placeholder: PLACEHOLDER, value: VALUE },
    isFor: (host) => formatHost(host) === name,
  });

  it('is filled in for its host, and hidden when it is repeated', async () => {
    const { ask, target, decisions } = await startOpened({
      options: { secrets: [secret(NAME)] },
      serve: (socket) =>
        socket.once('data', () =>
          socket.end(`HTTP/1.1 200 OK\r\nX-A: ${VALUE}\r\nContent-Length: 0\r\n\r\n`),
        ),
    });
    const { text } = await ask(`GET /v1/${PLACEHOLDER}`, `Authorization: Bearer ${PLACEHOLDER}`);
    expect(target.seen[0]).toContain(`Authorization: Bearer ${VALUE}\r\n`);
    expect(target.seen[0]).toContain(`GET /v1/${PLACEHOLDER} `);
    expect(text).toContain(`X-A: ${PLACEHOLDER}`);
    expect(decisions()).toMatchObject([{ secrets: ['key'], intercepted: true }]);
  });

  it('is not filled in for another', async () => {
    const { ask, target, decisions } = await startOpened({ options: { secrets: [secret('other.test')] } });
    await ask('GET /v1/', `Authorization: Bearer ${PLACEHOLDER}`);
    expect(target.seen[0]).toContain(`Authorization: Bearer ${PLACEHOLDER}\r\n`);
    expect(decisions()).toMatchObject([{ secrets: [] }]);
  });
});

describe('a real client', () => {
  it('of Node speaks through an opened tunnel', async () => {
    const { port, authority, target } = await startOpened();
    const { socket, until } = openClient(port);
    socket.write(connectHead(authority));
    await until('\r\n\r\n');
    const status = await new Promise((resolve, reject) => {
      const request = httpsRequest({
        ...{ socket, agent: false, servername: NAME, ca: RUN.certificatePem, path: '/v1/' },
        ...{ headers: { host: authority } },
      });
      request.on('response', (response) => resolve(response.statusCode));
      request.on('error', reject);
      request.end();
    });
    expect(status).toBe(200);
    expect(target.seen).toHaveLength(1);
  });
});
