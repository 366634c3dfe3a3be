import { describe, expect, it } from 'vitest';
import {
  allowing,
  eventually,
  NAME,
  openClient,
  plainHead,
  startAnswering,
  startHttp,
  startProxy,
  startTarget,
  talk,
} from './world.ts';

const ANSWERS = { [NAME]: ['127.0.0.1'] };

/** A target with this answer and a proxy that allows it. */
async function startBoth(answer: string) {
  const target = await startAnswering(answer);
  const proxy = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
  return { ...proxy, target, url: `http://${NAME}:${target.port}/` };
}

describe('a plain request', () => {
  it('reaches its target without what was meant for the proxy, and its answer comes back', async () => {
    const { port, target, url, decisions, proxy } = await startBoth(
      'HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nX-A: b\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\n\r\nhello',
    );
    const { text } = await talk(
      port,
      plainHead('GET', `${url}a?b`, 'X-C: d', 'Proxy-Connection: keep-alive'),
    );
    expect(target.seen).toEqual([
      `GET /a?b HTTP/1.1\r\nHost: ${NAME}:${target.port}\r\nX-C: d\r\nConnection: close\r\n\r\n`,
    ]);
    expect(text).toBe('HTTP/1.1 200 Fine\r\nX-A: b\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello');
    expect(decisions()).toMatchObject([
      { host: NAME, address: '127.0.0.1', method: 'GET', verdict: 'allow' },
    ]);
    const [sent = ''] = target.seen;
    expect(proxy.facts()).toMatchObject({ requests: 1, bytesOut: sent.length, denied: 0, cut: 0, faults: 0 });
  });

  it.each([
    ['a length', ['Content-Length: 5'], ['hel', 'lo'], 'Content-Length: 5', 'hello'],
    [
      'chunks',
      ['Transfer-Encoding: chunked'],
      ['5;x=y\r\nhe', 'llo\r\n0\r\nA: b\r\n\r\n'],
      'Transfer-Encoding: chunked',
      'hello',
    ],
  ])('with a body in %s passes it on', async (_what, headers, pieces, framing, body) => {
    const received: string[] = [];
    const { port: targetPort } = await startHttp((request, response) => {
      let text = '';
      request.on('data', (piece) => {
        text += piece;
      });
      request.on('end', () => {
        received.push(text, request.rawHeaders.join(' '));
        response.end('thanks');
      });
    });
    const { port } = await startProxy({ entries: allowing(NAME, targetPort), answers: ANSWERS });
    const url = `http://${NAME}:${targetPort}/`;
    const answer = await talk(port, plainHead('POST', url, ...headers), ...pieces);
    expect(answer.head).toContain('HTTP/1.1 200 OK');
    expect(received[0]).toBe(body);
    expect(received[1]).toContain(framing.replace(':', ''));
  });

  it('waits for "100 Continue" of the target when it asked for that', async () => {
    const target = await startTarget((socket, received) => {
      socket.on('data', () => {
        if (received().endsWith('body')) socket.end('HTTP/1.1 204 Done\r\n\r\n');
        else if (received().endsWith('\r\n\r\n')) socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      });
    });
    const { port } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = openClient(port);
    const url = `http://${NAME}:${target.port}/`;
    client.socket.write(plainHead('PUT', url, 'Content-Length: 4', 'Expect: 100-continue'));
    await client.until('100 Continue\r\n\r\n');
    client.socket.write('body');
    const { text } = await client.ended;
    expect(text).toBe('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Done\r\nConnection: close\r\n\r\n');
  });

  it('whose client goes away ends at the target as well', async () => {
    const target = await startTarget(() => {});
    const { port, proxy } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = openClient(port);
    client.socket.write(plainHead('GET', `http://${NAME}:${target.port}/`));
    await eventually(() => (target.seen[0] ?? '').includes('\r\n\r\n'));
    client.socket.resetAndDestroy();
    await eventually(() => target.sockets[0]?.destroyed === true);
    expect(proxy.facts().decisions).toHaveLength(1);
  });

  it.each([
    ['a length that ends early', 'Content-Length: 9', 'hello'],
    ['chunks that end early', 'Transfer-Encoding: chunked', '5\r\nhello\r\n'],
    ['chunks that are broken', 'Transfer-Encoding: chunked', '5\r\nhello!\r\n0\r\n\r\n'],
  ])('with %s never gets a second answer, and the target no whole request', async (_what, header, body) => {
    const whole: boolean[] = [];
    const { port: targetPort } = await startHttp((request, response) => {
      request.on('error', () => whole.push(false));
      request.on('end', () => whole.push(true));
      request.resume();
      response.on('error', () => {});
    });
    const { port } = await startProxy({ entries: allowing(NAME, targetPort), answers: ANSWERS });
    const client = openClient(port);
    client.socket.end(plainHead('POST', `http://${NAME}:${targetPort}/`, header) + body);
    const { text } = await client.ended;
    expect(text).toMatch(/^HTTP\/1\.1 400 Cannot use body of request/);
    await eventually(() => whole.length > 0);
    expect(whole).toEqual([false]);
  });
});

describe('a response', () => {
  it.each([
    ['with a length', 'Content-Length: 5\r\n\r\nhello', 'Content-Length: 5', 'hello'],
    ['with less said than sent', 'Content-Length: 5\r\n\r\nhello and more', 'Content-Length: 5', 'hello'],
    [
      'in chunks',
      'Transfer-Encoding: chunked\r\n\r\n5;a\r\nhello\r\n0\r\nT: a\r\n\r\nrest',
      'Transfer-Encoding: chunked',
      '5\r\nhello\r\n0\r\n\r\n',
    ],
    ['until the end', '\r\nhello', 'Connection: close', 'hello'],
    ['that is empty', 'Content-Length: 0\r\n\r\n', 'Content-Length: 0', ''],
    ['with a header outside ASCII', 'X-A: \xe4\r\nContent-Length: 1\r\n\r\nx', 'X-A: \xe4', 'x'],
  ])('%s comes as far as it goes', async (_what, rest, header, expected) => {
    const { port, url } = await startBoth(`HTTP/1.1 200 OK\r\n${rest}`);
    const { head, body, end } = await talk(port, plainHead('GET', url));
    expect(head).toContain(header);
    expect({ body, end }).toEqual({ body: expected, end: 'end' });
  });

  it('in chunks comes without them to a client of HTTP/1.0', async () => {
    const { port, url } = await startBoth(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    );
    const { head, body } = await talk(port, plainHead('GET', url).replace('HTTP/1.1', 'HTTP/1.0'));
    expect(body).toBe('hello');
    expect(head).not.toContain('Transfer-Encoding');
  });

  it('to HEAD keeps its length and has no body', async () => {
    const { port, url } = await startBoth('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nnot for HEAD');
    const { head, body } = await talk(port, plainHead('HEAD', url));
    expect(head).toContain('Content-Length: 50');
    expect(body).toBe('');
  });

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na'],
    ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\na'],
    ['a folded header', 'HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n'],
    ['a lone LF', 'HTTP/1.1 200 OK\nA: b\r\n\r\n'],
    ['NUL', 'HTTP/1.1 200 OK\r\nA: \0\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['TLS', '\x15\x03\x01\x00\x02\x02\x46'],
    ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nbytes'],
    ['a wish for the credential', 'HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n'],
    ['answers that are none', 'HTTP/1.1 103 Early\r\n\r\n'.repeat(20)],
    ['a head without end', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(70_000)}`],
    ['nothing', ''],
  ])('with %s becomes a 502', async (_what, answer) => {
    const { port, url, proxy } = await startBoth(answer);
    const { text } = await talk(port, plainHead('GET', url));
    const last = text.split('HTTP/1.1 103 Early\r\n\r\n').at(-1) ?? '';
    expect(last).toMatch(/^HTTP\/1\.1 502 Cannot /);
    expect(last).toContain('X-Palisade-Egress: refused');
    expect(proxy.facts().decisions[0]?.cut).toMatch(/^Cannot /);
  });

  it.each([
    ['a length', 'Content-Length: 50\r\n\r\nhello', 'hello'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', '5\r\nhello\r\n'],
    ['broken chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx\r\n0\r\n\r\n', ''],
  ])('with %s that stops gets no end of its own', async (_what, rest, expected) => {
    const { port, url, proxy } = await startBoth(`HTTP/1.1 200 OK\r\n${rest}`);
    const { body } = await talk(port, plainHead('GET', url));
    expect(body).toBe(expected);
    expect(proxy.facts().decisions[0]?.cut).toMatch(/^Cannot /);
  });

  it('without a length that breaks off does not look as if it had ended', async () => {
    const target = await startTarget((socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nhello'));
    const { port } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = openClient(port);
    client.socket.write(plainHead('GET', `http://${NAME}:${target.port}/`));
    await client.until('hello');
    target.sockets[0]?.resetAndDestroy();
    expect((await client.ended).end).toBe('ECONNRESET');
  });

  it('cannot pretend to be a denial of the proxy', async () => {
    const { port, url } = await startBoth(
      'HTTP/1.1 200 OK\r\nX-Palisade-Egress: denied\r\nContent-Length: 0\r\n\r\n',
    );
    const { head } = await talk(port, plainHead('GET', url));
    expect(head).toMatch(/^HTTP\/1\.1 200/);
    expect(head).not.toContain('X-Palisade-Egress');
  });

  it('of many megabytes comes whole to a client that reads slowly', async () => {
    const bytes = 8 * 1024 * 1024;
    const { port: targetPort } = await startHttp((_request, response) =>
      response.end(Buffer.alloc(bytes, 'a')),
    );
    const { port, proxy } = await startProxy({ entries: allowing(NAME, targetPort), answers: ANSWERS });
    const client = openClient(port);
    client.socket.write(plainHead('GET', `http://${NAME}:${targetPort}/`));
    await client.until('\r\n\r\n');
    client.socket.pause();
    const held = await new Promise<number>((resolve) =>
      setTimeout(() => resolve(proxy.facts().bytesIn), 300),
    );
    client.socket.resume();
    const { body, end } = await client.ended;
    expect({ length: body.length, end }).toEqual({ length: bytes, end: 'end' });
    // What nobody read was not read from the target either.
    expect(held).toBeLessThan(bytes);
  });
});
