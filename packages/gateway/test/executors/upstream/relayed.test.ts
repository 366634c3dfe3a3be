import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { Peer } from '../../../src/executors/upstream/peer.ts';
import {
  AskedQuestions,
  askUntilComplete,
  passQuestions,
} from '../../../src/executors/upstream/questions.ts';
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
    const onQuestions = async () => ({ question: { action: 'accept', content: { name: 'Ada' } } });
    void peer.request('tools/call', {}, { onQuestions });
    say(QUESTION);
    say({ ...QUESTION, id: 'q2' });
    expect(sent.at(-1)).toMatchObject({ id: 'q2', error: { code: -32601 } });
    await Promise.resolve().then(() => undefined);
    await expect.poll(() => sent.at(-1)).toMatchObject({ id: 'q1', result: { content: { name: 'Ada' } } });
  });

  const asking = () => ({ upstream: 'files', asked: new AskedQuestions() });

  it('is passed on with the name of its server, and the answer has only the fields of its form', async () => {
    const shown: RunQuestion[] = [];
    const content = { name: 'Ada', more: 'secret', name2: { nested: true } };
    const answer = async (questions: readonly RunQuestion[]): Promise<readonly RunAnswer[]> => {
      shown.push(...questions);
      return questions.map(() => ({ action: 'accept', content }));
    };
    const given = await passQuestions(answer, asking(), { who: QUESTION.params });
    expect(shown).toMatchObject([{ key: 'who', upstream: 'files', message: 'Who?' }]);
    expect(given).toEqual({ who: { action: 'accept', content: { name: 'Ada' } } });
  });

  const accept = async (questions: readonly RunQuestion[]): Promise<readonly RunAnswer[]> =>
    questions.map(() => ({ action: 'accept', content: { name: 'Ada' } }));

  it.each([
    ['sends a person to an address', 'who', { mode: 'url', url: 'https://example.com' }],
    ['has no message', 'who', { message: 1 }],
    ['has a form without end', 'who', { requestedSchema: { description: 'x'.repeat(20_000) } }],
    ['has a key that is not a name', 'who are you', {}],
  ])('is cancelled where it %s', async (_, key, params) => {
    const requests = { [key]: { ...QUESTION.params, ...params }, other: QUESTION.params };
    expect(await passQuestions(accept, asking(), requests)).toEqual({
      [key]: { action: 'cancel' },
      other: { action: 'accept', content: { name: 'Ada' } },
    });
  });

  it('is counted for the receipt, which is the same whatever was answered', async () => {
    const factsFor = async (name: string) => {
      const terms = asking();
      const answer = async () => [{ action: 'accept', content: { name } } as const];
      await passQuestions(answer, terms, { who: QUESTION.params });
      return terms.asked.facts();
    };
    expect([await factsFor('yes'), await factsFor('no')]).toEqual([{ questions: 1 }, { questions: 1 }]);
    expect(asking().asked.facts()).toEqual({});
  });

  it('is cancelled where the answer comes after its request was given up', async () => {
    const { peer, sent, say } = open();
    let answerLate: (given: JsonObject) => void = () => undefined;
    const late = new Promise<JsonObject>((resolve) => {
      answerLate = resolve;
    });
    void peer.request('tools/call', {}, { onQuestions: () => late });
    say(QUESTION);
    peer.forget(1);
    answerLate({ question: { action: 'accept', content: { name: 'Ada' } } });
    await expect.poll(() => sent.at(-1)).toMatchObject({ id: 'q1', result: { action: 'cancel' } });
  });
});

describe('askUntilComplete', () => {
  const form = { method: 'elicitation/create', params: QUESTION.params };
  const onQuestions = async () => ({ who: { action: 'accept', content: { name: 'Ada' } } });

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
    expect(await askUntilComplete({ name: 'a' }, onQuestions, send)).toMatchObject({
      resultType: 'complete',
    });
    const inputResponses = { who: { action: 'accept', content: { name: 'Ada' } } };
    expect(sent).toEqual([{ name: 'a' }, { name: 'a', inputResponses, requestState: 'one' }]);
  });

  const asks = (inputRequests: JsonObject) => async () => ({ resultType: 'input_required', inputRequests });
  const sampling = { method: 'sampling/createMessage', params: {} };

  it('gives up on a server that asks without end', async () => {
    await expect(askUntilComplete({}, onQuestions, asks({ a: form }))).rejects.toThrow('more than 8 times');
  });

  it.each([
    ['for sampling', onQuestions, { a: form, b: sampling }, 'sampling'],
    ['for roots', onQuestions, { a: { method: 'roots/list', params: {} } }, 'roots'],
    ['where no one can be asked', undefined, { a: form }, 'elicitation'],
  ])('names the capability that a server lacks when it asks %s', async (_, listener, requests, required) => {
    const failing = askUntilComplete({}, listener, asks(requests));
    await expect(failing).rejects.toMatchObject({ code: -32_021, required: [required] });
  });
});
