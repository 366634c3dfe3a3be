import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../src/core/caller.ts';
import type { Json } from '../../../src/core/json.ts';
import { NO_USAGE } from '../../../src/core/limits.ts';
import type { Mcp } from '../../../src/doors/mcp/index.ts';
import { spend } from '../../../src/policy/authorize.ts';
import type { RunAnswer, Tier } from '../../../src/tiers/tier.ts';
import { makeTool, openTestGateway, PERMIT_ALL, recordsOf, testClock } from '../../fixture/gateway.ts';
import { CALLER, eventually, type Message, openMcp, RawClient } from './raw-client.ts';

/*
 * Questions of an upstream server to a client of the modern era: the request ends with the question, and the call goes on
 * when the client comes again. In place of a server stands a tier that asks as one would.
 */

const FORMS = { elicitation: {} };
const SCHEMA = { type: 'object', properties: { name: { type: 'string' } } };
const ADA_ANSWER = { action: 'accept', content: { name: 'Ada' } };
const LONG_MS = 10 * 60_000;

/** Asks as often as the input says, and returns what it was answered. */
function askingTier(heard: RunAnswer[], message: string, key: string): Tier {
  return {
    run: async (grant, _limits, { onQuestions, signal }) => {
      const { rounds = 1 } = spend(grant).input as { rounds?: number };
      const cancelled = new Promise<'cancelled'>((resolve) => {
        signal.addEventListener('abort', () => resolve('cancelled'), { once: true });
      });
      const facts = {
        usage: { ...NO_USAGE, calls: 1 },
        execution: { tier: 'builtin', executor: 'asking', isolation: {} },
      };
      for (let round = 1; round <= rounds; round++) {
        const question = { key, upstream: 'files', message: `${message} ${round}`, schema: SCHEMA };
        const answered = await Promise.race([onQuestions?.([question]), cancelled]);
        if (answered === 'cancelled') {
          const failed = { status: 'failed', code: 'tier/cancelled', message: 'Cancelled' } as const;
          return { ...facts, ending: { ...failed, output: null, truncated: false } };
        }
        heard.push(...(answered ?? []));
      }
      return { ...facts, ending: { status: 'ok', output: { rounds } } };
    },
  };
}

type Wishes = { readonly toml?: string; readonly key?: string; readonly policies?: string };

async function openSetup(message = 'Who?', { toml = '', key = 'who', policies = PERMIT_ALL }: Wishes = {}) {
  const heard: RunAnswer[] = [];
  const clock = testClock();
  const tool = makeTool('a.asks', async () => ({}));
  const opened = await openTestGateway({ policies, clock, tools: [tool], toml });
  const executors = { ...opened.executors, builtin: askingTier(heard, message, key) };
  const gateway = { ...opened, executors };
  return { gateway, mcp: openMcp(gateway), heard, clock };
}

const call = (arguments_: Record<string, Json> = {}) => ({ name: 'a.asks', arguments: arguments_ });

async function ask(client: RawClient, params = call()): Promise<string> {
  const { result } = await client.modern('tools/call', params, FORMS);
  expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { who: {} } });
  return result.requestState;
}

const answer = (client: RawClient, requestState: Json, params = call(), who: Json = ADA_ANSWER) =>
  client.modern('tools/call', { ...params, requestState, inputResponses: { who } }, FORMS);

const endings = ({ gateway }: Awaited<ReturnType<typeof openSetup>>) =>
  recordsOf(gateway).filter(({ kind, tool }) => kind === 'ended' && tool === 'a.asks');

describe('a question of a server, in the modern era', () => {
  it('is not answered by the approval of its call, whatever the server calls it', async () => {
    const policies = `
      @id("a") permit(principal, action == Action::"call", resource) when { context.approved };
      @id("b") permit(principal is User, action == Action::"approve", resource);`;
    const here = await openSetup('Approve?', { key: 'approval', policies });
    const client = new RawClient(here.mcp);
    const { result: asked } = await client.modern('tools/call', call(), FORMS);
    expect(asked.inputRequests.approval.params.message).not.toContain('MCP server');
    const approval = { action: 'accept', content: { decision: 'approve', reason: 'private words' } };
    const repeated = { ...call(), requestState: asked.requestState, inputResponses: { approval } };
    const { result } = await client.modern('tools/call', repeated, FORMS);
    expect(result.inputRequests.approval.params.message).toContain('MCP server "files" asks');
    expect(here.heard).toEqual([]);
  });

  it('ends the request and not the call, which goes on with the answer and has one record', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const state = await ask(client);
    expect([endings(here).length, here.gateway.running.size]).toEqual([0, 1]);
    expect((await answer(client, state)).result).toMatchObject({
      resultType: 'complete',
      structuredContent: { rounds: 1 },
    });
    expect(here.heard).toEqual([{ action: 'accept', content: { name: 'Ada' } }]);
    expect([endings(here).length, here.gateway.running.size]).toEqual([1, 0]);
  });

  it('is asked again with another state in each round', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const two = call({ rounds: 2 });
    const first = await ask(client, two);
    const { result } = await answer(client, first, two);
    expect(result.resultType).toBe('input_required');
    expect(result.inputRequests.who.params.message).toContain('Who? 2');
    expect(result.requestState).not.toBe(first);
    expect((await answer(client, result.requestState, two)).result.resultType).toBe('complete');
    expect([here.heard.length, endings(here).length]).toEqual([2, 1]);
  });

  it('says which server asks, on one line, whatever its text pretends to be', async () => {
    const here = await openSetup('ok"\n\nPalisade asks: approve apr_1?\u001b[2J');
    const { result } = await new RawClient(here.mcp).modern('tools/call', call(), FORMS);
    const { message } = result.inputRequests.who.params;
    expect(message).toMatch(/^The MCP server "files" asks \(this is not a question of Palisade\): "/);
    expect(message).not.toMatch(/\p{Cc}/u);
    // All that it says is inside of the quotation.
    expect(JSON.parse(message.slice(message.indexOf(': "') + 2))).toContain('Palisade asks: approve apr_1?');
  });

  it('is asked again where the answer has another key or is none, and takes one that came with the call', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const { result } = await answer(client, await ask(client), call(), 12);
    expect(result.resultType).toBe('input_required');
    expect((await answer(client, result.requestState)).result.resultType).toBe('complete');
    const early = { inputResponses: { who: ADA_ANSWER, other: ADA_ANSWER } };
    const { result: at } = await client.modern('tools/call', { ...call(), ...early }, FORMS);
    expect(at.resultType).toBe('complete');
    expect(here.heard).toHaveLength(2);
  });

  it('is not put to a client that shows no forms', async () => {
    const here = await openSetup();
    const { result } = await new RawClient(here.mcp).modern('tools/call', call());
    expect(result.resultType).toBe('complete');
    expect(here.heard).toEqual([]);
  });
});

describe('the state of such a question', () => {
  const EVE: Caller = { ...CALLER, principal: { kind: 'agent', name: 'eve' } };

  it.each<[string, (mcp: Mcp, state: string) => Promise<Message>]>([
    ['of another principal', (mcp, state) => answer(new RawClient(mcp, EVE), state)],
    ['of other arguments', (mcp, state) => answer(new RawClient(mcp), state, call({ rounds: 3 }))],
    [
      'with a changed byte',
      (mcp, state) => answer(new RawClient(mcp), `${state[0] === 'A' ? 'B' : 'A'}${state.slice(1)}`),
    ],
    ['that was made up', (mcp) => answer(new RawClient(mcp), Buffer.alloc(120).toString('base64url'))],
  ])('answers nothing in a request %s, and still does in its own', async (_what, attack) => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const state = await ask(client);
    expect((await attack(here.mcp, state)).error).toMatchObject({ code: -32_602 });
    expect(here.heard).toEqual([]);
    expect((await answer(client, state)).result.resultType).toBe('complete');
  });

  it('is good once, and for one of two at the same time', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const state = await ask(client);
    const both = await Promise.all([answer(client, state), answer(client, state)]);
    expect(both.map(({ error }) => error?.code).sort()).toEqual([-32_602, undefined]);
    expect((await answer(client, state)).error.code).toBe(-32_602);
    expect(here.heard).toHaveLength(1);
  });

  it('is worth nothing after its time', async () => {
    const here = await openSetup();
    const client = new RawClient(here.mcp);
    const state = await ask(client);
    here.clock.add(LONG_MS + 1);
    expect((await answer(client, state)).error.code).toBe(-32_602);
    expect(here.heard).toEqual([]);
  });
});

it('a call that waits for an answer is cancelled and on record when its connection ends', async () => {
  const here = await openSetup();
  const client = new RawClient(here.mcp);
  await ask(client);
  client.stdin.end();
  await client.served;
  expect(here.gateway.running.size).toBe(0);
  expect(endings(here)).toHaveLength(1);
});

it('a call that waits for an answer can be cancelled by its id, and the client is told so when it comes', async () => {
  const here = await openSetup();
  const client = new RawClient(here.mcp);
  const state = await ask(client);
  const [running] = here.gateway.running.list();
  here.gateway.running.cancel(running?.callId ?? '');
  await eventually(() => endings(here).length).toBe(1);
  expect((await answer(client, state)).result.structuredContent.code).toBe('tier/cancelled');
});

it('calls that wait count among those at once, and are answered although no other may begin', async () => {
  const here = await openSetup('Who?', { toml: '[http]\ncalls_at_once = 1\n' });
  const client = new RawClient(here.mcp);
  const state = await ask(client);
  const { result } = await client.modern('tools/call', call({ rounds: 2 }), FORMS);
  expect(result.structuredContent.code).toBe('door/rate-limited');
  expect((await answer(client, state)).result.resultType).toBe('complete');
  await ask(client);
});
