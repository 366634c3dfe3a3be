import type { CallSource } from '../core/call.ts';
import { placeOf } from '../core/caller.ts';
import { capabilitiesOfCall } from '../core/capability.ts';
import type { ApprovalFact, BudgetLeft, CheckedCall } from '../core/checked-call.ts';
import { isoTime } from '../core/clock.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../core/principal.ts';
import type { PreparedProcess } from '../core/process.ts';
import type { Tool } from '../core/tool.ts';
import type { CedarValueJson, EntityJson, TypeAndId } from './cedar.ts';
import {
  callSchemaOf,
  type Directory,
  installerOf,
  refTo,
  type SchemaRef,
  type SkillAct,
  type SkillActFacts,
  skillContext,
  skillEntity,
  type ToolView,
  uidOf,
  viewTool,
} from './entities.ts';
import { inputToCedar } from './input-type.ts';
import { type CallAttribute, EVERYTHING, type Reads, TOOLLESS_SCHEMA } from './schema.ts';

/*
 * Turns a call into the request that Cedar evaluates. Nothing is decided here: what is known about the call is written
 * down as entities and, as far as the policies read it, context. Entities are the principal, its approver, the tool and
 * its skill, each with its parents named; Cedar parses them again at each decision and each costs as much as a dozen
 * policies, so absent ones are left out.
 */

/** One question to Cedar, complete except for the policy set. */
export type PolicyQuestion = {
  readonly principal: TypeAndId;
  readonly action: TypeAndId;
  readonly resource: TypeAndId;
  readonly context: Record<string, CedarValueJson>;
  readonly entities: EntityJson[];
  readonly schema: SchemaRef;
};

/** What is known besides the call itself when it is judged. */
export type CallFacts = {
  readonly budgetLeft: BudgetLeft;
  readonly approval: ApprovalFact | null;
  readonly nowMs: number;
};

/** The subject of each action other than a call. */
export type ActFacts = {
  readonly approve: TenantFacts &
    Place & { readonly tool: Tool; readonly asker: string; readonly inputText: string };
  readonly readJournal: TenantFacts;
  readonly administer: TenantFacts;
} & { readonly [A in SkillAct]: SkillActFacts };
export type Act = keyof ActFacts;
/** Of the credential of the person who decides. */
type Place = Pick<CallSource, 'device' | 'channel'>;
type TenantFacts = { readonly tenant: string; readonly nowMs: number };

export type AskedFacts = Omit<CallFacts, 'approval'> & {
  /** `assumed`: as if a person had approved the call. */
  readonly approval: ApprovalFact | 'assumed' | null;
};

const CALL: TypeAndId = { type: 'Action', id: 'call' };
const RUN_INTERPRETER: TypeAndId = { type: 'Action', id: 'runInterpreter' };
const TOOLLESS: SchemaRef = refTo(TOOLLESS_SCHEMA, EVERYTHING);

/** The question whether this call may run. Throws where the input does not fit the tool, which denies it. */
export function callQuestion(
  directory: Directory,
  checked: CheckedCall,
  { budgetLeft, approval, nowMs }: AskedFacts,
  reads: Reads = EVERYTHING,
): PolicyQuestion {
  const { call, tool } = checked;
  const view = viewTool(tool);
  const by = approval === 'assumed' ? null : (approval?.by ?? null);
  const principal = directory.entityOf(call.principal, call.tenant);
  const approver = by === null ? null : directory.entityOf(userOf(by), call.tenant);
  const entities = [principal, view.entity];
  if (view.skill !== null) entities.push(view.skill);
  // Cedar refuses an entity that is given twice.
  if (approver !== null && by !== formatPrincipal(call.principal)) entities.push(approver);
  const context = callContext(
    {
      checked,
      view,
      budgetLeft,
      time: timeContext(nowMs),
      approved: approval !== null,
      approver: approver && uidOf(approver.uid),
    },
    reads,
  );
  return {
    principal: uidOf(principal.uid),
    action: CALL,
    resource: view.uid,
    context,
    entities,
    schema: callSchemaOf(view, reads),
  };
}

/** The question whether its program, which can start any other one, may run unconfined: of the same call. */
export function interpreterQuestion(question: PolicyQuestion): PolicyQuestion {
  return { ...question, action: RUN_INTERPRETER };
}

/** The question whether a principal may approve, act upon a skill, read the journal or administer. */
export function actQuestion<A extends Act>(
  directory: Directory,
  principal: Principal,
  action: A,
  facts: ActFacts[A],
): PolicyQuestion {
  const entity = directory.entityOf(principal, facts.tenant);
  const { resource, others, context, schema } = aboutOf(directory, facts);
  return {
    principal: uidOf(entity.uid),
    action: { type: 'Action', id: action },
    resource: uidOf(resource.uid),
    context: { ...timeContext(facts.nowMs), ...context },
    // Cedar refuses an entity that is given twice; the directory gives a principal as one record.
    entities: [entity, resource, ...others.filter((other) => other !== entity)],
    schema,
  };
}

type About = {
  readonly resource: EntityJson;
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

function askerOf(facts: ActFacts['approve']): Record<string, CedarValueJson> {
  const { asker, inputText } = facts;
  const principal = parsePrincipal(asker);
  const context = { asker, inputText, ...placeOf(facts) };
  if (principal?.kind !== 'user') return context;
  return { ...context, askerUser: { __entity: { type: 'User', id: principal.name } } };
}

function userOf(by: string): Principal {
  const principal = parsePrincipal(by);
  // Boundary: whatever the approvals say, an approval by an agent or a service is not a fact for Cedar.
  if (principal?.kind !== 'user') throw new TypeError(`Cannot use the approval: "${by}" is not a user`);
  return principal;
}

type Told = {
  readonly checked: CheckedCall;
  readonly view: ToolView;
  readonly budgetLeft: object;
  readonly time: ReturnType<typeof timeContext>;
  readonly approved: boolean;
  readonly approver: TypeAndId | null;
};

type Write = (told: Told) => CedarValueJson | null;

/** How each attribute is written; null is one that is not there. */
const WRITERS: Readonly<Record<CallAttribute, Write>> = {
  input: ({ checked, view }) => inputToCedar(view.plan, checked.input),
  inputText: ({ checked }) => checked.inputText,
  run: ({ checked }) => checked.call.run ?? '',
  door: ({ checked }) => checked.call.door,
  device: ({ checked }) => checked.call.source?.device ?? null,
  channel: ({ checked }) => checked.call.source?.channel ?? null,
  session: ({ checked }) => checked.call.session ?? null,
  tier: ({ checked }) => checked.tier,
  capabilities: ({ checked }) => [...capabilitiesOfCall(checked)],
  hosts: ({ checked }) => [...(checked.process?.facts.hosts ?? checked.tool.hosts(checked.input))],
  paths: ({ checked }) => [...(checked.process?.facts.paths ?? checked.tool.paths(checked.input))],
  pathsTruncated: ({ checked }) => checked.process?.facts.pathsTruncated ?? false,
  process: ({ checked }) => (checked.process === null ? null : processToCedar(checked.process)),
  now: ({ time }) => time.now,
  hour: ({ time }) => time.hour,
  weekday: ({ time }) => time.weekday,
  budgetLeft: ({ budgetLeft }) => toLongs(budgetLeft),
  limits: ({ checked }) => toLongs(checked.limits),
  approved: ({ approved }) => approved,
  approvedBy: ({ approver }) => (approver === null ? null : { __entity: approver }),
};

function processToCedar({ terms, facts }: PreparedProcess): CedarValueJson {
  const { executable, executableSha256, argv, workspace, cwd, egress, egressHosts, secrets } = terms;
  const { allowedWrites, ports } = terms;
  return {
    executable,
    executableSha256,
    kind: facts.kind,
    // A set has no order: policies that need the order match the arguments as one text.
    arguments: [...new Set(argv.slice(1))],
    commandLine: argv.join(' '),
    workspace,
    workspaceRoot: facts.root,
    cwd,
    egress,
    egressHosts: [...egressHosts],
    secrets: [...secrets],
    allowedWrites: [...allowedWrites],
    ports: ports.map(({ host }) => host),
  };
}

/** Values that may be impossible to write, which refuses the call. */
const DOUBTFUL: readonly CallAttribute[] = ['input', 'hosts', 'paths'];

/** The attributes of a call that are read. Throws unless the whole call can be represented. */
function callContext(told: Told, reads: Reads): Record<string, CedarValueJson> {
  const context: Record<string, CedarValueJson> = {};
  for (const name of reads) {
    const value = WRITERS[name](told);
    if (value !== null) context[name] = value;
  }
  demandWholePaths(told.checked, reads);
  // Boundary: an input of the wrong type, or a tool that cannot report what it touches, is denied even if unread.
  for (const name of DOUBTFUL) if (!reads.has(name)) WRITERS[name](told);
  return context;
}

/** Boundary: a policy that reads the paths, and not that some of them are missing, would decide on a part of them. */
function demandWholePaths({ process }: CheckedCall, reads: Reads): void {
  if (process?.facts.pathsTruncated !== true || !reads.has('paths')) return;
  if (reads !== EVERYTHING && reads.has('pathsTruncated')) return;
  throw new TypeError(
    'Cannot tell the policies the paths of the command: its arguments can mean more paths than are looked at, expected fewer, or policies that read context.pathsTruncated',
  );
}

/** Cedar's datetime has years of four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The time, as every action gets it in its context. */
function timeContext(nowMs: number) {
  if (!(nowMs >= FIRST_MS && nowMs <= LAST_MS)) {
    const is = `it is "${nowMs}", expected a year of four digits`;
    throw new TypeError(`Cannot tell the time to the policies: ${is}`);
  }
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
