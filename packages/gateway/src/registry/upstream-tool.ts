/** The tools of an upstream server, as records like every other: what it says of them, and what the operator says of it. */
import type { UpstreamRule } from '../config/config.ts';
import type { Digest } from '../core/digest.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import { isToolName } from '../core/principal.ts';
import type { JsonSchema, Tool, ToolAnnotations } from '../core/tool.ts';
import { UPSTREAM_CATEGORY } from '../policy/entities.ts';
import type { Definition, DefinitionSet } from '../upstreams/definition.ts';
import { STRUCTURED, tidySchema, visibleText } from './upstream-schema.ts';

/** What no server can be called like. */
const RESERVED = 'palisade.';

/** The id of a tool in the registry; null where the prefix and its name make none. */
export function upstreamToolId({ prefix }: UpstreamRule, name: string): string | null {
  const id = `${prefix}${name}`;
  // Boundary: a server without a prefix cannot put its tools in the place of ours.
  return isToolName(id) && !id.startsWith(RESERVED) ? id : null;
}

/** Every tool of an accepted set, bound to that very set: a call that was approved under another is not approved. */
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
  const capabilities = ['process', ...(rule.allowHosts.length > 0 ? ['http'] : [])];
  return {
    id,
    ...(title === null ? {} : { title }),
    description: visibleText(description),
    category: UPSTREAM_CATEGORY,
    // Boundary: what the server says of itself never counts; the operator's word does.
    ...{ risk: rule.risk, tier: rule.tier, capabilities },
    inputSchema: tidySchema(inputSchema),
    outputSchema: resultSchema(outputSchema),
    limits: LIMIT_CEILINGS,
    // What it can reach at all is the operator's list; which of it a call is about, only the server knows.
    hosts: () => rule.allowHosts.filter((entry) => !entry.startsWith('!')),
    paths: () => [],
    artifacts: [{ name: `upstream ${rule.name}`, sha256: pinned }],
    annotations: annotationsOf(annotations, rule),
    executor: { kind: 'upstream', upstream: rule.name, tool: name },
    isMcpResult: true,
  };
}

/** What every result of MCP looks like; `structuredContent` is what the server promises. */
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

/** The hints of the server, with the defaults of MCP; for those who choose among tools, and nothing else. */
function annotationsOf(hints: Definition['annotations'], { allowHosts }: UpstreamRule): ToolAnnotations {
  return {
    readOnly: hints.readOnlyHint ?? false,
    destructive: hints.destructiveHint ?? true,
    idempotent: hints.idempotentHint ?? false,
    openWorld: allowHosts.length > 0 && (hints.openWorldHint ?? true),
  };
}
