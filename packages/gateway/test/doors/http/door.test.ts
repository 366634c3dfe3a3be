import { describe, expect, test } from 'vitest';
import type { Authenticator } from '../../../src/identity/authenticate.ts';
import { authenticate, bearer, JSON_BODY, openTestDoor } from './open-door.ts';

const CALL = { ...JSON_BODY, ...bearer('call') };
const ECHO = { method: 'POST', headers: CALL, body: '{"message":"hi"}' };

/** The same tokens, of a user. */
const asUser: Authenticator = async (credentials) => {
  const known = await authenticate(credentials);
  return known.ok
    ? { ...known, caller: { ...known.caller, principal: { kind: 'user', name: 'grace' } } }
    : known;
};

const ODD_TARGETS: readonly [string, number][] = [
  ['/nothing', 404],
  ['/t/echo/', 404],
  ['/t//echo', 404],
  ['/t/items/', 404],
  ['/t/items/..', 404],
  ['/t/items/%2e%2e', 404],
  ['/t/items/a%00b', 404],
  ['/t/items/%ff', 404],
  ['/t/items/a%5cb', 404],
  ['/t%2Fitems/a', 404],
  ['/t/%69tems/a', 404],
  ['/t/x/../items/a', 404],
  ['/T/items/a', 404],
  ['/t/items/a?limit=2&limit=3', 400],
  ['/t/items/a?limit=11', 400],
  ['/t/items/a?limt=2', 400],
  ['/t/items/a?limit=%zz', 400],
  ['http://127.0.0.1/t/items/a', 400],
  ['*', 400],
];

describe('the HTTP door', () => {
  test('answers what its rows take, with headers that keep browsers out', async () => {
    const { ask } = await openTestDoor();
    const { status, json, headers } = await ask('/t/echo', ECHO);
    expect([status, json]).toEqual([200, { message: 'hi', by: 'ada' }]);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });

  test.each([
    ['malformed JSON', '{"message":', 'the text ends'],
    ['a key twice', '{"message":"a","message":"b"}', 'occurs twice'],
    ['a prototype', '{"__proto__":{},"message":"a"}', 'is refused'],
    ['a wrong type', '{"message":1}', '"message"'],
    ['an unknown member', '{"message":"a","admin":true}', 'admin'],
    ['bytes that are not UTF-8', Buffer.from('7b226d657373616765223a22ff227d', 'hex'), 'not UTF-8'],
    ['nesting without end', '['.repeat(5000), 'nested too deeply'],
  ])('refuses %s with the place, and the row never sees it', async (_, body, why) => {
    const { ask, seen } = await openTestDoor();
    const { status, json, headers } = await ask('/t/echo', { ...ECHO, body });
    expect(status).toBe(400);
    expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(json).toMatchObject({ code: 'door/wrong-usage', type: 'urn:palisade:code:door/wrong-usage' });
    expect(json.detail).toContain(why);
    expect(json.remedy).toContain('/openapi.json');
    expect(seen.names).toEqual([]);
  });

  test.each([
    ['text/plain, as a form of a web page sends', { 'content-type': 'text/plain' }],
    ['no type', {}],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['JSON in another character set', { 'content-type': 'application/json; charset=utf-16' }],
    ['JSON that is packed', { ...JSON_BODY, 'content-encoding': 'gzip' }],
  ])('takes no body of %s', async (_, headers) => {
    const { ask, seen } = await openTestDoor();
    const answer = await ask('/t/echo', { ...ECHO, headers: { ...bearer('call'), ...headers } });
    expect([answer.status, answer.json.code]).toEqual([415, 'door/unsupported-media']);
    expect(seen.names).toEqual([]);
  });

  test('takes no body where none is expected', async () => {
    const { ask } = await openTestDoor();
    expect((await ask('/t/items/a', { headers: CALL, body: '{}' })).status).toBe(400);
    expect((await ask('/t/items/a', { headers: CALL })).status).toBe(200);
  });

  test('gives nothing for a target that is spelt otherwise than an address', async () => {
    const { ask } = await openTestDoor();
    const answered: [string, number][] = [];
    for (const [path] of ODD_TARGETS)
      answered.push([path, (await ask(path, { headers: bearer('read') })).status]);
    expect(answered).toEqual(ODD_TARGETS);
    expect((await ask('/t/items/a', { headers: bearer('read') })).status).toBe(200);
  });

  test('takes a slash in a value as a part of the value', async () => {
    const { ask } = await openTestDoor();
    expect((await ask('/t/items/a%2Fb?limit=2', { headers: bearer('read') })).json).toEqual({
      id: 'a/b',
      limit: 2,
    });
  });

  test.each(['PUT', 'PATCH', 'TRACE', 'POST'])(
    'refuses the method %s with those that there are',
    async (method) => {
      const { ask } = await openTestDoor();
      const { status, headers, json } = await ask('/t/items/a', { method, headers: bearer('read') });
      expect([status, json.code, headers.allow]).toEqual([
        405,
        'door/method-not-allowed',
        'DELETE, GET, HEAD',
      ]);
    },
  );

  test('answers HEAD as GET without the body, and OPTIONS with what there is', async () => {
    const { ask } = await openTestDoor();
    const head = await ask('/t/items/a', { method: 'HEAD', headers: bearer('read') });
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '20']);
    const options = await ask('/t/items/a', { method: 'OPTIONS' });
    expect([options.status, options.headers.allow]).toEqual([200, 'DELETE, GET, HEAD']);
    expect(options.headers).not.toHaveProperty('access-control-allow-methods');
  });

  test('tells an incident, and not the reason, when a handler breaks', async () => {
    const { ask, logged } = await openTestDoor();
    const { status, json, text } = await ask('/t/fault', { headers: bearer('read') });
    expect([status, json.code]).toEqual([500, 'gateway/fault']);
    expect(text).not.toContain('secret reason');
    expect(logged.join()).toContain(/inc_[a-z0-9]+/.exec(json.detail)?.[0]);
  });
});

describe('who asks', () => {
  test('is told by a credential, and refused with where to get one', async () => {
    const { ask, door } = await openTestDoor();
    const none = await ask('/t/items/a');
    expect([none.status, none.json.code]).toEqual([401, 'door/unauthenticated']);
    expect(none.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${door.url}/.well-known/oauth-protected-resource"`,
    );
    const bad = await ask('/mcp', {
      method: 'POST',
      headers: { ...JSON_BODY, authorization: 'Bearer 1' },
      body: '{}',
    });
    expect(bad.headers['www-authenticate']).toBe(
      `Bearer error="invalid_token", resource_metadata="${door.url}/.well-known/oauth-protected-resource/mcp"`,
    );
  });

  test('is held to the scopes of the credential', async () => {
    const { ask } = await openTestDoor();
    const { status, json, headers } = await ask('/t/items/a', { method: 'DELETE', headers: bearer('call') });
    expect([status, json.code]).toEqual([403, 'door/insufficient-scope']);
    expect(headers['www-authenticate']).toContain('scope="palisade:admin"');
    expect(json.remedy).toContain('palisade token create --scopes admin');
    expect((await ask('/t/items/a', { method: 'DELETE', headers: bearer('admin') })).status).toBe(200);
  });

  test('cannot be said by a header, but on the local socket', async () => {
    const { ask, socketPath } = await openTestDoor();
    const as = { 'palisade-as': 'user:root' };
    expect((await ask('/t/items/a', { headers: as })).status).toBe(401);
    const both = await ask('/t/echo', { ...ECHO, headers: { ...CALL, ...as } });
    expect(both.json.by).toBe('ada');
    const local = { ...ECHO, socketPath, headers: { ...JSON_BODY, ...as, host: 'localhost' } };
    expect((await ask('/t/echo', local)).json.by).toBe('root');
    const odd = { ...local, headers: { ...local.headers, 'palisade-as': 'root' } };
    expect((await ask('/t/echo', odd)).status).toBe(400);
  });

  test('has no way to what is for commands alone, over the network', async () => {
    const { ask } = await openTestDoor();
    const path = '/local/calls?tool=palisade.echo';
    expect((await ask(path, { method: 'POST', headers: bearer('call'), body: '{}' })).status).toBe(404);
  });
});

describe('addresses that always are there', () => {
  test.each(['/healthz', '/readyz', '/openapi.json', '/.well-known/oauth-protected-resource'])(
    'has %s for anybody',
    async (path) => {
      const { ask } = await openTestDoor();
      expect((await ask(path)).status).toBe(200);
      expect((await ask(path, { method: 'POST' })).status).toBe(405);
    },
  );

  test('says of a call that is still running when to ask again', async () => {
    const { ask } = await openTestDoor();
    const { status, headers, json } = await ask('/t/open', { headers: bearer('read') });
    expect([status, headers['retry-after'], json.callId]).toEqual([409, '1', 'x']);
  });

  test.each([
    [
      'whom the policies do not let read the journal',
      { policies: 'permit (principal, action == Action::"call", resource);' },
    ],
    ['of another tenant', { toml: '[gateway]\ntenant = "home"\n' }],
  ])('keeps its metrics from a user %s', async (_, wishes) => {
    const { ask } = await openTestDoor({ ...wishes, parts: { authenticate: asUser } });
    const { status, json, text } = await ask('/metrics', { headers: bearer('read') });
    expect([status, json.code]).toEqual([403, 'policy/denied']);
    expect(text).not.toContain('palisade_up');
  });

  test('keeps its metrics from agents, whatever the policies say', async () => {
    const { ask } = await openTestDoor();
    expect((await ask('/metrics', { headers: bearer('read+admin') })).status).toBe(403);
  });

  test('has metrics for who may read', async () => {
    const { ask } = await openTestDoor({ parts: { authenticate: asUser } });
    expect((await ask('/metrics')).status).toBe(401);
    expect((await ask('/metrics', { headers: bearer('call') })).status).toBe(403);
    const { text, headers } = await ask('/metrics', { headers: bearer('read') });
    expect([text, headers['content-type']]).toEqual([
      'palisade_up 1\n',
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
  });

  test('names the resource that tokens have to be for', async () => {
    const { ask, door } = await openTestDoor();
    const { json } = await ask('/.well-known/oauth-protected-resource/mcp');
    expect(json.resource).toBe(`${door.url}/mcp`);
  });

  test('hands MCP what was let in, and answers what it answers', async () => {
    const { ask } = await openTestDoor();
    const body = '{"jsonrpc":"2.0"}';
    const { json } = await ask('/mcp', { method: 'POST', headers: CALL, body });
    expect(json).toEqual({ echo: body, method: 'POST' });
    expect((await ask('/mcp', { method: 'POST', headers: bearer('call'), body })).status).toBe(415);
    expect(
      (await ask('/mcp', { method: 'POST', headers: { ...JSON_BODY, ...bearer('read') }, body })).status,
    ).toBe(403);
    expect((await ask('/mcp', { method: 'PUT', headers: CALL, body })).status).toBe(405);
  });
});

describe('limits of a credential', () => {
  test('are requests in a minute', async () => {
    const { ask } = await openTestDoor({ toml: '[http]\nrate_per_minute = 3\n' });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await ask('/t/items/a', { headers: bearer('read') })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const limited = await ask('/t/items/a', { headers: bearer('read') });
    expect(limited.json.code).toBe('door/rate-limited');
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    expect((await ask('/t/items/a', { headers: bearer('call') })).status).toBe(200);
  });

  test('are calls at once', async () => {
    const { ask, gateway, seen } = await openTestDoor({ toml: '[http]\ncalls_at_once = 1\n' });
    const sleep = { method: 'POST', headers: CALL, body: '{"tool":"palisade.sleep","input":{"ms":60000}}' };
    const stop = new AbortController();
    const first = ask('/v1/calls', { ...sleep, signal: stop.signal }).catch(() => null);
    await expect.poll(() => gateway.running.size, { timeout: 20_000 }).toBe(1);
    expect((await ask('/v1/calls', sleep)).json.code).toBe('door/rate-limited');
    stop.abort();
    await first;
    await expect.poll(() => gateway.running.size, { timeout: 20_000 }).toBe(0);
    expect(seen.signals[0]?.aborted).toBe(true);
    const echo = { ...sleep, body: '{"tool":"palisade.echo"}' };
    await expect.poll(async () => (await ask('/v1/calls', echo)).json.code).toBe('ok');
  });
});
