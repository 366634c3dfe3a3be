import { describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { bearer, JSON_BODY } from '../../packages/gateway/test/doors/http/open-door.ts';
import { bodyOf, makeTool, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, callMcp, type Message, modern, openSession } from '../fixtures/door/mcp.ts';

/* An agent on a kiosk says that it is on the machine where more is permitted. */

const POLICIES = `
@id("desk") permit(principal, action == Action::"call", resource)
when { context has device && context.device == "desk" && context has channel && context.channel == "editor" };
`;
const CLAIM = { device: 'desk', channel: 'editor' };
const TOOL = 'test.any';

async function openHouse() {
  const daemon = await openTestDaemon({ policies: POLICIES, tools: [makeTool(TOOL, async () => 'done')] });
  const ada = { principal: 'agent:ada' } as const;
  const desk = await daemon.token({ ...ada, ...CLAIM });
  const kiosk = await daemon.token({ ...ada, device: 'kiosk', channel: 'lobby' });
  const bare = await daemon.token(ada);
  return { daemon, desk, kiosk, bare };
}

describe('a caller that names a device or a channel of its own', () => {
  test('over HTTP is refused for it in a body, a query and our headers, and not heard in any other', async () => {
    const { daemon, desk, kiosk, bare } = await openHouse();
    // The control: the same call is permitted where the credential says so.
    expect((await daemon.call(desk, TOOL)).status).toBe(200);
    const before = recordsOf(daemon.gateway).length;
    for (const token of [kiosk, bare]) {
      const post = (body: Json, path = '/v1/calls') =>
        daemon.ask(path, {
          ...{ method: 'POST', headers: { ...bearer(token), ...JSON_BODY }, body: JSON.stringify(body) },
        });
      for (const [name, value] of Object.entries({
        ...CLAIM,
        session: 'ses_1',
        source: CLAIM,
        from: CLAIM,
      })) {
        expect((await post({ tool: TOOL, [name]: value })).json.code).toBe('door/wrong-usage');
        expect((await post({ tool: TOOL }, `/v1/calls?${name}=desk`)).json.code).toBe('door/wrong-usage');
      }
      for (const name of ['palisade-device', 'Palisade-Channel', 'palisade-session']) {
        const refused = await daemon.call(token, TOOL, { headers: { [name]: 'desk' } });
        expect([refused.status, refused.json.code]).toEqual([400, 'door/wrong-usage']);
        expect(refused.json.detail).toContain('it names comes from the credential');
      }
    }
    expect(recordsOf(daemon.gateway)).toHaveLength(before);
    const quiet = {
      'x-device': 'desk',
      'x-device-id': 'desk',
      'x-channel': 'editor',
      'user-agent': 'editor',
    };
    for (const token of [kiosk, bare])
      expect((await daemon.call(token, TOOL, { headers: quiet, input: CLAIM })).json.code).toBe(
        'policy/denied',
      );
  });

  test('over MCP is refused for it in _meta of both eras, and not heard in what it says of itself', async () => {
    const { daemon, desk, kiosk } = await openHouse();
    expect((await callMcp(daemon, desk, 'test__any')).message.result.isError).toBeUndefined();
    const session = await openSession(daemon, kiosk);
    const own = await openSession(daemon, desk);
    const call = (_meta: Json) => ({ name: 'test__any', arguments: {}, _meta });
    expect(
      (await askMcp(daemon, own.request('tools/call', call({})))).message.result.isError,
    ).toBeUndefined();
    for (const key of ['device', 'channel', 'session']) {
      const meta = { [`dev.palisade/${key}`]: 'desk' };
      for (const how of [
        modern(kiosk, 'tools/call', call(meta)),
        session.request('tools/call', call(meta)),
      ]) {
        const { error } = (await askMcp(daemon, how)).message;
        expect([error.code, error.message]).toEqual([
          -32_602,
          expect.stringContaining('from the credential'),
        ]);
      }
    }
    const quiet = { ...CLAIM, 'io.modelcontextprotocol/clientInfo': { name: 'editor', version: '1' } };
    for (const how of [modern(kiosk, 'tools/call', call(quiet)), session.request('tools/call', call(quiet))])
      expect((await askMcp(daemon, how)).message.result.structuredContent.code).toBe('policy/denied');
    const headers = { 'palisade-device': 'desk', 'palisade-channel': 'editor' };
    expect((await callMcp(daemon, kiosk, 'test__any', {}, { headers })).status).toBe(400);
    const taken = await askMcp(daemon, own.request('tools/call', call({}), { headers: bearer(kiosk) }));
    expect(taken.status).toBe(404);
  });

  test('is heard by the local socket alone, which only the owner opens', async () => {
    const { daemon } = await openHouse();
    const { socketPath } = daemon;
    const path = `/local/calls?tool=${TOOL}`;
    const asked = (more: Record<string, string>) => ({
      ...{ method: 'POST', body: '{}' },
      headers: { 'palisade-as': 'agent:ada', 'content-type': 'application/octet-stream', ...more },
    });
    const claim = { 'palisade-device': 'desk', 'palisade-channel': 'editor' };
    expect((await daemon.ask(path, { ...asked(claim), socketPath })).text).toContain('"output":"done"');
    expect((await daemon.ask(path, { ...asked({}), socketPath })).text).toContain('policy/denied');
    expect((await daemon.ask(path, asked(claim))).status).toBe(404);
    const odd = { ...claim, 'palisade-channel': 'mcp' };
    expect((await daemon.ask(path, { ...asked(odd), socketPath })).status).toBe(400);
  });

  test('is on record as where its credential is, in the intent and in the ending', async () => {
    const { daemon, desk } = await openHouse();
    await daemon.call(desk, TOOL);
    const of = (kind: string): Message => bodyOf(recordsOf(daemon.gateway).find((row) => row.kind === kind));
    const session = expect.stringMatching(/^ses_[0-9a-z]{25}$/);
    expect(of('intent').facts.from).toEqual({ ...CLAIM, session });
    expect(of('ended')).toMatchObject({ ...CLAIM, session });
    expect(of('intent').facts.call.run).toBe(of('ended').session);
  });
});
