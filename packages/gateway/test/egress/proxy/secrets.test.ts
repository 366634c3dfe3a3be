import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { formatHost } from '../../../src/egress/authority.ts';
import type { BoundSecret } from '../../../src/egress/secrets.ts';
import {
  allowing,
  basic,
  CREDENTIAL,
  connectHead,
  HELLO,
  NAME,
  openClient,
  plainHead,
  startAnswering,
  startEcho,
  startProxy,
  statusOf,
  talk,
} from './world.ts';

const PLACEHOLDER = 'PALISADE_SECRET_KEY';
const VALUE = 'sk-live-0123456789';

/** A proxy with a secret for one port of the allowed name, and two targets of which the other is not meant. */
async function startBoth(answer = HELLO) {
  const target = await startAnswering(answer);
  const other = await startAnswering(HELLO);
  const secret: BoundSecret = {
    name: 'key',
    placeholder: PLACEHOLDER,
    value: VALUE,
    isFor: (host, port) => formatHost(host) === NAME && port === target.port,
  };
  const proxy = await startProxy({
    entries: [
      ...allowing(NAME, target.port),
      ...allowing('other.test', target.port),
      ...allowing(NAME, other.port),
    ],
    answers: { [NAME]: ['127.0.0.1'], 'other.test': ['127.0.0.1'] },
    options: { secrets: [secret] },
  });
  const url = `http://${NAME}:${target.port}/`;
  const control = async () => {
    await talk(proxy.port, plainHead('GET', url, `X-Control: ${PLACEHOLDER}`));
    expect(target.seen.at(-1)).toContain(`X-Control: ${VALUE}`);
  };
  return { ...proxy, target, other, url, control };
}

describe('a secret', () => {
  it('is filled in for the host it is bound to, and only its name is recorded', async () => {
    const { port, url, target, decisions, proxy } = await startBoth();
    const head = plainHead('GET', url, `Authorization: Bearer ${PLACEHOLDER}`);
    expect(statusOf(await talk(port, head))).toBe(200);
    expect(target.seen[0]).toContain(`\r\nAuthorization: Bearer ${VALUE}\r\n`);
    expect(decisions()).toMatchObject([{ host: NAME, secrets: ['key'] }]);
    expect(proxy.facts()).toMatchObject({ bytesOut: target.seen[0]?.length });
    expect(JSON.stringify([decisions(), proxy.facts()])).not.toContain(VALUE);
  });

  it.each([
    ['as basic credentials', `Authorization: ${basic(`user:${PLACEHOLDER}`)}`, basic(`user:${VALUE}`)],
    ['in a header twice', `X-A: ${PLACEHOLDER};${PLACEHOLDER}`, `${VALUE};${VALUE}`],
    ['in a header of two lines', `X-A: ${PLACEHOLDER}\r\nX-A: b${PLACEHOLDER}`, `${VALUE}\r\nX-A: b${VALUE}`],
    ['as a part of a longer word', `X-A: a${PLACEHOLDER}b`, `a${VALUE}b`],
  ])('is filled in %s', async (_what, line, expected) => {
    const { port, url, target } = await startBoth();
    await talk(port, plainHead('GET', url, line));
    expect(target.seen[0]).toContain(`: ${expected}\r\n`);
    expect(target.seen[0]).not.toContain(PLACEHOLDER);
  });

  it('of a door is filled in as well', async () => {
    const { openDoor, target } = await startBoth();
    const door = await openDoor(NAME, target.port, true);
    await talk(door, `GET / HTTP/1.1\r\nHost: ${NAME}\r\nX-A: ${PLACEHOLDER}\r\n\r\n`);
    expect(target.seen[0]).toContain(`X-A: ${VALUE}\r\n`);
  });

  it('with a line break opens no proxy', async () => {
    const secret = { name: 'key', placeholder: 'P', value: `${VALUE}\r\nX-Admin: 1`, isFor: () => true };
    const opened = startProxy({ options: { secrets: [secret] } });
    await expect(opened).rejects.toThrow('Cannot use value of secret: it has a line break');
    await expect(opened).rejects.not.toThrow(VALUE);
  });
});

describe('a placeholder', () => {
  const chunks = `8\r\n${PLACEHOLDER.slice(0, 8)}\r\nb\r\n${PLACEHOLDER.slice(8)}\r\n0\r\nX-T: ${PLACEHOLDER}\r\n\r\n`;
  const zipped = gzipSync(PLACEHOLDER).toString('latin1');

  it.each([
    ['in the path', `GET /${PLACEHOLDER}`, [], ''],
    ['in the query', `GET /?key=${PLACEHOLDER}`, [], ''],
    ['in a body', 'POST /', [`Content-Length: ${PLACEHOLDER.length}`], PLACEHOLDER],
    ['in chunks and a trailer', 'POST /', ['Transfer-Encoding: chunked'], chunks],
    ['in gzip', 'POST /', ['Content-Encoding: gzip', `Content-Length: ${zipped.length}`], zipped],
    ['in base64', 'GET /', [`X-A: ${Buffer.from(PLACEHOLDER).toString('base64')}`], ''],
    ['in other letters', 'GET /', [`X-A: ${PLACEHOLDER.toLowerCase()}`], ''],
    ['as the name of a header', 'GET /', [`${PLACEHOLDER}: a`], ''],
    ['in Referer', 'GET /', [`Referer: ${PLACEHOLDER}`], ''],
    ['in User-Agent', 'GET /', [`User-Agent: ${PLACEHOLDER}`], ''],
    ['in Content-Type', 'POST /', ['Content-Length: 0', `Content-Type: ${PLACEHOLDER}`], ''],
    ['in a header of the connection', 'GET /', ['Connection: X-A', `X-A: ${PLACEHOLDER}`], ''],
    ['in a header for proxies', 'GET /', [`Proxy-Key: ${PLACEHOLDER}`], ''],
  ])('%s brings nothing out', async (_what, line, headers, body) => {
    const { port, url, target, decisions, control } = await startBoth();
    const [method = '', path = ''] = line.split(' /');
    const answer = await talk(port, plainHead(method, `${url}${path}`, ...headers), body);
    expect(statusOf(answer)).toBe(200);
    expect(target.seen[0]).not.toContain(VALUE);
    expect(decisions()).toMatchObject([{ secrets: [] }]);
    await control();
  });

  it('goes to another host as it is, whatever the request says of its host', async () => {
    const { port, target, decisions, control } = await startBoth();
    const elsewhere = `http://other.test:${target.port}/`;
    await talk(port, plainHead('GET', elsewhere, `X-A: ${PLACEHOLDER}`, `X-Host: ${NAME}`));
    expect(target.seen[0]).toContain(`X-A: ${PLACEHOLDER}\r\n`);
    expect(target.seen[0]).not.toContain(VALUE);
    expect(decisions()).toMatchObject([{ host: 'other.test', secrets: [] }]);
    const forged = plainHead('GET', elsewhere, `X-A: ${PLACEHOLDER}`).replace(
      `Host: other.test:${target.port}`,
      `Host: ${NAME}:${target.port}`,
    );
    expect(statusOf(await talk(port, forged))).toBe(400);
    await control();
  });

  it('goes to another port as it is', async () => {
    const { port, other, control } = await startBoth();
    await talk(port, plainHead('GET', `http://${NAME}:${other.port}/`, `X-A: ${PLACEHOLDER}`));
    expect(other.seen[0]).toContain(`X-A: ${PLACEHOLDER}\r\n`);
    await control();
  });

  it('goes to the address of the host as it is', async () => {
    const { port, target, control } = await startBoth();
    await talk(port, plainHead('GET', `http://127.0.0.1:${target.port}/`, `X-A: ${PLACEHOLDER}`));
    expect(target.seen[0]).toContain(`X-A: ${PLACEHOLDER}\r\n`);
    await control();
  });

  it('in a folded header goes nowhere', async () => {
    const { port, url, target, control } = await startBoth();
    const answer = await talk(port, plainHead('GET', url, 'X-A: b', ` ${PLACEHOLDER}`));
    expect(statusOf(answer)).toBe(400);
    expect(answer.text).not.toContain(VALUE);
    expect(target.sockets).toEqual([]);
    await control();
  });

  it('in the credential of the proxy opens nothing and goes nowhere', async () => {
    const { port, url, target, control } = await startBoth();
    const forged = plainHead('GET', url).replace(CREDENTIAL, basic(`run:${PLACEHOLDER}`));
    expect(statusOf(await talk(port, forged))).toBe(407);
    expect(target.sockets).toEqual([]);
    await control();
  });

  it('inside a tunnel goes out as it is', async () => {
    const { port, target, decisions, control } = await startBoth();
    const authority = `${NAME}:${target.port}`;
    const inner = `GET / HTTP/1.1\r\nHost: ${authority}\r\nX-A: ${PLACEHOLDER}\r\n\r\n`;
    await talk(port, connectHead(authority, `X-B: ${PLACEHOLDER}`), inner);
    expect(target.seen).toEqual([inner]);
    expect(decisions()).toMatchObject([{ method: 'CONNECT', secrets: [] }]);
    await control();
  });

  it('behind the end of a request goes nowhere', async () => {
    const { port, url, target, control } = await startBoth();
    const head = plainHead('GET', url);
    await talk(port, `${head}${plainHead('GET', url, `X-A: ${PLACEHOLDER}`)}`);
    expect(target.seen).toHaveLength(1);
    expect(target.seen[0]).not.toMatch(new RegExp(`${PLACEHOLDER}|${VALUE}`));
    await control();
  });
});

describe('a host that repeats the secret', () => {
  const credentials = `Authorization: ${basic(`user:${PLACEHOLDER}`)}`;

  it.each([
    ['in a header', `HTTP/1.1 200 OK\r\nX-A: a${VALUE}b${VALUE}\r\nContent-Length: 0\r\n\r\n`],
    ['in its reason', `HTTP/1.1 401 ${VALUE} is wrong\r\nContent-Length: 0\r\n\r\n`],
    ['in a redirect', `HTTP/1.1 302 Found\r\nLocation: http://a.test/?${VALUE}\r\nContent-Length: 0\r\n\r\n`],
    ['before its answer', `HTTP/1.1 103 Hints\r\nLink: ${VALUE}\r\n\r\nHTTP/1.1 204 None\r\n\r\n`],
    ['as it was encoded', `HTTP/1.1 200 OK\r\nX-A: ${basic(`user:${VALUE}`)}\r\nContent-Length: 0\r\n\r\n`],
  ])('%s is heard with the placeholder instead', async (_what, answer) => {
    const { port, url } = await startBoth(answer);
    const { text } = await talk(port, plainHead('GET', url, credentials));
    expect(text).toMatch(/^HTTP\/1\.1 [1234]/);
    expect(text.includes(PLACEHOLDER) || text.includes(basic(`user:${PLACEHOLDER}`))).toBe(true);
    expect(text).not.toContain(VALUE);
    expect(text).not.toContain(basic(`user:${VALUE}`));
  });

  it.each([
    ['a status line', `HTTP/9.9 ${VALUE}\r\n\r\n`],
    ['a header that is none', `HTTP/1.1 200 OK\r\n${VALUE}\r\n\r\n`],
    ['the name of a header', `HTTP/1.1 200 OK\r\n${VALUE} : a\r\n\r\n`],
    ['a length', `HTTP/1.1 200 OK\r\nContent-Length: ${VALUE}\r\n\r\n`],
    ['a coding', `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${VALUE}\r\n\r\n`],
    ['the size of a chunk', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${VALUE}\r\n`],
    ['a trailer', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${VALUE}\r\n\r\n`],
  ])('in %s is not quoted', async (_what, answer) => {
    const { port, url, proxy, decisions } = await startBoth(answer);
    const { text } = await talk(port, plainHead('GET', url, `X-A: ${PLACEHOLDER}`));
    expect(proxy.facts().decisions[0]?.cut).toMatch(/^Cannot use .*: it is malformed/);
    expect(JSON.stringify([text, proxy.facts(), decisions()])).not.toContain('sk-live');
  });

  it('in a body is heard, which is what the docs say', async () => {
    const { port, url } = await startBoth(`HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n${VALUE}`);
    const { body } = await talk(port, plainHead('GET', url, `X-A: ${PLACEHOLDER}`));
    expect(body).toBe(VALUE);
  });

  it('is heard as it is when the secret is not bound to it', async () => {
    const { port, target } = await startBoth(`HTTP/1.1 200 OK\r\nX-A: ${VALUE}\r\nContent-Length: 0\r\n\r\n`);
    const { text } = await talk(port, plainHead('GET', `http://other.test:${target.port}/`));
    expect(text).toContain(`X-A: ${VALUE}`);
  });
});

describe('a secret that is not of the run', () => {
  it('is nothing to its proxy', async () => {
    const echo = await startEcho();
    const { port } = await startProxy({
      entries: allowing(NAME, echo.port),
      answers: { [NAME]: ['127.0.0.1'] },
    });
    const client = openClient(port);
    client.socket.write(plainHead('GET', `http://${NAME}:${echo.port}/`, `X-A: ${PLACEHOLDER}`));
    await client.ended;
    expect(echo.seen[0]).toContain(`X-A: ${PLACEHOLDER}\r\n`);
  });
});
