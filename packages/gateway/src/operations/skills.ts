import * as z from 'zod';
import { wrongUsage } from '../core/coded-error.ts';
import { requireSkill } from '../invoke/skills/skill-acts.ts';
import { pageOf as pageOfSkills } from '../skills/index/read.ts';
import { PACKAGE_LIMITS } from '../skills/limits.ts';
import { actingOf, requireHome } from './access.ts';
import { ByteStream, type Operation, type OperationResult, operation, READS_GATEWAY } from './operation.ts';
import { pageInput, pageOf, switchValue } from './schema-parts.ts';
import { skillChangeOperations } from './skill-changes.ts';
import { shownSkillDocument, skillDocument, summaryDocument } from './skill-document.ts';
import {
  installedSkill,
  shownSkill,
  skillComparison,
  skillId,
  skillState,
  skillSummary,
  skillVersion,
} from './skill-schemas.ts';

/* Skills are installed for the whole gateway: callers of its own tenant see and change them. */

const PAGE = 20;
const CURSOR = /^[a-z0-9.-]{1,64}:[0-9]{1,15}$/;
const BAD_CURSOR =
  'Cannot go on after the cursor: it is not valid, expected the one that the page before gave';
const versioned = z.strictObject({
  id: skillId,
  version: skillVersion.optional().describe('Left out: the one that runs, else the newest.'),
});

const facts = { ...READS_GATEWAY, noun: 'skills' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listSkills',
    sentence: 'Lists what is installed, by id and version.',
    opens: 'records',
    http: { method: 'GET', path: '/v1/skills' },
    input: pageInput(PAGE).extend({ state: skillState.optional().describe('Only those in this state.') }),
    output: pageOf('skills', skillSummary),
    handle: ({ gateway }, { limit, state = null, cursor = null }) => {
      if (cursor !== null && !CURSOR.test(cursor)) throw wrongUsage(BAD_CURSOR, 'Begin with the first page.');
      const { skills, next } = pageOfSkills(gateway.store, { after: cursor, limit, state });
      return { skills: skills.map(summaryDocument), cursor: next };
    },
  }),
  operation({
    name: 'installSkill',
    noun: 'skills',
    sentence: 'Installs a signed package: it is audited, its test cases are run, and it ends in quarantine.',
    scope: 'skills',
    action: 'install',
    access: requireHome,
    opens: 'gateway',
    http: {
      method: 'POST',
      path: '/v1/skills',
      bytes: { member: 'package', maxBytes: PACKAGE_LIMITS.packageBytes },
    },
    input: z.strictObject({
      package: z.instanceof(Uint8Array),
      allowDowngrade: switchValue
        .default(false)
        .describe('An older version than one that was installed before is meant; left out: false.'),
    }),
    output: {
      schema: installedSkill,
      sentence: 'The very same package was installed already; nothing has changed.',
      created: {
        sentence: 'It is installed, and waits for an approval.',
        when: (document: OperationResult) => (document as { readonly isNew: boolean }).isNew,
      },
    },
    handle: async (context, { package: bytes, allowDowngrade }) => {
      const { gateway, signal } = context;
      const { installSkill } = await import('../invoke/skills/install.ts');
      const installing = { ...actingOf(context), bytes, signal, allowDowngrade };
      const { skill, difference, isNew } = await installSkill(gateway, installing);
      return { skill: skillDocument(skill), difference, isNew };
    },
  }),
  operation({
    ...facts,
    name: 'getSkill',
    sentence: 'Shows all that is known of one version of a skill.',
    opens: 'records',
    http: { method: 'GET', path: '/v1/skills/{id}' },
    input: versioned,
    output: { schema: shownSkill, sentence: 'The skill.' },
    handle: ({ gateway }, { id, version = null }) =>
      shownSkillDocument(requireSkill(gateway.store, { id, version }, ['active']), gateway),
  }),
  operation({
    ...facts,
    name: 'getSkillPackage',
    sentence: 'Gives the very bytes of an installed package.',
    opens: 'gateway',
    http: { method: 'GET', path: '/v1/skills/{id}/package' },
    input: versioned,
    output: { type: 'application/octet-stream', sentence: 'The package.' },
    handle: ({ gateway: { store, skills } }, { id, version = null }) => {
      const found = requireSkill(store, { id, version }, ['active']);
      return ByteStream.of(skills.artifacts.read(found.artifact), `${found.id}-${found.version}.skill`);
    },
  }),
  operation({
    ...facts,
    name: 'compareSkill',
    sentence: 'Shows what one version has that another does not.',
    opens: 'gateway',
    http: { method: 'GET', path: '/v1/skills/{id}/diff' },
    input: z.strictObject({
      id: skillId,
      from: skillVersion.optional().describe('Left out: the one that runs.'),
      to: skillVersion.optional().describe('Left out: the newest other one.'),
    }),
    output: { schema: skillComparison, sentence: 'The difference.' },
    handle: async ({ gateway }, { id, from = null, to = null }) => {
      const { compareSkill } = await import('./compare-skill.ts');
      return compareSkill(gateway, { id, from, to, file: null });
    },
  }),
  ...skillChangeOperations,
];
