import { z } from 'zod';
import { CodedError } from '../../../core/coded-error.ts';
import { cancelCall } from '../calls/cancel-call.ts';
import { listCalls } from '../calls/list-calls.ts';
import { findCall, findEnded, listedDocument, receiptFor, shownDocument } from '../calls/shown-call.ts';
import { startCall } from '../calls/start-call.ts';
import { lookingOf } from '../may-see.ts';
import { type Route, route } from '../route.ts';
import { callBody, listedCall, shownCall, toldCall } from '../schemas/call.ts';
import { anyJson, callIdText, envelope, nameText, nextCursor, pageQuery, someId } from '../schemas/parts.ts';
import { document, json } from './answer.ts';

/* Calls: made, looked at, cancelled. */

const USUAL_PAGE = 50;
const params = z.object({ id: someId.describe('The id of a call.') });
const asJson = 'application/json';

export const callsRoutes: readonly Route[] = [
  route({
    ...{ method: 'POST', path: '/v1/calls', name: 'createCall', tag: 'calls', scope: 'call' },
    sentence:
      'Calls a tool and waits for its ending. With `accept: text/event-stream` the reply is the events `started` {callId}, `output` {stream, text or base64} and `ended`, whose data is the document.',
    headers: {
      accept: 'text/event-stream to be told event by event.',
      'idempotency-key':
        'Runs the call once, however often it is repeated: 1 to 255 visible characters. Such a call goes on when its client goes away.',
      traceparent: 'The trace that the call is a part of (W3C Trace Context).',
    },
    body: { type: asJson, schema: callBody },
    replies: {
      200: document(toldCall, 'It ran and ended well; every other ending is a problem.'),
    },
    handle: startCall,
  }),
  route({
    ...{ method: 'GET', path: '/v1/calls', name: 'listCalls', tag: 'calls', scope: null },
    sentence: 'Lists calls, the newest first: one’s own, and those of others for who may read them.',
    query: pageQuery(USUAL_PAGE).extend({
      cursor: callIdText.optional().describe('The cursor of the page before; left out: the first page.'),
      state: z.enum(['running', 'ended']).optional().describe('Only calls in this state.'),
      run: nameText.optional().describe('Only calls of this run.'),
    }),
    replies: {
      200: document(z.object({ calls: z.array(listedCall), cursor: nextCursor }), 'A page of calls.'),
    },
    handle: async (asked) => {
      const { calls, cursor } = listCalls(lookingOf(asked), asked.query);
      return json({ calls: calls.map(listedDocument), cursor });
    },
  }),
  route({
    ...{ method: 'GET', path: '/v1/calls/{id}', name: 'getCall', tag: 'calls', scope: null, params },
    sentence: 'Shows a call that runs, or all that is kept of one that has ended.',
    replies: { 200: document(shownCall, 'The call.') },
    handle: async (asked) => {
      const looking = lookingOf(asked);
      return json(shownDocument(looking, findCall(looking, asked.params.id)));
    },
  }),
  route({
    ...{
      method: 'GET',
      path: '/v1/calls/{id}/receipt',
      name: 'getCallReceipt',
      tag: 'calls',
      scope: null,
      params,
    },
    sentence: 'Gives the signed receipt of a call, which anybody can verify with the public keys.',
    replies: { 200: document(envelope, 'A DSSE envelope.') },
    handle: async (asked) => {
      const looking = lookingOf(asked);
      const { id } = asked.params;
      const receipt = receiptFor(looking, findEnded(looking, id));
      if (receipt === null)
        throw new CodedError('journal/unknown-record', `Cannot find the receipt of "${id}": there is none`);
      return { kind: 'json', status: 200, body: receipt };
    },
  }),
  route({
    ...{
      method: 'GET',
      path: '/v1/calls/{id}/output',
      name: 'getCallOutput',
      tag: 'calls',
      scope: null,
      params,
    },
    sentence: 'Gives the output of a call, as JSON.',
    replies: {
      200: document(anyJson, 'What the tool gave, and nothing beside it.'),
    },
    handle: async (asked) => {
      const { id } = asked.params;
      const { output, isOutputKept } = findEnded(lookingOf(asked), id);
      if (isOutputKept) return { kind: 'json', status: 200, body: output };
      const message = `Cannot give the output of "${id}": there was more than is kept`;
      const remedy = 'Have the operator raise runs.keep_output_bytes in palisade.toml, then call again.';
      throw new CodedError('run/unknown', message, { remedy });
    },
  }),
  route({
    ...{
      method: 'POST',
      path: '/v1/calls/{id}/cancel',
      name: 'cancelCall',
      tag: 'calls',
      scope: 'call',
      params,
    },
    sentence: 'Ends a running call. It is recorded and settled; one that has ended stays as it is.',
    replies: {
      200: document(
        z.object({ callId: callIdText, cancelled: z.boolean() }),
        'Whether there was anything to cancel.',
      ),
    },
    handle: async (asked) => json(cancelCall(lookingOf(asked), asked.params.id)),
  }),
];
