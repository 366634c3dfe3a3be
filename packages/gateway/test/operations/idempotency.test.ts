import { describe, expect, test } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { recordsOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, listen, type Request } from './ask.ts';
import { ada, bob, openFixture, otherAda } from './fixture.ts';

function requestOf(key: string, input: unknown, as: Caller = ada): Request {
  return { as, body: { tool: 'test.hold', input }, headers: { 'idempotency-key': key } };
}

const repeat = (gateway: TestGateway, key: string, input: unknown, more: Partial<Request> = {}) =>
  ask(gateway, 'createCall', { ...requestOf(key, input), ...more });

/** A gateway where a call with the key `k` has ended. */
async function afterCall() {
  const fixture = await openFixture();
  const made = repeat(fixture.gateway, 'k', { n: 1 });
  await fixture.held();
  fixture.letGo();
  return { ...fixture, first: (await made).body };
}

describe('a call with an idempotency key', () => {
  test('runs once; a repetition gets its ending, marked as such', async () => {
    const { gateway, runs, first } = await afterCall();
    for (let i = 0; i < 3; i++) {
      const { status, body } = await repeat(gateway, 'k', { n: 1 });
      expect(status).toBe(200);
      expect(body).toEqual({ ...first, replayed: true });
    }
    expect(runs()).toBe(1);
    expect(first).not.toHaveProperty('replayed');
    expect(recordsOf(gateway).filter(({ kind }) => kind === 'intent')).toHaveLength(1);
  });

  test('is the same call for events', async () => {
    const { gateway, first } = await afterCall();
    const [started, ended, ...rest] = await listen(gateway, requestOf('k', { n: 1 }));
    expect(started).toEqual({ event: 'started', data: { callId: first.callId } });
    expect(ended).toEqual({ event: 'ended', data: { ...first, replayed: true } });
    expect(rest).toEqual([]);
  });

  test.each([
    ['another input', { body: { tool: 'test.hold', input: { n: 2 } } }],
    ['another tool', { body: { tool: 'test.echo', input: { n: 1 } } }],
    ['another run', { body: { tool: 'test.hold', input: { n: 1 }, run: 'r1' } }],
    ['another time limit', { body: { tool: 'test.hold', input: { n: 1 }, timeoutMs: 9 } }],
  ])('is refused with %s', async (_, more) => {
    const { gateway, runs } = await afterCall();
    const { status, body } = await repeat(gateway, 'k', {}, more);
    expect([status, body.code]).toEqual([422, 'door/idempotency-conflict']);
    expect(runs()).toBe(1);
  });

  test.each([
    ['another principal', bob],
    ['the same name in another tenant', otherAda],
  ])('is a call of its own for %s', async (_, as) => {
    const { gateway, runs, held, letGo, first } = await afterCall();
    const made = repeat(gateway, 'k', { n: 1 }, { as });
    await held();
    letGo();
    const { body } = await made;
    expect(body.callId).not.toBe(first.callId);
    expect(runs()).toBe(2);
  });

  test('is refused while the first runs, and told when that has ended', async () => {
    const { gateway, runs, held, letGo } = await openFixture();
    const first = repeat(gateway, 'k', { n: 1 });
    await held();
    const { status, body } = await repeat(gateway, 'k', { n: 1 });
    expect([status, body.code]).toEqual([409, 'door/call-open']);
    letGo();
    const { callId } = (await first).body;
    expect((await repeat(gateway, 'k', { n: 1 })).body).toMatchObject({ callId, replayed: true });
    expect(runs()).toBe(1);
  });

  test('goes on when its client goes away, and its ending can be had', async () => {
    const { gateway, runs, held, letGo } = await openFixture();
    const client = new AbortController();
    const made = repeat(gateway, 'k', { n: 1 }, { signal: client.signal });
    await held();
    client.abort();
    expect(gateway.running.size).toBe(1);
    letGo();
    expect((await made).body.code).toBe('ok');
    expect((await repeat(gateway, 'k', { n: 1 })).body).toMatchObject({ output: { n: 1 }, replayed: true });
    expect(runs()).toBe(1);
  });

  test('of a hundred at once runs once', async () => {
    const { gateway, runs, held, letGo } = await openFixture();
    const all = Array.from({ length: 100 }, () => repeat(gateway, 'k', { n: 1 }));
    await held();
    letGo();
    const codes = (await Promise.all(all)).map(({ body }) => body.code);
    expect(runs()).toBe(1);
    expect(codes.filter((code) => code === 'ok').length).toBeGreaterThan(0);
    expect(codes.filter((code) => code !== 'ok' && code !== 'door/call-open')).toEqual([]);
  });

  test('that was refused can be repeated once the reason is gone', async () => {
    const { gateway } = await openFixture();
    const request = { as: ada, body: { tool: 'test.absent' }, headers: { 'idempotency-key': 'k' } };
    expect((await ask(gateway, 'createCall', request)).status).toBe(404);
    const good = { ...request, body: { tool: 'test.echo' } };
    expect((await ask(gateway, 'createCall', good)).status).toBe(200);
  });

  test.each([
    ['is empty', ''],
    ['is too long', 'k'.repeat(256)],
    ['has a space', 'a b'],
    ['is not ASCII', 'é'],
  ])('is refused where the key %s', async (_, key) => {
    const { gateway, runs } = await openFixture();
    const { status, body } = await repeat(gateway, key, { n: 1 });
    expect([status, body.code]).toEqual([400, 'door/invalid-call']);
    expect(runs()).toBe(0);
  });
});
