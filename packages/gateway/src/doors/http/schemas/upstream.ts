import { z } from 'zod';
import { anyJson, isoTimeText, risk, sha256 } from './parts.ts';

const names = z.array(z.string());

export const upstreamName = z
  .string()
  .max(32)
  .regex(/^[a-z][a-z0-9-]{0,31}$/)
  .describe('The name of a server, as palisade.toml has it.');

const facts = {
  name: z.string(),
  state: z.enum(['unmet', 'accepted', 'quarantined']),
  reason: z.string().nullable().describe('Why it is in quarantine.'),
  tier: z.enum(['b', 'c']),
  risk,
  prefix: z.string().describe('What the ids of its tools begin with.'),
  tools: z.int().describe('How many tools are accepted.'),
  acceptedBy: z.string().nullable(),
  acceptedAt: isoTimeText.nullable(),
  changedAt: isoTimeText.nullable(),
};

/** A server in `palisade upstream list --json`. */
export const upstreamSummary = z
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

/** The document of `palisade upstream show --json`. Texts of the server stand in it as they were offered. */
export const upstream = z
  .object({
    ...facts,
    command: names,
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

export const upstreamList = z.object({ upstreams: z.array(upstreamSummary) });
export const approveUpstreamBody = z.strictObject({
  digest: sha256.describe('The `offeredDigest` that whoever accepts was shown; nothing else is accepted.'),
});
