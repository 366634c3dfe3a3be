import { z } from 'zod';
import { CodedError } from '../../../core/coded-error.ts';
import { visibleTools } from '../../../invoke/visible-tools.ts';
import { toolDocument, toolRow } from '../../documents/tool.ts';
import { type Asked, type Route, route } from '../route.ts';
import { nextCursor, pageQuery, someId } from '../schemas/parts.ts';
import { toolRow as toolRowSchema, tool as toolSchema } from '../schemas/tool.ts';
import { document, json } from './answer.ts';

/* The tools that this caller could be permitted to call; no others are there. */

const USUAL_PAGE = 100;

export const toolsRoutes: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/tools', name: 'listTools', tag: 'tools', scope: 'call' },
    sentence:
      'Lists the tools that some call of the caller could be permitted to, in the order of their ids.',
    query: pageQuery(USUAL_PAGE),
    replies: {
      200: document(z.object({ tools: z.array(toolRowSchema), cursor: nextCursor }), 'A page of tools.'),
    },
    handle: async (asked) => {
      const { limit, cursor: after } = asked.query;
      const rest = toolsOf(asked).filter(({ id }) => after === undefined || id > after);
      const page = rest.slice(0, limit);
      const cursor = page.length < rest.length ? (page.at(-1)?.id ?? null) : null;
      return json({ tools: page.map(toolRow), cursor });
    },
  }),
  route({
    ...{ method: 'GET', path: '/v1/tools/{id}', name: 'getTool', tag: 'tools', scope: 'call' },
    sentence: 'Shows a tool: its schemas, limits and where it runs.',
    params: z.object({ id: someId.describe('The id of a tool.') }),
    replies: { 200: document(toolSchema, 'The tool.') },
    handle: async (asked) => {
      const { id } = asked.params;
      const found = toolsOf(asked).find((tool) => tool.id === id);
      if (found === undefined)
        throw new CodedError('registry/unknown-tool', `Cannot show "${id}": no such tool`);
      return json(toolDocument(found));
    },
  }),
];

function toolsOf({ gateway, caller }: Pick<Asked, 'gateway' | 'caller'>) {
  return visibleTools(gateway, caller.principal, caller.tenant);
}
