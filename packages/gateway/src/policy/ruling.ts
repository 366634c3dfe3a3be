/*
 * Cedar's answers about calls, without any effect: what the active set says of a call as it is, with an approval, and in
 * a stronger tier. Only authorize.ts turns an answer into a grant.
 */
import { canonicalize } from '@palisade/sdk';
import type { CheckedCall } from '../core/checked-call.ts';
import type { Digest } from '../core/digest.ts';
import { quote } from '../core/hostile-text.ts';
import { isJsonObject } from '../core/json.ts';
import { type PreparedProcess, type ProcessTierName, strongerThan } from '../core/process.ts';
import type { PolicyAnswer } from './decider.ts';
import type { PolicyEngine } from './engine.ts';
import type { Directory } from './entities.ts';
import { type AskedFacts, callQuestion, interpreterQuestion, type PolicyQuestion } from './request.ts';
import type { Reads } from './schema.ts';

/** Cedar's answer, and under which set; null when none is loaded. Anything but `allow` denies. */
export type Ruling = Omit<PolicyAnswer, 'crashed'> & {
  readonly setDigest: Digest | null;
  /** It is the answer to whether the program may run unconfined; the call itself is permitted. */
  readonly isOfGuard?: true;
};

/** Evaluates the active set once. A question that cannot be built is an error, which denies. */
export function decide(
  engine: PolicyEngine,
  write: (reads: Reads) => PolicyQuestion,
  toolId: string | null = null,
): Ruling {
  const { setDigest } = engine;
  const failed = (message: string): Ruling => {
    return { verdict: 'error', decidedBy: [], setDigest, errors: [{ policy: null, message }] };
  };
  if (setDigest === null) return failed('no policy set is loaded');
  try {
    const reads = toolId === null ? engine.reads : engine.readsFor(toolId);
    const { verdict, decidedBy, errors } = engine.ask(write(reads));
    return { verdict, decidedBy, setDigest, errors };
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

/** The ruling on a call; where the approval of a person would permit it, also the policies that ask for one. */
export function decideCall(
  engine: PolicyEngine,
  principals: Directory,
  checked: CheckedCall,
  facts: AskedFacts,
): { readonly ruling: Ruling; readonly askedBy: readonly string[] | null } {
  const ask = (asked: AskedFacts) => ruleOn(engine, principals, checked, asked);
  const ruling = ask(facts);
  if (ruling.verdict !== 'deny' || facts.approval !== null) return { ruling, askedBy: null };
  const approved = ask({ ...facts, approval: 'assumed' });
  // The forbids that an approval lifts are more informative than the permits that require it.
  const reasons = ruling.decidedBy.length > 0 ? ruling.decidedBy : approved.decidedBy;
  if (approved.verdict === 'allow') return { ruling, askedBy: reasons };
  // An approval alone would not help: the refusal says what stands behind the policy that asks for it.
  return { ruling: approved.isOfGuard === true ? { ...ruling, isOfGuard: true } : ruling, askedBy: null };
}

/** Boundary: an unconfined program that can start any other one takes the consent of two policies. */
function ruleOn(
  engine: PolicyEngine,
  principals: Directory,
  checked: CheckedCall,
  facts: AskedFacts,
): Ruling {
  const write = (reads: Reads) => callQuestion(principals, checked, facts, reads);
  const called = decide(engine, write, checked.tool.id);
  if (called.verdict !== 'allow' || (checked.process?.facts.guard ?? null) === null) return called;
  const guarded = decide(engine, (reads) => interpreterQuestion(write(reads)), checked.tool.id);
  if (guarded.verdict !== 'allow') return { ...guarded, isOfGuard: true };
  return { ...called, decidedBy: [...new Set([...called.decidedBy, ...guarded.decidedBy])].sort() };
}

/** The weakest tier above the requested one in which the same command is permitted; nothing is granted by asking. */
export function strongerTier(
  engine: PolicyEngine,
  principals: Directory,
  checked: CheckedCall,
  facts: AskedFacts,
): ProcessTierName | null {
  const { process } = checked;
  if (process === null) return null;
  const isPermitted = (tier: ProcessTierName) =>
    ruleOn(engine, principals, inTier(checked, process, tier), facts).verdict === 'allow';
  return strongerThan(process.facts.tier).find(isPermitted) ?? null;
}

/** The call as it would be if it had asked for that tier, which confines what is started. */
function inTier(checked: CheckedCall, process: PreparedProcess, tier: ProcessTierName): CheckedCall {
  const input = isJsonObject(checked.input) ? { ...checked.input, tier } : checked.input;
  const facts = { ...process.facts, tier, guard: null };
  return { ...checked, tier, input, inputText: canonicalize(input), process: { ...process, facts } };
}

export function strongerRemedy(tier: ProcessTierName): string {
  return `Tier "${tier}" would be allowed: ask for it (\`tier\`, or --tier ${tier}).`;
}

/** Why the guard of unconfined tiers holds a program, and what lifts it. */
export function describeGuard(
  { terms: { executable }, facts: { guard } }: PreparedProcess,
  tier: string,
): { readonly why: string; readonly remedy: string } {
  return {
    why: `${quote(executable)} ${guard}, which tier "${tier}" does not confine`,
    remedy: `To allow it in tier "${tier}", add ${quote(executable)} to process.interpreters in palisade.toml, or write a policy that permits Action::"runInterpreter".`,
  };
}
