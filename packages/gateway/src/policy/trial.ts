import type { CheckedCall } from '../core/checked-call.ts';
import { digestBytes } from '../core/digest.ts';
import type { Json } from '../core/json.ts';
import { DEFAULT_LIMITS, NO_USAGE } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import type { Cedar } from './cedar.ts';
import type { InputPlan } from './input-type.ts';
import type { Policy } from './policy-set.ts';
import { Directory } from './principals.ts';
import { actQuestion, approvedQuestion, callQuestion, type Question } from './request.ts';
import { SKILL_ACTS, type SkillAct } from './skill-act.ts';
import { viewTool } from './tool-view.ts';
import {
  FACTS,
  NEW_SKILL,
  OLD_SKILL,
  PRINCIPALS,
  SAMPLE_PROCESS,
  SERVICE,
  SKILL,
  SKILL_TOOL,
  TENANT,
  USER,
} from './trial-facts.ts';
import type { Workbench } from './workbench.ts';

/*
 * Some texts parse and validate well and kill the evaluator. So before a set may decide, it is asked every kind of
 * question once, away from the deciding instance.
 */

export type TrialResult =
  | { readonly ok: true; readonly errors: readonly { readonly policy: string; readonly message: string }[] }
  | { readonly ok: false; readonly message: string };

/** Asks the set every kind of question: each action, each type of input, with and without an approval or a skill. */
export function tryPolicies(
  bench: Workbench,
  policies: readonly Policy[],
  tools: readonly Tool[],
): TrialResult {
  const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
  const result = bench.try((cedar) => {
    const parsed = cedar.preparsePolicySet('trial', { staticPolicies });
    if (parsed.type === 'failure') throw new Error(parsed.errors[0]?.message);
    const errors = new Map<string, { policy: string; message: string }>();
    const questions = questionsFor(tools);
    teach(cedar, questions);
    for (const question of questions) {
      for (const error of ask(cedar, question)) errors.set(`${error.policy} ${error.message}`, error);
    }
    return [...errors.values()];
  });
  // The set stays in the instance under its name for as long as the instance lives.
  bench.clear();
  return result.ok ? { ok: true, errors: result.value } : { ok: false, message: result.message };
}

/** Reading a schema takes longer than a dozen answers under it, and most questions share one. */
function teach(cedar: Cedar, questions: readonly Question[]): void {
  const schemas = new Map(questions.map(({ schema }) => [schema.name, schema.text]));
  for (const [name, text] of schemas) {
    const known = cedar.preparseSchema(name, text);
    if (known.type === 'failure') throw new Error(known.errors[0]?.message);
  }
}

function ask(cedar: Cedar, { schema, ...question }: Question): { policy: string; message: string }[] {
  const answer = cedar.statefulIsAuthorized({
    ...question,
    preparsedPolicySetId: 'trial',
    preparsedSchemaName: schema.name,
    validateRequest: true,
  });
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  return answer.response.diagnostics.errors.map(({ policyId, error }) => ({
    policy: policyId,
    message: error.message,
  }));
}

function questionsFor(tools: readonly Tool[]): Question[] {
  const directory = new Directory(new Map());
  const distinct = new Map([SKILL_TOOL, ...tools].map((tool) => [kindOf(tool), tool]));
  const acts = SKILL_ACTS.flatMap((act) => skillQuestions(directory, act));
  const questions: Question[] = [
    actQuestion(directory, USER, 'readJournal', FACTS),
    actQuestion(directory, USER, 'administer', FACTS),
  ];
  for (const tool of distinct.values()) {
    questions.push(
      actQuestion(directory, USER, 'approve', { ...FACTS, tool, asker: 'agent:trial', inputText: '{}' }),
    );
    for (const principal of PRINCIPALS) {
      const checked = sampleCall(tool, principal);
      const facts = { budgetLeft: NO_USAGE, approval: null, nowMs: 0 };
      questions.push(callQuestion(directory, checked, facts), approvedQuestion(directory, checked, facts));
    }
  }
  return [...acts, ...questions];
}

function kindOf(tool: Tool): string {
  return `${viewTool(tool).schema.name} ${tool.skill === undefined}`;
}

function skillQuestions(directory: Directory, act: SkillAct): Question[] {
  const other = act === 'approveSkill' ? USER : SERVICE;
  return [
    actQuestion(directory, USER, act, { ...FACTS, skill: SKILL, about: OLD_SKILL }),
    actQuestion(directory, other, act, { ...FACTS, skill: SKILL, about: NEW_SKILL }),
  ];
}

function sampleCall(tool: Tool, principal: Principal): CheckedCall {
  const call = {
    id: 'trial',
    principal,
    tenant: TENANT,
    run: null,
    door: 'trial',
    tool: tool.id,
    rawInput: '',
  };
  const digest = digestBytes('');
  return {
    call: { ...call, timeoutMs: null, receivedAtMs: 0 },
    // What a tool makes of an input that was never checked is not asked.
    tool: sampleTool(tool),
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

function sampleTool(tool: Tool): Tool {
  return { ...tool, hosts: () => ['trial.example'], paths: () => ['trial'] };
}

function sampleValue(plan: InputPlan): Json {
  if (plan.kind === 'record') {
    return Object.fromEntries(plan.fields.map(({ name, plan }) => [name, sampleValue(plan)]));
  }
  if (plan.kind === 'set') return [sampleValue(plan.element)];
  if (plan.kind === 'bool') return false;
  return plan.kind === 'long' || plan.kind === 'number' ? 0 : '';
}
