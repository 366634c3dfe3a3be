import * as z from 'zod';
import { isoTime } from '../core/clock.ts';
import { approveUpstream, listUpstreams, showUpstream, type UpstreamView } from '../invoke/upstreams.ts';
import { upstreamToolId } from '../registry/upstream-tool.ts';
import type { Definition } from '../upstreams/definition.ts';
import { requireAdministrativeReader, requireHome } from './access.ts';
import { ADMINISTERS, type Operation, operation, READS_GATEWAY } from './operation.ts';
import { anyJson, isoTimeText, risk, sha256 } from './schema-parts.ts';

/* The MCP servers behind the gateway, which are configured once for all of it. Their texts are shown as offered. */

const names = z.array(z.string());
const name = z
  .string()
  .max(32)
  .regex(/^[a-z][a-z0-9-]{0,31}$/)
  .describe('The name of a server, as palisade.toml has it.');

const facts = {
  name: z.string(),
  state: z.enum(['unmet', 'accepted', 'quarantined']),
  reason: z.string().nullable().describe('Why it is in quarantine.'),
  tier: z.enum(['b', 'c']).nullable().describe('Null: its client starts it, and alone knows where.'),
  risk: risk.nullable(),
  prefix: z.string().nullable().describe('What the ids of its tools begin with.'),
  tools: z.int().describe('How many tools are accepted.'),
  acceptedBy: z.string().nullable(),
  acceptedAt: isoTimeText.nullable(),
  changedAt: isoTimeText.nullable(),
};

const summary = z
  .object({ ...facts, findings: z.int().describe('How many doubts its texts give reason to.') })
  .meta({ id: 'UpstreamSummary' });

const definition = z.object({
  id: z.string().describe('What the tool is called here.'),
  name: z.string().describe('What its server calls it.'),
  title: z.string().nullable(),
  description: z.string(),
  inputSchema: z.record(z.string(), anyJson),
  outputSchema: z.record(z.string(), anyJson).nullable(),
  annotations: z.object({
    readOnlyHint: z.boolean().optional(),
    destructiveHint: z.boolean().optional(),
    idempotentHint: z.boolean().optional(),
    openWorldHint: z.boolean().optional(),
  }),
});

const upstream = z
  .object({
    ...facts,
    command: names.nullable(),
    workspace: z.string().nullable(),
    readOnly: names,
    allowHosts: names,
    secrets: names,
    env: names.describe('The names of its variables.'),
    digest: sha256.nullable().describe('Of what is accepted.'),
    offeredDigest: sha256.nullable().describe('Of what it offers instead; null: nothing else.'),
    difference: z
      .object({
        added: names,
        removed: names,
        renamed: z.array(z.object({ from: z.string(), to: z.string() })),
        changed: z.array(z.object({ name: z.string(), fields: names })),
      })
      .nullable(),
    definitions: z.array(definition).describe('What is accepted.'),
    offered: z.array(definition).nullable(),
    findings: z.array(
      z.object({ check: z.string(), severity: z.string(), where: z.string(), what: z.string() }),
    ),
  })
  .meta({ id: 'Upstream' });

const refreshed = z.object({
  name: z.string(),
  state: z
    .enum(['pinned', 'accepted', 'quarantined', 'unreadable'])
    .describe('Pinned: it was met for the first time, and what it offers was accepted.'),
  reason: z.string().nullable().describe('Why it is held, or cannot be read.'),
});

const reads = { ...READS_GATEWAY, noun: 'upstreams', opens: 'gateway' } as const;
const changes = { ...ADMINISTERS, noun: 'upstreams', access: requireHome } as const;

export const operations: readonly Operation[] = [
  operation({
    ...reads,
    name: 'listUpstreams',
    sentence: 'Lists the MCP servers behind the gateway.',
    http: { method: 'GET', path: '/v1/upstreams' },
    input: z.strictObject({}),
    output: { schema: z.object({ upstreams: z.array(summary) }), sentence: 'The servers.' },
    handle: ({ gateway }) => ({ upstreams: listUpstreams(gateway).map(upstreamSummary) }),
  }),
  operation({
    ...reads,
    name: 'getUpstream',
    sentence: 'Shows what was accepted of a server, and what it offers instead.',
    http: { method: 'GET', path: '/v1/upstreams/{name}' },
    input: z.strictObject({ name }),
    output: { schema: upstream, sentence: 'The server.' },
    handle: ({ gateway }, input) => upstreamDocument(showUpstream(gateway, input.name)),
  }),
  operation({
    ...changes,
    name: 'refreshUpstream',
    sentence: 'Connects to a server anew, and compares what it offers with what was accepted.',
    http: { method: 'POST', path: '/v1/upstreams/{name}/refresh' },
    input: z.strictObject({ name }),
    output: {
      schema: refreshed,
      sentence: 'What became of it; a server that offers something else is held.',
    },
    handle: async (context, input) => {
      requireAdministrativeReader(context);
      const { gateway, caller } = context;
      const status = await gateway.upstreams.reconnect(input.name, caller);
      const reason = 'reason' in status ? status.reason : null;
      return { name: input.name, state: status.kind, reason };
    },
  }),
  operation({
    ...changes,
    name: 'approveUpstream',
    sentence: 'Accepts what a server offers, as it was shown.',
    http: { method: 'POST', path: '/v1/upstreams/{name}/approve' },
    input: z.strictObject({
      name,
      digest: sha256.describe('The `offeredDigest` that was shown; nothing else is accepted.'),
    }),
    output: { schema: upstream, sentence: 'The server as it is now.' },
    handle: async ({ gateway, caller: { principal, tenant } }, input) => {
      const accepting = { principal, tenant, name: input.name, shown: input.digest };
      return upstreamDocument(await approveUpstream(gateway, accepting));
    },
  }),
];

/** A server in a list. */
function upstreamSummary({ name: id, rule, state, pin, reason, findings }: UpstreamView) {
  return {
    name: id,
    state,
    reason,
    // Of a server that was wrapped, only the client that starts it knows these.
    tier: rule?.tier ?? null,
    risk: rule?.risk ?? null,
    prefix: rule?.prefix ?? null,
    tools: pin?.accepted.definitions.length ?? 0,
    findings: findings.length,
    acceptedBy: pin?.acceptedBy ?? null,
    acceptedAt: pin?.acceptedAtMs == null ? null : isoTime(pin.acceptedAtMs),
    changedAt: pin === null ? null : isoTime(pin.changedAtMs),
  };
}

/** A server with everything that was accepted, everything that it offers instead, and what differs. */
function upstreamDocument(view: UpstreamView) {
  const { rule, pin, difference, findings } = view;
  const definitionOf = (offered: Definition) => ({
    ...offered,
    id: rule === null ? offered.name : upstreamToolId(rule, offered.name),
  });
  return {
    ...upstreamSummary(view),
    command: rule?.command ?? null,
    workspace: rule?.workspace ?? null,
    readOnly: rule?.readOnly ?? [],
    allowHosts: rule?.allowHosts ?? [],
    secrets: rule?.secrets ?? [],
    // Values of variables may be secret.
    env: rule?.env.map((each) => each.slice(0, each.indexOf('='))) ?? [],
    digest: pin?.acceptedBy == null ? null : pin.accepted.digest,
    offeredDigest: pin?.offered?.digest ?? null,
    difference,
    definitions: pin?.accepted.definitions.map(definitionOf) ?? [],
    offered: pin?.offered?.definitions.map(definitionOf) ?? null,
    findings: findings.map((finding) => ({ ...finding })),
  };
}
