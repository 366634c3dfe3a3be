import { cached } from '../core/cached.ts';
import { digestBytes } from '../core/digest.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../core/principal.ts';
import type { Tool, ToolSkill } from '../core/tool.ts';
import type { CedarValueJson, EntityJson, TypeAndId } from './cedar.ts';
import { type InputPlan, planInput, printType } from './input-type.ts';
import { CACHED_PRINCIPALS } from './limits.ts';
import { callSchemaFor, EVERYTHING, type Reads, schemaFor } from './schema.ts';

/** Maps `agent:ada` to the names of its groups. */
export type Groups = ReadonlyMap<string, readonly string[]>;

const TYPES = { agent: 'Agent', user: 'User', service: 'Service' } as const;

/** Knows which groups and tenant a principal is in, and keeps the entities of the recent ones. */
export class Directory {
  readonly #groups: Groups;
  readonly #entities = new Map<string, EntityJson>();

  constructor(groups: Groups) {
    this.#groups = groups;
  }

  /** The principal with its groups and its tenant as parents; both are named directly, so neither needs an entity. */
  entityOf(principal: Principal, tenant: string): EntityJson {
    const name = formatPrincipal(principal);
    const make = () => {
      const groups = (this.#groups.get(name) ?? []).map((id) => ({ type: 'Group', id }));
      const uid = { type: TYPES[principal.kind], id: principal.name };
      return { uid, attrs: {}, parents: [...groups, { type: 'Tenant', id: tenant }] };
    };
    return cached(this.#entities, `${tenant} ${name}`, make, CACHED_PRINCIPALS);
  }
}

/** The schema that a request is judged under; the name is the same wherever the text comes from. */
export type SchemaRef = {
  readonly name: string;
  readonly text: string;
  readonly tells: Reads;
};

export type ToolView = {
  readonly uid: TypeAndId;
  readonly entity: EntityJson;
  /** The skill that it belongs to, which a question passes separately; null if there is none. */
  readonly skill: EntityJson | null;
  readonly plan: InputPlan & { kind: 'record' };
  readonly inputType: string;
  /** The whole schema, with every action and every attribute. */
  readonly schema: SchemaRef;
};

const views: WeakMap<Tool, ToolView> = new WeakMap();
const callSchemas: WeakMap<Reads, WeakMap<ToolView, SchemaRef>> = new WeakMap();

export function viewTool(tool: Tool): ToolView {
  return cached(views, tool, () => makeView(tool));
}

/** A tool as far as the check of policies looks at it. */
export function printTool(tool: Tool): string {
  return [tool.id, tool.category, tool.skill?.id ?? '', viewTool(tool).schema.name].join(' ');
}

function makeView(tool: Tool): ToolView {
  const uid = { type: 'Tool', id: tool.id };
  const plan = planInput(tool.inputSchema);
  const inputType = printType(plan);
  const schema = refTo(schemaFor(inputType), EVERYTHING);
  const skill = tool.skill === undefined ? null : skillEntity(tool.skill);
  return { uid, entity: entityOf(tool, uid), skill, plan, inputType, schema };
}

function entityOf({ risk, tier, capabilities, category, skill }: Tool, uid: TypeAndId): EntityJson {
  const attrs = { risk, tier, capabilities: [...capabilities] };
  const parents = [{ type: 'Category', id: category }];
  if (skill === undefined) return { uid, attrs, parents };
  const its = { type: 'Skill', id: skill.id };
  return { uid, attrs: { ...attrs, skill: { __entity: its } }, parents: [...parents, its] };
}

/** A schema by the digest of its text, so that no two texts ever share a name. */
export function refTo(text: string, tells: Reads): SchemaRef {
  return { name: digestBytes(text), text, tells };
}

/** The schema for a call of this tool with only the attributes that are read; made once for each set and tool. */
export function callSchemaOf(view: ToolView, reads: Reads): SchemaRef {
  if (reads === EVERYTHING) return view.schema;
  const schemas = cached(callSchemas, reads, () => new WeakMap());
  return cached(schemas, view, () => refTo(callSchemaFor(view.inputType, reads), reads));
}

/*
 * What can be done with a skill, as policies see it. Each act is an action of its own, all of them are in the group
 * `manageSkills`, and all have the same context. An agent is the principal of none, and only a user of `approveSkill`:
 * the schema knows no such request, so no policy can permit it.
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

/** The skill itself: of a call of its tools with what exactly runs, which an act upon it may be about to change. */
type SkillFacts = Pick<ToolSkill, 'id' | 'publisher' | 'version'> & { readonly trust: string } & Partial<
    Pick<ToolSkill, 'artifact' | 'grant'>
  >;

export type SkillStanding = {
  /** The state it is in; `new` where this version is not installed. */
  readonly state: string;
  /** Kinds of capabilities that it requests; of `approveSkill` those that are being granted. */
  readonly capabilities: readonly string[];
  readonly hosts: readonly string[];
  readonly hasWildcards: boolean;
  readonly verdict: 'passed' | 'failed' | 'none';
  /** The checks of the audit that refuse or warn. */
  readonly findings: readonly string[];
  /** The principal, as in `user:bob`; null where it is not installed. */
  readonly installedBy: string | null;
};

export type SkillActFacts = {
  readonly tenant: string;
  readonly nowMs: number;
  readonly skill: SkillFacts;
  readonly about: SkillStanding;
};

/** The category that tools of skills are in; they come and go, so a check cannot list them. */
export const SKILL_CATEGORY = 'skill';

export function skillEntity({ id, ...attrs }: SkillFacts): EntityJson {
  return { uid: { type: 'Skill', id }, attrs: { ...attrs }, parents: [] };
}

export function skillContext(about: SkillStanding): Record<string, CedarValueJson> {
  const { state, capabilities, hosts, hasWildcards, verdict, findings } = about;
  const lists = { capabilities: [...capabilities], hosts: [...hosts], findings: [...findings] };
  const context = { state, hasWildcards, verdict, ...lists };
  const installer = installerOf(about);
  if (installer?.kind !== 'user') return context;
  return { ...context, installedBy: { __entity: { type: 'User', id: installer.name } } };
}

/** Who installed the skill; null: no one. */
export function installerOf({ installedBy }: SkillStanding): Principal | null {
  if (installedBy === null) return null;
  const installer = parsePrincipal(installedBy);
  // Boundary: treated as "no one", an unreadable name would lift every policy that wants another person.
  if (installer === null)
    throw new TypeError(`Cannot tell who installed the skill: "${installedBy}" is not a principal`);
  return installer;
}

/** The category of upstream servers and of the tools that they offer; they come and go, so a check cannot list them. */
export const UPSTREAM_CATEGORY = 'upstream';

/** The uid of an entity, which Cedar takes in two spellings. */
export function uidOf(uid: EntityJson['uid']): TypeAndId {
  return '__entity' in uid ? uid.__entity : uid;
}
