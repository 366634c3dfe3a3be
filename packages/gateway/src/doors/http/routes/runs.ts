import { z } from 'zod';
import { CodedError } from '../../../core/coded-error.ts';
import { listCalls } from '../calls/list-calls.ts';
import { listedDocument } from '../calls/shown-call.ts';
import { lookingOf } from '../may-see.ts';
import { type Route, route } from '../route.ts';
import { listedCall } from '../schemas/call.ts';
import { callIdText, nextCursor, pageQuery, someId } from '../schemas/parts.ts';
import { document, json } from './answer.ts';

/* A run is what its calls say that they are part of. */

const USUAL_PAGE = 100;

export const runsRoutes: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/runs/{id}', name: 'getRun', tag: 'calls', scope: null },
    sentence: 'Lists the calls of a run, the newest first, as far as the caller may see them.',
    params: z.object({ id: someId.describe('The name of a run, as its calls give it.') }),
    query: pageQuery(USUAL_PAGE).extend({
      cursor: callIdText.optional().describe('The cursor of the page before; left out: the first page.'),
    }),
    replies: {
      200: document(
        z.object({ run: z.string(), calls: z.array(listedCall), cursor: nextCursor }),
        'A page of the calls of the run.',
      ),
    },
    handle: async (asked) => {
      const run = asked.params.id;
      const { calls, cursor } = listCalls(lookingOf(asked), { ...asked.query, run });
      if (calls.length === 0 && asked.query.cursor === undefined)
        throw new CodedError('run/unknown', `Cannot find run "${run}": it has no calls that you may see`);
      return json({ run, calls: calls.map(listedDocument), cursor });
    },
  }),
];
