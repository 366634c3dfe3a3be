import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import { Conversation } from '../../../src/doors/mcp/conversation.ts';

const bytesOf = (message: Json) => Buffer.from(JSON.stringify(message));
const opening = (id: Json, method = 'initialize') => bytesOf({ jsonrpc: '2.0', id, method, params: {} });
const request = (id: Json) => bytesOf({ jsonrpc: '2.0', id, method: 'tools/call' });
const answer = (id: Json) => bytesOf({ jsonrpc: '2.0', id, result: {} });
const cancel = (requestId: Json) => bytesOf({ method: 'notifications/cancelled', params: { requestId } });
const INITIALIZED = bytesOf({ jsonrpc: '2.0', method: 'notifications/initialized' });
const QUESTION = bytesOf({ jsonrpc: '2.0', id: 1, method: 'elicitation/create' });

function idsOf(conversation: Conversation) {
  return conversation.unanswered().map(({ id }) => id);
}

function shown(conversation: Conversation) {
  const { lines, answered } = conversation.reopening() ?? { lines: [], answered: undefined };
  return { lines: lines.map((line) => Buffer.from(line).toString()), answered };
}

describe('unanswered()', () => {
  test('names every request without an answer, whatever its id is', () => {
    const conversation = new Conversation(null);
    for (const id of [1, 2, '2', 3, 4]) conversation.sent(request(id));
    for (const id of [1, 4]) conversation.received(answer(id));
    conversation.received(bytesOf({ jsonrpc: '2.0', id: 3, error: { code: 1, message: '' } }));
    expect(idsOf(conversation)).toEqual([2, '2']);
  });

  test('leaves out requests that the client has cancelled', () => {
    const conversation = new Conversation(null);
    conversation.sent(request(1));
    conversation.sent(cancel(1));
    expect(idsOf(conversation)).toEqual([]);
  });

  test('leaves the opening to the next server, and takes a question of the server for no answer', () => {
    const conversation = new Conversation(null);
    conversation.sent(opening(1));
    conversation.sent(request(2));
    conversation.received(bytesOf({ id: 2, method: 'ping' }));
    expect(idsOf(conversation)).toEqual([2]);
  });
});

describe('reopening()', () => {
  test.each(['initialize', 'server/discover'])(
    'repeats %s, and says whether the client has its answer',
    (method) => {
      const conversation = new Conversation(null);
      conversation.sent(opening('a', method));
      expect(shown(conversation)).toEqual({ lines: [`${opening('a', method)}`], answered: null });
      conversation.received(answer('a'));
      conversation.sent(INITIALIZED);
      expect(shown(conversation)).toEqual({
        lines: [`${opening('a', method)}`, `${INITIALIZED}`],
        answered: 'a',
      });
    },
  );

  test('says that an opening which was answered before the server read it has its answer', () => {
    const conversation = new Conversation(0);
    conversation.sent(opening(0));
    expect(shown(conversation)).toEqual({ lines: [`${opening(0)}`], answered: 0 });
  });

  test('repeats nothing where the client began with something else', () => {
    const conversation = new Conversation(null);
    conversation.sent(request(1));
    conversation.sent(opening(2));
    expect(shown(conversation)).toEqual({ lines: [], answered: null });
  });

  test('is not possible while the client may still answer a question, and is after it has', () => {
    const conversation = new Conversation(null);
    conversation.received(QUESTION);
    expect(conversation.reopening()).toBeNull();
    conversation.sent(answer(1));
    expect(conversation.reopening()).not.toBeNull();
    conversation.received(QUESTION);
    conversation.received(cancel(1));
    expect(conversation.reopening()).not.toBeNull();
  });

  test('survives whatever either side writes', () => {
    const conversation = new Conversation(null);
    for (const text of [
      '',
      'x',
      '[]',
      'null',
      '{"id":{}}',
      '{"method":"notifications/cancelled","params":1}',
    ]) {
      conversation.sent(Buffer.from(text));
      conversation.received(Buffer.from(text));
    }
    expect(idsOf(conversation)).toEqual([]);
    expect(shown(conversation)).toEqual({ lines: [], answered: null });
  });
});
