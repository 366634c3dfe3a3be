import { describe, expect, test } from 'vitest';
import type { How } from '../../packages/gateway/test/doors/http/open-door.ts';
import { makeTool, PERMIT_ALL, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, modern, openSession } from '../fixtures/door/mcp.ts';

/* A proxy before the gateway judges MCP requests by their headers; a client has them say something else than the body. */

const MISMATCH = -32_020;

async function openHouse() {
  const ran: string[] = [];
  const tool = (id: string) =>
    makeTool(id, async () => {
      ran.push(id);
      return {};
    });
  const daemon = await openTestDaemon({
    policies: PERMIT_ALL,
    tools: [tool('test.safe'), tool('test.danger')],
  });
  return { daemon, ran, token: await daemon.token({ principal: 'agent:ada' }) };
}

/** Sends it; gives the code of the error, and the records of calls that came of it. */
async function attempt(daemon: TestDaemon, how: How) {
  const before = recordsOf(daemon.gateway).length;
  const { status, message } = await askMcp(daemon, how);
  return { status, code: message?.error?.code, records: recordsOf(daemon.gateway).length - before };
}

const DANGER = { name: 'test.danger', arguments: {} };
const HEADERS: readonly [string, Record<string, string>][] = [
  ['name another tool', { 'mcp-name': 'test.safe' }],
  ['name the tool in another case', { 'mcp-name': 'TEST.DANGER' }],
  ['name two tools', { 'mcp-name': 'test.danger, test.safe' }],
  [
    'name another tool in base64',
    { 'mcp-name': `=?base64?${Buffer.from('test.safe').toString('base64')}?=` },
  ],
  ['name another method', { 'mcp-method': 'tools/list' }],
  ['name the method of a stream', { 'mcp-method': 'subscriptions/listen' }],
];

describe('headers that are not those of the body', () => {
  test.each(HEADERS)('and %s let nothing run, in either era', async (_, headers) => {
    const { daemon, ran, token } = await openHouse();
    const refused = { status: 400, code: MISMATCH, records: 0 };
    expect(await attempt(daemon, modern(token, 'tools/call', DANGER, { headers }))).toEqual(refused);
    const { request } = await openSession(daemon, token);
    expect(await attempt(daemon, request('tools/call', DANGER, { headers }))).toEqual(refused);
    expect(ran).toEqual([]);
  });

  test('let nothing run where they say the revision of one era and the body is of the other', async () => {
    const { daemon, ran, token } = await openHouse();
    const legacyHeader = { 'mcp-protocol-version': '2025-11-25' };
    const swapped = await attempt(daemon, modern(token, 'tools/call', DANGER, { headers: legacyHeader }));
    expect(swapped).toMatchObject({ status: 400, records: 0 });
    const bare = modern(token, 'tools/call', DANGER);
    const { params, ...message } = JSON.parse(String(bare.body));
    const body = JSON.stringify({ ...message, params: { ...params, _meta: {} } });
    expect(await attempt(daemon, { ...bare, body })).toMatchObject({ status: 400, records: 0 });
    expect(ran).toEqual([]);
  });

  test('would have let it run had they been those of the body', async () => {
    const { daemon, ran, token } = await openHouse();
    const ok = { status: 200, code: undefined, records: 2 };
    expect(await attempt(daemon, modern(token, 'tools/call', DANGER))).toEqual(ok);
    const { request } = await openSession(daemon, token);
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': 'test.danger' };
    expect(await attempt(daemon, request('tools/call', DANGER, { headers }))).toEqual(ok);
    expect(await attempt(daemon, request('tools/call', DANGER))).toEqual(ok);
    expect(ran).toHaveLength(3);
  });
});
