/*
 * The tool that says why a configured MCP server has no tools. It exists only while there is such a server, and its
 * description says it all: a model that looks for the tools of that server finds the reason in their place. Boundary: no
 * word of the server itself is in the description; what it printed is in the result alone.
 */
import { cached } from '../core/cached.ts';
import { safeLine } from '../core/hostile-text.ts';
import { DEFAULT_LIMITS } from '../core/limits.ts';
import type { Tool } from '../core/tool.ts';

/** A server without tools, why, and what the operator can do. */
export type MissingServer = {
  readonly name: string;
  readonly why: string;
  /** What happened, possibly in words of the server; null where nothing more is known. */
  readonly detail: string | null;
  readonly remedy: string;
};

export const STATUS_ID = 'palisade.upstreams';

const MAX_DETAIL_CHARS = 1_000;

const MOST_KEPT = 16;

const made = new Map<string, Tool>();

/** The tool for these servers; null where there are none. The same servers have the same tool. */
export function statusTool(servers: readonly MissingServer[]): Tool | null {
  if (servers.length === 0) return null;
  const told = servers.map(({ detail, ...server }) => {
    return { ...server, detail: detail === null ? null : safeLine(detail, MAX_DETAIL_CHARS) };
  });
  return cached(made, JSON.stringify(told), () => makeTool(told), MOST_KEPT);
}

function makeTool(servers: readonly MissingServer[]): Tool {
  const sentences = servers.map(
    ({ name, why, remedy }) => `The MCP server "${name}" has no tools here: ${why}. ${remedy}`,
  );
  return {
    id: STATUS_ID,
    description: `Says which MCP servers have no tools at the moment, and why. ${sentences.join(' ')}`,
    category: 'builtin',
    risk: 'low',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: { type: 'object', properties: { servers: { type: 'array' } }, required: ['servers'] },
    capabilities: [],
    tier: 'builtin',
    limits: DEFAULT_LIMITS,
    hosts: () => [],
    paths: () => [],
    artifacts: [],
    annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    executor: { kind: 'builtin', run: async () => ({ servers: servers.map((each) => ({ ...each })) }) },
  };
}
