import { z } from 'zod';
import { anyJson, proseText, risk, sha256, tierName, timeMs } from './parts.ts';

export const approvalState = z.enum(['pending', 'approved', 'denied', 'used', 'expired']);

/** A question to a person, and its answer: the document of `palisade approvals show --json`. */
export const approval = z
  .object({
    id: z.string(),
    digest: sha256.describe('Names the very call that is asked for.'),
    tenant: z.string(),
    principal: z.string(),
    tool: z.string(),
    inputText: z.string().describe('The input without secrets; empty once it is used or expired.'),
    inputDigest: sha256,
    toolDigest: sha256,
    policySet: sha256,
    policies: z.array(z.string()).describe('The policies that permit the call once it is approved.'),
    risk,
    askedAtMs: timeMs,
    expiresAtMs: timeMs,
    state: approvalState,
    decidedBy: z.string().nullable(),
    decidedAtMs: timeMs.nullable(),
    note: z.string().nullable(),
    usedByCall: z.string().nullable(),
    askedTool: z
      .object({
        description: z.string(),
        category: z.string(),
        tier: tierName,
        capabilities: z.array(z.string()),
        inputSchema: z.record(z.string(), anyJson),
      })
      .nullable(),
  })
  .meta({ id: 'Approval' });

const NOTE_CHARS = 1_000;

export const decisionBody = z.strictObject({
  verdict: z.enum(['approved', 'denied']),
  note: proseText(NOTE_CHARS).optional().describe('Why; it is recorded and shown.'),
});
