import { digestValue } from '../core/digest.ts';
import type { Tool } from '../core/tool.ts';
import {
  type CedarLoader,
  type DetailedError,
  loadCedar,
  type PolicyJson,
  type TypeAndId,
  Workbench,
} from './cedar.ts';
import { printTool, SKILL_CATEGORY, UPSTREAM_CATEGORY, uidOf, viewTool } from './entities.ts';
import { POLICY_LIMITS } from './limits.ts';
import {
  namedActions,
  namedIn,
  type ParsedPolicy,
  parseFiles,
  parsePolicy,
  problemAt,
  type ToolsOf,
} from './parse.ts';
import { fileProblem, readPolicyFiles } from './policy-files.ts';
import {
  type Policy,
  type PolicyFile,
  type PolicyProblem,
  type PolicySet,
  policySetDigest,
} from './policy-set.ts';
import { PALISADE_SCHEMA, readsOf, TOOLLESS_SCHEMA } from './schema.ts';
import { tryPolicies } from './trial.ts';

/*
 * The checks between a policy file and a decision: the text is read, split, parsed, measured, validated against the
 * tools and tried, all away from the deciding instance. A set passes as a whole or not at all.
 */

export type CheckResult = (
  | { readonly ok: true; readonly set: PolicySet }
  /** `more` counts the problems that are not listed. */
  | { readonly ok: false; readonly problems: readonly PolicyProblem[]; readonly more: number }
) & { readonly warnings: readonly PolicyProblem[] };

/** Checks policy texts against the tools; an `ok` set cannot harm the instance it is loaded into. */
export function checkPolicies(
  files: readonly PolicyFile[],
  tools: readonly Tool[],
  bench: Workbench,
): CheckResult {
  const parsed = parseFiles(bench, files);
  if (parsed.problems.length > 0) return refuseSet(parsed.problems, []);
  const { problems, warnings } = validatePolicies(bench, parsed.policies, tools);
  if (problems.length > 0) return refuseSet(problems, warnings);
  const policies = parsed.policies.map(({ id, file, effect, text }) => ({ id, file, effect, text }));
  const trial = tryPolicies(bench, policies, tools);
  if (!trial.ok)
    return refuseSet([fileProblem('.', `Cannot evaluate the policies: ${trial.problem}`)], warnings);
  const trialWarnings = trial.value.map(({ policy, message }) => trialWarning(policies, policy, message));
  return {
    ok: true,
    set: { digest: policySetDigest(policies), policies },
    warnings: [...warnings, ...emptyWarning(policies), ...trialWarnings],
  };
}

/** Reads and checks a directory of policies, for people who want to know before they activate it. */
export function checkDirectory(
  directory: string,
  toolsOf: ToolsOf,
  load: CedarLoader = loadCedar,
): CheckResult {
  const { files, problems } = readPolicyFiles(directory);
  if (problems.length > 0) return refuseSet(problems, []);
  const tools = toolsOf(namedIn(files.map(({ text }) => text)));
  return checkPolicies(files, tools, new Workbench(load));
}

/**
 * Whether a set that was valid once can still be loaded without harm. It is not validated again: tools may have changed
 * since, and a policy that no longer fits one denies the calls of that tool alone.
 */
export function isHarmless(set: PolicySet, tools: readonly Tool[], bench: Workbench): boolean {
  const areParsed = set.policies.every(({ text }) => typeof parsePolicy(bench, text) !== 'string');
  return areParsed && tryPolicies(bench, set.policies, tools).ok;
}

/** The same for two checks that must have the same result. */
export function checkKey(files: readonly PolicyFile[], tools: readonly Tool[], cedarVersion: string): string {
  const views = tools.map(printTool).sort();
  return digestValue({
    cedarVersion,
    limits: POLICY_LIMITS,
    schema: PALISADE_SCHEMA,
    tools: views,
    files: files.map(({ name, text }) => [name, text]),
  });
}

function refuseSet(problems: readonly PolicyProblem[], warnings: readonly PolicyProblem[]): CheckResult {
  const listed = problems.slice(0, POLICY_LIMITS.problems);
  return { ok: false, problems: listed, more: problems.length - listed.length, warnings };
}

function emptyWarning(policies: readonly Policy[]): PolicyProblem[] {
  if (policies.some(({ effect }) => effect === 'permit')) return [];
  return [fileProblem('.', 'No policy permits anything: every call will be denied')];
}

function trialWarning(policies: readonly Policy[], id: string, message: string): PolicyProblem {
  const file = policies.find((policy) => policy.id === id)?.file ?? '.';
  return { ...fileProblem(file, `Policy "${id}" can fail, which denies the call: ${message}`), policy: id };
}

/*
 * Each policy is validated under the schema of every tool that its scope can match: all tools, those of one category or
 * skill, or the one it names. So a policy about one tool may use that tool's arguments, and a policy about all tools
 * may use an argument only behind `context.input has …`. A policy about no tool, or about all tools of skills, which
 * cannot be listed, is validated once under the schema of a tool without arguments.
 */

export type Findings = { readonly problems: PolicyProblem[]; readonly warnings: PolicyProblem[] };

/** Tools whose inputs have one type, and the policies that can match them. */
type Lane = { readonly schema: string; readonly tools: string[]; readonly policies: Set<ParsedPolicy> };
type Finding = {
  readonly policy: ParsedPolicy;
  readonly error: DetailedError;
  readonly tools: string[];
  lanes: number;
};

/** Validates policies against the tools they can match; what cannot match any tool is a warning. */
function validatePolicies(
  bench: Workbench,
  policies: readonly ParsedPolicy[],
  tools: readonly Tool[],
): Findings {
  const { lanes, warnings } = assignLanes(policies, tools);
  const errors = new Map<string, Finding>();
  const advice = new Map<string, Finding>();
  const problems: PolicyProblem[] = [];
  for (const lane of lanes) {
    const answer = bench.try((cedar) =>
      cedar.validate({ schema: lane.schema, policies: { staticPolicies: textsOf(lane) } }),
    );
    // A `success` with a list of errors is not a success: only the lists count.
    if (!answer.ok) {
      problems.push(fileProblem('.', 'Cannot validate the policies: the validator broke'));
    } else if (answer.value.type === 'failure') {
      const [first] = answer.value.errors;
      problems.push(fileProblem('.', `Cannot validate the policies: ${first?.message}`));
    } else {
      collect(errors, lane, answer.value.validationErrors);
      collect(advice, lane, answer.value.validationWarnings);
    }
  }
  problems.push(...[...errors.values()].map(toProblem));
  // A policy about all tools may well be impossible for some of them; it is reported only when it is so for all.
  const lanesOf = (policy: ParsedPolicy) => lanes.filter((lane) => lane.policies.has(policy)).length;
  const general = [...advice.values()].filter((one) => one.lanes === lanesOf(one.policy) && !isBlind(one));
  return { problems, warnings: [...warnings, ...general.map(toProblem)] };
}

/** Cedar calls a policy impossible if no listed tool has its argument; a tool of a skill may well have it. */
function isBlind({ policy: { text }, error }: Finding): boolean {
  const isAboutSkills = /\bskill\b/i.test(text) && readsOf([text]).has('input');
  return isAboutSkills && error.message.includes('policy is impossible');
}

function assignLanes(policies: readonly ParsedPolicy[], tools: readonly Tool[]) {
  const lanes = new Map<string, Lane>();
  for (const tool of tools) {
    const { name, text } = viewTool(tool).schema;
    const lane = lanes.get(name) ?? { schema: text, tools: [], policies: new Set() };
    lane.tools.push(tool.id);
    lanes.set(name, lane);
  }
  const toolless: Lane = { schema: TOOLLESS_SCHEMA, tools: [], policies: new Set() };
  const warnings: PolicyProblem[] = [];
  for (const policy of policies) {
    const isListed = tools.length > 0 && isAboutListedTools(policy.json);
    const matching = isListed ? tools.filter((tool) => canMatch(policy.json, tool)) : [];
    for (const tool of matching) lanes.get(viewTool(tool).schema.name)?.policies.add(policy);
    if (!isListed) toolless.policies.add(policy);
    else if (matching.length === 0) warnings.push(unmatched(policy));
  }
  return { lanes: [...lanes.values(), toolless].filter((lane) => lane.policies.size > 0), warnings };
}

const TOOL_ACTIONS: readonly string[] = ['call', 'runInterpreter', 'approve'];

function isAboutListedTools({ action, resource }: PolicyJson): boolean {
  const { type, id } = scopeEntity(resource) ?? {};
  if (type === 'Category' && (id === SKILL_CATEGORY || id === UPSTREAM_CATEGORY)) return false;
  // A tool is in its skill and never is one.
  if (resource.op === '==' && type !== 'Tool') return false;
  if (resource.op === 'is' && resource.entity_type !== 'Tool') return false;
  return namedActions(action)?.some((name) => TOOL_ACTIONS.includes(name)) ?? true;
}

function canMatch({ resource }: PolicyJson, tool: Tool): boolean {
  const { type, id } = scopeEntity(resource) ?? {};
  if (type === 'Tool') return id === tool.id;
  if (type === 'Category') return id === tool.category;
  if (type === 'Skill') return id === tool.skill?.id;
  return true;
}

function scopeEntity(resource: PolicyJson['resource']): TypeAndId | null {
  const constraint = resource.op === 'is' ? resource.in : resource;
  if (constraint === undefined || !('entity' in constraint)) return null;
  return uidOf(constraint.entity);
}

function unmatched(policy: ParsedPolicy): PolicyProblem {
  const { type, id } = scopeEntity(policy.json.resource) ?? {};
  const message = `Policy "${policy.id}" matches no registered tool: its scope is ${type}::"${id}"`;
  return { ...problemAt(policy.source, policy.startByte, message), policy: policy.id };
}

function textsOf(lane: Lane): Record<string, string> {
  return Object.fromEntries([...lane.policies].map(({ id, text }) => [id, text]));
}

function collect(
  findings: Map<string, Finding>,
  lane: Lane,
  errors: readonly { policyId: string; error: DetailedError }[],
): void {
  for (const { policyId, error } of errors) {
    const policy = [...lane.policies].find(({ id }) => id === policyId);
    if (policy === undefined) continue;
    const key = `${policyId} ${error.sourceLocations?.[0]?.start} ${error.message}`;
    const finding = findings.get(key) ?? { policy, error, tools: [], lanes: 0 };
    finding.tools.push(...lane.tools);
    finding.lanes += 1;
    findings.set(key, finding);
  }
}

function toProblem({ policy, error, tools }: Finding): PolicyProblem {
  const at = error.sourceLocations?.[0] ?? { start: 0, end: 0 };
  const cedarSays = error.message.replace(`for policy \`${policy.id}\`, `, '');
  const message = `Cannot use policy "${policy.id}": ${cedarSays}`;
  const hint = guardHint(policy, at, tools) ?? error.help;
  return { ...problemAt(policy.source, policy.startByte + at.start, message, hint), policy: policy.id };
}

/** Judged by the policy's own text at that position, not by the error message. */
function guardHint(
  policy: ParsedPolicy,
  at: { start: number; end: number },
  tools: readonly string[],
): string | null {
  const words = Buffer.from(policy.text).subarray(at.start, at.end).toString();
  const [, field] = /^context\s*\.\s*input\s*\.\s*([A-Za-z_]\w*)/.exec(words) ?? [];
  if (field === undefined) return null;
  const [first, ...others] = tools;
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  const where = first === undefined ? 'a tool' : `"${first}"${more}`;
  return `not every input of ${where} has it: guard it with \`context.input has ${field}\`, or name one tool in the scope`;
}
