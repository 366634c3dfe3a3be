import { type Principal, parsePrincipal } from '../core/principal.ts';
import type { CedarValueJson, EntityJson } from './cedar.ts';

/*
 * What can be done with a skill, as policies see it. Each act is an action of its own, all of them are in the group
 * `manageSkills`, and all tell the same. An agent is the principal of none, and only a user of `approveSkill`: the schema
 * knows no such request, so no policy can permit it.
 */

export const SKILL_ACTS = [
  'install',
  'auditSkill',
  'quarantineSkill',
  'approveSkill',
  'enableSkill',
  'disableSkill',
  'revokeSkill',
  'removeSkill',
] as const;

export type SkillAct = (typeof SKILL_ACTS)[number];

/** The skill itself; it is the same for an act upon it and for a call of its tools. */
export type SkillFacts = {
  readonly id: string;
  readonly publisher: string;
  readonly version: string;
  readonly trust: string;
};

/** How the skill stands when somebody acts upon it. */
export type SkillStanding = {
  /** The state it is in; `new` where this version is not installed. */
  readonly state: string;
  /** Kinds of capabilities that it asks for; of `approveSkill` those that are being granted. */
  readonly capabilities: readonly string[];
  readonly hosts: readonly string[];
  readonly hasWildcards: boolean;
  readonly verdict: 'passed' | 'failed' | 'none';
  /** The checks of the audit that refuse or warn. */
  readonly findings: readonly string[];
  /** The principal, as in `user:bob`; null where it is not installed. */
  readonly installedBy: string | null;
};

/** What each act upon a skill is about. */
export type SkillActFacts = {
  readonly tenant: string;
  readonly nowMs: number;
  readonly skill: SkillFacts;
  readonly about: SkillStanding;
};

/** The category that tools of skills are in; they come and go, so a check cannot list them. */
export const SKILL_CATEGORY = 'skill';

export function skillEntity({ id, publisher, version, trust }: SkillFacts): EntityJson {
  return { uid: { type: 'Skill', id }, attrs: { publisher, version, trust }, parents: [] };
}

/** What an act upon a skill tells beside the time. */
export function skillContext(about: SkillStanding): Record<string, CedarValueJson> {
  const { state, capabilities, hosts, hasWildcards, verdict, findings } = about;
  const lists = { capabilities: [...capabilities], hosts: [...hosts], findings: [...findings] };
  const context = { state, hasWildcards, verdict, ...lists };
  const installer = installerOf(about);
  if (installer?.kind !== 'user') return context;
  return { ...context, installedBy: { __entity: { type: 'User', id: installer.name } } };
}

/** Who installed the skill; null for nobody. */
export function installerOf({ installedBy }: SkillStanding): Principal | null {
  if (installedBy === null) return null;
  const installer = parsePrincipal(installedBy);
  // Boundary: told as "nobody", an unreadable name would lift every policy that wants another person.
  if (installer === null)
    throw new TypeError(`Cannot tell who installed the skill: "${installedBy}" is no principal`);
  return installer;
}
