import { EMPTY_INPUT_TYPE } from './input-type.ts';

const WORDS = `entity Tenant;
entity Group in [Tenant];
entity Agent in [Group, Tenant];
entity User in [Group, Tenant];
entity Service in [Group, Tenant];

entity Category;
entity Skill { publisher: String, version: String, trust: String, artifact?: String, grant?: String };
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
  workspaceRoot: String,
  cwd: String,
  egress: String,
  egressHosts: Set<String>,
  secrets: Set<String>,
  allowedWrites: Set<String>,
  ports: Set<Long>,
};

`;

/** The context of a call for the policies: each attribute with its type. */
const CALL_CONTEXT = {
  input: ': Input',
  inputText: ': String',
  run: ': String',
  door: ': String',
  device: '?: String',
  channel: '?: String',
  session: '?: String',
  tier: ': String',
  capabilities: ': Set<String>',
  hosts: ': Set<String>',
  paths: ': Set<String>',
  pathsTruncated: ': Bool',
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
  'action call, runInterpreter appliesTo { principal: [Agent, User, Service], resource: [Tool], context: CallContext };\n';

/**
 * The Cedar schema of the policies. `Input` differs from tool to tool (see input-type.ts): a request is judged under
 * the schema of its own tool. An agent or a service is never the principal of `approve` or `approveSkill`, and an agent
 * of no act upon a skill.
 */
export const PALISADE_SCHEMA = `${WORDS}${callContext(CALL_ATTRIBUTES)}type ApproveContext = {
  asker: String,
  askerUser?: User,
  device?: String,
  channel?: String,
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

export function schemaFor(inputType: string): string {
  return `${PALISADE_SCHEMA}type Input = ${inputType};\n`;
}

/** The part of it that a call needs when only these attributes are passed; equal for all tools when `input` is not. */
export function callSchemaFor(inputType: string, told: ReadonlySet<CallAttribute>): string {
  const context = callContext(CALL_ATTRIBUTES.filter((name) => told.has(name)));
  const input = told.has('input') ? `type Input = ${inputType};\n` : '';
  return `${WORDS}${context}${CALL_ACTION}${input}`;
}

function callContext(names: readonly CallAttribute[]): string {
  return `type CallContext = {\n${names.map((name) => `  ${name}${CALL_CONTEXT[name]},\n`).join('')}};\n`;
}

export const TOOLLESS_SCHEMA = schemaFor(EMPTY_INPUT_TYPE);

/*
 * Which attributes of a call's context a policy set can read. Cedar parses the context again at each decision, so what
 * no policy reads is left out. The answer is derived from the texts and errs on one side only: a name that occurs
 * anywhere, even in a comment or a string, counts as read, and where names are not enough, everything counts as read.
 */

/** The attributes that may be read; made once for each set. */
export type Reads = ReadonlySet<CallAttribute>;

export const EVERYTHING: Reads = new Set(CALL_ATTRIBUTES);

// As Cedar cuts identifiers out of a text: a digit in front ends a number and belongs to none.
const WORD = /[A-Za-z_]\w*/g;
// `.name`, `["name"]`, `has name`, `has "name"`; a method in place of a name would read the whole record.
const ACCESS = /\s*\.\s*[A-Za-z_]\w*(?!\w|\s*\()|\s*\[\s*"[^"]*"\s*\]|\s+has\s*(?:"[^"]*"|\b[A-Za-z_])/y;

/** Whether policies with these texts can read the digest of a program; it errs on the side of yes. */
export function readsDigests(texts: readonly string[]): boolean {
  // Boundary: an escape can spell a name without its letters.
  return texts.some((text) => /executableSha256|\\[ux]/.test(text));
}

/** What policies with these texts can read: never less than they do, for every text that Cedar can parse. */
export function readsOf(texts: readonly string[]): Reads {
  const words = new Set<string>();
  for (const text of texts) {
    // Boundary: an escape can spell a name without its letters.
    if (text.includes('\\')) return EVERYTHING;
    for (const { 0: word, index } of text.matchAll(WORD)) {
      // Boundary: `context == {…}` reads everything and names nothing.
      if (word === 'context' && !isAccess(text, index + word.length)) return EVERYTHING;
      words.add(word);
    }
  }
  return new Set(CALL_ATTRIBUTES.filter((name) => words.has(name)));
}

/** What is read by any policy, and of calls of one tool by those that can be about it. */
export type ReadsByTool = { readonly all: Reads; readonly of: (toolId: string) => Reads };

// The head of a policy that is about one tool, in the one way it is usually written. If it contains a comment, an
// escape or anything else, it does not match, and the policy counts for all tools.
const ANNOTATIONS = /(?:\s*@[A-Za-z_]\w*(?:\(\s*"[^"\\]*"\s*\))?)*/.source;
const SCOPE = /\(\s*principal(?:[^"()/]|"[^"\\]*")*,\s*resource\s*==\s*Tool\s*::\s*"([^"\\]*)"\s*\)/.source;
const OF_ONE_TOOL = new RegExp(`^${ANNOTATIONS}\\s*(?:permit|forbid)\\s*${SCOPE}`);

/** Per tool: a policy whose head names another tool is never evaluated for this one, and so reads nothing. */
export function readsByTool(texts: readonly string[]): ReadsByTool {
  const heads = texts.map((text) => ({ text, tool: OF_ONE_TOOL.exec(text)?.[1] ?? null }));
  const readBy = (toolId: string | null) =>
    readsOf(heads.filter(({ tool }) => tool === null || tool === toolId).map(({ text }) => text));
  const common = readBy(null);
  const named = new Map<string, Reads>();
  for (const { tool } of heads) if (tool !== null && !named.has(tool)) named.set(tool, readBy(tool));
  return { all: readsOf(texts), of: (toolId) => named.get(toolId) ?? common };
}

function isAccess(text: string, index: number): boolean {
  ACCESS.lastIndex = index;
  return ACCESS.test(text);
}
