import { writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withdrawToken } from '../../packages/gateway/src/invoke/tokens.ts';
import { bearer } from '../../packages/gateway/test/doors/http/open-door.ts';
import { eventually } from '../../packages/gateway/test/doors/mcp/raw-client.ts';
import { makeTool } from '../../packages/gateway/test/fixture/gateway.ts';
import { type DoorHouse, openDoorHouse } from '../fixtures/door/house.ts';
import { askMcp, modern, openSession } from '../fixtures/door/mcp.ts';

/* Whoever lost a credential, or the leave to do something, goes on with what they had open. */

const POLICIES = `
@id("calls") permit(principal, action == Action::"call", resource);
@id("reads") permit(principal is User, action == Action::"readJournal", resource);
`;
const ROOT = { kind: 'user', name: 'root' } as const;

async function openHouse() {
  const house = await openDoorHouse({
    policies: POLICIES,
    tools: [makeTool('test.echo', async (input) => input)],
  });
  return {
    house,
    ada: await house.token({ principal: 'agent:ada' }),
    grace: await house.token({ principal: 'user:grace', scopes: ['call', 'read'] }),
  };
}

const idOf = (token: string) => `tok_${token.split('_')[1]}`;
const revoke = ({ gateway }: DoorHouse, token: string) =>
  withdrawToken(gateway, ROOT, { id: idOf(token), tenant: null });

/** Reads the journal as it grows, for as long as it is let. */
function follow({ port }: DoorHouse, token: string) {
  const heard = { text: '', isOver: false };
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
        heard.text += chunk;
      });
      response.on('close', () => {
        heard.isOver = true;
      });
    });
  sent.end();
  onTestFinished(() => void sent.destroy());
  return heard;
}

describe('a token that was revoked', () => {
  test('is worth nothing from the next request on, also in a session that it opened', async () => {
    const { house, ada } = await openHouse();
    const { request } = await openSession(house, ada);
    const params = { name: 'test.echo', arguments: {} };
    expect((await askMcp(house, request('tools/call', params))).status).toBe(200);
    await revoke(house, ada);
    expect((await askMcp(house, request('tools/call', params))).status).toBe(401);
    expect((await askMcp(house, modern(ada, 'tools/call', params))).status).toBe(401);
    expect((await house.call(ada, 'test.echo')).status).toBe(401);
    const { message } = await askMcp(
      house,
      modern(await house.token({ principal: 'agent:ada' }), 'tools/call', params),
    );
    expect(message.result.isError).toBeUndefined();
  });

  test('is told no more of the journal by a stream that it has open', async () => {
    const { house, grace, ada } = await openHouse();
    const other = await house.token({ principal: 'user:mary', scopes: ['read'] });
    const [heard, control] = [follow(house, grace), follow(house, other)];
    await house.call(ada, 'test.echo');
    await eventually(() => /event: record/.test(heard.text) && /event: record/.test(control.text)).toBe(true);
    await revoke(house, grace);
    await eventually(() => heard.isOver).toBe(true);
    expect(heard.text).toContain('door/unauthenticated');
    const [before, controlBefore] = [heard.text, control.text];
    await house.call(ada, 'test.echo');
    await eventually(() => control.text.length > controlBefore.length).toBe(true);
    expect(heard.text).toBe(before);
  });

  test('that has ended by its time ends the stream as well', async () => {
    const { house, grace, ada } = await openHouse();
    const heard = follow(house, grace);
    await house.call(ada, 'test.echo');
    await eventually(() => /event: record/.test(heard.text)).toBe(true);
    house.clock.add(3_700_000);
    await eventually(() => heard.isOver).toBe(true);
  });
});

describe('a leave that the policies took back', () => {
  test('ends the stream of who may read no more, and what is listed and runs', async () => {
    const { house, grace, ada } = await openHouse();
    const heard = follow(house, grace);
    await house.call(ada, 'test.echo');
    await eventually(() => /event: record/.test(heard.text)).toBe(true);
    writeFileSync(
      join(house.stateDir, 'policies/test.cedar'),
      '@id("none") permit(principal == User::"x", action, resource);\n',
    );
    // A call never runs by policies that are no more, not even the first one.
    expect((await house.call(ada, 'test.echo')).status).toBe(404);
    house.gateway.policy.reload();
    expect((await house.ask('/v1/tools', { headers: bearer(ada) })).json.tools).toEqual([]);
    expect((await house.ask('/v1/journal', { headers: bearer(grace) })).status).toBe(403);
    await eventually(() => heard.isOver).toBe(true);
    expect(heard.text).toContain('policy/denied');
  });
});
