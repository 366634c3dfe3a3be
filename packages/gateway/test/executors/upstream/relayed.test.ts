import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { Peer } from '../../../src/executors/upstream/peer.ts';
import { askUntilComplete, passQuestion } from '../../../src/executors/upstream/questions.ts';
import type { RunAnswer, RunQuestion } from '../../../src/tiers/tier.ts';

function open() {
  const sent: JsonObject[] = [];
  const peer = new Peer({
    write: (bytes) => {
      sent.push(JSON.parse(Buffer.from(bytes).toString()));
      return 0;
    },
    onNotification: () => undefined,
    onBroken: () => undefined,
  });
  const say = (message: object) =>
    peer.take(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`));
  return { peer, sent, say };
}

const QUESTION = {
  id: 'q1',
  method: 'elicitation/create',
  params: { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
};

describe('what a server logs', () => {
  it('reaches every open request that listens, and no other', async () => {
    const { peer, say } = open();
    const heard: Json[] = [];
    const listen = (name: string) => ({
      onLog: ({ data = null }: JsonObject) => void heard.push([name, data]),
    });
    const log = (data: string) => say({ method: 'notifications/message', params: { level: 'info', data } });
    log('before');
    const first = peer.request('a', {}, listen('first'));
    void peer.request('b', {}, listen('second'));
    void peer.request('c', {});
    log('during');
    say({ id: 1, result: {} });
    await first;
    log('after');
    expect(heard).toEqual([
      ['first', 'during'],
      ['second', 'during'],
      ['second', 'after'],
    ]);
  });
});

describe('a question of a server', () => {
  it('is answered with an error where no one is asked', () => {
    const { peer, sent, say } = open();
    void peer.request('tools/call', {});
    say(QUESTION);
    expect(sent.at(-1)).toMatchObject({ id: 'q1', error: { code: -32601 } });
  });

  it('is answered by who made the call; a second one at the same time is not', async () => {
    const { peer, sent, say } = open();
    const onQuestion = async () => ({ action: 'accept', content: { name: 'Ada' } });
    void peer.request('tools/call', {}, { onQuestion });
    say(QUESTION);
    say({ ...QUESTION, id: 'q2' });
    expect(sent.at(-1)).toMatchObject({ id: 'q2', error: { code: -32601 } });
    await Promise.resolve().then(() => undefined);
    await expect.poll(() => sent.at(-1)).toMatchObject({ id: 'q1', result: { content: { name: 'Ada' } } });
  });

  it('is passed on with the name of its server, and the answer has only the fields of its form', async () => {
    const asked: RunQuestion[] = [];
    const content = { name: 'Ada', more: 'secret', name2: { nested: true } };
    const answer = async (question: RunQuestion): Promise<RunAnswer> => {
      asked.push(question);
      return { action: 'accept', content };
    };
    const given = await passQuestion(answer, 'files', { ...QUESTION.params, message: 'Who?' });
    expect(asked).toMatchObject([{ upstream: 'files', message: 'Who?' }]);
    expect(given).toEqual({ action: 'accept', content: { name: 'Ada' } });
  });

  it.each([
    ['sends a person to an address', { mode: 'url', url: 'https://example.com' }],
    ['has no message', { message: 1 }],
    ['has a form without end', { requestedSchema: { description: 'x'.repeat(20_000) } }],
  ])('is cancelled where it %s', async (_, params) => {
    const answer = async (): Promise<RunAnswer> => ({ action: 'accept', content: {} });
    expect(await passQuestion(answer, 'files', { ...QUESTION.params, ...params })).toEqual({
      action: 'cancel',
    });
    expect(await passQuestion(answer, 'files', QUESTION.params)).toEqual({ action: 'accept', content: {} });
  });
});

describe('askUntilComplete', () => {
  const form = { method: 'elicitation/create', params: QUESTION.params };
  const onQuestion = async () => ({ action: 'accept', content: { name: 'Ada' } });

  it('repeats the request with the answers and the state of the server', async () => {
    const sent: JsonObject[] = [];
    const answers: JsonObject[] = [
      { resultType: 'input_required', inputRequests: { who: form }, requestState: 'one' },
      { resultType: 'complete', content: [] },
    ];
    const send = async (params: JsonObject) => {
      sent.push(params);
      return answers.shift() ?? {};
    };
    expect(await askUntilComplete({ name: 'a' }, onQuestion, send)).toMatchObject({ resultType: 'complete' });
    const inputResponses = { who: { action: 'accept', content: { name: 'Ada' } } };
    expect(sent).toEqual([{ name: 'a' }, { name: 'a', inputResponses, requestState: 'one' }]);
  });

  it('gives up on a server that asks without end, or for something else', async () => {
    const asks = (inputRequests: JsonObject) => async () => ({ resultType: 'input_required', inputRequests });
    await expect(askUntilComplete({}, onQuestion, asks({ a: form }))).rejects.toThrow('more than 8 times');
    const sampling = { method: 'sampling/createMessage', params: {} };
    await expect(askUntilComplete({}, onQuestion, asks({ a: sampling }))).rejects.toThrow('else than a form');
  });
});
