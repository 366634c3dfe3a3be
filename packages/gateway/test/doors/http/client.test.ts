import {
  type ClientOptions,
  type KeyRing,
  linesOf,
  PalisadeClient,
  PalisadeError,
  parseKeyRing,
  verifyCall,
  verifyJournal,
  verifyProof,
  verifyReceipt,
} from '@palisade/sdk';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Caller } from '../../../src/core/caller.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { HttpApp } from '../../../src/doors/http/app.ts';
import { openHttpDoor } from '../../../src/doors/http/listen.ts';
import { makeAuthenticator } from '../../../src/identity/authenticate.ts';
import { createToken } from '../../../src/identity/tokens.ts';
import { OPERATIONS } from '../../../src/operations/all.ts';
import { ada, grace, type OperationsFixture, openFixture } from '../../operations/fixture.ts';

/* The client of the sdk and the door of the gateway, over a real connection. */

type Guests = OperationsFixture & {
  /** A client of Ada, an agent. */
  readonly agent: PalisadeClient;
  /** A client of Grace, who operates the gateway. */
  readonly operator: PalisadeClient;
  readonly keys: KeyRing;
  readonly newAgent: (options: Partial<ClientOptions>) => PalisadeClient;
};

async function openGuests(): Promise<Guests> {
  const fixture = await openFixture();
  const { gateway } = fixture;
  const { config, store: reader, clock } = gateway;
  const door = await openHttpDoor({ listen: '127.0.0.1:0', socketPath: null, http: config.http });
  onTestFinished(() => door.close(0));
  door.serve(
    new HttpApp({
      ...{
        gateway,
        operations: OPERATIONS,
        log: NO_LOG,
        url: door.url,
        host: door.host,
        openApi: '{}',
        docs: [],
      },
      authenticate: makeAuthenticator({ reader, config, clock, log: NO_LOG }),
      metrics: async () => '',
      mcp: async () => new Response(null, { status: 404 }),
    }),
  );
  const clientOf = (caller: Caller, options: Partial<ClientOptions> = {}) =>
    new PalisadeClient({ url: door.url, token: tokenOf(fixture, caller), ...options });
  const operator = clientOf(grace);
  const ring = await parseKeyRing(await operator.keys.export());
  if (!ring.ok) throw new Error(ring.why);
  const newAgent = (options: Partial<ClientOptions>) => clientOf(ada, options);
  return { ...fixture, agent: clientOf(ada), operator, keys: ring.keys, newAgent };
}

function tokenOf({ gateway }: OperationsFixture, { principal, tenant, scopes }: Caller): string {
  const { store, clock, random } = gateway;
  const nowMs = clock.nowMs();
  const creating = {
    ...{ principal, tenant, scopes: [...scopes], expiresAtMs: nowMs + 3_600_000 },
    ...{ label: '', by: grace.principal, nowMs },
  };
  return store.transact((tx) => createToken(tx, creating, random)).token;
}

describe('PalisadeClient at a gateway', () => {
  test('is who its token says', async () => {
    const { agent } = await openGuests();
    expect(await agent.whoami()).toMatchObject({ principal: 'agent:ada', scopes: ['call', 'read'] });
    expect(await agent.health.live()).toBe(true);
    expect(await agent.health.ready()).toBe(true);
  });

  test('makes a call whose receipt verifies, for what was asked and told', async () => {
    const { agent, keys } = await openGuests();
    const input = { key: 1 };
    const call = await agent.calls.run({ tool: 'test.echo', input });
    expect(call).toMatchObject({ status: 'ok', output: input });
    const report = await verifyCall({ ...call, input }, keys);
    expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(report.ok).toBe(true);
    const receipt = await agent.calls.receipt(call.callId);
    expect(await verifyReceipt(receipt, keys, { input })).toMatchObject({ ok: true });
    expect(await agent.calls.output(call.callId)).toEqual(input);
    expect(await agent.calls.get(call.callId)).toMatchObject({ state: 'ended', output: input });
  });

  test('runs a call once for one key, however often it is made', async () => {
    const { agent } = await openGuests();
    const requested = { tool: 'test.echo', input: { key: 2 } };
    const first = await agent.calls.run(requested, { idempotencyKey: 'once' });
    const again = await agent.calls.run(requested, { idempotencyKey: 'once' });
    expect(again).toMatchObject({ callId: first.callId, replayed: true });
    const other = agent.calls.run({ tool: 'test.echo', input: { key: 3 } }, { idempotencyKey: 'once' });
    await expect(other).rejects.toMatchObject({ code: 'door/idempotency-conflict' });
  });

  test('waits for the call that has its key and is still running', async () => {
    const { agent, newAgent, held, letGo, runs } = await openGuests();
    const requested = { tool: 'test.hold', input: { key: 4 } };
    const first = agent.calls.run(requested, { idempotencyKey: 'held' });
    await held();
    // The repeat hears that the call is open, and then the call may end.
    const patient = newAgent({ wait: async () => letGo() });
    const again = await patient.calls.run(requested, { idempotencyKey: 'held' });
    expect(again).toMatchObject({ callId: (await first).callId, output: { key: 4 }, replayed: true });
    expect(runs()).toBe(1);
  });

  test('cancels a call when its signal fires', async () => {
    const { agent, held } = await openGuests();
    const stop = new AbortController();
    const kinds: string[] = [];
    let callId = '';
    const following = (async () => {
      const requested = { tool: 'test.hold', input: { key: 5 } };
      for await (const event of agent.calls.stream(requested, { signal: stop.signal })) {
        kinds.push(event.kind);
        if (event.kind === 'started') callId = event.callId;
        await held();
        stop.abort();
      }
    })();
    await expect(following).rejects.toMatchObject({ name: 'AbortError' });
    expect(kinds).toEqual(['started']);
    await expect
      .poll(() => agent.calls.get(callId))
      .toMatchObject({ state: 'ended', status: 'failed', code: 'tier/cancelled' });
  });

  test('tells what to do about a call that needs an approval, and runs it once approved', async () => {
    const { agent, operator } = await openGuests();
    const requested = { tool: 'test.launch', input: { key: 6 } };
    const error = await agent.calls.run(requested).catch((thrown: unknown) => thrown);
    if (!(error instanceof PalisadeError)) throw error;
    expect(error).toMatchObject({ code: 'policy/approval-required', status: 403 });
    const id = error.approval?.id ?? '';
    expect(await operator.approvals.get(id)).toMatchObject({ state: 'pending', tool: 'test.launch' });
    expect(await operator.approvals.approve(id, { note: 'fine' })).toMatchObject({ state: 'approved' });
    expect(await agent.calls.run(requested)).toMatchObject({ status: 'ok', output: { key: 6 } });
  });

  test('shows only the tools that its caller could call, page by page', async () => {
    const { agent } = await openGuests();
    const ids: string[] = [];
    for await (const { id } of agent.tools.all({ limit: 1 })) ids.push(id);
    expect(ids).toEqual([...new Set(ids)].sort());
    expect(ids).toEqual(expect.arrayContaining(['test.echo', 'test.hold', 'test.launch']));
    expect(ids).not.toContain('test.hidden');
    const hidden = agent.tools.get('test.hidden');
    await expect(hidden).rejects.toMatchObject({ code: 'registry/unknown-tool', status: 404 });
  });

  test('gives a journal that verifies, and proofs out of it', async () => {
    const { agent, operator, keys } = await openGuests();
    await agent.calls.run({ tool: 'test.echo', input: { key: 8 } });
    const report = await verifyJournal(linesOf(operator.journal.export()), keys);
    expect(report).toMatchObject({ ok: true, firstBad: null });
    const { records } = await operator.journal.search({ kind: 'ended', limit: 1 });
    const proof = await operator.journal.proof(records[0]?.seq ?? 0);
    expect(await verifyProof(proof, keys)).toMatchObject({ ok: true });
  });

  test('follows the journal while calls are made', async () => {
    const { agent, operator } = await openGuests();
    const { seq = 0 } = (await operator.journal.search({ limit: 1 })).records[0] ?? {};
    const { callId } = await agent.calls.run({ tool: 'test.echo', input: { key: 7 } });
    const kinds: string[] = [];
    for await (const record of operator.journal.live({ after: seq })) {
      kinds.push(record.kind);
      expect(record.call).toBe(callId);
      if (record.kind === 'ended') break;
    }
    expect(kinds).toEqual(['intent', 'ended']);
  });

  test('is refused what its token is not good for, and everything without one', async () => {
    const { agent, newAgent } = await openGuests();
    await expect(agent.keys.rotate()).rejects.toMatchObject({ code: 'door/insufficient-scope', status: 403 });
    const nobody = newAgent({ token: 'pls_wrong' });
    await expect(nobody.whoami()).rejects.toMatchObject({ code: 'door/unauthenticated', status: 401 });
  });
});
