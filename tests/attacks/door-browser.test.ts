import { describe, expect, test } from 'vitest';
import { bearer, sendBytes } from '../../packages/gateway/test/doors/http/open-door.ts';
import { makeTool, PERMIT_ALL, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { callRequest, openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { modern } from '../fixtures/door/mcp.ts';

/*
 * A page of a stranger is open in the browser of whoever runs a gateway, and has the browser talk to it. The attacker is
 * given more than a page has: a good token, so that nothing but the page itself is a reason to refuse.
 */

async function openHouse(toml = '') {
  let runs = 0;
  const tool = makeTool('test.any', async () => {
    runs += 1;
    return {};
  });
  const daemon = await openTestDaemon({ policies: PERMIT_ALL, tools: [tool], toml });
  return { daemon, runs: () => runs, token: await daemon.token({ principal: 'agent:ada' }) };
}

/** Tries to make a call by every way in that runs one; gives the statuses. */
async function tryAll({ ask }: TestDaemon, token: string, headers: Record<string, string>) {
  const rest = callRequest(token, 'test.any', { headers });
  const mcp = modern(token, 'tools/call', { name: 'test.any', arguments: {} }, { headers });
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
  const answers = [
    await ask('/v1/calls', rest),
    await ask('/mcp', mcp),
    await ask('/mcp', { ...mcp, body: JSON.stringify(initialize) }),
  ];
  for (const answer of answers) expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  return answers.map(({ status }) => status);
}

const FORBIDDEN = [403, 403, 403];

describe('a page of a stranger', () => {
  const origins = (port: number) => [
    ...['null', 'https://evil.example', 'http://evil.example', `http://evil.example:${port}`],
    ...['file://', 'file:///', 'chrome-extension://abcdefghijklmnopabcdefghijklmnop', 'moz-extension://x'],
    ...[
      'http://127.0.0.1',
      'http://localhost',
      `http://localhost:${port + 1}`,
      `http://127.0.0.1:${port + 1}`,
    ],
    // The very address, in a form that no page of ours has.
    ...[`https://127.0.0.1:${port}`, `http://127.0.0.1.:${port}`, `http://127.0.0.1:${port}/`],
    ...[`HTTP://127.0.0.1:${port}`, `http://127.0.0.1:${port}.evil.example`, `http://evil@127.0.0.1:${port}`],
    ...[`http://2130706433:${port}`, `http://0x7f.1:${port}`, `http://[::ffff:127.0.0.1]:${port}`],
    ...['*', 'http://*', 'about:blank', 'data:', 'blob:http://127.0.0.1', ''],
  ];

  test('has nothing run, whatever page it is of', async () => {
    const { daemon, runs, token } = await openHouse();
    const before = recordsOf(daemon.gateway).length;
    for (const origin of origins(daemon.port))
      expect([origin, ...(await tryAll(daemon, token, { origin }))]).toEqual([origin, ...FORBIDDEN]);
    expect(runs()).toBe(0);
    expect(recordsOf(daemon.gateway)).toHaveLength(before);
    // The page of the gateway itself, and whoever is no page, get through.
    const own = `http://127.0.0.1:${daemon.port}`;
    expect((await tryAll(daemon, token, { origin: own })).slice(0, 2)).toEqual([200, 200]);
    expect((await tryAll(daemon, token, {})).slice(0, 2)).toEqual([200, 200]);
    expect(runs()).toBe(4);
  });

  test('is told so before it is asked for a credential, and reads nothing', async () => {
    const { daemon } = await openHouse();
    const headers = { origin: 'https://evil.example' };
    for (const path of [
      '/healthz',
      '/readyz',
      '/openapi.json',
      '/docs',
      '/v1/whoami',
      '/nothing',
      '/metrics',
    ]) {
      const answer = await daemon.ask(path, { headers });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    }
    const plain = await daemon.ask('/healthz');
    expect(plain.status).toBe(200);
    // What a page embeds without asking (an image, a script) is kept from it by the browser.
    expect(plain.headers['cross-origin-resource-policy']).toBe('same-origin');
    expect(plain.headers['x-content-type-options']).toBe('nosniff');
  });

  test('gets no leave by a preflight, and one that the operator named does', async () => {
    const { daemon } = await openHouse('[http]\nallowed_origins = ["https://console.example"]\n');
    const preflight = (origin: string) =>
      daemon.ask('/v1/calls', {
        method: 'OPTIONS',
        headers: {
          ...{ origin, 'access-control-request-method': 'POST' },
          'access-control-request-headers': 'authorization,content-type',
        },
      });
    for (const origin of [
      'https://evil.example',
      'https://console.example.evil.example',
      'null',
      'http://console.example',
    ])
      expect((await preflight(origin)).status).toBe(403);
    const named = await preflight('https://console.example');
    expect(named.status).toBe(200);
    expect(named.headers).toMatchObject({ 'access-control-allow-origin': 'https://console.example' });
    expect(named.headers['access-control-allow-credentials']).toBeUndefined();
    expect(named.headers.vary).toContain('origin');
  });

  test('has no form, no text and no upload taken for JSON', async () => {
    const { daemon, runs, token } = await openHouse();
    const body = JSON.stringify({ tool: 'test.any', input: {} });
    const types = [
      ...[
        'text/plain',
        'text/plain;charset=UTF-8',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
      ],
      ...[
        'text/json',
        'application/jsonp',
        'application/json, text/plain',
        'application/json+x',
        ' ',
        'application',
      ],
    ];
    for (const type of types) {
      const headers = { 'content-type': type };
      expect(
        (await daemon.ask('/v1/calls', { ...callRequest(token, 'test.any', { headers }), body })).status,
      ).toBe(415);
      const mcp = modern(token, 'tools/call', { name: 'test.any', arguments: {} }, { headers });
      expect((await daemon.ask('/mcp', mcp)).status).toBe(415);
    }
    const bare = `POST /v1/calls HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    expect(await sendBytes(daemon.port, bare)).toMatch(/^HTTP\/1.1 415 /);
    expect(runs()).toBe(0);
    expect((await daemon.call(token, 'test.any')).status).toBe(200);
  });

  test('changes nothing by a look, which is all that an image or a link can do', async () => {
    const { daemon, runs, token } = await openHouse();
    const before = recordsOf(daemon.gateway).length;
    const [head] = [bearer(token)];
    for (const path of [
      '/v1/calls',
      '/v1/calls?tool=test.any',
      '/v1/tokens',
      '/v1/keys/rotate',
      '/v1/approvals/x/decision',
    ])
      for (const method of ['GET', 'HEAD']) await daemon.ask(path, { method, headers: head });
    for (const path of ['/mcp', '/mcp?method=tools/call&name=test.any', `/v1/calls?_method=POST`])
      await daemon.ask(path, {
        headers: { ...head, 'x-http-method-override': 'POST', 'x-method-override': 'POST' },
      });
    expect(runs()).toBe(0);
    expect(recordsOf(daemon.gateway)).toHaveLength(before);
  });
});

describe('a name of a stranger that leads to this machine', () => {
  const hosts = (port: number) => [
    ...['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, `localhost.evil.example`],
    ...[
      `localhost.:${port}`,
      `127.0.0.1.:${port}`,
      '0.0.0.0',
      `[::]:${port}`,
      '2130706433',
      '0x7f000001',
      '127.1',
    ],
    ...[
      `127.0.0.2:${port}`,
      '017700000001',
      `evil.example@127.0.0.1:${port}`,
      '127.0.0.1#',
      '127.0.0.1/..',
      'localhost:7433:7433',
    ],
    ...['[::ffff:127.0.0.1]', '[::1%25lo]', 'localhost\\evil', ' ', '*', 'localhost,evil.example'],
  ];

  test('is answered for nothing, with and without a page', async () => {
    const { daemon, runs, token } = await openHouse();
    for (const host of hosts(daemon.port)) {
      for (const origin of [{}, { origin: `http://${host}` }]) {
        const statuses = await tryAll(daemon, token, { host, ...origin });
        for (const status of statuses)
          expect([host, status]).toEqual([host, expect.toSatisfy((it) => it === 403 || it === 400)]);
      }
    }
    expect(runs()).toBe(0);
    for (const host of [
      'localhost',
      `localhost:${daemon.port}`,
      '127.0.0.1',
      'LocalHost',
      '[::1]:1',
      '127.0.0.1:1',
    ])
      expect((await tryAll(daemon, token, { host })).slice(0, 2)).toEqual([200, 200]);
    expect(runs()).toBe(12);
  });

  test('cannot be slipped in beside a good one', async () => {
    const { daemon, runs, token } = await openHouse();
    const body = JSON.stringify({ tool: 'test.any' });
    const rest = `authorization: Bearer ${token}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    for (const head of [
      'POST /v1/calls HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example',
      'POST /v1/calls HTTP/1.1\r\nhost: evil.example\r\nhost: 127.0.0.1',
      'POST http://127.0.0.1/v1/calls HTTP/1.1\r\nhost: evil.example',
      'POST http://evil.example/v1/calls HTTP/1.1\r\nhost: 127.0.0.1',
      'POST /v1/calls HTTP/1.1\r\nhost: 127.0.0.1\r\norigin: https://evil.example\r\norigin: http://127.0.0.1',
      'POST /v1/calls HTTP/1.1\r\nx-forwarded-host: 127.0.0.1\r\nhost: evil.example',
      'POST /v1/calls HTTP/1.1\r\nhost:',
      'POST /v1/calls HTTP/1.1',
      'POST /v1/calls HTTP/1.0',
    ])
      expect([head, await sendBytes(daemon.port, `${head}\r\n${rest}`)]).toEqual([
        head,
        expect.stringMatching(/^HTTP\/1.1 40[03] /),
      ]);
    expect(runs()).toBe(0);
    expect(await sendBytes(daemon.port, `POST /v1/calls HTTP/1.1\r\nhost: 127.0.0.1\r\n${rest}`)).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });
});
