import type { ApprovalFact, BudgetLeft, CheckedCall } from '../core/checked-call.ts';
import { isoTime } from '../core/clock.ts';
import { digestBytes } from '../core/digest.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import type { CedarValueJson, EntityJson, TypeAndId } from './cedar.ts';
import { inputToCedar } from './input-type.ts';
import type { Directory } from './principals.ts';
import { TOOLLESS_SCHEMA } from './schema.ts';
import { type SchemaRef, viewTool } from './tool-view.ts';

/*
 * From a call to the question that Cedar is asked. Nothing is decided here: what is known about the call is written
 * down as entities and context. Entities are the principal, its approver and the tool, each with its parents named;
 * Cedar reads them anew at each decision and each costs as much as a dozen policies.
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
  readonly install: TenantFacts & { readonly skill: SkillFacts };
  readonly readJournal: TenantFacts;
  readonly administer: TenantFacts;
};
export type Act = keyof ActFacts;
type TenantFacts = { readonly tenant: string; readonly nowMs: number };
type SkillFacts = {
  readonly id: string;
  readonly publisher: string;
  readonly version: string;
  readonly trust: string;
};

type Approved = { readonly approved: boolean; readonly by: string | null };

const CALL: TypeAndId = { type: 'Action', id: 'call' };
const TOOLLESS: SchemaRef = { name: digestBytes(TOOLLESS_SCHEMA), text: TOOLLESS_SCHEMA };

/** The question whether this call may run. Throws where the input does not fit the tool, which denies it. */
export function callQuestion(directory: Directory, checked: CheckedCall, facts: CallFacts): Question {
  const { approval } = facts;
  return questionOf(directory, checked, facts, { approved: approval !== null, by: approval?.by ?? null });
}

/** The same question as if a person had approved the call. */
export function approvedQuestion(directory: Directory, checked: CheckedCall, facts: CallFacts): Question {
  return questionOf(directory, checked, facts, { approved: true, by: null });
}

function questionOf(
  directory: Directory,
  checked: CheckedCall,
  facts: CallFacts,
  approved: Approved,
): Question {
  const { call, tool, input, inputText, limits } = checked;
  const view = viewTool(tool);
  const principal = directory.entityOf(call.principal, call.tenant);
  const approver = approved.by === null ? null : directory.entityOf(userOf(approved.by), call.tenant);
  const entities = [principal, view.entity];
  // Cedar refuses an entity that is given twice.
  if (approver !== null && approved.by !== formatPrincipal(call.principal)) entities.push(approver);
  const context: Record<string, CedarValueJson> = {
    input: inputToCedar(view.plan, input),
    inputText,
    run: call.run ?? '',
    door: call.door,
    tier: tool.tier,
    capabilities: [...tool.capabilities],
    hosts: [...tool.hosts(input)],
    paths: [...tool.paths(input)],
    ...timeOf(facts.nowMs),
    budgetLeft: toLongs(facts.budgetLeft),
    limits: toLongs(limits),
    approved: approved.approved,
  };
  if (approver !== null) context.approvedBy = { __entity: uidOf(approver) };
  return {
    principal: uidOf(principal),
    action: CALL,
    resource: view.uid,
    context,
    entities,
    schema: view.schema,
  };
}

/** The question whether a principal may approve, install, read the journal or administer. */
export function actQuestion<A extends Act>(
  directory: Directory,
  principal: Principal,
  action: A,
  facts: ActFacts[A],
): Question {
  const entity = directory.entityOf(principal, facts.tenant);
  const { resource, context, schema } = aboutOf(facts);
  return {
    principal: uidOf(entity),
    action: { type: 'Action', id: action },
    resource: uidOf(resource),
    context: { ...timeOf(facts.nowMs), ...context },
    entities: [entity, resource],
    schema,
  };
}

type About = {
  readonly resource: EntityJson;
  readonly context: Record<string, CedarValueJson>;
  readonly schema: SchemaRef;
};

function aboutOf(facts: ActFacts[Act]): About {
  if ('tool' in facts) {
    const { entity, schema } = viewTool(facts.tool);
    return { resource: entity, context: askerOf(facts), schema };
  }
  if ('skill' in facts) {
    const { id, publisher, version, trust } = facts.skill;
    const resource = { uid: { type: 'Skill', id }, attrs: { publisher, version, trust }, parents: [] };
    return { resource, context: {}, schema: TOOLLESS };
  }
  const resource = { uid: { type: 'Tenant', id: facts.tenant }, attrs: {}, parents: [] };
  return { resource, context: {}, schema: TOOLLESS };
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

function timeOf(nowMs: number): Record<string, CedarValueJson> {
  const date = new Date(nowMs);
  return {
    now: { __extn: { fn: 'datetime', arg: isoTime(nowMs) } },
    hour: date.getUTCHours(),
    weekday: date.getUTCDay() || 7,
  };
}

/** Cedar has whole numbers only; "without end" becomes the largest number that JSON keeps exactly. */
function toLongs(units: object): Record<string, number> {
  const longs: Record<string, number> = {};
  for (const [unit, value] of Object.entries(units)) {
    longs[unit] = Math.min(Math.max(Math.floor(Number(value)) || 0, 0), Number.MAX_SAFE_INTEGER);
  }
  return longs;
}

function uidOf(entity: EntityJson): TypeAndId {
  return '__entity' in entity.uid ? entity.uid.__entity : entity.uid;
}
