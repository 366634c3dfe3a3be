/*
 * What an upstream server does beside running tools, as tools: to read a resource, to get a prompt, to complete what is
 * typed. They are in no list, since clients have methods of their own for them; but each goes along the line, with
 * policies, budgets and a receipt, under a name that policies can speak of.
 */
import type { UpstreamRule } from '../config/config.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import type { JsonSchema, Tool, UpstreamMethod } from '../core/tool.ts';
import { UPSTREAM_CATEGORY } from '../policy/entities.ts';
import type { DefinitionSet } from '../upstreams/definition.ts';
import { serverId } from './upstream-server.ts';

const TEXT = { type: 'string', maxLength: 4_096 } as const;
const TEXTS = { type: 'object', additionalProperties: TEXT } as const;

type MethodRow = {
  readonly method: UpstreamMethod;
  /** What stands after the name of the server. */
  readonly suffix: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly isOffered: (set: DefinitionSet) => boolean;
};

const OBJECTS = { type: 'array', items: { type: 'object' } } as const;

const METHODS: readonly MethodRow[] = [
  {
    method: 'resources/read',
    suffix: 'resources.read',
    description: 'Reads a resource',
    inputSchema: inputOf({ uri: TEXT }, ['uri']),
    outputSchema: { type: 'object', properties: { contents: OBJECTS }, required: ['contents'] },
    isOffered: ({ listed }) => listed.resources.length + listed.templates.length > 0,
  },
  {
    method: 'prompts/get',
    suffix: 'prompts.get',
    description: 'Gets a prompt',
    inputSchema: inputOf({ name: TEXT, arguments: TEXTS }, ['name']),
    outputSchema: { type: 'object', properties: { messages: OBJECTS }, required: ['messages'] },
    isOffered: ({ listed }) => listed.prompts.length > 0,
  },
  {
    method: 'completion/complete',
    suffix: 'completion.complete',
    description: 'Completes an argument of a prompt or of a template of resources',
    inputSchema: inputOf(
      {
        ref: inputOf({ type: { enum: ['ref/prompt', 'ref/resource'] }, name: TEXT, uri: TEXT }, ['type']),
        argument: inputOf({ name: TEXT, value: TEXT }, ['name', 'value']),
        context: inputOf({ arguments: TEXTS }, []),
      },
      ['ref', 'argument'],
    ),
    outputSchema: {
      type: 'object',
      properties: { completion: { type: 'object' } },
      required: ['completion'],
    },
    isOffered: ({ listed }) => listed.completes,
  },
];

/** The methods that this server offers, by their ids, bound to the accepted set. */
export function upstreamMethods(rule: UpstreamRule, set: DefinitionSet): ReadonlyMap<string, Tool> {
  const offered = METHODS.filter(({ isOffered }) => isOffered(set));
  return new Map(offered.map((row) => [methodId(rule.name, row.method), methodTool(rule, set, row)]));
}

/** The id of the tool that a method of this server is. */
export function methodId(upstream: string, method: UpstreamMethod): string {
  const { suffix } = METHODS.find((row) => row.method === method) ?? { suffix: method };
  return `${serverId(upstream)}.${suffix}`;
}

function methodTool(rule: UpstreamRule, { digest }: DefinitionSet, row: MethodRow): Tool {
  const { method, description, inputSchema, outputSchema } = row;
  return {
    id: methodId(rule.name, method),
    description: `${description} of the upstream server "${rule.name}".`,
    category: UPSTREAM_CATEGORY,
    risk: rule.risk,
    tier: rule.tier,
    capabilities: ['process', ...(rule.allowHosts.length > 0 ? ['http'] : [])],
    inputSchema,
    outputSchema,
    limits: LIMIT_CEILINGS,
    hosts: () => rule.allowHosts.filter((entry) => !entry.startsWith('!')),
    paths: () => [],
    artifacts: [{ name: `upstream ${rule.name}`, sha256: digest }],
    annotations: {
      readOnly: true,
      destructive: false,
      idempotent: true,
      openWorld: rule.allowHosts.length > 0,
    },
    executor: { kind: 'upstream', upstream: rule.name, tool: method, method },
  };
}

function inputOf(properties: JsonSchema, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required: [...required], additionalProperties: false };
}
