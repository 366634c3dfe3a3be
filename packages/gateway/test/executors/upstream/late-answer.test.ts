import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { upstreamExecutor } from '../../../src/executors/upstream/index.ts';
import type { UpstreamServers } from '../../../src/executors/upstream/servers.ts';
import type { OpenSession } from '../../../src/executors/upstream/sessions.ts';
import { invoke } from '../../../src/invoke/invoke.ts';
import type { AskPerson, RunAnswer } from '../../../src/tiers/tier.ts';
import { makeCall, makeTool, openTestGateway, PERMIT_ALL, testClock } from '../../fixture/gateway.ts';

/* A server that acts when its question is answered: an answer that comes too late must not reach it. */

const FORM = {
  method: 'elicitation/create',
  params: { message: 'Delete all?', requestedSchema: { type: 'object', properties: {} } },
};
const YES: RunAnswer = { action: 'accept', content: {} };

/** A gateway with one tool of a server that asks once; `sent` is what the server was sent. */
async function openSetup() {
  const sent: JsonObject[] = [];
  const cancelled: number[] = [];
  const session = {
    ...{ offered: '0'.repeat(64), callId: 'call_server', protocolVersion: '2026-07-28' },
    request: async (_method: string, params: JsonObject, { onSent }: { onSent: (id: number) => void }) => {
      sent.push(params);
      onSent(sent.length);
      return params.inputResponses === undefined
        ? { resultType: 'input_required', inputRequests: { sure: FORM } }
        : { content: [] };
    },
    cancel: (id: number) => void cancelled.push(id),
    reasonFor: String,
  };
  const status = { offer: 'accepted' } as unknown as OpenSession['status'];
  const sessions = {
    use: async (_upstream: string, _who: object, _ms: number, act: (opened: OpenSession) => unknown) =>
      act({ session, status } as unknown as OpenSession),
  };
  const servers = { sessions, ruleOf: () => ({ elicitation: 'on' }) } as unknown as UpstreamServers;
  const tool = makeTool('files.clear', async () => ({}), {
    executor: { kind: 'upstream', upstream: 'files', tool: 'clear', tags: [] },
    artifacts: [{ name: 'definitions', sha256: session.offered as never }],
    isMcpResult: true,
    outputSchema: {},
  });
  const opened = await openTestGateway({ policies: PERMIT_ALL, tools: [tool] });
  const upstream = upstreamExecutor(servers, {}, testClock());
  const gateway = { ...opened, executors: { ...opened.executors, upstream } };
  const call = (signal: AbortSignal, onQuestions: AskPerson) =>
    invoke(gateway, makeCall(gateway, tool.id), signal, { onQuestions });
  return { sent, cancelled, call };
}

test('an answer in time reaches the server', async () => {
  const { sent, call } = await openSetup();
  const { outcome } = await call(new AbortController().signal, async () => [YES]);
  expect(outcome.code).toBe('ok');
  expect(sent.map(({ inputResponses }) => inputResponses)).toEqual([undefined, { sure: YES }]);
});

test('an answer after the end of its call reaches no server', async () => {
  const { sent, cancelled, call } = await openSetup();
  const cancel = new AbortController();
  let answer: (given: readonly RunAnswer[]) => void = () => undefined;
  const answered = new Promise<readonly RunAnswer[]>((resolve) => {
    answer = resolve;
  });
  const { outcome } = await call(cancel.signal, () => {
    cancel.abort();
    return answered;
  });
  expect(outcome.code).toBe('tier/cancelled');
  answer([YES]);
  // Whatever follows from the answer happens before the next turn.
  await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toHaveLength(1);
  expect(cancelled).toEqual([1]);
});
