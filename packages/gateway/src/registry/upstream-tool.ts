import type { UpstreamRule } from '../config/config.ts';
import { tagsOfUpstream } from '../core/capability.ts';
import type { Digest } from '../core/digest.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import { isToolName } from '../core/principal.ts';
import type { JsonSchema, Tool, ToolAnnotations, UpstreamMethod } from '../core/tool.ts';
import { UPSTREAM_CATEGORY } from '../policy/entities.ts';
import type { Definition, DefinitionSet } from '../upstreams/definition.ts';
import { publishedSchema, STRUCTURED, tidySchema, visibleText } from './upstream-schema.ts';
import { serverId } from './upstream-server.ts';

/** The tools of an upstream server, as ordinary records: what the server and the operator say about them. */

/** How no id of a server may begin: as one of ours, or as the name of one of ours at the MCP door. */
const RESERVED = /^palisade[._]/;

/** The id of a tool in the registry; null where the prefix and its name do not form a valid one. */
export function upstreamToolId({ prefix }: UpstreamRule, name: string): string | null {
  const id = `${prefix}${name}`;
  // Boundary: a server without a prefix cannot replace our own tools.
  return isToolName(id) && !RESERVED.test(id) ? id : null;
}

/** Every tool of an accepted set, bound to exactly that set: an approval under another set does not apply. */
export function upstreamTools(rule: UpstreamRule, set: DefinitionSet): ReadonlyMap<string, Tool> {
  const tools = set.definitions.flatMap((definition) => {
    const id = upstreamToolId(rule, definition.name);
    return id === null ? [] : [[id, upstreamTool(rule, definition, { id, pinned: set.digest })] as const];
  });
  return new Map(tools);
}

function upstreamTool(
  rule: UpstreamRule,
  { name, title, description, inputSchema, outputSchema, annotations }: Definition,
  { id, pinned }: { readonly id: string; readonly pinned: Digest },
): Tool {
  return {
    ...recordFor(rule, pinned),
    id,
    ...(title === null ? {} : { title }),
    description: visibleText(description),
    inputSchema: tidySchema(inputSchema),
    outputSchema: resultSchema(outputSchema),
    published: {
      inputSchema: publishedSchema(inputSchema),
      outputSchema: outputSchema === null ? null : publishedSchema(outputSchema),
    },
    annotations: annotationsOf(annotations, rule),
    executor: { ...executorOf(rule), tool: name },
    isMcpResult: true,
  };
}

/** Boundary: what the server claims about itself never counts; the operator's configuration does. */
function recordFor({ name, risk, tier, allowHosts }: UpstreamRule, pinned: Digest) {
  return {
    category: UPSTREAM_CATEGORY,
    risk,
    tier,
    capabilities: ['process', ...(allowHosts.length > 0 ? ['http'] : [])],
    limits: LIMIT_CEILINGS,
    // What it can reach at all is the operator's list; which of it a call needs, only the server knows.
    hosts: () => allowHosts.filter((entry) => !entry.startsWith('!')),
    paths: () => [],
    artifacts: [{ name: `upstream ${name}`, sha256: pinned }],
  };
}

function executorOf({ name, allowHosts, secrets }: UpstreamRule) {
  return { kind: 'upstream', upstream: name, tags: tagsOfUpstream(allowHosts, secrets) } as const;
}

/** The schema of every MCP result; `structuredContent` is what the server promises. */
function resultSchema(promised: JsonSchema | null): JsonSchema {
  return {
    type: 'object',
    properties: {
      content: { type: 'array', items: { type: 'object', properties: { type: { type: 'string' } } } },
      ...(promised === null ? {} : { structuredContent: tidySchema(promised, STRUCTURED) }),
      isError: { type: 'boolean' },
    },
    required: ['content'],
  };
}

/** The hints of the server, with the defaults of MCP; only for those who choose among tools. */
function annotationsOf(hints: Definition['annotations'], { allowHosts }: UpstreamRule): ToolAnnotations {
  return {
    readOnly: hints.readOnlyHint ?? false,
    destructive: hints.destructiveHint ?? true,
    idempotent: hints.idempotentHint ?? false,
    openWorld: allowHosts.length > 0 && (hints.openWorldHint ?? true),
  };
}

/*
 * What an upstream server does beside running tools, as tools: reading a resource, getting a prompt, completing input.
 * They are not listed, since clients have their own methods for them; but each goes along the line, with policies,
 * budgets and a receipt, under a name that policies can refer to.
 */

const TEXT = { type: 'string', maxLength: 4_096 } as const;
const TEXTS = { type: 'object', additionalProperties: TEXT } as const;

type MethodRow = {
  readonly method: UpstreamMethod;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly isOffered: (set: DefinitionSet) => boolean;
};

const OBJECTS = { type: 'array', items: { type: 'object' } } as const;

const METHODS: readonly MethodRow[] = [
  {
    method: 'resources/read',
    description: 'Reads a resource',
    inputSchema: inputOf({ uri: TEXT }, ['uri']),
    outputSchema: outputOf('contents', OBJECTS),
    isOffered: ({ listed }) => listed.resources.length + listed.templates.length > 0,
  },
  {
    method: 'prompts/get',
    description: 'Gets a prompt',
    inputSchema: inputOf({ name: TEXT, arguments: TEXTS }, ['name']),
    outputSchema: outputOf('messages', OBJECTS),
    isOffered: ({ listed }) => listed.prompts.length > 0,
  },
  {
    method: 'completion/complete',
    description: 'Completes an argument of a prompt or of a template of resources',
    inputSchema: inputOf(
      {
        ref: inputOf({ type: { enum: ['ref/prompt', 'ref/resource'] }, name: TEXT, uri: TEXT }, ['type']),
        argument: inputOf({ name: TEXT, value: TEXT }, ['name', 'value']),
        context: inputOf({ arguments: TEXTS }, []),
      },
      ['ref', 'argument'],
    ),
    outputSchema: outputOf('completion', { type: 'object' }),
    isOffered: ({ listed }) => listed.completes,
  },
];

/** The methods that this server offers, by their ids, bound to the accepted set. */
export function upstreamMethods(rule: UpstreamRule, set: DefinitionSet): ReadonlyMap<string, Tool> {
  const offered = METHODS.filter(({ isOffered }) => isOffered(set));
  return new Map(offered.map((row) => [methodId(rule.name, row.method), methodTool(rule, set, row)]));
}

/** The id of the tool for a method of this server. */
export function methodId(upstream: string, method: UpstreamMethod): string {
  return `${serverId(upstream)}.${method.replace('/', '.')}`;
}

function methodTool(rule: UpstreamRule, { digest }: DefinitionSet, row: MethodRow): Tool {
  const { method, description, inputSchema, outputSchema } = row;
  const openWorld = rule.allowHosts.length > 0;
  return {
    ...recordFor(rule, digest),
    id: methodId(rule.name, method),
    description: `${description} of the upstream server "${rule.name}".`,
    inputSchema,
    outputSchema,
    annotations: { readOnly: true, destructive: false, idempotent: true, openWorld },
    executor: { ...executorOf(rule), tool: method, method },
  };
}

function outputOf(name: string, schema: JsonSchema): JsonSchema {
  return { type: 'object', properties: { [name]: schema }, required: [name] };
}

function inputOf(properties: JsonSchema, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required: [...required], additionalProperties: false };
}
