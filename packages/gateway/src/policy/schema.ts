import { EMPTY_INPUT_TYPE } from './input-type.ts';

const WORDS = `entity Tenant;
entity Group in [Tenant];
entity Agent in [Group, Tenant];
entity User in [Group, Tenant];
entity Service in [Group, Tenant];

entity Category;
entity Skill { publisher: String, version: String, trust: String };
entity Tool in [Category, Skill] { risk: String, tier: String, capabilities: Set<String>, skill?: Skill };

type BudgetLeft = { calls: Long, wallMs: Long, cpuMs: Long, fuel: Long, outputBytes: Long, egressBytes: Long };
type Limits = { wallMs: Long, cpuMs: Long, fuel: Long, memoryBytes: Long, outputBytes: Long, egressBytes: Long };
type Process = {
  executable: String,
  executableSha256: String,
  kind: String,
  arguments: Set<String>,
  commandLine: String,
  workspace: String,
  cwd: String,
  egress: String,
  egressHosts: Set<String>,
  secrets: Set<String>,
};

`;

/** What a call tells the policies: each attribute with its type. */
const CALL_CONTEXT = {
  input: ': Input',
  inputText: ': String',
  run: ': String',
  door: ': String',
  tier: ': String',
  capabilities: ': Set<String>',
  hosts: ': Set<String>',
  paths: ': Set<String>',
  process: '?: Process',
  now: ': datetime',
  hour: ': Long',
  weekday: ': Long',
  budgetLeft: ': BudgetLeft',
  limits: ': Limits',
  approved: ': Bool',
  approvedBy: '?: User',
} as const;

export type CallAttribute = keyof typeof CALL_CONTEXT;

export const CALL_ATTRIBUTES = Object.keys(CALL_CONTEXT) as readonly CallAttribute[];

const CALL_ACTION =
  'action call appliesTo { principal: [Agent, User, Service], resource: [Tool], context: CallContext };\n';

/**
 * The words that policies are written in. `Input` differs from tool to tool (see input-type.ts): a request is judged
 * under the schema of its own tool. An agent or a service is never the principal of `approve` or `approveSkill`, and an
 * agent of no act upon a skill.
 */
export const PALISADE_SCHEMA = `${WORDS}${callContext(CALL_ATTRIBUTES)}type ApproveContext = {
  asker: String,
  askerUser?: User,
  inputText: String,
  now: datetime,
  hour: Long,
  weekday: Long,
};
type SkillContext = {
  state: String,
  capabilities: Set<String>,
  hosts: Set<String>,
  hasWildcards: Bool,
  verdict: String,
  findings: Set<String>,
  installedBy?: User,
  now: datetime,
  hour: Long,
  weekday: Long,
};
type TimeContext = { now: datetime, hour: Long, weekday: Long };

${CALL_ACTION}action approve appliesTo { principal: [User], resource: [Tool], context: ApproveContext };
action manageSkills;
action install, auditSkill, quarantineSkill, enableSkill, disableSkill, revokeSkill, removeSkill in [manageSkills]
  appliesTo { principal: [User, Service], resource: [Skill], context: SkillContext };
action approveSkill in [manageSkills] appliesTo { principal: [User], resource: [Skill], context: SkillContext };
action readJournal, administer appliesTo { principal: [User, Service], resource: [Tenant], context: TimeContext };
`;

/** The whole schema for tools whose input has this Cedar type. */
export function schemaFor(inputType: string): string {
  return `${PALISADE_SCHEMA}type Input = ${inputType};\n`;
}

/** The part of it that a call needs when only these attributes are told; equal for all tools when `input` is not. */
export function callSchemaFor(inputType: string, told: ReadonlySet<CallAttribute>): string {
  const context = callContext(CALL_ATTRIBUTES.filter((name) => told.has(name)));
  const input = told.has('input') ? `type Input = ${inputType};\n` : '';
  return `${WORDS}${context}${CALL_ACTION}${input}`;
}

function callContext(names: readonly CallAttribute[]): string {
  return `type CallContext = {\n${names.map((name) => `  ${name}${CALL_CONTEXT[name]},\n`).join('')}};\n`;
}

/** For requests that are about no tool. */
export const TOOLLESS_SCHEMA = schemaFor(EMPTY_INPUT_TYPE);
