import * as z from 'zod';
import { CodedError } from '../core/coded-error.ts';
import { pick } from '../core/pick.ts';
import type { Tool } from '../core/tool.ts';
import { seenTool, seenTools } from './access.ts';
import { type Operation, operation } from './operation.ts';
import {
  annotations,
  anyJson,
  limits,
  pageInput,
  pageOf,
  risk,
  sha256,
  someId,
  tierName,
  trustOrigin,
} from './schema-parts.ts';

/* The tools that this caller could be permitted to call; no others exist for it. */

const PAGE = 100;

const row = z
  .object({
    id: z.string(),
    description: z.string(),
    risk,
    tier: tierName,
    inputSchema: z.record(z.string(), anyJson).describe('The JSON Schema (2020-12) of its input.'),
  })
  .meta({ id: 'ToolRow' });

const tool = row
  .extend({
    category: z.string(),
    capabilities: z.array(z.string()),
    limits,
    outputSchema: z.record(z.string(), anyJson),
    artifacts: z.array(z.object({ name: z.string(), sha256 })),
    title: z.string().optional(),
    annotations: annotations.optional(),
    skill: z
      .object({
        id: z.string(),
        version: z.string(),
        publisher: z.string(),
        trust: trustOrigin,
        artifact: sha256.describe('Of the package.'),
        grant: sha256.describe('Of what its operator granted.'),
      })
      .optional(),
  })
  .meta({ id: 'Tool' });

const facts = { noun: 'tools', scope: 'call', action: 'call', opens: 'gateway' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listTools',
    sentence:
      'Lists the tools that some call of the caller could be permitted to, in the order of their ids.',
    http: { method: 'GET', path: '/v1/tools' },
    input: pageInput(PAGE),
    output: pageOf('tools', row),
    handle: (context, { limit, cursor: after = null }) => {
      const found = seenTools(context, after, limit + 1);
      const page = found.slice(0, limit);
      const cursor = found.length > limit ? (page.at(-1)?.id ?? null) : null;
      return { tools: page.map(toolRow), cursor };
    },
  }),
  operation({
    ...facts,
    name: 'getTool',
    sentence: 'Shows a tool: its schemas, limits and where it runs.',
    http: { method: 'GET', path: '/v1/tools/{id}' },
    input: z.strictObject({ id: someId.describe('The id of a tool.') }),
    output: { schema: tool, sentence: 'The tool.' },
    handle: (context, { id }) => {
      const found = seenTool(context, id);
      if (found !== undefined) return toolDocument(found);
      throw new CodedError('registry/unknown-tool', `Cannot show "${id}": no such tool`);
    },
  }),
];

/** A tool in a list of many. */
function toolRow(shown: Tool) {
  return pick(shown, ['id', 'description', 'risk', 'tier', 'inputSchema']);
}

/** All that a caller of the tool may know of it. */
function toolDocument(shown: Tool) {
  return {
    ...toolRow(shown),
    ...pick(shown, ['category', 'capabilities', 'limits', 'outputSchema', 'artifacts']),
    ...pick(shown, ['skill', 'title', 'annotations']),
  };
}
