import { digestValue } from '../core/digest.ts';
import type { Tool } from '../core/tool.ts';
import { type CedarLoader, loadCedar } from './cedar.ts';
import { POLICY_LIMITS } from './limits.ts';
import { namedIn, type ToolsOf } from './names.ts';
import { parseFiles, parsePolicy } from './parse.ts';
import {
  type Policy,
  type PolicyFile,
  type PolicyProblem,
  type PolicySet,
  policySetDigest,
} from './policy-set.ts';
import { fileProblem, readPolicyFiles } from './read-files.ts';
import { PALISADE_SCHEMA } from './schema.ts';
import { viewTool } from './tool-view.ts';
import { tryPolicies } from './trial.ts';
import { validatePolicies } from './validate.ts';
import { Workbench } from './workbench.ts';

/*
 * What stands between a policy file and a decision: the text is read, split, parsed, measured, validated against the
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
    return refuseSet([fileProblem('.', `Cannot evaluate the policies: ${trial.message}`)], warnings);
  const trialWarnings = trial.errors.map(({ policy, message }) => trialWarning(policies, policy, message));
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
 * Tells whether a set that was good once can still be loaded without harm. It is not validated again: tools may have
 * changed since, and a policy that no longer fits one denies the calls of that tool alone.
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

/** A tool as far as a check looks at it. */
export function printTool(tool: Tool): string {
  return [tool.id, tool.category, tool.skill?.id ?? '', viewTool(tool).schema.name].join(' ');
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
