import type { ApprovalFact, BudgetLeft, CheckedCall } from '../core/checked-call.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import { callContext, timeContext } from './call-context.ts';
import type { CedarValueJson, EntityJson, TypeAndId } from './cedar.ts';
import type { Directory } from './principals.ts';
import { EVERYTHING, type Reads } from './reads.ts';
import { TOOLLESS_SCHEMA } from './schema.ts';
import { installerOf, type SkillAct, type SkillActFacts, skillContext, skillEntity } from './skill-act.ts';
import { callSchemaOf, refTo, type SchemaRef, viewTool } from './tool-view.ts';

/*
 * From a call to the question that Cedar is asked. Nothing is decided here: what is known about the call is written
 * down as entities and, as far as the policies read it, context. Entities are the principal, its approver, the tool and
 * its skill, each with its parents named; Cedar reads them anew at each decision and each costs as much as a dozen
 * policies, so what is not there is not given.
 */

/** One question to Cedar, whole but for the policy set. */
export type Question = {
  readonly principal: TypeAndId;
  readonly action: TypeAndId;
  readonly resource: TypeAndId;
  readonly context: Record<string, CedarValueJson>;
  readonly entities: EntityJson[];
  readonly schema: SchemaRef;
};

/** What is known beside the call itself when it is judged. */
export type CallFacts = {
  readonly budgetLeft: BudgetLeft;
  readonly approval: ApprovalFact | null;
  readonly nowMs: number;
};

/** What each act other than a call is about. */
export type ActFacts = {
  readonly approve: TenantFacts & { readonly tool: Tool; readonly asker: string; readonly inputText: string };
  readonly readJournal: TenantFacts;
  readonly administer: TenantFacts;
} & { readonly [A in SkillAct]: SkillActFacts };
export type Act = keyof ActFacts;
type TenantFacts = { readonly tenant: string; readonly nowMs: number };

type Approved = Omit<CallFacts, 'approval'> & { readonly approved: boolean; readonly by: string | null };

const CALL: TypeAndId = { type: 'Action', id: 'call' };
const TOOLLESS: SchemaRef = refTo(TOOLLESS_SCHEMA, EVERYTHING);

/** The question whether this call may run. Throws where the input does not fit the tool, which denies it. */
export function callQuestion(
  directory: Directory,
  checked: CheckedCall,
  facts: CallFacts,
  reads: Reads = EVERYTHING,
): Question {
  const { budgetLeft, approval, nowMs } = facts;
  const by = approval?.by ?? null;
  return questionOf(directory, checked, { budgetLeft, nowMs, approved: approval !== null, by }, reads);
}

/** The same question as if a person had approved the call. */
export function approvedQuestion(
  directory: Directory,
  checked: CheckedCall,
  facts: CallFacts,
  reads: Reads = EVERYTHING,
): Question {
  const { budgetLeft, nowMs } = facts;
  return questionOf(directory, checked, { budgetLeft, nowMs, approved: true, by: null }, reads);
}

function questionOf(
  directory: Directory,
  checked: CheckedCall,
  { budgetLeft, nowMs, approved, by }: Approved,
  reads: Reads,
): Question {
  const { call, tool } = checked;
  const view = viewTool(tool);
  const principal = directory.entityOf(call.principal, call.tenant);
  const approver = by === null ? null : directory.entityOf(userOf(by), call.tenant);
  const entities = [principal, view.entity];
  if (view.skill !== null) entities.push(view.skill);
  // Cedar refuses an entity that is given twice.
  if (approver !== null && by !== formatPrincipal(call.principal)) entities.push(approver);
  const told = { checked, view, budgetLeft, nowMs, approved, approver: approver && uidOf(approver) };
  return {
    principal: uidOf(principal),
    action: CALL,
    resource: view.uid,
    context: callContext(told, reads),
    entities,
    schema: callSchemaOf(view, reads),
  };
}

/** The question whether a principal may approve, act upon a skill, read the journal or administer. */
export function actQuestion<A extends Act>(
  directory: Directory,
  principal: Principal,
  action: A,
  facts: ActFacts[A],
): Question {
  const entity = directory.entityOf(principal, facts.tenant);
  const { resource, others, context, schema } = aboutOf(directory, facts);
  return {
    principal: uidOf(entity),
    action: { type: 'Action', id: action },
    resource: uidOf(resource),
    context: { ...timeContext(facts.nowMs), ...context },
    // Cedar refuses an entity that is given twice; the directory gives a principal as one record.
    entities: [entity, resource, ...others.filter((other) => other !== entity)],
    schema,
  };
}

type About = {
  readonly resource: EntityJson;
  /** Who and what else the question is about. */
  readonly others: readonly EntityJson[];
  readonly context: Record<string, CedarValueJson>;
  readonly schema: SchemaRef;
};

function aboutOf(directory: Directory, facts: ActFacts[Act]): About {
  if ('tool' in facts) {
    const { entity, skill, schema } = viewTool(facts.tool);
    return { resource: entity, others: skill === null ? [] : [skill], context: askerOf(facts), schema };
  }
  if ('skill' in facts) {
    const { tenant, skill, about } = facts;
    const installer = installerOf(about);
    const others = installer?.kind === 'user' ? [directory.entityOf(installer, tenant)] : [];
    return { resource: skillEntity(skill), others, context: skillContext(about), schema: TOOLLESS };
  }
  const resource = { uid: { type: 'Tenant', id: facts.tenant }, attrs: {}, parents: [] };
  return { resource, others: [], context: {}, schema: TOOLLESS };
}

function askerOf({ asker, inputText }: ActFacts['approve']): Record<string, CedarValueJson> {
  const principal = parsePrincipal(asker);
  const context = { asker, inputText };
  if (principal?.kind !== 'user') return context;
  return { ...context, askerUser: { __entity: { type: 'User', id: principal.name } } };
}

function userOf(by: string): Principal {
  const principal = parsePrincipal(by);
  // Boundary: whatever the approval room believes, an approval by an agent or a service is no fact for Cedar.
  if (principal?.kind !== 'user') throw new TypeError(`Cannot use the approval: "${by}" is not a user`);
  return principal;
}

function uidOf(entity: EntityJson): TypeAndId {
  return '__entity' in entity.uid ? entity.uid.__entity : entity.uid;
}
