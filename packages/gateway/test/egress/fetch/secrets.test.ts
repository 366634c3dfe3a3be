import { describe, expect, it } from 'vitest';
import { formatHost } from '../../../src/egress/authority.ts';
import type { BoundSecret } from '../../../src/egress/secrets.ts';
import { allowing, basic, HELLO, NAME, startAnswering, startTarget } from '../proxy/world.ts';
import { LOOPBACK, openBoth, openWorld, redirectTo, textOf } from './world.ts';

const VALUE = 'sk-the-value-itself';
const SECRET: BoundSecret = {
  name: 'api-key',
  placeholder: '{{api-key}}',
  value: VALUE,
  isFor: (host) => formatHost(host) === NAME,
};
const OTHER = 'other.test';
const secrets = [SECRET];
const headers = [
  ['Authorization', `Bearer ${SECRET.placeholder}`],
  ['X-Note', SECRET.placeholder],
] as const;

describe('a secret', () => {
  it('is filled in for its host, in headers alone, and named in the record', async () => {
    const { get, url, target, decisions } = await openBoth(HELLO, { secrets });
    const body = Buffer.from(SECRET.placeholder);
    const outcome = await get(`${url}?${encodeURIComponent('{{api-key}}')}`, {
      method: 'POST',
      headers,
      body,
    });
    expect(textOf(outcome)).toBe('hello');
    expect(target.seen[0]).toContain(`Authorization: Bearer ${VALUE}\r\n`);
    expect(target.seen[0]).toMatch(/\r\n\r\n\{\{api-key\}\}$/);
    expect(decisions).toMatchObject([{ secrets: ['api-key'] }]);
    expect(JSON.stringify([decisions, outcome])).not.toContain(VALUE);
  });

  it('is filled in inside basic credentials', async () => {
    const { get, url, target } = await openBoth(HELLO, { secrets });
    await get(url, { headers: [['Authorization', basic(`me:${SECRET.placeholder}`)]] });
    expect(target.seen[0]).toContain(`Authorization: ${basic(`me:${VALUE}`)}\r\n`);
  });

  it('goes to no other host, neither by request nor by redirect', async () => {
    const other = await startAnswering(HELLO);
    const target = await startAnswering(redirectTo(`http://${OTHER}:${other.port}/`));
    const world = openWorld({
      entries: [...allowing(NAME, target.port), ...allowing(OTHER, other.port)],
      answers: { ...LOOPBACK, [OTHER]: ['127.0.0.1'] },
      secrets,
    });
    expect(textOf(await world.get(`http://${NAME}:${target.port}/`, { headers }))).toBe('hello');
    await world.get(`http://${OTHER}:${other.port}/`, { headers });
    expect(target.seen[0]).toContain(VALUE);
    const [redirected, direct] = other.seen;
    expect(redirected).not.toMatch(/authorization|x-note|api-key/i);
    expect(direct).toContain(`Authorization: Bearer ${SECRET.placeholder}\r\n`);
    expect(other.seen.join('')).not.toContain(VALUE);
    expect(world.decisions.map((decision) => decision.secrets)).toEqual([['api-key'], [], []]);
  });

  it('is filled in again for a redirect on its host', async () => {
    const target = await startTarget((socket, received) => {
      socket.on('data', () => socket.end(received().startsWith('GET /b') ? HELLO : redirectTo('/b')));
    });
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK, secrets });
    expect(textOf(await get(`http://${NAME}:${target.port}/`, { headers }))).toBe('hello');
    expect(target.seen.map((seen) => seen.includes(VALUE))).toEqual([true, true]);
  });

  it.each([
    ['a header', `HTTP/1.1 200 OK\r\nX-Echo: <${VALUE}>\r\nContent-Length: 0\r\n\r\n`],
    ['a Location', redirectTo(`http://denied.test/?${VALUE}`)],
    ['a Location that is malformed', redirectTo(`\\\\${VALUE}`)],
    ['a Location with another scheme', redirectTo(`${VALUE}:x`)],
    ['a status line', `HTTP/9.9 ${VALUE}\r\n\r\n`],
    ['a broken header', `HTTP/1.1 200 OK\r\n${VALUE}\r\n\r\n`],
    ['a length', `HTTP/1.1 200 OK\r\nContent-Length: ${VALUE}\r\n\r\n`],
    ['an encoding', `HTTP/1.1 200 OK\r\nContent-Encoding: ${VALUE}\r\n\r\nx`],
    ['a chunk', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${VALUE}\r\n`],
  ])('that comes back in %s is not given to who asked', async (_what, answer) => {
    const { get, url, target, decisions } = await openBoth(answer, { secrets });
    const outcome = await get(url, { headers });
    expect(target.seen[0]).toContain(VALUE);
    expect(JSON.stringify([outcome, decisions])).not.toContain('the-value');
  });

  it('comes back as its placeholder', async () => {
    const { get, url } = await openBoth(`HTTP/1.1 200 OK\r\nX-Echo: <${VALUE}>\r\n\r\n`, { secrets });
    expect(await get(url, { headers })).toMatchObject({ headers: [['x-echo', '<{{api-key}}>']] });
  });

  it('that makes the head too long is not sent', async () => {
    const { get, url, target } = await openBoth(HELLO, {
      secrets: [{ ...SECRET, value: 'a'.repeat(5_000) }],
    });
    expect(textOf(await get(url, { headers }, { limits: { requestHeaderBytes: 4_000 } }))).toMatch(
      /^too-large/,
    );
    expect(target.seen).toEqual([]);
  });
});
