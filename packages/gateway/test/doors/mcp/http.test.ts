import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../src/core/caller.ts';
import type { Mcp } from '../../../src/doors/mcp/index.ts';
import { bodyOf, openTestGateway, PERMIT_ALL, recordsOf, type TestGateway } from '../../fixture/gateway.ts';
import { messagesOf, post, postModern } from './http-client.ts';
import { CALLER, eventually, type Message, openMcp } from './raw-client.ts';

const EVE: Caller = { ...CALLER, principal: { kind: 'agent', name: 'eve' }, credential: 'token:eve' };
const ECHO = { name: 'palisade.echo', arguments: { message: 'hi' } };
const SLEEP = { name: 'palisade.sleep', arguments: { ms: 600_000 } };

async function open(toml?: string): Promise<{ gateway: TestGateway; mcp: Mcp }> {
  const gateway = await openTestGateway({ policies: PERMIT_ALL, ...(toml === undefined ? {} : { toml }) });
  return { gateway, mcp: openMcp(gateway) };
}

const only = async (response: Response): Promise<Message> => (await messagesOf(response))[0];

const codes = (gateway: TestGateway) =>
  recordsOf(gateway)
    .filter(({ kind }) => kind === 'ended')
    .map((row) => bodyOf(row).code);

describe('a request of the modern era over HTTP', () => {
  it('is served by itself', async () => {
    const { mcp } = await open();
    const { result } = await only(await postModern(mcp, 'tools/call', ECHO));
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { message: 'hi' } });
    const discovered = await only(await postModern(mcp, 'server/discover'));
    expect(discovered.result.supportedVersions).toEqual(['2026-07-28']);
    const listed = await only(await postModern(mcp, 'tools/list'));
    expect(listed.result).toMatchObject({ cacheScope: 'private' });
  });

  it.each<[string, Record<string, string>, number]>([
    ['another method', { 'mcp-method': 'tools/list' }, -32_020],
    ['another tool', { 'mcp-name': 'palisade.sleep' }, -32_020],
    ['another revision', { 'mcp-protocol-version': '2025-11-25' }, -32_020],
  ])('is refused where its headers say %s than its body', async (_what, headers, code) => {
    const { gateway, mcp } = await open();
    const response = await postModern(mcp, 'tools/call', ECHO, { headers });
    expect(response.status).toBe(400);
    expect((await only(response)).error.code).toBe(code);
    expect(recordsOf(gateway).filter(({ call }) => call !== null)).toEqual([]);
  });

  it('is refused where its headers are not there', async () => {
    const { mcp } = await open();
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: ECHO };
    const { envelope } = await import('./raw-client.ts');
    const response = await post(mcp, { ...body, params: { ...ECHO, _meta: envelope() } });
    expect((await only(response)).error.code).toBe(-32_020);
  });

  it('is refused with the revisions that are served where it is of another', async () => {
    const { mcp } = await open();
    const response = await postModern(
      mcp,
      'tools/list',
      { _meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } },
      { headers: { 'mcp-protocol-version': '2099-01-01' } },
    );
    expect(response.status).toBe(400);
    expect((await only(response)).error).toMatchObject({
      code: -32_022,
      data: { supported: ['2026-07-28'] },
    });
  });

  it.each<[string, string, number, number]>([
    ['no JSON', '{', 400, -32_700],
    ['a key twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32_700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400, -32_600],
    ['nothing', '', 400, -32_700],
  ])('is refused where the body is %s', async (_what, body, status, code) => {
    const { mcp } = await open();
    const response = await post(mcp, body);
    expect(response.status).toBe(status);
    expect((await only(response)).error.code).toBe(code);
  });

  it('is refused where it is no JSON by its type, of no known method of HTTP, or without the scope', async () => {
    const { mcp } = await open();
    expect((await post(mcp, '{}', { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
    const put = new Request('http://127.0.0.1/mcp', { method: 'PUT', body: '{}' });
    expect((await mcp.fetch(put, CALLER)).status).toBeGreaterThanOrEqual(400);
    const noScope = await postModern(
      mcp,
      'tools/list',
      {},
      { caller: { ...CALLER, scopes: new Set(['read']) } },
    );
    expect(noScope.status).toBe(403);
    expect(noScope.headers.get('www-authenticate')).toContain('insufficient_scope');
  });

  it('is cancelled and recorded where its client goes away, before and after the stream began', async () => {
    const { gateway, mcp } = await open();
    const gone = new AbortController();
    const early = postModern(mcp, 'tools/call', SLEEP, { signal: gone.signal });
    await eventually(() => gateway.running.size).toBe(1);
    gone.abort();
    await early;
    await eventually(() => codes(gateway)).toEqual(['tier/cancelled']);
    const params = { ...SLEEP, _meta: { progressToken: 1 } };
    const streaming = await postModern(mcp, 'tools/call', params);
    expect(streaming.headers.get('content-type')).toContain('text/event-stream');
    expect(streaming.headers.get('x-accel-buffering')).toBe('no');
    await streaming.body?.cancel();
    await eventually(() => codes(gateway)).toEqual(['tier/cancelled', 'tier/cancelled']);
  });

  it('asks no person over HTTP unless the operator lets it', async () => {
    const policies =
      '@id("a") permit(principal, action == Action::"call", resource) when { context.approved };\n@id("b") permit(principal is User, action == Action::"approve", resource);\n';
    const ask = async (toml?: string) => {
      const gateway = await openTestGateway({ policies, ...(toml === undefined ? {} : { toml }) });
      const mcp = openMcp(gateway);
      const response = await postModern(mcp, 'tools/call', ECHO, { capabilities: { elicitation: {} } });
      return (await only(response)).result.resultType;
    };
    expect(await ask()).toBe('complete');
    expect(await ask('[mcp]\nelicitation = "on"\n')).toBe('input_required');
  });
});

describe('subscriptions/listen over HTTP', () => {
  it('tells of changed tools, and of calls only those who made them', async () => {
    const { gateway, mcp } = await open('[policy]\nreload_ms = 1\n');
    const wanted = { notifications: { toolsListChanged: true, resourcesListChanged: true } };
    const [ada, eve] = await Promise.all(
      [CALLER, EVE].map(async (caller) => {
        const response = await postModern(mcp, 'subscriptions/listen', wanted, { caller });
        return heard(response);
      }),
    );
    await ada?.next('acknowledged');
    await eve?.next('acknowledged');
    await postModern(mcp, 'tools/call', ECHO);
    await ada?.next('resources/list_changed');
    const change = '@id("none") forbid(principal == Agent::"x", action == Action::"call", resource);\n';
    writeFileSync(join(gateway.stateDir, 'policies', 'test.cedar'), `${PERMIT_ALL}${change}`);
    await ada?.next('tools/list_changed');
    await eve?.next('tools/list_changed');
    expect(eve?.text()).not.toContain('resources/list_changed');
    await mcp.close();
    await Promise.all([ada?.ended, eve?.ended]);
  });

  it('is refused to a caller with too many open ones, and available again when they are closed', async () => {
    const { mcp } = await open();
    const wanted = { notifications: { toolsListChanged: true } };
    const ask = (caller?: Caller) =>
      postModern(mcp, 'subscriptions/listen', wanted, caller === undefined ? {} : { caller });
    const streams: Response[] = [];
    for (let i = 0; i < 32; i++) streams.push(await ask());
    expect((await ask()).status).toBe(429);
    expect((await ask(EVE)).status).toBe(200);
    await streams[0]?.body?.cancel();
    expect((await ask()).status).toBe(200);
  });
});

/** Reads a stream of events as it comes. */
function heard(response: Response) {
  const seen = { text: '' };
  const read = async () => {
    for await (const chunk of response.body ?? []) seen.text += Buffer.from(chunk as Uint8Array).toString();
  };
  const ended = read();
  return {
    ended,
    text: () => seen.text,
    next: (words: string) => eventually(() => seen.text).toContain(words),
  };
}

describe('a session of the legacy era over HTTP', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  };
  const ask = (method: string, params = {}) => ({ jsonrpc: '2.0', id: 2, method, params });

  async function session(mcp: Mcp, caller = CALLER): Promise<Record<string, string>> {
    const response = await post(mcp, initialize, { caller });
    expect((await only(response)).result.protocolVersion).toBe('2025-11-25');
    return { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' };
  }

  it('lasts from initialize to DELETE, and calls within it are one run', async () => {
    const { gateway, mcp } = await open();
    const headers = await session(mcp);
    const { result } = await only(await post(mcp, ask('tools/call', ECHO), { headers }));
    expect(result.structuredContent).toEqual({ message: 'hi' });
    await post(mcp, ask('tools/call', ECHO), { headers });
    const runs = recordsOf(gateway)
      .filter(({ kind }) => kind === 'intent')
      .map((row) => (bodyOf(row).facts as Message).call.run);
    expect(new Set(runs).size).toBe(1);
    const remove = new Request('http://127.0.0.1/mcp', { method: 'DELETE', headers });
    expect((await mcp.fetch(remove, CALLER)).status).toBe(200);
    expect((await post(mcp, ask('tools/list'), { headers })).status).toBe(404);
  });

  it('is unknown to everybody but the credential that opened it', async () => {
    const { mcp } = await open();
    const headers = await session(mcp);
    const stolen = await post(mcp, ask('tools/list'), { headers, caller: EVE });
    const invented = await post(mcp, ask('tools/list'), { headers: { 'mcp-session-id': 'x' }, caller: EVE });
    const sibling = { ...CALLER, credential: 'token:other' };
    expect((await post(mcp, ask('tools/list'), { headers, caller: sibling })).status).toBe(404);
    expect([stolen.status, await stolen.text()]).toEqual([invented.status, await invented.text()]);
    expect(stolen.status).toBe(404);
    expect((await post(mcp, ask('tools/list'), { headers })).status).toBe(200);
  });

  it('is needed for everything but initialize', async () => {
    const { mcp } = await open();
    expect((await post(mcp, ask('tools/list'))).status).toBe(400);
    const get = new Request('http://127.0.0.1/mcp', { headers: { accept: 'text/event-stream' } });
    expect((await mcp.fetch(get, CALLER)).status).toBe(400);
    const headers = { ...(await session(mcp)), 'mcp-protocol-version': '1999-01-01' };
    expect((await post(mcp, ask('tools/list'), { headers })).status).toBe(400);
  });

  it('cancels a call by notification and by DELETE, and both are recorded', async () => {
    const { gateway, mcp } = await open();
    const headers = await session(mcp);
    await post(mcp, { ...ask('tools/call', SLEEP), id: 'a' }, { headers });
    await post(mcp, { ...ask('tools/call', SLEEP), id: 'b' }, { headers });
    await eventually(() => gateway.running.size).toBe(2);
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } };
    expect((await post(mcp, cancel, { headers })).status).toBe(202);
    await eventually(() => codes(gateway)).toEqual(['tier/cancelled']);
    await mcp.fetch(new Request('http://127.0.0.1/mcp', { method: 'DELETE', headers }), CALLER);
    await eventually(() => codes(gateway)).toEqual(['tier/cancelled', 'tier/cancelled']);
  });

  it('tells of changed tools on its stream', async () => {
    const { gateway, mcp } = await open('[policy]\nreload_ms = 1\n');
    const headers = { ...(await session(mcp)), accept: 'text/event-stream' };
    const response = await mcp.fetch(new Request('http://127.0.0.1/mcp', { headers }), CALLER);
    const stream = heard(response);
    const change = '@id("none") forbid(principal == Agent::"x", action == Action::"call", resource);\n';
    writeFileSync(join(gateway.stateDir, 'policies', 'test.cedar'), `${PERMIT_ALL}${change}`);
    await stream.next('notifications/tools/list_changed');
    await mcp.close();
    await stream.ended;
  });

  it('gives way to a newer one where one principal has too many', async () => {
    const { mcp } = await open();
    const first = await session(mcp);
    for (let i = 0; i < 100; i++) await session(mcp);
    expect((await post(mcp, ask('tools/list'), { headers: first })).status).toBe(404);
    const eve = await session(mcp, EVE);
    expect((await post(mcp, ask('tools/list'), { headers: eve, caller: EVE })).status).toBe(200);
  });
});
