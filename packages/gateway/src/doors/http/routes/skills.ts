import { z } from 'zod';
import { CodedError } from '../../../core/coded-error.ts';
import { installSkill } from '../../../invoke/skills/install.ts';
import { requireSkill } from '../../../invoke/skills/skill-acts.ts';
import { pageOf, versionsOf } from '../../../skills/index/read.ts';
import { PACKAGE_LIMITS } from '../../../skills/limits.ts';
import { compareSkill } from '../../compared-skill.ts';
import { shownSkillDocument, skillDocument, summaryDocument } from '../../documents/skills.ts';
import { requireHome, requireReader } from '../may-see.ts';
import { type Asked, type Route, route } from '../route.ts';
import {
  installedSkill,
  shownSkill,
  skillComparison,
  skillId,
  skillPage,
  skillPageQuery,
  skillVersion,
} from '../schemas/skill.ts';
import { actingOf, bytesOf, document, json, whole } from './answer.ts';
import { skillActsRoutes } from './skill-acts.ts';

/* Skills are of the whole gateway: those of its own tenant see and change them. */

const TAG = 'skills';
const CURSOR = /^[a-z0-9.-]{1,64}:[0-9]{1,15}$/;
const params = z.object({ id: skillId });
const OF_VERSION = z.object({
  version: skillVersion.optional().describe('Left out: the one that runs, else the newest.'),
});

function requireSeer(asked: Pick<Asked, 'gateway' | 'caller'>): void {
  requireHome(asked);
  requireReader(asked);
}

const listSkills = route({
  method: 'GET',
  path: '/v1/skills',
  name: 'listSkills',
  tag: TAG,
  sentence: 'Lists what is installed, by id and version.',
  scope: 'read',
  query: skillPageQuery,
  replies: { 200: document(skillPage, 'A page of skills.') },
  handle: async (asked) => {
    requireSeer(asked);
    const { limit, state = null, cursor = null } = asked.query;
    if (cursor !== null && !CURSOR.test(cursor)) throw unknownCursor();
    const { skills, next } = pageOf(asked.gateway.store, { after: cursor, limit, state });
    return json({ skills: skills.map(summaryDocument), cursor: next });
  },
});

const install = route({
  method: 'POST',
  path: '/v1/skills',
  name: 'installSkill',
  tag: TAG,
  sentence: 'Installs a signed package: it is audited, its test cases are run, and it ends in quarantine.',
  scope: 'skills',
  query: z.object({
    allowDowngrade: z
      .enum(['true', 'false'])
      .default('false')
      .describe('An older version than one that was installed before is meant.'),
  }),
  body: { type: 'application/octet-stream', maxBytes: PACKAGE_LIMITS.packageBytes },
  replies: {
    200: document(installedSkill, 'The very same package was installed already; nothing has changed.'),
    201: document(installedSkill, 'It is installed, and waits for an approval.'),
  },
  handle: async (asked) => {
    requireHome(asked);
    const { gateway, query, signal } = asked;
    const { skill, difference, isNew } = await installSkill(gateway, {
      ...{ ...actingOf(asked), bytes: bytesOf(asked), signal },
      allowDowngrade: query.allowDowngrade === 'true',
    });
    return json({ skill: skillDocument(skill), difference, isNew }, isNew ? 201 : 200);
  },
});

const getSkill = route({
  method: 'GET',
  path: '/v1/skills/{id}',
  name: 'getSkill',
  tag: TAG,
  sentence: 'Shows all that is known of one version of a skill.',
  scope: 'read',
  params,
  query: OF_VERSION,
  replies: { 200: document(shownSkill, 'The skill.') },
  handle: async (asked) => {
    requireSeer(asked);
    const { store } = asked.gateway;
    const { id } = asked.params;
    const skill = requireSkill(store, { id, version: asked.query.version ?? null }, ['active']);
    return json(shownSkillDocument(skill, versionsOf(store, id)));
  },
});

const getPackage = route({
  method: 'GET',
  path: '/v1/skills/{id}/package',
  name: 'getSkillPackage',
  tag: TAG,
  sentence: 'Gives the very bytes of an installed package.',
  scope: 'read',
  params,
  query: OF_VERSION,
  replies: { 200: { type: 'application/octet-stream', sentence: 'The package.' } },
  handle: async (asked) => {
    requireSeer(asked);
    const { store, skills } = asked.gateway;
    const named = { id: asked.params.id, version: asked.query.version ?? null };
    const { id, version, artifact } = requireSkill(store, named, ['active']);
    return whole('application/octet-stream', skills.artifacts.read(artifact), `${id}-${version}.skill`);
  },
});

const getDifference = route({
  method: 'GET',
  path: '/v1/skills/{id}/diff',
  name: 'compareSkill',
  tag: TAG,
  sentence: 'Shows what one version has that another does not.',
  scope: 'read',
  params,
  query: z.object({
    from: skillVersion.optional().describe('Left out: the one that runs.'),
    to: skillVersion.optional().describe('Left out: the newest other one.'),
  }),
  replies: { 200: document(skillComparison, 'The difference.') },
  handle: async (asked) => {
    requireSeer(asked);
    const { from = null, to = null } = asked.query;
    return json(await compareSkill(asked.gateway, { id: asked.params.id, from, to, file: null }));
  },
});

function unknownCursor(): CodedError {
  return new CodedError(
    'door/wrong-usage',
    'Cannot go on after the cursor: it is none, expected the one that the page before gave',
    { remedy: 'Begin with the first page.' },
  );
}

export const skillsRoutes: readonly Route[] = [
  listSkills,
  install,
  getSkill,
  getPackage,
  getDifference,
  ...skillActsRoutes,
];
