import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { allowing, HELLO, NAME, startHttp, startTarget } from '../proxy/world.ts';
import { codeOf, LOOPBACK, openBoth, openWorld, textOf } from './world.ts';

describe('fetchFor()', () => {
  it('sends a request of its own making and gives the answer, its hop and its bytes', async () => {
    const { get, target, url, asked, decisions } = await openBoth(
      'HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nX-A: b\r\nSet-Cookie: c=1\r\nSet-Cookie: d=2\r\nKeep-Alive: 5\r\n\r\nhello',
    );
    const outcome = await get(`${url}a/b?c=d`, { headers: [['X-Mine', ' yes\t']] });
    expect(target.seen).toEqual([
      `GET /a/b?c=d HTTP/1.1\r\nHost: ${NAME}:${target.port}\r\nX-Mine: yes\r\nAccept-Encoding: gzip, deflate, br\r\nConnection: close\r\n\r\n`,
    ]);
    const hop = {
      url: `${url}a/b?c=d`,
      host: NAME,
      port: target.port,
      address: '127.0.0.1',
      method: 'GET',
      rule: `${NAME}:${target.port}`,
      verdict: 'allow',
    };
    expect(outcome).toMatchObject({
      ok: true,
      status: 200,
      headers: [
        ['x-a', 'b'],
        ['set-cookie', 'c=1'],
        ['set-cookie', 'd=2'],
      ],
      url: `${url}a/b?c=d`,
      hops: [{ ...hop, status: 200 }],
      bytesOut: target.seen[0]?.length,
    });
    expect(textOf(outcome)).toBe('hello');
    expect(asked).toEqual([NAME]);
    expect(decisions).toEqual([
      { ...hop, atMs: 1_000, why: `the entry "${hop.rule}" allows it`, secrets: [] },
    ]);
  });

  it.each([
    ['with a length', 'Content-Length: 5\r\n\r\nhello'],
    ['with less said than sent', 'Content-Length: 5\r\n\r\nhello and more'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nT: a\r\n\r\nrest'],
    ['until the end', '\r\nhello'],
    ['behind answers that put it off', `\r\nhello`],
  ])('reads a body %s', async (what, rest) => {
    const front = what.startsWith('behind')
      ? 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n'
      : '';
    const { get, url } = await openBoth(`${front}HTTP/1.1 200 OK\r\n${rest}`);
    expect(textOf(await get(url))).toBe('hello');
  });

  it('reads a body that comes byte by byte', async () => {
    const text = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
    const target = await startTarget(async (socket) => {
      for (const char of text) await new Promise((resolve) => socket.write(char, resolve));
    });
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK });
    expect(textOf(await get(`http://${NAME}:${target.port}/`))).toBe('hello');
  });

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\n\r\n', 200],
    ['GET', 'HTTP/1.1 204 No\r\nContent-Length: 500\r\n\r\n', 204],
    ['GET', 'HTTP/1.1 304 Same\r\nContent-Length: 500\r\nTransfer-Encoding: chunked\r\n\r\n', 0],
    ['GET', 'HTTP/1.1 304 Same\r\nContent-Length: 500\r\n\r\n', 304],
  ])('waits for no body where none can be: %s, %j', async (method, answer, status) => {
    const target = await startTarget((socket) => socket.write(answer));
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK });
    const outcome = await get(`http://${NAME}:${target.port}/`, { method });
    expect(outcome.ok ? [outcome.status, outcome.body.length] : [0, 0]).toEqual([status, 0]);
  });

  it('tells what the length of a body would be that was not asked for', async () => {
    const { get, url } = await openBoth('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n');
    expect(await get(url, { method: 'HEAD' })).toMatchObject({ headers: [['content-length', '500']] });
  });

  it('sends a body with its length, and none where there is none', async () => {
    const seen: string[] = [];
    const { port } = await startHttp((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = Buffer.concat(parts);
        const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
        seen.push(`${request.method} ${length} ${coding} ${body.length} ${new Set(body).size}`);
        response.end('thanks');
      });
    });
    const { get } = openWorld({ entries: allowing(NAME, port), answers: LOOPBACK });
    const url = `http://${NAME}:${port}/`;
    const large = new Uint8Array(1_000_000).fill(7);
    for (const [method, body] of [
      ['POST', large],
      ['PUT', new Uint8Array(0)],
      ['POST', null],
      ['DELETE', null],
      ['GET', new Uint8Array(0)],
    ] as const)
      expect(textOf(await get(url, { method, body }))).toBe('thanks');
    expect(seen).toEqual([
      'POST 1000000 undefined 1000000 1',
      'PUT 0 undefined 0 0',
      'POST 0 undefined 0 0',
      'DELETE undefined undefined 0 0',
      'GET undefined undefined 0 0',
    ]);
  });

  it('sends the body that it was given, whatever becomes of the memory of the caller', async () => {
    const { get, url, target } = await openBoth(HELLO);
    const body = Buffer.from('as it was');
    const fetching = get(url, { method: 'POST', body });
    body.fill('!');
    expect(codeOf(await fetching)).toBe('ok');
    expect(target.seen[0]).toMatch(/\r\n\r\nas it was$/);
  });

  it('takes an answer that comes before the request is sent', async () => {
    const target = await startTarget((socket) => {
      socket.pause();
      socket.write('HTTP/1.1 413 Too much\r\nContent-Length: 2\r\n\r\nno');
    });
    const limits = { requestBytes: 1e9, wireBytes: 1e9 };
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK, limits });
    // More than the kernel takes for somebody who does not read.
    const body = new Uint8Array(48_000_000);
    const outcome = await get(`http://${NAME}:${target.port}/`, { method: 'POST', body });
    expect(outcome).toMatchObject({ ok: true, status: 413 });
    expect(outcome.bytesOut).toBeLessThan(body.length);
  });

  it('decompresses, and says of the body only what is still true of it', async () => {
    const packed = gzipSync('hello'.repeat(100));
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\nX-A: b\r\n\r\n`;
    const { get, url } = await openBoth(Buffer.concat([Buffer.from(head), packed]));
    const outcome = await get(url);
    expect(textOf(outcome)).toBe('hello'.repeat(100));
    expect(outcome).toMatchObject({ headers: [['x-a', 'b']], bytesIn: head.length + packed.length });
  });

  it.each([
    [[['Accept-Encoding', 'identity']], 'identity'],
    [[['accept-encoding', 'Identity']], 'identity'],
    [[['Range', 'bytes=0-1']], 'identity'],
    [[['Accept-Encoding', 'zstd, gzip;q=0']], 'gzip, deflate, br'],
    [[], 'gzip, deflate, br'],
  ] as const)('with %j asks for the encodings %s', async (headers, expected) => {
    const { get, url, target } = await openBoth(HELLO);
    expect(codeOf(await get(url, { headers }))).toBe('ok');
    expect(target.seen[0]?.match(/accept-encoding: .*/gi)).toEqual([`Accept-Encoding: ${expected}`]);
  });

  it('reaches a target by its address, in the one spelling of it', async () => {
    const { target, get } = await openBoth(HELLO);
    const outcome = await get(`http://0x7f.1:${target.port}`);
    expect(outcome).toMatchObject({ ok: true, url: `http://127.0.0.1:${target.port}/` });
    expect(target.seen[0]).toContain(`Host: 127.0.0.1:${target.port}\r\n`);
  });

  it('says who is not there', async () => {
    const { get } = openWorld({ entries: [...allowing(NAME, 9), 'gone.test'], answers: LOOPBACK });
    expect(textOf(await get(`http://${NAME}:9/`))).toBe(
      'unreachable: Cannot connect to target: 127.0.0.1 refuses the connection (ECONNREFUSED), expected an answer',
    );
    const unknown = await get('http://gone.test/');
    expect(textOf(unknown)).toBe(
      'unreachable: Cannot reach "gone.test:80": its name has no address, expected at least one',
    );
    expect(unknown.hops).toMatchObject([{ verdict: 'deny', address: null, status: null }]);
  });

  it('sends nothing when its decision cannot be recorded', async () => {
    const { get, url, target } = await openBoth(HELLO, {
      onDecision: () => {
        throw new Error('the journal is full');
      },
    });
    await expect(get(url)).rejects.toThrow('the journal is full');
    expect(target.seen.join('')).toBe('');
  });
});
