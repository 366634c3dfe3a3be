import { EMPTY_INPUT_TYPE } from './input-type.ts';

/**
 * The words that policies are written in. `Input` differs from tool to tool (see input-type.ts): a request is judged
 * under the schema of its own tool. An agent or a service is never the principal of `approve`.
 */
export const PALISADE_SCHEMA = `entity Tenant;
entity Group in [Tenant];
entity Agent in [Group, Tenant];
entity User in [Group, Tenant];
entity Service in [Group, Tenant];

entity Category;
entity Skill { publisher: String, version: String, trust: String };
entity Tool in [Category, Skill] { risk: String, tier: String, capabilities: Set<String> };

type BudgetLeft = { calls: Long, wallMs: Long, cpuMs: Long, fuel: Long, outputBytes: Long, egressBytes: Long };
type Limits = { wallMs: Long, cpuMs: Long, fuel: Long, memoryBytes: Long, outputBytes: Long, egressBytes: Long };

type CallContext = {
  input: Input,
  inputText: String,
  run: String,
  door: String,
  tier: String,
  capabilities: Set<String>,
  hosts: Set<String>,
  paths: Set<String>,
  now: datetime,
  hour: Long,
  weekday: Long,
  budgetLeft: BudgetLeft,
  limits: Limits,
  approved: Bool,
  approvedBy?: User,
};
type ApproveContext = {
  asker: String,
  askerUser?: User,
  inputText: String,
  now: datetime,
  hour: Long,
  weekday: Long,
};
type TimeContext = { now: datetime, hour: Long, weekday: Long };

action call appliesTo { principal: [Agent, User, Service], resource: [Tool], context: CallContext };
action approve appliesTo { principal: [User], resource: [Tool], context: ApproveContext };
action install appliesTo { principal: [User], resource: [Skill], context: TimeContext };
action readJournal, administer appliesTo { principal: [User, Service], resource: [Tenant], context: TimeContext };
`;

/** The whole schema for tools whose input has this Cedar type. */
export function schemaFor(inputType: string): string {
  return `${PALISADE_SCHEMA}type Input = ${inputType};\n`;
}

/** For requests that are about no tool. */
export const TOOLLESS_SCHEMA = schemaFor(EMPTY_INPUT_TYPE);
