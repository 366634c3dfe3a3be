import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  AUTHORIZED,
  allowing,
  eventually,
  HELLO,
  NAME,
  openClient,
  startAnswering,
  startEcho,
  startHttp,
  startProxy,
  startTarget,
  statusOf,
  talk,
} from './world.ts';

const ANSWERS = { [NAME]: ['127.0.0.1'], 'other.test': ['127.0.0.1'] };

/** A target, a proxy that allows it, and a door to it. */
async function startDoor(isHttp: boolean, { host = NAME, entries = [] as string[] } = {}) {
  const target = isHttp ? await startAnswering(HELLO) : await startEcho();
  const proxy = await startProxy({
    entries: [...allowing(NAME, target.port), ...entries],
    answers: ANSWERS,
  });
  return { ...proxy, target, door: await proxy.openDoor(host, target.port, isHttp) };
}

function head(line: string, ...headers: string[]): string {
  return [line, ...headers, '', ''].join('\r\n');
}

describe('a door for HTTP', () => {
  it('passes on what a client says that knows of no proxy', async () => {
    const { port: targetPort } = await startHttp((request, response) => {
      request.on('data', (piece) => response.write(`${request.method} ${request.url} ${piece}`));
      request.on('end', () => response.end());
    });
    const { openDoor, decisions } = await startProxy({
      entries: allowing(NAME, targetPort),
      answers: ANSWERS,
    });
    const door = await openDoor(NAME, targetPort, true);
    const body = await new Promise<string>((resolve, reject) => {
      const headers = { host: NAME };
      const request = httpRequest({ port: door, method: 'POST', path: '/a?b', headers }, (response) => {
        let text = '';
        response.on('data', (piece) => {
          text += piece;
        });
        response.on('end', () => resolve(text));
      });
      request.on('error', reject);
      request.end('hi');
    });
    expect(body).toBe('POST /a?b hi');
    expect(decisions()).toMatchObject([{ host: NAME, port: targetPort, method: 'POST', verdict: 'allow' }]);
  });

  it.each([
    ['the host', 'GET /a HTTP/1.1', (_port: number) => `Host: ${NAME}`],
    ['the host and the port', 'GET /a HTTP/1.1', (port: number) => `Host: ${NAME}:${port}`],
    ['the host in other letters', 'GET /a HTTP/1.1', (_port: number) => 'Host: ALLOWED.Test.'],
    ['nothing, in HTTP/1.0', 'GET /a HTTP/1.0', (_port: number) => 'X-A: b'],
    ['the whole address', 'GET http://allowed.test:PORT/a HTTP/1.1', (_port: number) => `Host: ${NAME}`],
  ])('takes a request that names %s', async (_what, line, host) => {
    const { door, target } = await startDoor(true);
    const text = head(line.replace('PORT', String(target.port)), host(target.port));
    expect((await talk(door, text)).body).toBe('hello');
    expect(target.seen[0]).toMatch(/^GET \/a HTTP\/1\.1\r\n/);
    expect(target.seen[0]?.match(/^host:.*$/gim)).toEqual([`Host: ${NAME}:${target.port}`]);
  });

  it.each([
    ['a Host of another name', head('GET / HTTP/1.1', 'Host: other.test')],
    ['a Host of another port', head('GET / HTTP/1.1', `Host: ${NAME}:1`)],
    ['a Host that is an address', head('GET / HTTP/1.1', 'Host: 127.0.0.1')],
    ['two Hosts', head('GET / HTTP/1.1', `Host: ${NAME}`, 'Host: other.test')],
    ['no Host', head('GET / HTTP/1.1')],
    ['CONNECT to another host', head('CONNECT other.test:443 HTTP/1.1', 'Host: other.test:443')],
    ['CONNECT to its own host', head(`CONNECT ${NAME}:443 HTTP/1.1`, `Host: ${NAME}:443`)],
    ['the address of another host', head('GET http://other.test/ HTTP/1.1', `Host: ${NAME}`)],
    ['the address of another port', head(`GET http://${NAME}:1/ HTTP/1.1`, `Host: ${NAME}`)],
    ['the address of another scheme', head(`GET https://${NAME}/ HTTP/1.1`, `Host: ${NAME}`)],
    ['another host behind a user name', head(`GET http://${NAME}@other.test/ HTTP/1.1`, `Host: ${NAME}`)],
    ['another host, in agreement', head('GET http://other.test/ HTTP/1.1', 'Host: other.test')],
    ['another port, in agreement', head(`GET http://${NAME}:1/ HTTP/1.1`, `Host: ${NAME}:1`)],
    ['CONNECT with a path', head('CONNECT / HTTP/1.1', `Host: ${NAME}`)],
    ['a host without a scheme', head('GET other.test/ HTTP/1.1', `Host: ${NAME}`)],
    ['no path', head('OPTIONS * HTTP/1.1', `Host: ${NAME}`)],
    ['a folded header', head('GET / HTTP/1.1', `Host: ${NAME}`, 'X-A: b', ' Host: other.test')],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('refuses %s', async (_what, text) => {
    const { door, target, asked, proxy } = await startDoor(true, {
      entries: ['other.test', `${NAME}:443`, `${NAME}:1`],
    });
    expect((await talk(door, text)).text).toMatch(/^HTTP\/1\.1 400 Cannot /);
    expect({ asked, sockets: target.sockets }).toEqual({ asked: [], sockets: [] });
    expect(proxy.facts()).toMatchObject({ malformed: 1, decisions: [] });
    expect(statusOf(await talk(door, head('GET / HTTP/1.1', `Host: ${NAME}`)))).toBe(200);
  });

  it('refuses the scheme that would be spoken in TLS', async () => {
    const { door, target } = await startDoor(true);
    const line = `GET https://${NAME}:${target.port}/ HTTP/1.1`;
    expect(statusOf(await talk(door, head(line, `Host: ${NAME}:${target.port}`)))).toBe(400);
    expect(target.sockets).toEqual([]);
    expect(statusOf(await talk(door, head(line.replace('https', 'http'), `Host: ${NAME}`)))).toBe(200);
  });

  it('takes one request and drops what follows it', async () => {
    const { door, target, decisions } = await startDoor(true);
    const first = head('POST /1 HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 2');
    const { text } = await talk(door, `${first}hi${head('GET /2 HTTP/1.1', 'Host: other.test')}`);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(text).toContain('Connection: close');
    expect(target.seen).toHaveLength(1);
    expect(target.seen[0]).toMatch(/^POST \/1 .*\r\n\r\nhi$/s);
    expect(decisions()).toHaveLength(1);
  });

  it('is decided on with the method and the path', async () => {
    const target = await startAnswering(HELLO);
    const { openDoor } = await startProxy({
      entries: [`GET http://${NAME}:${target.port}/v1/`, `127.0.0.1:${target.port}`],
      answers: ANSWERS,
    });
    const door = await openDoor(NAME, target.port, true);
    const ask = async (line: string) => statusOf(await talk(door, head(`${line} HTTP/1.1`, `Host: ${NAME}`)));
    expect(await ask('GET /v1/a')).toBe(200);
    expect(await ask('POST /v1/a')).toBe(403);
    expect(await ask('GET /v2/a')).toBe(403);
    expect(await ask('GET /v1/../v2')).toBe(403);
    expect(await ask('GET //v2/a')).toBe(403);
    expect(target.sockets).toHaveLength(1);
  });

  it('passes no credential on and asks for none', async () => {
    const { door, target } = await startDoor(true);
    const answer = await talk(door, head('GET / HTTP/1.1', `Host: ${NAME}`, AUTHORIZED));
    expect(statusOf(answer)).toBe(200);
    expect(target.seen[0]).not.toMatch(/authorization/i);
  });
});

describe('a door for anything else', () => {
  it('joins the client and the target without a word of its own', async () => {
    const { door, target, decisions } = await startDoor(false);
    const client = openClient(door);
    client.socket.end('\0any bytes');
    expect(await client.ended).toMatchObject({ text: '\0any bytes', end: 'end' });
    expect(target.seen).toEqual(['\0any bytes']);
    expect(decisions()).toMatchObject([{ host: NAME, method: 'CONNECT', verdict: 'allow', cut: null }]);
  });

  it('lets the target speak first', async () => {
    const target = await startTarget((socket) => socket.end('220 ready\r\n'));
    const { openDoor } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = openClient(await openDoor(NAME, target.port, false));
    await client.until('220 ready');
    client.socket.end();
    expect((await client.ended).text).toBe('220 ready\r\n');
  });

  it.each([
    ['a host that the list does not have', 'denied.test', 'no entry of the allow-list has this host'],
    ['a name without an address', 'nowhere.test', 'its name has no address'],
  ])('to %s is reset without a byte, and recorded', async (_what, host, why) => {
    const target = await startEcho();
    const { openDoor, decisions, proxy } = await startProxy({
      entries: [...allowing(NAME, target.port), `nowhere.test:${target.port}`],
      answers: ANSWERS,
    });
    const door = await openDoor(host, target.port, false);
    expect(await talk(door, 'hello')).toMatchObject({ text: '', end: 'ECONNRESET' });
    expect(decisions()).toMatchObject([{ host, method: 'CONNECT', verdict: 'deny' }]);
    expect(decisions()[0]?.why).toContain(why);
    expect(proxy.facts().denied).toBe(1);
    const client = openClient(await openDoor(NAME, target.port, false));
    client.socket.end('hello');
    expect((await client.ended).text).toBe('hello');
  });

  it('to a target that takes no connection is reset without a byte', async () => {
    const { openDoor, proxy } = await startProxy({ entries: ['127.0.0.1:1'] });
    const door = await openDoor('127.0.0.1', 1, false);
    expect(await talk(door, 'hello')).toMatchObject({ text: '', end: 'ECONNRESET' });
    expect(proxy.facts().decisions[0]?.cut).toContain('ECONNREFUSED');
  });

  it.each([
    ['connections', { connectionsInAll: 1 }],
    ['requests', { requests: 1 }],
  ])('beyond the number of %s is reset without a byte', async (_what, limits) => {
    const target = await startEcho();
    const { openDoor } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits,
    });
    const door = await openDoor(NAME, target.port, false);
    const first = openClient(door);
    first.socket.end('first');
    expect((await first.ended).text).toBe('first');
    expect(await talk(door, 'second')).toMatchObject({ text: '', end: 'ECONNRESET' });
    expect(target.seen).toEqual(['first']);
  });

  it('takes CONNECT for bytes of the target like all others', async () => {
    const { door, target, asked } = await startDoor(false, { entries: ['other.test'] });
    const text = head('CONNECT other.test:443 HTTP/1.1', 'Host: other.test:443');
    const client = openClient(door);
    client.socket.end(text);
    expect((await client.ended).text).toBe(text);
    expect({ seen: target.seen, asked }).toEqual({ seen: [text], asked: [NAME] });
  });

  it('is cut when the list does not allow it any more', async () => {
    const { door, proxy, setList, target } = await startDoor(false);
    const client = openClient(door);
    client.socket.write('a');
    await client.until('a');
    setList('other.test');
    proxy.recheck();
    expect(await client.ended).toMatchObject({ text: 'a', end: 'ECONNRESET' });
    await eventually(() => target.sockets[0]?.destroyed === true);
    expect(proxy.facts().decisions[0]?.cut).toContain('no entry of the allow-list');
  });

  it('closes with the proxy', async () => {
    const { door, proxy } = await startDoor(false);
    const client = openClient(door);
    client.socket.write('a');
    await client.until('a');
    proxy.close();
    expect((await client.ended).end).toBe('ECONNRESET');
    expect((await talk(door)).end).toBe('ECONNREFUSED');
  });
});
