import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bearer, JSON_BODY, sendBytes } from '../../packages/gateway/test/doors/http/open-door.ts';
import { makeTool, PERMIT_ALL, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { callRequest, openTestDaemon } from '../fixtures/door/daemon.ts';
import { modern, openSession } from '../fixtures/door/mcp.ts';
import { volume } from '../volume/volume.ts';

/* Bytes that two readers could read in two ways, and messages that are none. */

async function openHouse(toml = '') {
  const ran: unknown[] = [];
  const tool = makeTool('test.any', async (input) => {
    ran.push(input);
    return {};
  });
  const daemon = await openTestDaemon({ policies: PERMIT_ALL, tools: [tool], toml });
  return { daemon, ran, ada: await daemon.token({ principal: 'agent:ada', scopes: ['call', 'read'] }) };
}

const CRLF = '\r\n';

describe('a request that hides another one', () => {
  test('by its framing has neither of them run', async () => {
    const { daemon, ran, ada } = await openHouse();
    const auth = `host: 127.0.0.1${CRLF}authorization: Bearer ${ada}${CRLF}content-type: application/json`;
    const body = JSON.stringify({ tool: 'test.any', input: { hidden: true } });
    const hidden = `POST /v1/calls HTTP/1.1${CRLF}${auth}${CRLF}content-length: ${body.length}${CRLF}${CRLF}${body}`;
    const framings = [
      `content-length: 0${CRLF}transfer-encoding: chunked`,
      `content-length: ${hidden.length}${CRLF}transfer-encoding: chunked`,
      `transfer-encoding: chunked${CRLF}content-length: 4`,
      `content-length: 0${CRLF}content-length: ${hidden.length}`,
      `content-length: 0, 5`,
      `content-length: +0`,
      `content-length: 0x0`,
      `content-length: -1`,
      `content-length : 0`,
      `content-length: 0${CRLF} 5`,
      `transfer-encoding: xchunked`,
      `transfer-encoding: chunked, identity`,
      `transfer-encoding: identity, chunked, gzip`,
      `transfer-encoding:\x0bchunked`,
      `transfer-encoding: chunked\x00`,
      `x: y\ntransfer-encoding: chunked${CRLF}content-length: 5`,
    ];
    const before = recordsOf(daemon.gateway).length;
    for (const framing of framings) {
      const smuggled = `POST /v1/whoami HTTP/1.1${CRLF}${auth}${CRLF}${framing}${CRLF}${CRLF}0${CRLF}${CRLF}${hidden}`;
      const text = await sendBytes(daemon.port, smuggled, 'half-close');
      expect([framing, text.match(/HTTP\/1\.1 (\d+)/g) ?? []]).toEqual([
        framing,
        expect.not.arrayContaining(['HTTP/1.1 200']),
      ]);
    }
    expect(ran).toEqual([]);
    expect(recordsOf(daemon.gateway)).toHaveLength(before);
    const plain = await sendBytes(
      daemon.port,
      `${hidden}${hidden.replace('content-type', 'connection: close\r\ncontent-type')}`,
    );
    expect(plain.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(ran).toHaveLength(2);
  });

  test('by chunks, trailers or an upgrade has no more than what it says run', async () => {
    const { daemon, ran, ada } = await openHouse();
    const head = `host: 127.0.0.1${CRLF}authorization: Bearer ${ada}`;
    const json = 'content-type: application/json';
    const chunks = [
      `5\r\n{"too\r\n0\r\nauthorization: Bearer x\r\nhost: evil\r\n\r\n`,
      `5;ext="\r\n{}\r\n0\r\n\r\n`,
      `0x5\r\n{"too\r\n0\r\n\r\n`,
      `-1\r\n{}\r\n0\r\n\r\n`,
      `ffffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
      `5\n{"too\n0\n\n`,
    ];
    for (const chunk of chunks) {
      const request = `POST /v1/calls HTTP/1.1${CRLF}${head}${CRLF}${json}${CRLF}transfer-encoding: chunked${CRLF}${CRLF}${chunk}`;
      expect(await sendBytes(daemon.port, request, 'half-close')).not.toContain('HTTP/1.1 200');
    }
    const upgrades = [
      `GET /v1/whoami HTTP/1.1${CRLF}${head}${CRLF}connection: upgrade${CRLF}upgrade: h2c${CRLF}http2-settings: AAMAAABkAAQAAP__${CRLF}${CRLF}`,
      `GET /v1/whoami HTTP/1.1${CRLF}${head}${CRLF}connection: upgrade, close${CRLF}upgrade: websocket${CRLF}sec-websocket-version: 13${CRLF}sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==${CRLF}${CRLF}`,
      `CONNECT 127.0.0.1:22 HTTP/1.1${CRLF}${head}${CRLF}${CRLF}`,
      `PRI * HTTP/2.0${CRLF}${CRLF}SM${CRLF}${CRLF}`,
      `TRACE /v1/whoami HTTP/1.1${CRLF}${head}${CRLF}connection: close${CRLF}${CRLF}`,
    ];
    for (const upgrade of upgrades) {
      const answer = await sendBytes(daemon.port, upgrade, 'half-close');
      expect(answer).not.toContain('HTTP/1.1 101');
      expect(answer).not.toContain(ada);
    }
    expect(ran).toEqual([]);
  });
});

describe('an address that is spelt otherwise', () => {
  test('is none, for every way in that there is', async () => {
    const { daemon, ran, ada } = await openHouse();
    const spellings = [
      ...[
        '/v1//calls',
        '//v1/calls',
        '/v1/./calls',
        '/v1/x/../calls',
        '/V1/calls',
        '/v1/calls/',
        '/v1/calls%2f',
        '/v1%2fcalls',
      ],
      ...[
        '/%76%31/calls',
        '/v1/calls;x=y',
        '/v1/calls%00',
        '/v1/calls%0d%0a',
        '/v1/calls.json',
        '/v1/calls\\',
        '/v1/calls/%2e%2e/calls',
      ],
      ...[
        '/local/calls',
        '/local/calls?tool=test.any',
        '/v1/../local/calls',
        '/mcp/',
        '/MCP',
        '/mcp%2f',
        '/mcp/x',
        '/v1/calls/../../mcp',
      ],
    ];
    for (const path of spellings) {
      const { status } = await daemon.ask(path, callRequest(ada, 'test.any'));
      expect([path, [404, 405, 400].includes(status)]).toEqual([path, true]);
    }
    expect(ran).toEqual([]);
    for (const path of [
      '/v1/calls/..%2f..%2ftokens',
      '/v1/skills/..%2f..%2f/package',
      '/v1/secrets/..%2f..%2fx',
      '/v1/tools/%2e%2e',
    ])
      expect([400, 403, 404, 405]).toContain((await daemon.ask(path, { headers: bearer(ada) })).status);
    expect((await daemon.ask('/v1/calls', callRequest(ada, 'test.any'))).status).toBe(200);
  });
});

describe('metrics', () => {
  test('have no more rows for what callers make up', async () => {
    const { daemon, ada } = await openHouse();
    const grace = await daemon.token({ principal: 'user:grace', scopes: ['read'] });
    const rows = async () =>
      (await daemon.ask('/metrics', { headers: bearer(grace) })).text.split('\n').length;
    const odd = async (i: number) => {
      await daemon.call(ada, `made.up-${i}`, { headers: { 'idempotency-key': `key-${i}` } });
      await daemon.ask(`/v1/tools/made-up-${i}`, { headers: bearer(ada) });
      await daemon.ask(`/nowhere/${i}?q=${i}`, { method: i % 2 === 0 ? 'GET' : 'PUT' });
      await daemon.ask('/mcp', modern(ada, `made/up-${i}`));
      await daemon.ask('/v1/whoami', { headers: bearer(`pls_${i}`) });
    };
    await odd(0);
    // The look itself is counted, too.
    await rows();
    const before = await rows();
    for (let i = 1; i < 40; i++) await odd(i);
    expect(await rows()).toBe(before);
    const { status, text } = await daemon.ask('/metrics', { headers: bearer(grace) });
    expect(status).toBe(200);
    expect(text).not.toMatch(/made.up|nowhere|agent:ada|key-[0-9]/);
  });
});

describe('messages that are none', () => {
  test('of JSON-RPC are answered with an error, run nothing and break nothing', async () => {
    const { daemon, ran, ada } = await openHouse('[http]\nrate_per_minute = 60000000\n');
    const { headers = {} } = modern(ada, 'tools/call', { name: 'test.any', arguments: {} });
    const { request } = await openSession(daemon, ada);
    const session = request('tools/list').headers ?? {};
    const names = fc.constantFrom(
      'jsonrpc',
      'id',
      'method',
      'params',
      'result',
      'error',
      '_meta',
      '__proto__',
      'constructor',
      'name',
      'arguments',
      'cursor',
      'uri',
    );
    const words = fc.constantFrom(
      '2.0',
      'tools/list',
      'tools/call',
      'initialize',
      'notifications/cancelled',
      'resources/read',
      'test.any\u0000',
      '',
      '1',
    );
    const { value } = fc.letrec((tie) => ({
      leaf: fc.oneof(
        words,
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constant(null),
        fc.boolean(),
      ),
      value: fc.oneof(
        { maxDepth: 3 },
        tie('leaf'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(names, tie('value'), { maxKeys: 5 }),
      ),
    }));
    const messages = fc.oneof(
      fc.record(
        { jsonrpc: fc.constant('2.0'), id: value, method: words, params: value },
        { requiredKeys: ['jsonrpc'] },
      ),
      value,
    );
    await fc.assert(
      fc.asyncProperty(messages, fc.boolean(), async (message, isModern) => {
        const body = JSON.stringify(message) ?? 'null';
        const answer = await daemon.ask('/mcp', {
          method: 'POST',
          headers: { ...(isModern ? headers : session) },
          body,
        });
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: volume(300, 30), seed: 7 },
    );
    expect(ran).toEqual([]);
    for (const raw of [
      '',
      '{',
      '[]',
      '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
      'null',
      '"x"',
      '{"a":1,"a":2}',
      '\ufeff{}',
      '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}',
      `{"jsonrpc":"2.0","id":1e999,"method":"tools/list"}`,
    ])
      for (const each of [headers, session])
        expect([
          raw,
          (await daemon.ask('/mcp', { method: 'POST', headers: { ...each }, body: raw })).status,
        ]).toEqual([raw, expect.toSatisfy((it) => it >= 400 && it < 500)]);
    expect(daemon.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    expect(
      (await daemon.ask('/mcp', modern(ada, 'tools/call', { name: 'test.any', arguments: {} }))).text,
    ).toContain('"resultType":"complete"');
  });

  test('of JSON have one reading: a member twice, a number that changes, a lone surrogate or a mark are refused', async () => {
    const { daemon, ran, ada } = await openHouse();
    const headers = { ...bearer(ada), ...JSON_BODY };
    const call = '"tool":"test.any","input":';
    for (const body of [
      `{${call}{"a":1,"a":2}}`,
      `{"tool":"test.any","tool":"test.other"}`,
      `{${call}{"a":1,"\\u0061":2}}`,
      `{${call}{"n":12345678901234567890}}`,
      `{${call}{"n":1e400}}`,
      `{${call}{"s":"\\ud800"}}`,
      `\ufeff{${call}{}}`,
      `{${call}{}} x`,
      `{${call}{},}`,
      `{${call}NaN}`,
      `{${call}{}}\0`,
      `{${call}{"__proto__":{"x":1}},"__proto__":{}}`,
    ])
      expect([body, (await daemon.ask('/v1/calls', { method: 'POST', headers, body })).status]).toEqual([
        body,
        400,
      ]);
    const latin = Buffer.from(`{${call}{"s":"\xe9"}}`, 'latin1');
    expect((await daemon.ask('/v1/calls', { method: 'POST', headers, body: latin })).status).toBe(400);
    expect(ran).toEqual([]);
    expect(
      (await daemon.ask('/v1/calls', { method: 'POST', headers, body: `{${call}{"a":1}}` })).status,
    ).toBe(200);
  });
});
