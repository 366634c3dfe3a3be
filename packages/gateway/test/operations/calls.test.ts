import { verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { kindsOf, recordsOf, ringOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, callerOf, type Request } from './ask.ts';
import { ada, bob, grace, mary, openFixture, otherAda, otherGrace } from './fixture.ts';

const calls = (gateway: TestGateway) => ({
  make: (
    tool: string,
    more: Partial<Request> & { input?: unknown; run?: string; timeoutMs?: number } = {},
  ) => {
    const { input, run, timeoutMs, ...request } = more;
    const body = { tool, input, run, timeoutMs };
    return ask(gateway, 'createCall', { as: ada, body, ...request });
  },
  see: (as: Caller, id: string, part: 'getCall' | 'getCallReceipt' | 'getCallOutput' = 'getCall') =>
    ask(gateway, part, { as, params: { id } }),
  list: (as: Caller, query: Record<string, string> = {}) => ask(gateway, 'listCalls', { as, query }),
  cancel: (as: Caller, id: string) => ask(gateway, 'cancelCall', { as, params: { id } }),
  run: (as: Caller, id: string, query: Record<string, string> = {}) =>
    ask(gateway, 'getRun', { as, params: { id }, query }),
});

describe('POST /v1/calls', () => {
  test('gives the document of the call, with a receipt that verifies', async () => {
    const { gateway } = await openFixture();
    const { status, body } = await calls(gateway).make('test.echo', { input: { a: [1, 'π'] }, run: 'r1' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'ok', code: 'ok', output: { a: [1, 'π'] }, usage: { calls: 1 } });
    const report = await verifyReceipt(
      JSON.stringify(body.receipt),
      await ringOf(gateway),
      {},
      webPrimitives,
    );
    expect(report.ok).toBe(true);
    expect(kindsOf(gateway, body.callId)).toEqual(['intent', 'ended']);
  });

  test.each([
    ['left out is an empty object', undefined, {}],
    ['is what was given', { x: null }, { x: null }],
  ])('takes an input that %s', async (_, input, output) => {
    const { gateway } = await openFixture();
    expect((await calls(gateway).make('test.echo', { input })).body.output).toEqual(output);
  });

  test('refuses an input of null, which no tool here takes, and does not make it an object', async () => {
    const { gateway } = await openFixture();
    const { status, body } = await calls(gateway).make('test.echo', { input: null });
    expect([status, body.code]).toEqual([422, 'registry/invalid-input']);
  });

  test('tells a failed call as a problem with its output, usage and receipt', async () => {
    const { gateway } = await openFixture();
    const { status, body } = await calls(gateway).make('test.hold', { timeoutMs: 5 });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      code: 'tier/timed-out',
      output: null,
      truncated: false,
      usage: { calls: 1 },
    });
    expect(body.receipt.signatures).toHaveLength(1);
    expect(body.remedy).not.toBe('');
  });

  test('names the request that a call waits for, the same for a second try', async () => {
    const { gateway } = await openFixture();
    const { make } = calls(gateway);
    const { status, body } = await make('test.launch', { input: { site: 1 } });
    expect(status).toBe(403);
    const { id, approveWith, expiresAt } = body.approval;
    expect(body.code).toBe('policy/approval-required');
    expect(approveWith).toBe(`palisade approvals approve ${id} --state ${gateway.stateDir}`);
    expect(Date.parse(expiresAt)).toBeGreaterThan(gateway.clock.nowMs());
    expect((await make('test.launch', { input: { site: 1 } })).body.approval.id).toBe(id);
    expect((await make('test.launch', { input: { site: 2 } })).body.approval.id).not.toBe(id);
  });

  test('takes who calls from the credential alone', async () => {
    const { gateway } = await openFixture();
    const body = { tool: 'test.echo', input: {}, principal: 'user:grace', tenant: 'acme' };
    const refused = await ask(gateway, 'createCall', { as: ada, body });
    expect(refused).toMatchObject({ status: 400, body: { code: 'door/wrong-usage' } });
    const { callId } = (await calls(gateway).make('test.echo', { input: { principal: 'user:grace' } })).body;
    const [intent] = recordsOf(gateway).filter(({ call }) => call === callId);
    expect(intent).toMatchObject({ principal: 'agent:ada', tenant: 'default' });
  });

  test('keeps a trace that is one, and no other', async () => {
    const { gateway } = await openFixture();
    const good = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const bad = [
      '00-0',
      `ff${good.slice(2)}`,
      `${good} x`,
      good.toUpperCase(),
      `00-${'0'.repeat(32)}${good.slice(35)}`,
    ];
    for (const traceparent of [good, ...bad]) {
      const { body } = await calls(gateway).make('test.echo', { headers: { traceparent } });
      const lines = recordsOf(gateway).filter(({ call }) => call === body.callId);
      expect(lines.map(({ line }) => line.includes('"trace":'))).toEqual(Array(2).fill(traceparent === good));
    }
  });

  test('ends with its client, and the call is recorded and settled', async () => {
    const { gateway, held } = await openFixture();
    const client = new AbortController();
    const made = calls(gateway).make('test.hold', { signal: client.signal });
    await held();
    client.abort();
    const { status, body } = await made;
    expect([status, body.code]).toEqual([499, 'tier/cancelled']);
    expect(kindsOf(gateway, body.callId)).toEqual(['intent', 'ended']);
    expect(gateway.running.list()).toEqual([]);
  });
});

describe('a tool that its caller could never call', () => {
  test('is answered like one that is not there, in every part, and the journal has what was decided', async () => {
    const { gateway } = await openFixture();
    const { make, see, list } = calls(gateway);
    const seen = [];
    for (const [tool, input] of [
      ['test.hidden', { key: 1 }],
      ['test.hidden', {}],
      ['test.absent', {}],
    ] as const) {
      const made = await make(tool, { input });
      const { callId } = made.body;
      const { calls: listed } = (await list(ada)).body;
      const row = listed.find((each: { callId: string }) => each.callId === callId);
      const rest = [made, await see(ada, callId), await see(ada, callId, 'getCallReceipt'), row];
      seen.push(JSON.stringify(rest).replaceAll(tool, 'TOOL').replaceAll(callId, 'CALL'));
    }
    expect(seen[0]).toContain('registry/unknown-tool');
    expect(seen[1]).toBe(seen[0]);
    expect(seen[2]).toBe(seen[0]);
    const decided = recordsOf(gateway).filter(({ kind }) => kind === 'refused');
    expect(decided.map(({ line }) => JSON.parse(line).body.code)).toEqual([
      'policy/denied',
      'registry/invalid-input',
      'registry/unknown-tool',
    ]);
  });

  test('is there for those who may call it, and for who reads the journal', async () => {
    const { gateway } = await openFixture();
    const { make, see } = calls(gateway);
    expect((await make('test.hidden', { as: mary, input: { key: 1 } })).status).toBe(200);
    const { callId } = (await make('test.hidden', { input: { key: 1 } })).body;
    expect((await see(grace, callId)).body).toMatchObject({ code: 'policy/denied' });
    expect((await see(grace, callId, 'getCallReceipt')).status).toBe(200);
  });
});

describe('GET /v1/calls/{id}', () => {
  test('shows a running call, then its ending as it was told', async () => {
    const { gateway, held, letGo } = await openFixture();
    const { make, see } = calls(gateway);
    const made = make('test.hold', { input: { a: 1 }, run: 'r1' });
    await held();
    const [{ callId } = { callId: '' }] = gateway.running.list();
    expect((await see(ada, callId)).body).toMatchObject({ state: 'running', tool: 'test.hold', run: 'r1' });
    expect((await see(ada, callId, 'getCallReceipt')).status).toBe(404);
    letGo();
    const { body } = await made;
    const ended = (await see(ada, callId)).body;
    const { status, code, message, remedy, output, usage, receipt } = ended;
    expect({ callId, status, code, message, remedy, output, usage, receipt }).toEqual(body);
    expect(ended).toMatchObject({ state: 'ended', principal: 'agent:ada', door: 'http', isOutputKept: true });
    expect((await see(ada, callId, 'getCallReceipt')).body).toEqual(body.receipt);
    expect((await see(ada, callId, 'getCallOutput')).body).toEqual({ a: 1 });
  });

  test('says so where there was more output than is kept', async () => {
    const { gateway } = await openFixture({ toml: '[runs]\nkeep_output_bytes = 1024\n' });
    const { make, see } = calls(gateway);
    const { callId } = (await make('test.echo', { input: { text: 'x'.repeat(2000) } })).body;
    expect((await see(ada, callId)).body).toMatchObject({ output: null, isOutputKept: false });
    expect((await see(ada, callId, 'getCallOutput')).body.detail).toContain('larger than what is kept');
  });

  test('is there for its own caller and for who may read the journal, and for nobody else', async () => {
    const { gateway } = await openFixture();
    const { make, see, list, run } = calls(gateway);
    const { callId } = (await make('test.echo', { run: 'r1' })).body;
    const callers: readonly (readonly [string, Caller, number])[] = [
      ['its own caller', ada, 200],
      ['who may read the journal', grace, 200],
      ['another agent with the scope read', bob, 404],
      ['a user whom no policy lets read', mary, 404],
      ['who may read, with a credential that may not', callerOf(grace.principal, ['call']), 404],
      ['the same name in another tenant', otherAda, 404],
      ['the operator of another tenant', otherGrace, 404],
      ['a credential that is for approvals', callerOf(ada.principal, ['approve']), 403],
    ];
    for (const [who, as, status] of callers) {
      const parts = ['getCall', 'getCallReceipt', 'getCallOutput'] as const;
      const statuses = await Promise.all(parts.map(async (part) => (await see(as, callId, part)).status));
      expect([who, ...statuses, (await run(as, 'r1')).status]).toEqual([who, status, status, status, status]);
      const listed = (await list(as)).body.calls ?? [];
      expect(listed).toHaveLength(status === 200 ? 1 : 0);
    }
  });

  test('finds nothing for an id that is none, in the words of what may not be seen', async () => {
    const { gateway } = await openFixture();
    const { make, see } = calls(gateway);
    const { callId } = (await make('test.echo')).body;
    const hidden = await see(bob, callId);
    expect(hidden).toMatchObject({ status: 404, body: { code: 'run/unknown' } });
    for (const id of ['call_0000000000000000000000000', 'x', '../journal', "' or 1=1 --", '%']) {
      const absent = await see(bob, id);
      expect(JSON.stringify(absent)).toBe(JSON.stringify(hidden).replace(callId, id));
    }
  });
});

describe('lists of calls', () => {
  test('are whole by their cursors, newest first, running ones among them', async () => {
    const { gateway, held, letGo } = await openFixture();
    const { make, list, run } = calls(gateway);
    const ids: string[] = [];
    for (let i = 0; i < 7; i++)
      ids.push((await make('test.echo', { run: i % 2 === 0 ? 'even' : 'odd' })).body.callId);
    const holding = make('test.hold');
    await held();
    const [{ callId } = { callId: '' }] = gateway.running.list();
    const newest = [...ids, callId].sort().reverse();
    expect(await walk((query) => list(ada, query))).toEqual(newest);
    expect(await walk((query) => list(ada, { ...query, state: 'running' }))).toEqual([callId]);
    expect(await walk((query) => list(ada, { ...query, state: 'ended' }))).toEqual(ids.toSorted().reverse());
    const odd = ids.filter((_, i) => i % 2 === 1).sort();
    expect(await walk((query) => list(ada, { ...query, run: 'odd' }))).toEqual(odd.toReversed());
    expect(await walk((query) => run(ada, 'odd', query))).toEqual(odd.toReversed());
    letGo();
    await holding;
  });

  test('hold their query to its bounds', async () => {
    const { gateway } = await openFixture();
    const whole = ['limit=1', 'limit=1000', `cursor=call_${'0'.repeat(25)}`, 'state=ended', 'run=r1', ''];
    const broken = [
      ...[
        'limit=0',
        'limit=1001',
        'limit=-1',
        'limit=1.5',
        'limit=',
        'limit=NaN',
        ...['limit=1e3', 'limit=0x10', 'limit=1.0', 'limit=%205', 'limit=%2B5', 'limit=05', 'limit=5%0A'],
        ...['limit=1_0', 'limit=٥', 'limit=true', 'limit=null'],
        'limit=99999999999999999999',
      ],
      ...['cursor=', 'cursor=call_', 'cursor=%00', 'state=gone', 'run=a b'],
    ];
    const statusOf = async (text: string) => {
      const query = Object.fromEntries(new URLSearchParams(text));
      return (await calls(gateway).list(ada, query)).status;
    };
    for (const query of whole) expect([query, await statusOf(query)]).toEqual([query, 200]);
    for (const query of broken) expect([query, await statusOf(query)]).toEqual([query, 400]);
    const { body } = await calls(gateway).list(ada, { limit: '1e3' });
    expect(body.detail).toContain('"limit": expected a whole number from 1 to 1000, in decimal digits alone');
  });

  test('of a run that is not there are not there', async () => {
    const { gateway } = await openFixture();
    expect(await calls(gateway).run(ada, 'nothing')).toMatchObject({
      status: 404,
      body: { code: 'run/unknown' },
    });
  });
});

/** All ids of a list, page by page, of a size that does not divide them. */
async function walk(
  page: (query: Record<string, string>) => ReturnType<typeof ask>,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: Awaited<ReturnType<typeof ask>> = await page({
      limit: '3',
      ...(cursor === '' ? {} : { cursor }),
    });
    ids.push(...body.calls.map((each: { callId: string }) => each.callId));
    cursor = body.cursor;
  }
  return ids;
}
