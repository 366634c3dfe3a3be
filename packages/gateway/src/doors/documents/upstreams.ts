import { isoTime } from '../../core/clock.ts';
import type { UpstreamView } from '../../invoke/upstreams.ts';
import { upstreamToolId } from '../../registry/upstream-tool.ts';
import type { Definition } from '../../upstreams/definition.ts';

/* What programs read of the MCP servers behind the gateway. Texts of servers stand here as they were offered. */

/** A server in a list. */
export function upstreamSummary({ name, rule, state, pin, reason, findings }: UpstreamView) {
  return {
    ...{ name, state, reason },
    // Of a server that was wrapped, only the client that starts it knows these.
    ...{ tier: rule?.tier ?? null, risk: rule?.risk ?? null, prefix: rule?.prefix ?? null },
    tools: pin?.accepted.definitions.length ?? 0,
    findings: findings.length,
    acceptedBy: pin?.acceptedBy ?? null,
    acceptedAt: pin === null ? null : isoTime(pin.acceptedAtMs),
    changedAt: pin === null ? null : isoTime(pin.changedAtMs),
  };
}

/** A server with everything that was accepted, everything that it offers instead, and what differs. */
export function upstreamDocument(view: UpstreamView) {
  const { rule, pin, difference, findings } = view;
  const definitionOf = (definition: Definition) => ({
    ...definition,
    id: rule === null ? definition.name : upstreamToolId(rule, definition.name),
  });
  return {
    ...upstreamSummary(view),
    ...{ command: rule?.command ?? null, workspace: rule?.workspace ?? null },
    ...{ readOnly: rule?.readOnly ?? [], allowHosts: rule?.allowHosts ?? [], secrets: rule?.secrets ?? [] },
    // Values of variables may be nobody's business but the server's.
    env: rule?.env.map((each) => each.slice(0, each.indexOf('='))) ?? [],
    digest: pin?.accepted.digest ?? null,
    offeredDigest: pin?.offered?.digest ?? null,
    difference,
    definitions: pin?.accepted.definitions.map(definitionOf) ?? [],
    offered: pin?.offered?.definitions.map(definitionOf) ?? null,
    findings: findings.map((finding) => ({ ...finding })),
  };
}
