import { describe, expect, test } from 'vitest';
import { ALL_SCOPES } from '../../packages/gateway/src/core/caller.ts';
import { bearer, type How, JSON_BODY } from '../../packages/gateway/test/doors/http/open-door.ts';
import { makeTool, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon, type TestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, modern } from '../fixtures/door/mcp.ts';

/* The operator of one tenant, with every scope and policies that permit everything, goes after what is of another. */

const POLICIES = `
@id("canary-everything") permit(principal, action, resource) when { principal != User::"nobody" };
@id("asks") forbid(principal, action == Action::"call", resource == Tool::"test.asks") unless { context.approved };
`;
type Operation = { readonly responses: Readonly<Record<string, { readonly content?: object }>> };

/** In everything that the other tenant has. */
const CANARY = 'canary';

async function openHouse() {
  const tools = [
    makeTool('test.echo', async (input) => input),
    makeTool('test.asks', async (input) => input),
  ];
  const daemon = await openTestDaemon({ policies: POLICIES, tools });
  const owner = await daemon.token({ principal: 'user:canary', scopes: ALL_SCOPES });
  const thief = await daemon.token({ principal: 'user:canary', scopes: ALL_SCOPES, tenant: 'acme' });
  return { daemon, owner, thief, things: await fill(daemon, owner) };
}

const post = (token: string, body: unknown, method = 'POST'): How => ({
  ...{ method, headers: { ...bearer(token), ...JSON_BODY }, body: JSON.stringify(body) },
});

/** Something of everything that has an owner; gives the ids by the beginning of their address. */
async function fill(daemon: TestDaemon, owner: string): Promise<Readonly<Record<string, string>>> {
  const headers = { 'idempotency-key': 'canary-key' };
  const request = { ...post(owner, { tool: 'test.echo', input: { text: CANARY }, run: 'canary-run' }) };
  const call = await daemon.ask('/v1/calls', { ...request, headers: { ...request.headers, ...headers } });
  const asking = await daemon.ask('/v1/calls', post(owner, { tool: 'test.asks', input: { text: CANARY } }));
  const token = await daemon.ask('/v1/tokens', post(owner, { principal: 'agent:canary', label: CANARY }));
  const secret = { method: 'PUT', headers: { ...bearer(owner), 'content-type': 'application/octet-stream' } };
  expect((await daemon.ask('/v1/secrets/canary', { ...secret, body: 'canary-value-of-it' })).status).toBe(
    200,
  );
  const seq = recordsOf(daemon.gateway).find(({ call: id }) => id === call.json.callId)?.seq;
  return {
    calls: call.json.callId,
    approvals: asking.json.approval.id,
    tokens: token.json.id,
    runs: 'canary-run',
    secrets: 'canary',
    journal: String(seq),
  };
}

/** Whether the answer is a stream of events, which ends only with its reader. */
function hasNoEnd({ responses }: Operation): boolean {
  return Object.keys(responses['200']?.content ?? {}).join() === 'text/event-stream';
}

/** All that the owner has, as the owner sees it. */
async function seenBy(daemon: TestDaemon, token: string): Promise<string> {
  const paths = ['/v1/tokens', '/v1/secrets', '/v1/approvals', '/v1/keys', '/v1/policies'];
  const answers = await Promise.all(paths.map((path) => daemon.ask(path, { headers: bearer(token) })));
  return answers.map(({ text }) => text).join('\n');
}

describe('the operator of another tenant', () => {
  test('reads nothing and changes nothing of this one, by any address that there is', async () => {
    const { daemon, owner, thief, things } = await openHouse();
    const before = await seenBy(daemon, owner);
    const { paths } = (await daemon.ask('/openapi.json')).json;
    const reported: string[] = [];
    let tried = 0;
    for (const [path, operations] of Object.entries<Record<string, Operation>>(paths)) {
      const group = path.split('/')[2] ?? '';
      const address = path.replace(/\{[^}]+\}/, things[group] ?? 'canary');
      for (const [method, operation] of Object.entries(operations)) {
        // Those have tests of their own, of the operations of journals and channels.
        if (hasNoEnd(operation)) continue;
        const bodies = method === 'get' || method === 'delete' ? [undefined] : BODIES;
        for (const body of bodies) {
          tried += 1;
          const how =
            body === undefined
              ? { method: method.toUpperCase(), headers: bearer(thief) }
              : post(thief, body, method.toUpperCase());
          const { status, text } = await daemon.ask(address, how);
          const shown = text
            .replaceAll('user:canary', '')
            .replaceAll(`"${address.split('/')[3]}"`, '')
            .replaceAll('"canary"', '');
          const isOwn = path.startsWith('/v1/calls') && method === 'post';
          if (status < 300 && shown.includes(CANARY) && !isOwn)
            reported.push(`${method} ${address} ${shown.slice(0, 200)}`);
        }
      }
    }
    expect(reported).toEqual([]);
    expect(tried).toBeGreaterThan(50);
    expect(await seenBy(daemon, owner)).toBe(before);
    // The owner has all of it by the same addresses.
    for (const [group, id] of Object.entries(things).filter(
      ([each]) => each !== 'secrets' && each !== 'tokens',
    ))
      expect([group, (await daemon.ask(`/v1/${group}/${id}`, { headers: bearer(owner) })).status]).toEqual([
        group,
        200,
      ]);
  });

  /** What rows take that change something. */
  const BODIES: readonly unknown[] = [
    {},
    { verdict: 'approved' },
    { tool: 'test.asks', input: { text: 'mine' } },
    { files: { 'test.cedar': 'permit(principal, action, resource);' }, ifDigest: 'x', force: true },
    { reason: 'theft' },
    { publisher: 'canary', key: 'x' },
  ];

  test('gets neither the result nor the key of a call by repeating it', async () => {
    const { daemon, thief, things } = await openHouse();
    const request = post(thief, { tool: 'test.echo', input: { text: 'canary' }, run: 'canary-run' });
    const again = await daemon.ask('/v1/calls', {
      ...request,
      headers: { ...request.headers, 'idempotency-key': 'canary-key' },
    });
    expect(again.json.replayed).toBeUndefined();
    expect(again.json.callId).not.toBe(things.calls);
    expect((await daemon.ask(`/v1/calls/${things.calls}/cancel`, post(thief, undefined))).status).toBe(404);
    for (const part of ['output', 'receipt']) {
      const uri = `palisade://calls/${things.calls}/${part}`;
      expect((await askMcp(daemon, modern(thief, 'resources/read', { uri }))).message.error).toBeDefined();
    }
    for (const prompt of [
      { name: 'explain-refusal', arguments: { call: things.calls ?? '' } },
      { name: 'request-approval', arguments: { approval: things.approvals ?? '' } },
    ])
      expect((await askMcp(daemon, modern(thief, 'prompts/get', prompt))).message.error).toBeDefined();
  });

  test('goes no further by cursors that are of this one, or made up', async () => {
    const { daemon, owner, thief, things } = await openHouse();
    const cursors: Record<string, string> = {
      calls: things.calls ?? '',
      approvals: things.approvals ?? '',
      tokens: things.tokens ?? '',
      journal: '1',
    };
    for (const [group, cursor] of Object.entries(cursors)) {
      for (const each of [
        cursor,
        `${cursor}'--`,
        '-1',
        '99999999999999999999',
        '%00',
        '..',
        `${cursor}%0a`,
        'null',
        'e30=',
      ]) {
        const answer = await daemon.ask(`/v1/${group}?limit=1000&cursor=${each}`, { headers: bearer(thief) });
        expect([200, 400]).toContain(answer.status);
        expect([group, each, answer.text.replaceAll('user:canary', '').includes(CANARY)]).toEqual([
          group,
          each,
          false,
        ]);
      }
    }
    expect((await daemon.ask('/v1/calls?limit=1000', { headers: bearer(owner) })).text).toContain(
      'canary-run',
    );
  });
});
