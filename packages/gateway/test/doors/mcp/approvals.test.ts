import { describe, expect, it } from 'vitest';
import { list } from '../../../src/approval/requests.ts';
import type { Caller } from '../../../src/core/caller.ts';
import type { Json } from '../../../src/core/json.ts';
import type { Mcp } from '../../../src/doors/mcp/index.ts';
import { answerApproval } from '../../../src/invoke/administer.ts';
import {
  bodyOf,
  GRACE,
  makeTool,
  openTestGateway,
  recordsOf,
  type TestGateway,
  testClock,
} from '../../fixture/gateway.ts';
import { CALLER, eventually, type Message, openMcp, RawClient } from './raw-client.ts';

/** One tool that needs an approval, and counts how often it really ran. */
const POLICIES = `
@id("when-approved") permit(principal, action == Action::"call", resource) when { context.approved };
@id("users-approve") permit(principal is User, action == Action::"approve", resource);
`;
const NOBODY_APPROVES = POLICIES.replace('permit(principal is User', 'forbid(principal is User');
const FORMS = { elicitation: {} };
const ACCEPT = { action: 'accept', content: { decision: 'approve', reason: 'seen' } };

type Setup = {
  readonly gateway: TestGateway;
  readonly mcp: Mcp;
  readonly ran: () => number;
  readonly clock: ReturnType<typeof testClock>;
};

async function openSetup(wishes: { policies?: string; toml?: string } = {}): Promise<Setup> {
  let runs = 0;
  const tool = makeTool('a.danger', async (input) => {
    runs++;
    return input;
  });
  const clock = testClock();
  const gateway = await openTestGateway({ policies: POLICIES, clock, tools: [tool], ...wishes });
  return { gateway, mcp: openMcp(gateway), ran: () => runs, clock };
}

const call = (arguments_: Record<string, Json> = { path: '/tmp' }) => ({
  name: 'a.danger',
  arguments: arguments_,
});

const stateOf = ({ gateway }: Setup) =>
  list(gateway.store, { limit: 10, nowMs: gateway.clock.nowMs() }).map(({ state }) => state);

/** Answers the question that the gateway puts to a client of the legacy era. */
async function answerAs(client: RawClient, result: Json): Promise<Message> {
  const question = await client.next(({ method }) => method === 'elicitation/create');
  client.send({ jsonrpc: '2.0', id: question.id, result });
  return question;
}

describe('a client of the legacy era that can show forms', () => {
  it('asks its user, and the call runs once in the name of the agent with the approval of the user', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    await client.initialize(FORMS);
    const requested = client.request('tools/call', call({ path: '/tmp/\u001b[31m' }));
    const question = await answerAs(client, ACCEPT);
    expect(question.params.message).toContain('agent:ada wants to call a.danger');
    expect(question.params.message).not.toMatch(/\p{Cc}/u);
    expect(Object.keys(question.params.requestedSchema.properties)).toEqual(['decision', 'reason']);
    const { result } = await requested;
    expect(result.isError).toBeUndefined();
    expect(here.ran()).toBe(1);
    expect(stateOf(here)).toEqual(['used']);
    const decided = recordsOf(here.gateway).find(({ kind }) => kind === 'approval-decided');
    expect(decided?.principal).toBe('user:grace');
    expect(bodyOf(decided)).toMatchObject({ verdict: 'approved', asker: 'agent:ada', note: 'seen' });
  });

  it('has the call refused for good where its user denies it', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    await client.initialize(FORMS);
    const requested = client.request('tools/call', call());
    await answerAs(client, { action: 'accept', content: { decision: 'deny', reason: 'not now' } });
    const { result } = await requested;
    expect(result).toMatchObject({ isError: true, structuredContent: { code: 'policy/approval-denied' } });
    expect(here.ran()).toBe(0);
  });

  it.each<[string, Json]>([
    ['puts the form away', { action: 'cancel' }],
    ['declines to say', { action: 'decline' }],
    ['sends no decision', { action: 'accept', content: {} }],
    ['sends a decision that there is not', { action: 'accept', content: { decision: 'APPROVE' } }],
    ['sends content without accepting', { action: 'cancel', content: { decision: 'approve' } }],
  ])('decides nothing where its user %s', async (_what, answer) => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    await client.initialize(FORMS);
    const requested = client.request('tools/call', call());
    await answerAs(client, answer);
    const { result } = await requested;
    expect(result).toMatchObject({ isError: true, structuredContent: { status: 'approval_required' } });
    expect(here.ran()).toBe(0);
    expect(stateOf(here)).toEqual(['pending']);
  });

  it('decides nothing where it answers with an error, or goes away', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    await client.initialize(FORMS);
    const requested = client.request('tools/call', call());
    const question = await client.next(({ method }) => method === 'elicitation/create');
    client.send({ jsonrpc: '2.0', id: question.id, error: { code: -32_601, message: 'no' } });
    expect((await requested).result.structuredContent.status).toBe('approval_required');
    client.ask('tools/call', call({ other: 1 }));
    await client.next(({ method, id }) => method === 'elicitation/create' && id !== question.id);
    client.stdin.end();
    await client.served;
    expect(here.ran()).toBe(0);
    expect(stateOf(here)).toEqual(['pending', 'pending']);
  });
});

describe('an approval that lasts', () => {
  const accept = (decision: string) => ({ action: 'accept', content: { decision } });
  const choicesIn = (form: Message) => form.requestedSchema.properties.decision.enum;
  const isForm = ({ method }: Message) => method === 'elicitation/create';

  it('is offered for the session and for an hour, and covers that very call alone', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    await client.initialize(FORMS);
    const requested = client.request('tools/call', call());
    const { params } = await answerAs(client, accept('approve-for-run'));
    expect(choicesIn(params)).toEqual(['approve', 'approve-for-run', 'approve-for-1h', 'deny']);
    expect((await requested).result.isError).toBeUndefined();
    expect((await client.request('tools/call', call())).result.isError).toBeUndefined();
    expect([here.ran(), client.messages.filter(isForm).length]).toEqual([2, 1]);
    const other = new RawClient(here.mcp);
    await other.initialize({});
    const elsewhere = await other.request('tools/call', call());
    expect(elsewhere.result.structuredContent.status).toBe('approval_required');
    client.ask('tools/call', call({ path: '/etc' }));
    await eventually(() => client.messages.filter(isForm).length).toBe(2);
    expect(here.ran()).toBe(2);
  });

  it('ends after an hour', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    await answer(client, await ask(client), call(), accept('approve-for-1h'));
    here.clock.add(59 * 60_000);
    expect((await client.modern('tools/call', call(), FORMS)).result.resultType).toBe('complete');
    here.clock.add(2 * 60_000);
    await ask(client);
    expect(here.ran()).toBe(2);
  });

  it('is not given for a run that did not ask', async () => {
    const here = await openSetup();
    const silent = new RawClient(here.mcp);
    await silent.initialize({});
    await silent.request('tools/call', call());
    const client = new RawClient(here.mcp);
    const { result } = await client.modern('tools/call', call(), FORMS);
    expect(choicesIn(result.inputRequests.approval.params)).toEqual(['approve', 'approve-for-1h', 'deny']);
    const forced = await answer(client, result.requestState, call(), accept('approve-for-run'));
    expect(forced.result.structuredContent.status).toBe('approval_required');
    expect(here.ran()).toBe(0);
  });
});

describe('a client that cannot ask its user', () => {
  const NO_APPROVER: Caller = { ...CALLER, approver: null };
  it.each<[string, string | undefined, Json, Caller]>([
    ['has a client without forms', undefined, {}, CALLER],
    ['has a client that only opens addresses', undefined, { elicitation: { url: {} } }, CALLER],
    ['has nobody behind it', undefined, FORMS, NO_APPROVER],
    ['is not asked where the operator does not let', '[mcp]\nelicitation = "off"\n', FORMS, CALLER],
  ])(
    'is told how to get the approval, and the identical call then runs: %s',
    async (_what, toml, capabilities, caller) => {
      const here = await openSetup(toml === undefined ? {} : { toml });
      const client = new RawClient(here.mcp, caller);
      await client.initialize(capabilities);
      const { result } = await client.request('tools/call', call());
      const { structuredContent } = result;
      expect(structuredContent).toMatchObject({
        status: 'approval_required',
        code: 'policy/approval-required',
      });
      const { approvalId: id, approveWith, expiresAt } = structuredContent;
      expect(approveWith).toBe(`palisade approvals approve ${id} --state ${here.gateway.store.directory}`);
      expect(Date.parse(expiresAt)).toBeGreaterThan(here.gateway.clock.nowMs());
      await answerApproval(here.gateway, {
        id,
        verdict: 'approved',
        by: GRACE,
        note: null,
        door: 'cli',
        credential: 'process',
      });
      const other = await client.request('tools/call', call({ path: '/etc' }));
      expect(other.result.isError).toBe(true);
      expect(here.ran()).toBe(0);
      const again = await client.request('tools/call', call());
      expect(again.result.isError).toBeUndefined();
      expect(here.ran()).toBe(1);
      expect((await client.request('tools/call', call())).result.isError).toBe(true);
      expect(client.messages.filter(({ method }: Message) => method === 'elicitation/create')).toEqual([]);
    },
  );

  it('cannot use the approval of a user whom the policies do not let approve', async () => {
    const here = await openSetup({ policies: NOBODY_APPROVES });
    const client = new RawClient(here.mcp);
    await client.initialize(FORMS);
    const requested = client.request('tools/call', call());
    await answerAs(client, ACCEPT);
    expect((await requested).result.structuredContent.status).toBe('approval_required');
    expect(here.ran()).toBe(0);
    expect(stateOf(here)).toEqual(['pending']);
  });

  it('cannot be the agent itself', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp, { ...CALLER, approver: CALLER.principal });
    await client.initialize(FORMS);
    const requested = client.request('tools/call', call());
    await answerAs(client, ACCEPT);
    expect((await requested).result.structuredContent.status).toBe('approval_required');
    expect(here.ran()).toBe(0);
  });
});

/** Asks in the modern era; gives the state that the client is to bring back. */
async function ask(client: RawClient, params = call()): Promise<string> {
  const { result } = await client.modern('tools/call', params, FORMS);
  expect(result.resultType).toBe('input_required');
  return result.requestState;
}

const answer = (client: RawClient, requestState: Json, params = call(), response: Json = ACCEPT) =>
  client.modern('tools/call', { ...params, requestState, inputResponses: { approval: response } }, FORMS);

describe('a client of the modern era that can show forms', () => {
  it('comes again with the answer, and the call runs once', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const state = await ask(client);
    expect(state).not.toContain('apr_');
    const { result } = await answer(client, state);
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { path: '/tmp' } });
    expect(here.ran()).toBe(1);
    expect(stateOf(here)).toEqual(['used']);
  });

  it('decides nothing where its user puts the form away, and has the call refused where it is denied', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const away = await answer(client, await ask(client), call(), { action: 'cancel' });
    expect(away.result.structuredContent.status).toBe('approval_required');
    const no = { action: 'accept', content: { decision: 'deny' } };
    const denied = await answer(client, await ask(client), call(), no);
    expect(denied.result.structuredContent.code).toBe('policy/approval-denied');
    expect(here.ran()).toBe(0);
  });

  it('spends a state once, even where it comes twice at the same time', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const state = await ask(client);
    const both = await Promise.all([answer(client, state), answer(client, state)]);
    const codes = both.map(({ error, result }) => error?.code ?? result.resultType);
    expect(codes.sort()).toEqual([-32_602, 'complete'].sort());
    expect((await answer(client, state)).error.code).toBe(-32_602);
    expect(here.ran()).toBe(1);
  });

  it('lets two questions about one call run it once', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const [one, two] = [await ask(client), await ask(client)];
    const both = await Promise.all([answer(client, one), answer(client, two)]);
    const ran = both.filter(({ result }) => result?.isError === undefined && result !== undefined);
    expect(here.ran()).toBe(1);
    expect(ran).toHaveLength(1);
  });
});

describe('a state that a client brings back', () => {
  const EVE: Caller = { ...CALLER, principal: { kind: 'agent', name: 'eve' } };
  const MALLORY: Caller = { ...CALLER, approver: { kind: 'user', name: 'mallory' } };
  const OTHER_TENANT: Caller = { ...CALLER, tenant: 'other' };

  it.each<[string, Caller]>([
    ['another principal', EVE],
    ['another tenant', OTHER_TENANT],
    ['somebody with another person behind', MALLORY],
  ])('is worth nothing to %s', async (_who, caller) => {
    const here = await openSetup();
    const state = await ask(new RawClient(here.mcp));
    const thief = new RawClient(here.mcp, caller);
    expect((await answer(thief, state)).error).toMatchObject({ code: -32_602 });
    expect(here.ran()).toBe(0);
    // It is still good for the one it was made for.
    expect((await answer(new RawClient(here.mcp), state)).result.resultType).toBe('complete');
  });

  it('is worth nothing with another argument, another tool, a changed byte or a changed place', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const state = await ask(client);
    const flipped = `${state.slice(0, 60)}${state[60] === 'A' ? 'B' : 'A'}${state.slice(61)}`;
    const tries: readonly Promise<Message>[] = [
      answer(client, state, call({ path: '/etc' })),
      answer(client, state, { name: 'palisade.echo', arguments: { path: '/tmp' } }),
      answer(client, flipped),
      answer(client, state.slice(0, -4)),
      answer(client, `${state}AAAA`),
      answer(client, `${state}=`),
      answer(client, ''),
      answer(client, 'x'.repeat(100_000)),
      answer(client, 7),
      answer(client, { toString: 'x' }),
    ];
    for (const { error } of await Promise.all(tries)) expect(error?.code).toBe(-32_602);
    expect(here.ran()).toBe(0);
    expect((await answer(client, state)).result.resultType).toBe('complete');
  });

  it('is worth nothing after its time, in another process, or where nobody may be asked', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const late = await ask(client);
    const elsewhere = await ask(client, call({ path: '/var' }));
    const other = new RawClient(openMcp(here.gateway));
    expect((await answer(other, elsewhere, call({ path: '/var' }))).error.code).toBe(-32_602);
    const silent = await client.modern('tools/call', { ...call(), requestState: late }, {});
    expect(silent.error.code).toBe(-32_602);
    here.clock.add(11 * 60_000);
    expect((await answer(client, late)).error.code).toBe(-32_602);
    expect(here.ran()).toBe(0);
  });

  it('is of no use once the policies have changed', async () => {
    const here = await openSetup({ toml: '[policy]\nreload_ms = 1\n' });
    const client = new RawClient(here.mcp);
    const state = await ask(client);
    const { writeFileSync } = await import('node:fs');
    writeFileSync(
      `${here.gateway.stateDir}/policies/test.cedar`,
      `${POLICIES}// changed\n@id("more") permit(principal == Agent::"x", action == Action::"call", resource);\n`,
    );
    await eventually(() => {
      here.clock.add(1_000);
      here.gateway.policy.refresh();
      return here.gateway.policy.setDigest;
    }).not.toBe(list(here.gateway.store, { limit: 1, nowMs: 0 })[0]?.policySet);
    const { result } = await answer(client, state);
    expect(result.isError).toBe(true);
    expect(here.ran()).toBe(0);
  });
});
