import { linesOf, verifyJournal, verifyProof } from '@palisade/sdk';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { EventStream, type ServerEvent } from '../../src/operations/operation.ts';
import {
  ADA,
  callTool,
  GRACE,
  openTestGateway,
  recordsOf,
  ringOf,
  type TestGateway,
} from '../fixture/gateway.ts';
import { ask, bytesOf, callerOf, type Request, reply } from './ask.ts';

const OPERATOR = callerOf(GRACE);
const ELSEWHERE = callerOf({ kind: 'user', name: 'tess' }, undefined, 'acme');
const sleep = (gateway: TestGateway, tenant = 'default') =>
  callTool(gateway, 'palisade.sleep', { input: { ms: 1 }, tenant });

const search = (gateway: TestGateway, as: Caller, query: Request['query'] = {}) =>
  ask(gateway, 'searchJournal', { as, query });

type Row = { readonly seq: number; readonly tenant: string | null; readonly kind: string };

/** The events until so many came. */
async function follow(gateway: TestGateway, count: number, request: Partial<Request> = {}) {
  const stop = new AbortController();
  const supplied = await reply(gateway, 'followJournal', {
    ...{ as: OPERATOR, signal: stop.signal, ...request },
  });
  if (!(supplied instanceof EventStream)) throw new Error('it is not a stream of events');
  const events: ServerEvent[] = [];
  const done = (async () => {
    for await (const event of supplied.events) if (events.push(event) === count) break;
    return events;
  })();
  return { done, stop: () => stop.abort() };
}

describe('GET /v1/journal', () => {
  it('gives pages that are all of history, in either order', async () => {
    const gateway = await openTestGateway();
    for (let i = 0; i < 5; i++) await sleep(gateway);
    const all = recordsOf(gateway).map(({ seq }) => seq);
    for (const order of ['newest', 'oldest']) {
      const found: number[] = [];
      let cursor: string | null = null;
      do {
        const query: Record<string, string> = { order, limit: '3', ...(cursor === null ? {} : { cursor }) };
        const { body } = await search(gateway, OPERATOR, query);
        found.push(...body.records.map(({ seq }: Row) => seq));
        cursor = body.cursor;
      } while (cursor !== null);
      expect(found).toEqual(order === 'oldest' ? all : all.toReversed());
    }
  });

  it('shows a tenant only its own records, and the default tenant those of the gateway as well', async () => {
    const gateway = await openTestGateway();
    await sleep(gateway);
    await sleep(gateway, 'acme');
    const tenants = async (as: Caller) =>
      new Set((await search(gateway, as, { limit: '100' })).body.records.map(({ tenant }: Row) => tenant));
    expect(await tenants(ELSEWHERE)).toEqual(new Set(['acme']));
    expect(await tenants(OPERATOR)).toEqual(new Set(['default', null]));
  });

  it('finds by kind, call and time', async () => {
    const gateway = await openTestGateway();
    await sleep(gateway);
    const [ended, ...others] = (await search(gateway, OPERATOR, { kind: 'ended' })).body.records;
    expect(others).toEqual([]);
    const own = (await search(gateway, OPERATOR, { call: ended.call, order: 'oldest' })).body.records;
    expect(own.map(({ seq }: Row) => seq)).toEqual([ended.seq - 1, ended.seq]);
    expect((await search(gateway, OPERATOR, { from: '2100-01-01T00:00:00Z' })).body.records).toEqual([]);
  });

  it.each([
    ['an agent', callerOf(ADA), 'policy/denied'],
    ['a credential without the scope', callerOf(GRACE, ['call']), 'door/insufficient-scope'],
  ])('refuses %s', async (_, as, code) => {
    const gateway = await openTestGateway();
    for (const name of ['searchJournal', 'exportJournal', 'getCheckpoint'])
      expect((await ask(gateway, name, { as })).body.code).toBe(code);
  });
});

describe('GET /v1/journal/{seq}', () => {
  it('shows a record with its hash, and none of another tenant', async () => {
    const gateway = await openTestGateway();
    await sleep(gateway, 'acme');
    const theirs = recordsOf(gateway).find(({ tenant }) => tenant === 'acme');
    const params = { seq: String(theirs?.seq) };
    const get = (as: Caller, name = 'getRecord') => ask(gateway, name, { as, params });
    expect((await get(ELSEWHERE)).body.records[0]).toMatchObject({
      seq: theirs?.seq,
      hash: Buffer.from(theirs?.hash ?? []).toString('hex'),
    });
    for (const name of ['getRecord', 'proveRecord'])
      expect((await get(OPERATOR, name)).body.code).toBe('journal/unknown-record');
  });

  it('proves a record, as a stranger verifies it', async () => {
    const gateway = await openTestGateway();
    await sleep(gateway);
    const supplied = await reply(gateway, 'proveRecord', { as: OPERATOR, params: { seq: '2' } });
    const bytes = await bytesOf(supplied);
    expect((await verifyProof(bytes, await ringOf(gateway))).ok).toBe(true);
    const forged = Buffer.from(bytes).toString().replace('\\"seq\\":2', '\\"seq\\":3');
    expect((await verifyProof(forged, await ringOf(gateway))).ok).toBe(false);
  });

  it('shows all records of a call and proves its ending, and none of another tenant', async () => {
    const gateway = await openTestGateway();
    const { callId } = await sleep(gateway);
    const get = (as: Caller) => ask(gateway, 'getRecord', { as, params: { seq: callId } });
    const { records } = (await get(OPERATOR)).body;
    expect(records.map(({ kind, call }: { kind: string; call: string }) => [kind, call])).toEqual([
      ['intent', callId],
      ['ended', callId],
    ]);
    expect((await get(ELSEWHERE)).body.code).toBe('journal/unknown-record');
    const proof = await bytesOf(
      await reply(gateway, 'proveRecord', { as: OPERATOR, params: { seq: callId } }),
    );
    const { ok, record } = await verifyProof(proof, await ringOf(gateway));
    expect([ok, record?.kind]).toEqual([true, 'ended']);
  });

  it('finds no record that is not there', async () => {
    const gateway = await openTestGateway();
    for (const seq of ['999', '9999999999999999']) {
      const { body } = await ask(gateway, 'getRecord', { as: OPERATOR, params: { seq } });
      expect(body.code).toBe('journal/unknown-record');
    }
  });
});

describe('GET /v1/journal/export', () => {
  it('gives a journal that a stranger verifies, with a checkpoint that was kept', async () => {
    const gateway = await openTestGateway();
    await sleep(gateway);
    const knownCheckpoint = await bytesOf(await reply(gateway, 'getCheckpoint', { as: OPERATOR }));
    await sleep(gateway);
    const supplied = await reply(gateway, 'exportJournal', { as: OPERATOR });
    const lines = linesOf([await bytesOf(supplied)] as unknown as AsyncIterable<Uint8Array>);
    const report = await verifyJournal(lines, await ringOf(gateway), { knownCheckpoint });
    expect(report).toMatchObject({ ok: true, records: recordsOf(gateway).length });
  });

  it('refuses before the first byte where there is nothing to export', async () => {
    const gateway = await openTestGateway();
    const { body } = await ask(gateway, 'exportJournal', {
      as: OPERATOR,
      query: { from: '999' },
    });
    expect(body.code).toBe('journal/unknown-record');
  });

  it('is for the operators of the gateway: the chain has the records of every tenant', async () => {
    const gateway = await openTestGateway();
    const { body } = await ask(gateway, 'exportJournal', { as: ELSEWHERE });
    expect(body.code).toBe('policy/denied');
  });
});

describe('GET /v1/journal/live', () => {
  it('tells what is new, and nothing of before', async () => {
    const gateway = await openTestGateway();
    await sleep(gateway);
    const before = recordsOf(gateway).length;
    const { done } = await follow(gateway, 2);
    await sleep(gateway);
    const seqs = (await done).map(({ id }) => Number(id));
    expect(seqs).toEqual([before + 1, before + 2]);
  });

  it('goes on after the last event that came, without a gap or a repetition', async () => {
    const gateway = await openTestGateway();
    await sleep(gateway);
    const { done } = await follow(gateway, 4, { headers: { 'last-event-id': '1' } });
    await sleep(gateway);
    expect((await done).map(({ id }) => Number(id))).toEqual([2, 3, 4, 5]);
  });

  it('tells a tenant nothing of others', async () => {
    const gateway = await openTestGateway();
    const { done } = await follow(gateway, 1, { as: ELSEWHERE, headers: { 'last-event-id': '0' } });
    await sleep(gateway);
    await sleep(gateway, 'acme');
    expect((await done)[0]?.data).toMatchObject({ tenant: 'acme' });
  });

  it('ends when the client goes', async () => {
    const gateway = await openTestGateway();
    const { done, stop } = await follow(gateway, 1_000);
    stop();
    expect(await done).toEqual([]);
  });

  it.each(['-1', 'x', '1e3', '99999999999999999999'])('refuses to go on after %j', async (last) => {
    const gateway = await openTestGateway();
    const headers = { 'last-event-id': last };
    const { body } = await ask(gateway, 'followJournal', { as: OPERATOR, headers });
    expect(body.code).toBe('door/wrong-usage');
  });
});
