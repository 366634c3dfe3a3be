import { placeOf } from '../core/caller.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import type { Refused } from '../core/outcome.ts';
import { formatPrincipal } from '../core/principal.ts';
import { isSkillAct, type PolicyCase } from './cases.ts';
import type { PolicyEngine } from './engine.ts';
import { Directory, type SkillAct } from './entities.ts';
import { actQuestion } from './request.ts';
import { decide, decideCall, type Ruling } from './ruling.ts';

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
    const checked =
      one.tool === null ? null : await options.check(one.tool, one.input_json ?? one.input ?? '{}');
    const isRefused = checked !== null && 'status' in checked;
    const actual = isRefused ? undecided('error', checked.message) : answerOf(engine, one, checked, options);
    results.push(compare(one, actual));
  }
  return results;
}

function undecided(actual: 'deny' | 'error', why: string): Actual {
  return { actual, decidedBy: [], why };
}

function answerOf(
  engine: PolicyEngine,
  one: PolicyCase,
  found: CheckedCall | null,
  { tenant, nowMs }: CaseOptions,
): Actual {
  const { principal, action, groups } = one;
  const own = groups === null ? null : new Directory(new Map([[formatPrincipal(principal), groups]]));
  const principals = own ?? engine.principals;
  const facts = { tenant, nowMs: one.at ?? nowMs };
  if (action === 'readJournal' || action === 'administer') {
    return toActual(decide(engine, () => actQuestion(principals, principal, action, facts)));
  }
  if (isSkillAct(action)) return skillAnswer(engine, principals, { ...one, action }, facts);
  if (found === null) return undecided('error', 'the case names no tool');
  if (action === 'approve') {
    if (principal.kind !== 'user') return undecided('deny', 'only a user decides');
    const asked = {
      ...facts,
      ...placeIn(one),
      tool: found.tool,
      asker: one.asker,
      inputText: found.inputText,
    };
    return toActual(decide(engine, () => actQuestion(principals, principal, action, asked)));
  }
  const source = { credential: 'test', ...placeIn(one) };
  const session = one.session === null ? {} : { session: one.session };
  const call = { ...found.call, principal, tenant, source, ...session };
  return callAnswer(engine, principals, { ...found, call }, { one, nowMs: facts.nowMs });
}

function placeIn({ device, channel }: PolicyCase) {
  return placeOf({ device: device ?? undefined, channel: channel ?? undefined });
}

function skillAnswer(
  engine: PolicyEngine,
  principals: Directory,
  { principal, action, skill }: PolicyCase & { readonly action: SkillAct },
  facts: { readonly tenant: string; readonly nowMs: number },
): Actual {
  if (skill === null) return undecided('error', 'the case describes no skill');
  if (principal.kind === 'agent') return undecided('deny', 'no agent manages skills');
  if (action === 'approveSkill' && principal.kind !== 'user')
    return undecided('deny', 'only a user approves a skill');
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
  const facts = { budgetLeft, approval: one.approved ? ('assumed' as const) : null, nowMs };
  const { ruling, askedBy } = decideCall(engine, principals, checked, facts);
  return askedBy === null ? toActual(ruling) : { actual: 'ask', decidedBy: askedBy, why: '' };
}

function toActual({ verdict, decidedBy, errors }: Ruling): Actual {
  return { actual: verdict, decidedBy, why: errors[0]?.message ?? '' };
}

function compare(one: PolicyCase, { actual, decidedBy, why }: Actual): PolicyCaseResult {
  const { name, line, expected } = one;
  const isDecided = one.decided_by === null || sameIds(one.decided_by, decidedBy);
  const passed = actual === expected && isDecided;
  const message = passed ? '' : messageOf(one, { actual, decidedBy, why });
  return { name, line, passed, expected, actual, decidedBy, message };
}

function messageOf(one: PolicyCase, { actual, decidedBy, why }: Actual): string {
  const by = (ids: readonly string[]) => ` by ${ids.map((id) => `"${id}"`).join(', ') || 'no policy'}`;
  const wanted = one.decided_by === null ? '' : by(one.decided_by);
  const detail = why === '' ? '' : ` (${why})`;
  return `Cannot pass "${one.name}": the answer is "${actual}"${by(decidedBy)}${detail}, expected "${one.expected}"${wanted}`;
}

function sameIds(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && [...a].sort().join('\n') === [...b].sort().join('\n');
}
