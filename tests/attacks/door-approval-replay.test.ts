import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { bearer, JSON_BODY } from '../../packages/gateway/test/doors/http/open-door.ts';
import { bodyOf, makeTool, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { writeColumn } from '../../packages/gateway/test/identity/rows.ts';
import { openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, callMcp, type McpMore, modern } from '../fixtures/door/mcp.ts';

/* An agent wants to run what a person has not approved, with what a person has approved or would never see. */

const POLICIES = `
@id("root-again") permit(principal == User::"root", action == Action::"administer", resource);
@id("asks") permit(principal, action == Action::"call", resource) when { context.approved };
@id("users-approve") permit(principal is User, action == Action::"approve", resource);
@id("even-agents-would") permit(principal is Agent, action == Action::"approve", resource);
`;
const FORMS = { elicitation: {} };
const YES = { action: 'accept', content: { decision: 'approve' } };
const AGENT = { principal: 'agent:ada' } as const;
/** The token of a person, with which questions are answered in her name. */
const PERSON = { principal: 'user:grace', scopes: ['call', 'approve'] } as const;
const OVER_HTTP = '[mcp]\nelicitation = "on"\n';

async function openHouse(toml = '') {
  const ran: Json[] = [];
  const run = async (input: Json) => {
    ran.push(input);
    return input;
  };
  const daemon = await openTestDaemon({
    policies: POLICIES,
    tools: [makeTool('a.first', run), makeTool('b.second', run)],
    toml,
  });
  return {
    ...{ daemon, ran },
    ada: await daemon.token({ principal: 'agent:ada', scopes: ['call', 'read'] }),
    bob: await daemon.token({ principal: 'agent:bob' }),
    grace: await daemon.token({ principal: 'user:grace', scopes: ['approve'] }),
  };
}

async function askFor(daemon: TestDaemon, token: string, input: Json): Promise<string> {
  const { status, json } = await daemon.call(token, 'a.first', { input });
  expect(status).toBe(403);
  return json.approval.id;
}

function decide(daemon: TestDaemon, token: string, id: string, verdict = 'approved') {
  const headers = { ...bearer(token), ...JSON_BODY };
  return daemon.ask(`/v1/approvals/${id}/decision`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ verdict }),
  });
}

describe('an approval that a person gave', () => {
  test('lets that one call run once, by whichever door, and nothing else', async () => {
    const { daemon, ran, ada, bob, grace } = await openHouse();
    const id = await askFor(daemon, ada, { path: 'a' });
    expect((await decide(daemon, grace, id)).status).toBe(200);
    const decision = recordsOf(daemon.gateway).find(({ kind }) => kind === 'approval-decided');
    expect(decision).toMatchObject({ principal: 'user:grace' });
    expect(bodyOf(decision)).toMatchObject({
      door: 'http',
      credential: expect.stringMatching(/^token:tok_/),
    });
    const others = [
      await daemon.call(ada, 'a.first', { input: { path: 'b' } }),
      await daemon.call(ada, 'b.second', { input: { path: 'a' } }),
      await daemon.call(ada, 'a.first', { input: { path: 'a', more: null } }),
      await daemon.call(ada, 'a.first', { input: { path: ['a'] } }),
      await daemon.call(bob, 'a.first', { input: { path: 'a' } }),
      await daemon.call(await daemon.token({ principal: 'agent:ada', tenant: 'acme' }), 'a.first', {
        input: { path: 'a' },
      }),
      await daemon.call(await daemon.token({ principal: 'user:ada' }), 'a.first', { input: { path: 'a' } }),
    ];
    for (const { status, json } of others) {
      expect([status, json.code]).toEqual([403, 'policy/approval-required']);
      expect(json.approval.id).not.toBe(id);
    }
    expect((await callMcp(daemon, bob, 'a.first', { path: 'a' })).message.result.isError).toBe(true);
    expect(ran).toEqual([]);
    expect((await callMcp(daemon, ada, 'a.first', { path: 'a' })).message.result.isError).toBeUndefined();
    expect(ran).toEqual([{ path: 'a' }]);
    for (let i = 0; i < 3; i++)
      expect((await daemon.call(ada, 'a.first', { input: { path: 'a' } })).status).toBe(403);
    expect((await callMcp(daemon, ada, 'a.first', { path: 'a' })).message.result.isError).toBe(true);
    expect((await decide(daemon, grace, id)).status).toBe(409);
    expect(ran).toHaveLength(1);
  });

  test('is spent once by many who come at the same moment, through both doors', async () => {
    const { daemon, ran, ada, grace } = await openHouse();
    for (const path of ['a', 'b', 'c']) {
      const id = await askFor(daemon, ada, { path });
      await Promise.all([decide(daemon, grace, id), decide(daemon, grace, id)]);
      const tries = Array.from({ length: 12 }, (_, i) =>
        i % 2 === 0
          ? daemon.call(ada, 'a.first', { input: { path } })
          : callMcp(daemon, ada, 'a.first', { path }),
      );
      await Promise.all(tries);
      expect(ran.filter((input) => JSON.stringify(input) === JSON.stringify({ path }))).toHaveLength(1);
    }
    const used = recordsOf(daemon.gateway).filter(({ kind }) => kind === 'intent');
    expect(used).toHaveLength(3);
  });

  test('is worth nothing once the policies are others, nor after its time', async () => {
    const { daemon, ran, ada, grace } = await openHouse();
    await decide(daemon, grace, await askFor(daemon, ada, { path: 'a' }));
    const open = await askFor(daemon, ada, { path: 'b' });
    writeFileSync(
      join(daemon.stateDir, 'policies/test.cedar'),
      POLICIES.replace('even-agents-would', 'changed'),
    );
    daemon.clock.add(10_000);
    expect((await daemon.call(ada, 'a.first', { input: { path: 'a' } })).json.code).toBe(
      'policy/approval-required',
    );
    expect((await decide(daemon, grace, open)).json.code).toBe('approval/not-pending');
    await decide(daemon, grace, await askFor(daemon, ada, { path: 'c' }));
    const late = await askFor(daemon, ada, { path: 'd' });
    daemon.clock.add(3_000_000);
    expect((await daemon.call(ada, 'a.first', { input: { path: 'c' } })).json.code).toBe(
      'policy/approval-expired',
    );
    expect((await decide(daemon, grace, late)).json.code).toBe('approval/not-pending');
    expect(ran).toEqual([]);
    await decide(daemon, grace, await askFor(daemon, ada, { path: 'e' }));
    expect((await daemon.call(ada, 'a.first', { input: { path: 'e' } })).status).toBe(200);
  });
});

describe('an agent that approves what it asked for', () => {
  test('is refused over HTTP with every token that there can be for it', async () => {
    const { daemon, ran, ada } = await openHouse();
    const id = await askFor(daemon, ada, { path: 'a' });
    expect((await decide(daemon, ada, id)).json.code).toBe('door/insufficient-scope');
    await expect(daemon.token({ principal: 'agent:ada', scopes: ['approve'] })).rejects.toThrow(
      'cannot have approve',
    );
    const service = await daemon.token({ principal: 'service:ci', scopes: ['approve'] });
    expect((await decide(daemon, service, id)).status).toBe(404);
    // On the socket of the owner a process may say that it is the agent; the agent decides nothing even so.
    const local = { headers: { ...JSON_BODY, 'palisade-as': 'agent:ada' }, socketPath: daemon.socketPath };
    const body = JSON.stringify({ verdict: 'approved' });
    const decision = await daemon.ask(`/v1/approvals/${id}/decision`, { method: 'POST', ...local, body });
    expect(decision.json.code).toBe('approval/not-allowed');
    expect((await daemon.call(ada, 'a.first', { input: { path: 'a' } })).status).toBe(403);
    expect(ran).toEqual([]);
    const elsewhere = await daemon.token({ principal: 'user:grace', scopes: ['approve'], tenant: 'acme' });
    expect((await decide(daemon, elsewhere, id)).status).toBe(404);
  });

  test('is not asked by a form, whatever its token was written to say; nor is a person where the operator does not let her', async () => {
    for (const [toml, holder] of [
      [OVER_HTTP, AGENT],
      [OVER_HTTP, { principal: 'service:ci', scopes: ['call', 'approve'] }],
      [OVER_HTTP, { principal: 'user:grace', scopes: ['call'] }],
      ['', PERSON],
      ['[mcp]\nelicitation = "off"\n', PERSON],
    ] as const) {
      const { daemon, ran } = await openHouse(toml);
      const token = await daemon.token(holder);
      // What an earlier version wrote for `connect --http`.
      const [, name = ''] = /^pls_([^_]+)_/.exec(token) ?? [];
      writeColumn(daemon.stateDir, `tok_${name}`, 'approver', 'user:grace');
      const more: McpMore = { capabilities: FORMS };
      const first = await callMcp(daemon, token, 'a.first', {}, more);
      expect(first.message.result).toMatchObject({
        isError: true,
        structuredContent: { status: 'approval_required' },
      });
      expect(first.message.result.requestState).toBeUndefined();
      const params = { name: 'a.first', arguments: {}, inputResponses: { approval: YES }, requestState: 'x' };
      expect((await askMcp(daemon, modern(token, 'tools/call', params, more))).message.error.code).toBe(
        -32_602,
      );
      const bare = { name: 'a.first', arguments: {}, inputResponses: { approval: YES } };
      expect((await askMcp(daemon, modern(token, 'tools/call', bare, more))).message.result.isError).toBe(
        true,
      );
      expect(ran).toEqual([]);
    }
  });
});

describe('the state of a question, which the client carries', () => {
  async function asked() {
    const here = await openHouse(OVER_HTTP);
    const { daemon } = here;
    const token = await daemon.token(PERSON);
    const more: McpMore = { capabilities: FORMS };
    const { message } = await callMcp(daemon, token, 'a.first', { path: 'a' }, more);
    expect(message.result.resultType).toBe('input_required');
    const bring = (requestState: Json, params: Record<string, Json> = {}, as = token) =>
      askMcp(
        daemon,
        modern(
          as,
          'tools/call',
          {
            name: 'a.first',
            arguments: { path: 'a' },
            ...params,
            requestState,
            inputResponses: { approval: YES },
          },
          more,
        ),
      );
    return { ...here, token, state: message.result.requestState as string, bring };
  }

  test('is worth nothing changed, for another call, by another caller, and a second time', async () => {
    const { daemon, ran, state, bring, bob } = await asked();
    const flipped = Buffer.from(state, 'base64url');
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
    const agent = await daemon.token(AGENT);
    const otherPerson = await daemon.token({ ...PERSON, principal: 'user:mary' });
    const elsewhere = await daemon.token({ ...PERSON, tenant: 'acme' });
    const wrong = [
      await bring(flipped.toString('base64url')),
      await bring(`${state}A`),
      await bring(`${state}=`),
      await bring(state.slice(0, -4)),
      await bring(''),
      await bring(state, { arguments: { path: 'b' } }),
      await bring(state, { name: 'b.second' }),
      await bring(state, {}, bob),
      await bring(state, {}, agent),
      await bring(state, {}, otherPerson),
      await bring(state, {}, elsewhere),
    ];
    for (const { message } of wrong)
      expect(message.error?.code ?? message.result.isError).toSatisfy((it) => it === true || it === -32_602);
    expect(ran).toEqual([]);
    const both = await Promise.all([bring(state), bring(state), bring(state)]);
    expect(
      both.filter(({ message }) => message.result?.isError === undefined && message.error === undefined),
    ).toHaveLength(1);
    expect((await bring(state)).message.error.code).toBe(-32_602);
    expect(ran).toEqual([{ path: 'a' }]);
  });

  test('is worth nothing after its time', async () => {
    const { daemon, ran, state, bring } = await asked();
    daemon.clock.add(11 * 60_000);
    expect((await bring(state)).message.error.code).toBe(-32_602);
    expect(ran).toEqual([]);
  });
});
