import { writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withdrawToken } from '../../packages/gateway/src/invoke/tokens.ts';
import { bearer } from '../../packages/gateway/test/doors/http/open-door.ts';
import { eventually } from '../../packages/gateway/test/doors/mcp/raw-client.ts';
import { makeTool } from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, modern, openSession } from '../fixtures/door/mcp.ts';

/* Whoever lost a credential, or the leave to do something, goes on with what they had open. */

const POLICIES = `
@id("calls") permit(principal, action == Action::"call", resource);
@id("reads") permit(principal is User, action == Action::"readJournal", resource);
`;
const ROOT = { kind: 'user', name: 'root' } as const;

async function openHouse() {
  const daemon = await openTestDaemon({
    policies: POLICIES,
    tools: [makeTool('test.echo', async (input) => input)],
  });
  return {
    daemon,
    ada: await daemon.token({ principal: 'agent:ada' }),
    grace: await daemon.token({ principal: 'user:grace', scopes: ['call', 'read'] }),
  };
}

const idOf = (token: string) => `tok_${token.split('_')[1]}`;
const revoke = ({ gateway }: TestDaemon, token: string) =>
  withdrawToken(gateway, ROOT, { id: idOf(token), tenant: null });

/** Reads the journal as it grows, for as long as it is let. */
function follow({ port }: TestDaemon, token: string) {
  const received = { text: '', isOver: false };
  const sent = httpRequest({
    host: '127.0.0.1',
    port,
    path: '/v1/journal/live',
    agent: false,
    headers: bearer(token),
  });
  sent
    .on('error', () => undefined)
    .on('response', (response) => {
      response.setEncoding('utf8').on('error', () => undefined);
      response.on('data', (chunk: string) => {
        received.text += chunk;
      });
      response.on('close', () => {
        received.isOver = true;
      });
    });
  sent.end();
  onTestFinished(() => void sent.destroy());
  return received;
}

describe('a token that was revoked', () => {
  test('is worth nothing from the next request on, also in a session that it opened', async () => {
    const { daemon, ada } = await openHouse();
    const { request } = await openSession(daemon, ada);
    const params = { name: 'test.echo', arguments: {} };
    expect((await askMcp(daemon, request('tools/call', params))).status).toBe(200);
    await revoke(daemon, ada);
    expect((await askMcp(daemon, request('tools/call', params))).status).toBe(401);
    expect((await askMcp(daemon, modern(ada, 'tools/call', params))).status).toBe(401);
    expect((await daemon.call(ada, 'test.echo')).status).toBe(401);
    const { message } = await askMcp(
      daemon,
      modern(await daemon.token({ principal: 'agent:ada' }), 'tools/call', params),
    );
    expect(message.result.isError).toBeUndefined();
  });

  test('is told no more of the journal by a stream that it has open', async () => {
    const { daemon, grace, ada } = await openHouse();
    const other = await daemon.token({ principal: 'user:mary', scopes: ['read'] });
    const [received, control] = [follow(daemon, grace), follow(daemon, other)];
    await daemon.call(ada, 'test.echo');
    await eventually(() => /event: record/.test(received.text) && /event: record/.test(control.text)).toBe(
      true,
    );
    await revoke(daemon, grace);
    await eventually(() => received.isOver).toBe(true);
    expect(received.text).toContain('door/unauthenticated');
    const [before, controlBefore] = [received.text, control.text];
    await daemon.call(ada, 'test.echo');
    await eventually(() => control.text.length > controlBefore.length).toBe(true);
    expect(received.text).toBe(before);
  });

  test('that has ended by its time ends the stream as well', async () => {
    const { daemon, grace, ada } = await openHouse();
    const received = follow(daemon, grace);
    await daemon.call(ada, 'test.echo');
    await eventually(() => /event: record/.test(received.text)).toBe(true);
    daemon.clock.add(3_700_000);
    await eventually(() => received.isOver).toBe(true);
  });
});

describe('a leave that the policies took back', () => {
  test('ends the stream of who may read no more, and what is listed and runs', async () => {
    const { daemon, grace, ada } = await openHouse();
    const received = follow(daemon, grace);
    await daemon.call(ada, 'test.echo');
    await eventually(() => /event: record/.test(received.text)).toBe(true);
    writeFileSync(
      join(daemon.stateDir, 'policies/test.cedar'),
      '@id("none") permit(principal == User::"x", action, resource);\n',
    );
    // A call never runs by policies that are no more, not even the first one.
    expect((await daemon.call(ada, 'test.echo')).status).toBe(404);
    daemon.gateway.policy.reload();
    expect((await daemon.ask('/v1/tools', { headers: bearer(ada) })).json.tools).toEqual([]);
    expect((await daemon.ask('/v1/journal', { headers: bearer(grace) })).status).toBe(403);
    await eventually(() => received.isOver).toBe(true);
    expect(received.text).toContain('policy/denied');
  });
});
