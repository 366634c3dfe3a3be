import { describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { bearer, JSON_BODY } from '../../packages/gateway/test/doors/http/open-door.ts';
import { makeTool, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, callMcp, modern, openSession } from '../fixtures/door/mcp.ts';

/* Somebody with a good token of their own says everywhere else that they are Grace, or of another tenant. */

const POLICIES = `
@id("grace-alone") permit(principal == User::"grace", action == Action::"call", resource);
@id("grace-reads") permit(principal == User::"grace", action == Action::"readJournal", resource);
`;
const CLAIMS = { principal: 'user:grace', tenant: 'acme', as: 'user:grace', approver: 'user:grace' };
/** Headers by which proxies and careless servers tell who somebody is. */
const HEADERS: readonly Record<string, string>[] = [
  { 'palisade-as': 'user:grace' },
  { 'Palisade-As': 'user:grace', 'palisade-tenant': 'acme' },
  { 'x-palisade-as': 'user:grace', 'x-palisade-principal': 'user:grace' },
  { 'x-forwarded-user': 'grace', 'x-remote-user': 'grace', 'remote-user': 'grace' },
  { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1;by=unix', 'x-real-ip': '127.0.0.1' },
  { cookie: 'palisade-as=user:grace; token=user:grace', 'x-authenticated-user': 'user:grace' },
  { 'x-original-url': '/local/calls', 'x-rewrite-url': '/local/calls' },
];

async function openHouse() {
  const daemon = await openTestDaemon({
    policies: POLICIES,
    tools: [makeTool('test.any', async () => 'done')],
  });
  const ada = await daemon.token({ principal: 'agent:ada', scopes: ['call', 'read'] });
  const grace = await daemon.token({ principal: 'user:grace', scopes: ['call', 'read'] });
  return { daemon, ada, grace };
}

const whoever = ({ gateway }: TestDaemon) => {
  const { principal, tenant, kind } = recordsOf(gateway).at(-1) ?? {};
  return { principal, tenant, kind };
};
const ADA_REFUSED = { principal: 'agent:ada', tenant: 'default', kind: 'refused' };
const GRACE_DONE = { principal: 'user:grace', tenant: 'default', kind: 'ended' };

describe('a caller over HTTP that claims to be another principal', () => {
  test('in a header is who the token says, and nobody without one', async () => {
    const { daemon, ada, grace } = await openHouse();
    for (const headers of HEADERS) {
      expect((await daemon.call(ada, 'test.any', { headers })).status).toBe(404);
      expect(whoever(daemon)).toEqual(ADA_REFUSED);
      const me = await daemon.ask('/v1/whoami', { headers: { ...bearer(ada), ...headers } });
      expect(me.json).toMatchObject({ principal: 'agent:ada', tenant: 'default', approver: null });
      expect((await daemon.ask('/v1/whoami', { headers })).status).toBe(401);
      expect((await daemon.ask('/v1/journal', { headers: { ...bearer(ada), ...headers } })).status).toBe(403);
    }
    expect((await daemon.call(grace, 'test.any')).status).toBe(200);
    expect(whoever(daemon)).toEqual(GRACE_DONE);
  });

  test('by the header of the local socket is heard on the local socket alone', async () => {
    const { daemon } = await openHouse();
    const headers = { 'palisade-as': 'user:grace' };
    const { socketPath } = daemon;
    expect((await daemon.ask('/v1/whoami', { headers, socketPath })).json).toMatchObject({
      principal: 'user:grace',
    });
    expect((await daemon.ask('/v1/whoami', { headers })).status).toBe(401);
    const local = '/local/calls?tool=test.any';
    const body = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/octet-stream' },
      body: '{}',
    };
    expect((await daemon.ask(local, body)).status).toBe(404);
    expect((await daemon.ask(local, { ...body, socketPath })).text).toContain('"output":"done"');
  });

  test('in the query or in the body is refused for saying so', async () => {
    const { daemon, ada, grace } = await openHouse();
    const before = recordsOf(daemon.gateway).length;
    for (const [name, value] of Object.entries(CLAIMS)) {
      const headers = { ...bearer(ada), ...JSON_BODY };
      const post = { method: 'POST', headers, body: JSON.stringify({ tool: 'test.any', [name]: value }) };
      expect((await daemon.ask('/v1/calls', post)).status).toBe(400);
      const plain = { ...post, body: JSON.stringify({ tool: 'test.any' }) };
      expect((await daemon.ask(`/v1/calls?${name}=${value}`, plain)).status).toBe(400);
      expect((await daemon.ask(`/v1/journal?${name}=${value}`, { headers })).status).not.toBe(200);
    }
    expect(recordsOf(daemon.gateway)).toHaveLength(before);
    expect((await daemon.call(grace, 'test.any', { input: CLAIMS })).status).toBe(200);
    expect((await daemon.call(ada, 'test.any', { input: CLAIMS })).status).toBe(404);
    expect(whoever(daemon)).toEqual(ADA_REFUSED);
  });

  test('with a token in the query, in a cookie or in the body is nobody', async () => {
    const { daemon, grace } = await openHouse();
    for (const path of [`?access_token=${grace}`, `?token=${grace}`, `?authorization=Bearer%20${grace}`])
      expect((await daemon.ask(`/v1/whoami${path}`)).status).toBe(401);
    for (const headers of [
      { cookie: `token=${grace}; authorization=Bearer ${grace}` },
      { 'x-api-key': grace },
      { 'proxy-authorization': `Bearer ${grace}` },
      { authorization: `Basic ${Buffer.from(`grace:${grace}`).toString('base64')}` },
      { authorization: `Bearer ${grace}, Bearer ${grace}` },
    ])
      expect((await daemon.ask('/v1/whoami', { headers })).status).toBe(401);
    expect((await daemon.ask('/v1/whoami', { headers: bearer(grace) })).status).toBe(200);
  });
});

describe('a caller over MCP that claims to be another principal', () => {
  const META: Record<string, Json> = {
    ...CLAIMS,
    caller: { principal: { kind: 'user', name: 'grace' }, tenant: 'acme', scopes: ['admin'] },
    authInfo: { extra: { caller: { principal: { kind: 'user', name: 'grace' } } } },
    'dev.palisade/principal': 'user:grace',
    'dev.palisade/tenant': 'acme',
    'dev.palisade/as': 'user:grace',
    'io.modelcontextprotocol/clientInfo': { name: 'user:grace', version: '1' },
  };

  test('in _meta, arguments or a header of either era is who the token says', async () => {
    const { daemon, ada, grace } = await openHouse();
    const { request } = await openSession(daemon, ada);
    const params = { name: 'test.any', arguments: CLAIMS, _meta: META };
    for (const headers of HEADERS) {
      expect((await askMcp(daemon, modern(ada, 'tools/call', params, { headers }))).message.error.code).toBe(
        -32_602,
      );
      expect(whoever(daemon)).toEqual(ADA_REFUSED);
      expect((await askMcp(daemon, request('tools/call', params, { headers }))).message.error.code).toBe(
        -32_602,
      );
      expect(whoever(daemon)).toEqual(ADA_REFUSED);
    }
    expect(
      (await askMcp(daemon, modern(grace, 'tools/call', params))).message.result.isError,
    ).toBeUndefined();
    expect(whoever(daemon)).toEqual(GRACE_DONE);
  });

  test('with the session id of another caller has no session', async () => {
    const { daemon, ada, grace } = await openHouse();
    const { request } = await openSession(daemon, grace);
    const call = request('tools/call', { name: 'test.any', arguments: {} });
    const stolen = { ...call, headers: { ...call.headers, ...bearer(ada) } };
    expect((await askMcp(daemon, stolen)).status).toBe(404);
    expect((await askMcp(daemon, { ...stolen, method: 'DELETE', body: '' })).status).toBe(404);
    const other = await daemon.token({ principal: 'user:grace', scopes: ['call'], tenant: 'acme' });
    expect((await askMcp(daemon, { ...call, headers: { ...call.headers, ...bearer(other) } })).status).toBe(
      404,
    );
    expect((await askMcp(daemon, call)).message.result.isError).toBeUndefined();
  });

  test('sees no call of the one whose name it took', async () => {
    const { daemon, ada, grace } = await openHouse();
    const made = await callMcp(daemon, grace, 'test.any');
    const { callId } = made.message.result._meta['dev.palisade/receipt'];
    const read = (token: string, _meta: Json = {}) =>
      askMcp(daemon, modern(token, 'resources/read', { uri: `palisade://calls/${callId}/output`, _meta }));
    expect((await read(grace)).message.result.contents[0].text).toContain('done');
    expect((await read(ada, META)).message.error).toBeDefined();
    const same = await daemon.token({ principal: 'user:grace', scopes: ['call'], tenant: 'acme' });
    expect((await read(same, META)).message.error).toBeDefined();
  });
});
