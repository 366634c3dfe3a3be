import type { CheckedCall } from '../core/checked-call.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import type { Refused } from '../core/outcome.ts';
import { formatPrincipal } from '../core/principal.ts';
import { decide, type Ruling } from './authorize.ts';
import { isSkillAct, type PolicyCase } from './cases.ts';
import type { PolicyEngine } from './engine.ts';
import { Directory, type SkillAct } from './entities.ts';
import { actQuestion, approvedQuestion, callQuestion } from './request.ts';

export { type PolicyCase, parseCases } from './cases.ts';

type CaseOptions = {
  /** Finds a tool and checks an input the way a real call is checked. */
  readonly check: (tool: string, inputText: string) => Checking | Promise<Checking>;
  readonly tenant: string;
  readonly nowMs: number;
};
type Checking = CheckedCall | Refused;

export type PolicyCaseResult = {
  readonly name: string;
  readonly line: number;
  readonly passed: boolean;
  readonly expected: PolicyCase['expected'];
  readonly actual: 'allow' | 'deny' | 'ask' | 'error';
  readonly decidedBy: readonly string[];
  /** Why it did not pass; empty when it did. */
  readonly message: string;
};

type Actual = Pick<PolicyCaseResult, 'actual' | 'decidedBy'> & { readonly why: string };

/** Evaluates each case under the active set; nothing runs, nothing is recorded, no budget is touched. */
export async function runPolicyTests(
  engine: PolicyEngine,
  cases: readonly PolicyCase[],
  options: CaseOptions,
): Promise<PolicyCaseResult[]> {
  engine.refresh();
  const results: PolicyCaseResult[] = [];
  for (const one of cases) {
    const checked = one.tool === null ? null : await options.check(one.tool, one.inputText);
    const isRefused = checked !== null && 'status' in checked;
    const actual = isRefused ? refusedBefore(checked) : answerOf(engine, one, checked, options);
    results.push(compare(one, actual));
  }
  return results;
}

function refusedBefore({ message }: Refused): Actual {
  return { actual: 'error', decidedBy: [], why: message };
}

function answerOf(
  engine: PolicyEngine,
  one: PolicyCase,
  found: CheckedCall | null,
  { tenant, nowMs }: CaseOptions,
): Actual {
  const principals = one.groups === null ? engine.principals : groupsOf(one, one.groups);
  const { principal, action } = one;
  const facts = { tenant, nowMs: one.atMs ?? nowMs };
  if (action === 'readJournal' || action === 'administer') {
    return toActual(decide(engine, () => actQuestion(principals, principal, action, facts)));
  }
  if (isSkillAct(action)) return skillAnswer(engine, principals, { ...one, action }, facts);
  if (found === null) return { actual: 'error', decidedBy: [], why: 'the case names no tool' };
  if (action === 'approve') {
    if (principal.kind !== 'user') return { actual: 'deny', decidedBy: [], why: 'only a user decides' };
    const asked = { ...facts, tool: found.tool, asker: one.asker, inputText: found.inputText };
    return toActual(decide(engine, () => actQuestion(principals, principal, action, asked)));
  }
  const call = { ...found.call, principal, tenant };
  return callAnswer(engine, principals, { ...found, call }, { one, nowMs: facts.nowMs });
}

function skillAnswer(
  engine: PolicyEngine,
  principals: Directory,
  { principal, action, skill }: PolicyCase & { readonly action: SkillAct },
  facts: { readonly tenant: string; readonly nowMs: number },
): Actual {
  if (skill === null) return { actual: 'error', decidedBy: [], why: 'the case describes no skill' };
  if (principal.kind === 'agent') return { actual: 'deny', decidedBy: [], why: 'no agent manages skills' };
  if (action === 'approveSkill' && principal.kind !== 'user')
    return { actual: 'deny', decidedBy: [], why: 'only a user approves a skill' };
  return toActual(decide(engine, () => actQuestion(principals, principal, action, { ...facts, ...skill })));
}

function callAnswer(
  engine: PolicyEngine,
  principals: Directory,
  checked: CheckedCall,
  { one, nowMs }: { one: PolicyCase; nowMs: number },
): Actual {
  const { wallMs, cpuMs, fuel, outputBytes, egressBytes } = LIMIT_CEILINGS;
  const budgetLeft = { calls: Number.MAX_SAFE_INTEGER, wallMs, cpuMs, fuel, outputBytes, egressBytes };
  const facts = { budgetLeft, approval: null, nowMs };
  const approved = decide(engine, (reads) => approvedQuestion(principals, checked, facts, reads));
  if (one.approved) return toActual(approved);
  const plain = decide(engine, (reads) => callQuestion(principals, checked, facts, reads));
  if (plain.verdict !== 'deny' || approved.verdict !== 'allow') return toActual(plain);
  const decidedBy = plain.decidedBy.length > 0 ? plain.decidedBy : approved.decidedBy;
  return { actual: 'ask', decidedBy, why: '' };
}

function groupsOf(one: PolicyCase, groups: readonly string[]): Directory {
  return new Directory(new Map([[formatPrincipal(one.principal), groups]]));
}

function toActual({ verdict, decidedBy, errors }: Ruling): Actual {
  return { actual: verdict, decidedBy, why: errors[0]?.message ?? '' };
}

function compare(one: PolicyCase, { actual, decidedBy, why }: Actual): PolicyCaseResult {
  const { name, line, expected } = one;
  const isDecided = one.decidedBy === null || sameIds(one.decidedBy, decidedBy);
  const passed = actual === expected && isDecided;
  const message = passed ? '' : messageOf(one, { actual, decidedBy, why });
  return { name, line, passed, expected, actual, decidedBy, message };
}

function messageOf(one: PolicyCase, { actual, decidedBy, why }: Actual): string {
  const by = decidedBy.length === 0 ? 'no policy' : decidedBy.map((id) => `"${id}"`).join(', ');
  const wanted =
    one.decidedBy === null ? '' : ` by ${one.decidedBy.map((id) => `"${id}"`).join(', ') || 'no policy'}`;
  const detail = why === '' ? '' : ` (${why})`;
  return `Cannot pass "${one.name}": the answer is "${actual}" by ${by}${detail}, expected "${one.expected}"${wanted}`;
}

function sameIds(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && [...a].sort().join('\n') === [...b].sort().join('\n');
}
