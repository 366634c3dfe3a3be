import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../../tests/volume/volume.ts';
import { randomFrom } from '../../fuzz/random.ts';
import { CREDENTIAL, NAME, startHttp, startProxy, talkAll } from '../../proxy/world.ts';
import { readText } from '../read.ts';
import { fuzz, type Reader } from './fuzz.ts';
import { makeText } from './generate.ts';
import { wantedBy } from './oracle.ts';

/** A body that stops, and a method that the server does not know. */
const HARMLESS = new Set(['HPE_INVALID_EOF_STATE', 'HPE_INVALID_METHOD']);

describe('the reader of heads', () => {
  it('takes nothing that the oracle does not, and takes it for the same', () => {
    const { findings, cases, taken, refused } = fuzz(1, volume(60_000, 12_000));
    expect(findings).toEqual([]);
    // Without enough of each it would have proved little.
    expect(taken).toBeGreaterThan(cases / 20);
    expect(refused).toBeGreaterThan(cases / 20);
  });

  it('has the same cases when it has the same seed', () => {
    expect(fuzz(5, 1_000)).toEqual(fuzz(5, 1_000));
    expect(fuzz(5, 1_000)).not.toEqual(fuzz(6, 1_000));
  });
});

describe('the fuzzer notices', () => {
  const without =
    (pattern: RegExp, by: string): Reader =>
    (text) =>
      readText(text.replace(pattern, by));

  it.each<[string, Reader]>([
    ['a lone LF that ends a line', without(/\r?\n/g, '\r\n')],
    ['a folded line that is joined', without(/\r\n[ \t]+/g, ' ')],
    ['a space before a colon', without(/ +:/g, ':')],
    ['a NUL that is left out', without(/\0/g, '')],
    [
      'a second length that is ignored',
      without(/(\r\nContent-Length: 4)(?=[\s\S]*\r\nTransfer-Encoding: chunked)/, ''),
    ],
    ['a Host that is believed', without(/\r\nHost: evil\.test/g, '')],
    ['a user name that is left out', without(/u@/g, '')],
    ['a method in small letters', without(/^get /, 'GET ')],
  ])('%s', (_what, broken) => {
    expect(fuzz(3, volume(20_000, 8_000), broken).findings.length).toBeGreaterThan(0);
  });
});

describe('a running proxy', () => {
  it('sends its target at most what the oracle takes, one request for each connection', async () => {
    const seen: string[] = [];
    const malformed: string[] = [];
    const site = await startHttp((request, response) => {
      seen.push(`${request.method} ${request.headers.host} ${request.url}`);
      request.on('error', () => {});
      request.resume();
      response.end('hello');
    });
    const ground = { host: NAME, port: site.port, credential: CREDENTIAL };
    site.server.on('clientError', ({ code = '', message }: NodeJS.ErrnoException, socket) => {
      if (code.startsWith('HPE_') && !HARMLESS.has(code)) malformed.push(message);
      socket.destroy();
    });
    const { port, proxy } = await startProxy({
      entries: [`http://${NAME}:${site.port}/`, `127.0.0.1:${site.port}`],
      answers: { [NAME]: ['127.0.0.1'] },
    });
    const random = randomFrom(11);
    let reached = 0;
    for (let count = 0; count < volume(600, 150); count += 1) {
      const text = makeText(random, ground);
      const from = seen.length;
      await talkAll(port, text);
      const requests = seen.slice(from);
      if (requests.length === 0) continue;
      reached += 1;
      const wanted = wantedBy(text);
      expect(requests, JSON.stringify(text)).toEqual([
        `${wanted?.method} ${wanted?.host}:${site.port} ${wanted?.path}`,
      ]);
    }
    expect(malformed).toEqual([]);
    expect(reached).toBeGreaterThan(volume(600, 150) / 10);
    expect(proxy.facts()).toMatchObject({ faults: 0 });
    expect(proxy.facts().decisions.length).toBeGreaterThan(reached);
  });
});
