import * as z from 'zod';
import { wrongUsage } from '../core/coded-error.ts';
import type { Digest } from '../core/digest.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import type { ChangeEvent } from '../invoke/skills/change.ts';
import { versionsOf } from '../skills/index/read.ts';
import { pageOfSpaces } from '../storage/spaces.ts';
import { actingOf, requireHome, tenantOf } from './access.ts';
import { chooseVersion } from './choose-version.ts';
import { type OpenedGateway, type Operation, type OperationContext, operation } from './operation.ts';
import { isoTimeText, reasonText, sha256, withoutGaps } from './schema-parts.ts';
import { auditDocument, skillDocument } from './skill-document.ts';
import {
  approvedSkill,
  changedSkill,
  removedSkill,
  skillAudit,
  skillId,
  skillVersion,
} from './skill-schemas.ts';

/* What is done with a skill: the line asks the policies about each change and records it, through every door. */

const MAX_WITHHELD = 256;

const approveInput = z.strictObject({
  id: skillId,
  version: skillVersion.optional(),
  reason: reasonText.min(1).optional(),
  withhold: z
    .array(z.string().min(1).max(512))
    .max(MAX_WITHHELD)
    .default([])
    .describe('What is not granted.'),
  limits: z
    .strictObject({
      wallMs: z.int().min(1).max(LIMIT_CEILINGS.wallMs).optional(),
      fuel: z.int().min(1).max(LIMIT_CEILINGS.fuel).optional(),
      memoryBytes: z.int().min(1).max(LIMIT_CEILINGS.memoryBytes).optional(),
    })
    .default({})
    .describe('Less than it asks for.'),
  config: z
    .record(z.string(), z.string())
    .default({})
    .describe('The values that it asks the operator for; what is left out is kept from the version before.'),
  acceptFindings: z.boolean().default(false).describe('The approver has read the warnings of the audit.'),
  enable: z.boolean().default(true).describe('Whether it is switched on at once.'),
  asShown: z
    .strictObject({ artifact: sha256, changedAt: isoTimeText })
    .optional()
    .describe('What the approver was shown; a skill that was changed since is not approved.'),
});

const facts = { noun: 'skills', scope: 'skills', access: requireHome, opens: 'gateway' } as const;

const CHANGES: readonly { readonly event: ChangeEvent; readonly sentence: string }[] = [
  { event: 'quarantine', sentence: 'Puts a skill into quarantine: it runs again after a new approval.' },
  { event: 'enable', sentence: 'Switches an approved version on.' },
  { event: 'disable', sentence: 'Switches a version off.' },
  {
    event: 'revoke',
    sentence: 'Revokes a skill for good: these very bytes never run again. Without a version, all versions.',
  },
];

export const skillChangeOperations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'auditSkill',
    sentence: 'Audits a skill again; one that fails goes into quarantine.',
    action: 'auditSkill',
    http: { method: 'POST', path: '/v1/skills/{id}/audit' },
    input: z.strictObject({
      id: skillId,
      version: skillVersion.optional(),
      withCases: z.boolean().default(true).describe('Whether its test cases are run as well.'),
    }),
    output: { schema: skillAudit, sentence: 'What the audit found; its verdict may be "failed".' },
    handle: async (context, { id, version = null, withCases }) => {
      const { gateway, signal } = context;
      const { auditSkill } = await import('../invoke/skills/audit.ts');
      return auditDocument(
        await auditSkill(gateway, { ...actingOf(context), id, version, withCases, signal }),
      );
    },
  }),
  operation({
    ...facts,
    name: 'approveSkill',
    sentence: 'Approves one version with one grant.',
    action: 'approveSkill',
    http: { method: 'POST', path: '/v1/skills/{id}/approve' },
    input: approveInput,
    output: { schema: approvedSkill, sentence: 'The skill; it may wait for more reviewers.' },
    handle: async (context, { version = null, reason = null, limits, asShown, ...rest }) => {
      // The owner may confirm it at a terminal instead.
      if (reason === null && !context.caller.isOwner)
        throw wrongUsage('Cannot approve the skill: "reason" is missing');
      const { approveSkill } = await import('../invoke/skills/approve.ts');
      const { skill, reviewersMissing } = await approveSkill(context.gateway, {
        ...actingOf(context),
        ...rest,
        version,
        reason,
        limits: withoutGaps(limits),
        ...(asShown === undefined
          ? {}
          : {
              asShown: { artifact: asShown.artifact as Digest, changedAtMs: Date.parse(asShown.changedAt) },
            }),
      });
      return { ...skillDocument(skill), reviewersMissing };
    },
  }),
  operation({
    ...facts,
    name: 'rollbackSkill',
    sentence: 'Goes back to the version that ran before.',
    action: 'enableSkill',
    http: { method: 'POST', path: '/v1/skills/{id}/rollback' },
    input: z.strictObject({ id: skillId, reason: reasonText.optional() }),
    output: {
      schema: z.object({ id: skillId, from: skillVersion.nullable(), to: skillVersion }),
      sentence: 'From which version to which.',
    },
    handle: async (context, { id, reason = null }) => {
      const { rollbackSkill } = await import('../invoke/skills/change.ts');
      return { id, ...(await rollbackSkill(context.gateway, { ...actingOf(context), id, reason })) };
    },
  }),
  ...CHANGES.map(({ event, sentence }) =>
    operation({
      ...facts,
      name: `${event}Skill`,
      sentence,
      action: `${event}Skill`,
      http: { method: 'POST', path: `/v1/skills/{id}/${event}` },
      input: z.strictObject({
        id: skillId,
        version: skillVersion.optional().describe('Left out: the one that runs, else the one that fits.'),
        reason: reasonText.optional(),
      }),
      output: { schema: changedSkill, sentence: 'The skill as it is now.' },
      handle: (context, { id, version = null, reason = null }) =>
        change(context, { event, id, version, reason }),
    }),
  ),
  operation({
    ...facts,
    name: 'removeSkill',
    sentence: 'Forgets a version and its grant; the journal keeps what was done.',
    action: 'removeSkill',
    http: { method: 'DELETE', path: '/v1/skills/{id}' },
    input: z.strictObject({
      id: skillId,
      version: skillVersion.optional().describe('Left out: the only one that can be meant.'),
      reason: reasonText.optional(),
    }),
    output: { schema: removedSkill, sentence: 'The skill as it was, and what it leaves.' },
    handle: async (context, { id, version = null, reason = null }) => {
      const removed = await change(context, { event: 'remove', id, version, reason });
      return { ...removed, left: leftBy(context, id) };
    },
  }),
];

/** Of more tenants than this, the list of storage shows the rest. */
const MOST_SPACES = 100;

/** What a skill leaves of which no version is installed; an operator deletes it, or it is there for its next version. */
function leftBy(context: OperationContext<OpenedGateway>, id: string) {
  const { store, vault } = context.gateway;
  if (versionsOf(store, id).length > 0) return null;
  const asked = { tenant: tenantOf(context), skill: id, after: null, limit: MOST_SPACES };
  const storage = pageOfSpaces(store, asked).spaces.map(({ tenant, keys, bytes }) => ({
    tenant,
    keys,
    bytes,
  }));
  const secrets = vault.list().filter(({ scope }) => scope.kind === 'skill' && scope.subject === id);
  return { storage, secrets: secrets.map(({ name }) => name) };
}

type Change = {
  readonly event: ChangeEvent;
  readonly id: string;
  readonly version: string | null;
  readonly reason: string | null;
};

async function change(context: OperationContext<OpenedGateway>, wanted: Change) {
  const { store } = context.gateway;
  const { event, id } = wanted;
  const { version } = chooseVersion(store, wanted, event);
  const left = versionsOf(store, id).filter(({ state }) => state !== 'revoked');
  // Boundary: a skill that is revoked by its id has no version left that could be switched on.
  const isAll = event === 'revoke' && wanted.version === null && left.length > 1;
  const { changeSkill } = await import('../invoke/skills/change.ts');
  const skill = await changeSkill(context.gateway, {
    ...actingOf(context),
    ...wanted,
    version: isAll ? null : version,
  });
  return { event, ...skillDocument(skill) };
}
