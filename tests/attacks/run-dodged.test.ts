import { describe, expect, test } from 'vitest';
import type { Caller } from '../../packages/gateway/src/core/caller.ts';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { bearer, JSON_BODY } from '../../packages/gateway/test/doors/http/open-door.ts';
import { openMcp, RawClient } from '../../packages/gateway/test/doors/mcp/raw-client.ts';
import { bodyOf, makeTool, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, callMcp, openSession } from '../fixtures/door/mcp.ts';

/* An agent that may make two calls in a run does everything to be in another run. */

const TOML = `
[[budget]]
name = "agent-run"
per = "run"
match = "agent:*"
calls = 2
`;
const POLICIES = `
@id("all-call") permit(principal, action == Action::"call", resource);
@id("users-read") permit(principal is User, action == Action::"readJournal", resource);
@id("users-administer") permit(principal is User, action == Action::"administer", resource);
`;
const IDLE_MS = 30 * 60_000;
const EXHAUSTED = 'budget/calls-exhausted';

type Code = string | undefined;

async function openHouse() {
  let ran = 0;
  const tool = makeTool('test.any', async () => {
    ran += 1;
    return 'done';
  });
  const daemon = await openTestDaemon({ toml: TOML, policies: POLICIES, tools: [tool] });
  return { daemon, ran: () => ran, ada: await daemon.token({ principal: 'agent:ada' }) };
}

/** One call over HTTP; its code, `ok` where it succeeded. */
async function callHttp(daemon: TestDaemon, token: string, more: Record<string, Json> = {}): Promise<Code> {
  const body = JSON.stringify({ tool: 'test.any', ...more });
  const { json } = await daemon.ask('/v1/calls', {
    ...{ method: 'POST', headers: { ...bearer(token), ...JSON_BODY }, body },
  });
  return json.code;
}

const TOOL = 'test__any';

function codeOf(message: { result?: Json }): Code {
  const { isError, structuredContent, _meta } = (message.result ?? {}) as Record<string, Json>;
  if (isError === true) return (structuredContent as { code: string }).code;
  return (_meta as { 'dev.palisade/receipt'?: { code: string } } | undefined)?.['dev.palisade/receipt']?.code;
}

async function callModern(daemon: TestDaemon, token: string): Promise<Code> {
  return codeOf((await callMcp(daemon, token, TOOL)).message);
}

/** A new session of the older era for each call. */
async function callLegacy(daemon: TestDaemon, token: string, meta: Json = {}): Promise<Code> {
  const session = await openSession(daemon, token);
  const params = { name: TOOL, arguments: {}, _meta: meta };
  return codeOf((await askMcp(daemon, session.request('tools/call', params))).message);
}

function processOf(name: string): Caller {
  const principal = { kind: 'agent', name } as const;
  return { principal, tenant: 'default', scopes: new Set(['call']), credential: 'process', approver: null };
}

/** A new process of \`palisade mcp\` for each call, in either era. */
async function callStdio(daemon: TestDaemon, era: 'legacy' | 'modern', meta: Json = {}): Promise<Code> {
  const client = new RawClient(openMcp(daemon.gateway), processOf('ada'));
  const params = { name: TOOL, arguments: {}, _meta: meta };
  if (era === 'modern') return codeOf(await client.modern('tools/call', params));
  await client.initialize({});
  return codeOf(await client.request('tools/call', params));
}

async function exhausted() {
  const house = await openHouse();
  const { daemon, ada } = house;
  // The control: two calls of this run succeed.
  expect([await callHttp(daemon, ada), await callModern(daemon, ada)]).toEqual(['ok', 'ok']);
  return house;
}

describe('an agent that has used up its run', () => {
  test('is in the same run whatever run it names, at every door', async () => {
    const { daemon, ada, ran } = await exhausted();
    for (const run of ['another', 'r2', 'mcp_0', 'default.ada']) {
      expect(await callHttp(daemon, ada, { run })).toBe(EXHAUSTED);
      expect(await callLegacy(daemon, ada, { 'dev.palisade/run': run })).toBe(EXHAUSTED);
    }
    expect(await callHttp(daemon, ada, { idempotencyKey: 'x' })).toBe('door/wrong-usage');
    expect(ran()).toBe(2);
  });

  test('is in the same run with every new session, request and connection, of both eras', async () => {
    const { daemon, ada, ran } = await exhausted();
    for (let i = 0; i < 3; i++) {
      expect(await callModern(daemon, ada)).toBe(EXHAUSTED);
      expect(await callLegacy(daemon, ada)).toBe(EXHAUSTED);
      expect(await callHttp(daemon, ada)).toBe(EXHAUSTED);
    }
    expect(ran()).toBe(2);
  });

  test('is in the same run with every new process of its client, of both eras', async () => {
    const { daemon, ran } = await openHouse();
    expect([await callStdio(daemon, 'legacy'), await callStdio(daemon, 'modern')]).toEqual(['ok', 'ok']);
    for (const era of ['legacy', 'modern', 'legacy'] as const)
      expect(await callStdio(daemon, era, { 'dev.palisade/run': `${era}-2` })).toBe(EXHAUSTED);
    expect(ran()).toBe(2);
  });

  test('gets two calls of twenty that it makes at once, by every way in', async () => {
    const { daemon, ada, ran } = await openHouse();
    const made = Array.from({ length: 20 }, (_, i) => {
      if (i % 3 === 0) return callHttp(daemon, ada, { run: `r${i}` });
      return i % 3 === 1 ? callModern(daemon, ada) : callLegacy(daemon, ada);
    });
    const codes = await Promise.all(made);
    expect(codes.filter((code) => code === 'ok')).toHaveLength(2);
    expect(codes.filter((code) => code === EXHAUSTED)).toHaveLength(18);
    expect(ran()).toBe(2);
  });

  test('begins and ends no session, and is in none of another', async () => {
    const { daemon, ada, ran } = await exhausted();
    const bob = await daemon.token({ principal: 'agent:bob', scopes: ['call', 'read'] });
    expect(await callHttp(daemon, bob)).toBe('ok');
    const headers = bearer(ada);
    const own = (await daemon.ask('/v1/sessions', { headers })).json.sessions;
    expect(own.map((each: { principal: string }) => each.principal)).toEqual(['agent:ada']);
    const [{ id }] = (await daemon.ask('/v1/sessions', { headers: bearer(bob) })).json.sessions;
    const post = { method: 'POST', headers: { ...headers, ...JSON_BODY } };
    const begun = await daemon.ask('/v1/sessions', { ...post, body: '{}' });
    expect([begun.status, begun.json.code]).toEqual([429, 'session/too-many']);
    const end = (session: string) => daemon.ask(`/v1/sessions/${session}/end`, { ...post, headers });
    expect((await end(own[0].id)).json.code).toBe('door/insufficient-scope');
    expect((await end(id)).json.code).toBe('session/unknown');
    for (const run of [id, `${id}x`, 'ses_', own[0].id])
      expect(await callHttp(daemon, ada, { run })).toBe(run === own[0].id ? EXHAUSTED : 'session/unknown');
    expect(await callLegacy(daemon, ada, { 'dev.palisade/run': id })).toBe('session/unknown');
    const [{ accounts }] = [(await daemon.ask(`/v1/sessions/${id}`, { headers: bearer(bob) })).json];
    expect(accounts[0].units[0]).toMatchObject({ unit: 'calls', spent: 1 });
    expect(ran()).toBe(3);
  });

  test('that only just begins again before its session is over is kept in it by what is refused', async () => {
    const { daemon, ada, ran } = await exhausted();
    for (const waitMs of [IDLE_MS - 1, IDLE_MS - 60_000]) {
      daemon.clock.add(waitMs);
      expect(await callHttp(daemon, ada)).toBe(EXHAUSTED);
    }
    expect(ran()).toBe(2);
  });

  test('goes on once an operator has ended its session, or after it was idle', async () => {
    const { daemon, ada } = await exhausted();
    const grace = await daemon.token({ principal: 'user:grace', scopes: ['read', 'admin'] });
    const headers = bearer(grace);
    const open = (await daemon.ask('/v1/sessions?state=open', { headers })).json.sessions;
    expect(open.map((each: { principal: string }) => each.principal)).toEqual(['agent:ada']);
    const ended = await daemon.ask(`/v1/sessions/${open[0].id}/end`, { method: 'POST', headers });
    expect(ended.json).toMatchObject({ state: 'ended', endedBy: 'user:grace' });
    expect([await callHttp(daemon, ada), await callModern(daemon, ada)]).toEqual(['ok', 'ok']);
    expect(await callHttp(daemon, ada)).toBe(EXHAUSTED);
    daemon.clock.add(IDLE_MS);
    expect([await callHttp(daemon, ada), await callHttp(daemon, ada)]).toEqual(['ok', 'ok']);
    expect(await callHttp(daemon, ada)).toBe(EXHAUSTED);
  });
});

describe('two honest callers', () => {
  test('are not mixed: each principal and each credential has a run of its own', async () => {
    const { daemon, ada, ran } = await exhausted();
    const others = [
      await daemon.token({ principal: 'agent:bob' }),
      await daemon.token({ principal: 'agent:ada' }),
      await daemon.token({ principal: 'agent:ada', device: 'build-7' }),
      await daemon.token({ principal: 'agent:ada', tenant: 'acme' }),
    ];
    for (const token of others) {
      expect([await callHttp(daemon, token), await callModern(daemon, token)]).toEqual(['ok', 'ok']);
      expect(await callLegacy(daemon, token)).toBe(EXHAUSTED);
    }
    expect(await callHttp(daemon, ada)).toBe(EXHAUSTED);
    expect(ran()).toBe(10);
    const sessions = recordsOf(daemon.gateway).flatMap((row) => bodyOf(row).session ?? []);
    expect(new Set(sessions).size).toBe(5);
  });
});

describe('a service whose token may begin sessions', () => {
  const BUDGET = `${TOML}[[budget]]\nname = "service-run"\nper = "run"\nmatch = "service:*"\ncalls = 1\n`;

  test('keeps its agents apart, and has no more runs by ending and beginning them', async () => {
    const tool = makeTool('test.any', async () => 'done');
    const daemon = await openTestDaemon({ toml: BUDGET, policies: POLICIES, tools: [tool] });
    const token = await daemon.token({ principal: 'service:platform', sessions: 2 });
    const post = { method: 'POST', headers: { ...bearer(token), ...JSON_BODY } };
    const begin = async () =>
      (await daemon.ask('/v1/sessions', { ...post, body: '{"label":"a talk"}' })).json;
    const [one, two] = [await begin(), await begin()];
    expect([one.isBegun, one.label, (await begin()).code]).toEqual([true, 'a talk', 'session/too-many']);
    for (const run of [one.id, two.id, 'own']) {
      expect(await callHttp(daemon, token, { run })).toBe('ok');
      expect(await callHttp(daemon, token, { run })).toBe(EXHAUSTED);
    }
    const end = (id: string) =>
      daemon.ask(`/v1/sessions/${id}/end`, { method: 'POST', headers: bearer(token) });
    expect((await end(one.id)).json).toMatchObject({ state: 'ended', endedBy: 'service:platform' });
    expect([await callHttp(daemon, token, { run: one.id }), (await begin()).code]).toEqual([
      'session/unknown',
      'session/too-many',
    ]);
    const other = await daemon.token({ principal: 'service:platform', sessions: 2 });
    expect(await callHttp(daemon, other, { run: two.id })).toBe('session/unknown');
    daemon.clock.add(IDLE_MS);
    expect((await begin()).state).toBe('open');
  });
});
