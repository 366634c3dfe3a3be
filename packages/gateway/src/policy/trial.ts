import type { CheckedCall } from '../core/checked-call.ts';
import { digestBytes } from '../core/digest.ts';
import type { Json } from '../core/json.ts';
import { DEFAULT_LIMITS, NO_USAGE } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import type { PreparedProcess } from '../core/process.ts';
import type { Result } from '../core/result.ts';
import type { Tool } from '../core/tool.ts';
import type { Workbench } from './cedar.ts';
import { consult } from './decider.ts';
import type { PolicyEngine } from './engine.ts';
import {
  Directory,
  SKILL_ACTS,
  SKILL_CATEGORY,
  type SkillAct,
  type SkillStanding,
  viewTool,
} from './entities.ts';
import type { InputPlan } from './input-type.ts';
import type { Policy, PolicySet } from './policy-set.ts';
import {
  type ActFacts,
  actQuestion,
  callQuestion,
  interpreterQuestion,
  type PolicyQuestion,
} from './request.ts';

/*
 * Some texts parse and validate well and kill the evaluator. So before a set may decide, it is asked every kind of
 * question once, away from the deciding instance.
 */

/** Asks the set every kind of question: each action, each type of input, with and without an approval or a skill. */
export function tryPolicies(
  bench: Workbench,
  policies: readonly Policy[],
  tools: readonly Tool[],
): Result<TrialAnswer['errors'], string> {
  return onTrial(bench, policies, (ask) => {
    const errors = questionsFor(tools).flatMap((question) => ask(question).errors);
    const distinct = new Map(errors.map((error) => [`${error.policy} ${error.message}`, error]));
    return [...distinct.values()];
  });
}

type TrialAnswer = Extract<ReturnType<typeof consult>, { ok: true }>['value'];
type PlainAct = 'administer' | 'readJournal';

/** Whether a checked set would let a principal act, if it were active; any uncertainty is a no. */
export function wouldPermit(
  { bench, principals }: Pick<PolicyEngine, 'bench' | 'principals'>,
  { policies }: PolicySet,
  principal: Principal,
  { act, ...facts }: ActFacts[PlainAct] & { readonly act: PlainAct },
): boolean {
  const result = onTrial(bench, policies, (ask) => {
    const { decision, errors } = ask(actQuestion(principals, principal, act, facts));
    return decision === 'allow' && errors.length === 0;
  });
  return result.ok && result.value;
}

/** Works with an inactive set, and frees the instance, which would keep the set. */
function onTrial<T>(
  bench: Workbench,
  policies: readonly Policy[],
  work: (ask: (question: PolicyQuestion) => TrialAnswer) => T,
): Result<T, string> {
  const result = bench.try((cedar) => {
    const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
    const instance = { cedar, schemas: new Set<string>(), slot: 'trial' };
    const parsed = cedar.preparsePolicySet(instance.slot, { staticPolicies });
    if (parsed.type === 'failure') throw new Error(parsed.errors[0]?.message);
    return work((question) => {
      const answer = consult(instance, question);
      if (!answer.ok) throw new Error(answer.problem);
      return answer.value;
    });
  });
  bench.clear();
  return result;
}

function questionsFor(tools: readonly Tool[]): PolicyQuestion[] {
  const directory = new Directory(new Map());
  const distinct = new Map([SKILL_TOOL, ...tools].map((tool) => [kindOf(tool), tool]));
  const acts = SKILL_ACTS.flatMap((act) => skillQuestions(directory, act));
  const questions: PolicyQuestion[] = [
    actQuestion(directory, USER, 'readJournal', FACTS),
    actQuestion(directory, USER, 'administer', FACTS),
  ];
  for (const tool of distinct.values()) {
    questions.push(
      actQuestion(directory, USER, 'approve', { ...FACTS, tool, asker: 'agent:trial', inputText: '{}' }),
    );
    for (const principal of [AGENT, USER, SERVICE]) {
      const checked = sampleCall(tool, principal);
      for (const approval of [null, 'assumed'] as const)
        questions.push(...callQuestions(directory, checked, approval));
    }
  }
  return [...acts, ...questions];
}

function callQuestions(
  directory: Directory,
  checked: CheckedCall,
  approval: 'assumed' | null,
): readonly PolicyQuestion[] {
  const question = callQuestion(directory, checked, { budgetLeft: NO_USAGE, approval, nowMs: 0 });
  return checked.process === null ? [question] : [question, interpreterQuestion(question)];
}

function kindOf(tool: Tool): string {
  return `${viewTool(tool).schema.name} ${tool.skill === undefined}`;
}

function skillQuestions(directory: Directory, act: SkillAct): PolicyQuestion[] {
  const other = act === 'approveSkill' ? USER : SERVICE;
  return [
    actQuestion(directory, USER, act, { ...FACTS, skill: SKILL, about: OLD_SKILL }),
    actQuestion(directory, other, act, { ...FACTS, skill: SKILL, about: NEW_SKILL }),
  ];
}

function sampleCall(tool: Tool, principal: Principal): CheckedCall {
  const asked = { id: 'trial', door: 'trial', run: null, tool: tool.id, rawInput: '', timeoutMs: null };
  const digest = digestBytes('');
  return {
    call: { ...asked, principal, tenant: TENANT, source: null, receivedAtMs: 0 },
    // Tools are not called with inputs that were never checked.
    tool: { ...tool, hosts: () => ['trial.example'], paths: () => ['trial'] },
    toolDigest: digest,
    input: sampleValue(viewTool(tool).plan),
    inputText: '{}',
    inputDigest: digest,
    tier: tool.tier,
    process: tool.executor.kind === 'process' ? SAMPLE_PROCESS : null,
    artifacts: tool.artifacts,
    limits: DEFAULT_LIMITS,
  };
}

function sampleValue(plan: InputPlan): Json {
  if (plan.kind === 'record') {
    return Object.fromEntries(plan.fields.map(({ name, plan }) => [name, sampleValue(plan)]));
  }
  if (plan.kind === 'set') return [sampleValue(plan.element)];
  if (plan.kind === 'bool') return false;
  return plan.kind === 'long' || plan.kind === 'number' ? 0 : '';
}

/* The fictitious entities of the questions in a trial. */

const TENANT = 'trial';
const AGENT: Principal = { kind: 'agent', name: 'trial' };
const USER: Principal = { kind: 'user', name: 'trial' };
const SERVICE: Principal = { kind: 'service', name: 'trial' };
const FACTS = { tenant: TENANT, nowMs: 0 };
export const SKILL = { id: 'trial', publisher: 'trial', version: '0.0.0', trust: 'operator' } as const;
const RUNNING_SKILL = { ...SKILL, artifact: digestBytes('trial'), grant: digestBytes('trial') };
const NEW_SKILL: SkillStanding = {
  state: 'new',
  capabilities: [],
  hosts: [],
  hasWildcards: false,
  verdict: 'none',
  findings: [],
  installedBy: null,
};
const OLD_SKILL: SkillStanding = {
  state: 'quarantined',
  capabilities: ['http'],
  hosts: ['trial.example'],
  hasWildcards: true,
  verdict: 'failed',
  findings: ['trial'],
  installedBy: 'user:trial-installer',
};

/** Represents the tools of skills, which come and go. */
const SKILL_TOOL: Tool = {
  id: 'trial.trial.trial',
  description: '',
  category: SKILL_CATEGORY,
  risk: 'low',
  inputSchema: {},
  outputSchema: {},
  capabilities: ['http'],
  tier: 'a',
  limits: DEFAULT_LIMITS,
  hosts: () => [],
  paths: () => [],
  artifacts: [],
  executor: { kind: 'builtin', run: async () => null },
  skill: RUNNING_SKILL,
};

const SAMPLE_PROCESS: PreparedProcess = {
  terms: {
    executable: '/usr/bin/trial',
    executableSha256: digestBytes('trial'),
    files: [],
    argv: ['trial', '--trial'],
    workspace: '/trial',
    cwd: '/trial',
    directories: null,
    env: {},
    stdin: null,
    limits: { ...DEFAULT_LIMITS, fileBytes: 1, processes: 1, openFiles: 1 },
    outputOverflow: 'cut',
    egress: 'strict',
    egressHosts: ['trial.example'],
    secrets: ['trial'],
    readOnly: [],
    gitIdentity: null,
    protectedPaths: [],
    allowedWrites: ['git-hooks'],
    ports: [{ host: 5173, inside: 5173 }],
  },
  facts: {
    kind: 'plain',
    tier: 'c',
    guard: null,
    root: '/trial',
    paths: ['trial'],
    pathsTruncated: false,
    hosts: ['trial.example'],
  },
  stillHolds: () => null,
  pathsStillHold: () => null,
};
