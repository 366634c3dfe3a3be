import { z } from 'zod';
import type { Digest } from '../../../core/digest.ts';
import { approveSkill } from '../../../invoke/skills/approve.ts';
import { auditSkill } from '../../../invoke/skills/audit.ts';
import { type ChangeEvent, changeSkill, rollbackSkill } from '../../../invoke/skills/change.ts';
import { versionsOf } from '../../../skills/index/read.ts';
import { auditDocument, skillDocument } from '../../documents/skills.ts';
import { meantSkill } from '../../meant-skill.ts';
import { requireHome } from '../may-see.ts';
import { type Asked, type Reply, type Route, route } from '../route.ts';
import {
  approveBody,
  approvedSkill,
  auditBody,
  auditReport,
  changeBody,
  changedSkill,
  reasonText,
  rollbackBody,
  rolledBack,
  skillId,
  skillState,
  skillVersion,
} from '../schemas/skill.ts';
import { actingOf, document, json } from './answer.ts';

/* What is done with a skill: each act asks the policies and is recorded, whichever door it comes by. */

const TAG = 'skills';
const params = z.object({ id: skillId });
const audited = auditReport
  .extend({ state: skillState, reason: z.string().nullable() })
  .meta({ id: 'SkillAudit' });

const audit = route({
  method: 'POST',
  path: '/v1/skills/{id}/audit',
  name: 'auditSkill',
  tag: TAG,
  sentence: 'Audits a skill again; one that fails goes into quarantine.',
  scope: 'skills',
  params,
  body: { type: 'application/json', schema: auditBody },
  replies: { 200: document(audited, 'What the audit found; its verdict may be "failed".') },
  handle: async (asked) => {
    requireHome(asked);
    const { version = null, withCases } = asked.body;
    const named = { id: asked.params.id, version };
    const { gateway, signal } = asked;
    return json(
      auditDocument(await auditSkill(gateway, { ...actingOf(asked), ...named, withCases, signal })),
    );
  },
});

const approve = route({
  method: 'POST',
  path: '/v1/skills/{id}/approve',
  name: 'approveSkill',
  tag: TAG,
  sentence: 'Approves one version with one grant.',
  scope: 'skills',
  params,
  body: { type: 'application/json', schema: approveBody },
  replies: { 200: document(approvedSkill, 'The skill; it may wait for more reviewers.') },
  handle: async (asked) => {
    requireHome(asked);
    const { version = null, limits, asShown, ...rest } = asked.body;
    const { skill, reviewersMissing } = await approveSkill(asked.gateway, {
      ...{ ...actingOf(asked), ...rest, id: asked.params.id, version },
      limits: withoutGaps(limits),
      ...(asShown === undefined
        ? {}
        : { asShown: { artifact: asShown.artifact as Digest, changedAtMs: Date.parse(asShown.changedAt) } }),
    });
    return json({ ...skillDocument(skill), reviewersMissing });
  },
});

const rollback = route({
  method: 'POST',
  path: '/v1/skills/{id}/rollback',
  name: 'rollbackSkill',
  tag: TAG,
  sentence: 'Goes back to the version that ran before.',
  scope: 'skills',
  params,
  body: { type: 'application/json', schema: rollbackBody },
  replies: { 200: document(rolledBack, 'From which version to which.') },
  handle: async (asked) => {
    requireHome(asked);
    const { id } = asked.params;
    const reason = asked.body.reason ?? null;
    return json({ id, ...(await rollbackSkill(asked.gateway, { ...actingOf(asked), id, reason })) });
  },
});

type Change = { readonly event: ChangeEvent; readonly sentence: string };

const CHANGES: readonly Change[] = [
  { event: 'quarantine', sentence: 'Puts a skill into quarantine: it runs again after a new approval.' },
  { event: 'enable', sentence: 'Switches an approved version on.' },
  { event: 'disable', sentence: 'Switches a version off.' },
  {
    event: 'revoke',
    sentence: 'Revokes a skill for good: these very bytes never run again. Without a version, all versions.',
  },
];

function changeRoute({ event, sentence }: Change): Route {
  return route({
    method: 'POST',
    path: `/v1/skills/{id}/${event}`,
    name: `${event}Skill`,
    tag: TAG,
    sentence,
    scope: 'skills',
    params,
    body: { type: 'application/json', schema: changeBody },
    replies: { 200: document(changedSkill, 'The skill as it is now.') },
    handle: (asked) => {
      const { version = null, reason = null } = asked.body;
      return change(asked, { event, id: asked.params.id, version, reason });
    },
  });
}

const remove = route({
  method: 'DELETE',
  path: '/v1/skills/{id}',
  name: 'removeSkill',
  tag: TAG,
  sentence: 'Forgets a version and its grant; the journal keeps what was done.',
  scope: 'skills',
  params,
  query: z.object({
    version: skillVersion.optional().describe('Left out: the only one that can be meant.'),
    reason: reasonText.optional(),
  }),
  replies: { 200: document(changedSkill, 'The skill as it was.') },
  handle: (asked) => {
    const { version = null, reason = null } = asked.query;
    return change(asked, { event: 'remove', id: asked.params.id, version, reason });
  },
});

type Changing = {
  readonly event: ChangeEvent;
  readonly id: string;
  readonly version: string | null;
  readonly reason: string | null;
};

async function change(asked: Pick<Asked, 'gateway' | 'caller'>, changing: Changing): Promise<Reply> {
  requireHome(asked);
  const { gateway } = asked;
  const { event, id } = changing;
  const { version } = meantSkill(gateway.store, changing, event);
  const left = versionsOf(gateway.store, id).filter(({ state }) => state !== 'revoked');
  // Boundary: a skill that is revoked by its id has no version left that could be switched on.
  const isAll = event === 'revoke' && changing.version === null && left.length > 1;
  const skill = await changeSkill(gateway, {
    ...{ ...actingOf(asked), ...changing },
    version: isAll ? null : version,
  });
  return json({ event, ...skillDocument(skill) });
}

type Gaps<T> = { readonly [K in keyof T]: T[K] | undefined };

function withoutGaps<T extends object>(value: Gaps<T>): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
}

export const skillActsRoutes: readonly Route[] = [
  audit,
  approve,
  rollback,
  ...CHANGES.map(changeRoute),
  remove,
];
