import type { ApprovalFact, CheckedCall } from '../core/checked-call.ts';
import type { Digest } from '../core/digest.ts';
import type { Limits } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import { isCertain, withPaths, withPins } from '../core/process.ts';
import type { PolicyAnswer } from './decider.ts';
import type { PolicyEngine } from './engine.ts';
import type { Directory } from './entities.ts';
import {
  type Act,
  type ActFacts,
  type AskedFacts,
  actQuestion,
  type CallFacts,
  callQuestion,
  type PolicyQuestion,
} from './request.ts';
import type { Reads } from './schema.ts';

export type { SkillAct, SkillActFacts, SkillStanding } from './entities.ts';
export type { Act, ActFacts, CallFacts } from './request.ts';

export type Decision =
  | { readonly verdict: 'allow'; readonly grant: Grant }
  | { readonly verdict: 'ask'; readonly decidedBy: readonly string[]; readonly setDigest: Digest }
  | {
      readonly verdict: 'deny';
      readonly refused: Refused;
      readonly decidedBy: readonly string[];
      readonly setDigest: Digest | null;
    };

/** Decides whether this call may run: a grant, a request for approval, or a refusal. Grants are made only here. */
export function authorize(engine: PolicyEngine, checked: CheckedCall, facts: CallFacts): Decision {
  const { ruling, askedBy } = decideCall(engine, engine.principals, checked, facts);
  const { setDigest, decidedBy } = ruling;
  if (ruling.verdict === 'allow' && setDigest !== null) {
    const { limits } = checked;
    const { approval } = facts;
    // Boundary: where a digest decided, what runs has it. An approval is bound to the digests of its call.
    const byDigest = certain(checked, approval !== null || engine.readsDigests);
    // Boundary: where the paths decided, the arguments still lead there when the command starts.
    const call = engine.readsFor(checked.tool.id).has('paths') ? holdingPaths(byDigest) : byDigest;
    return { verdict: 'allow', grant: makeGrant({ call, limits, decidedBy, setDigest, approval }) };
  }
  if (askedBy !== null && setDigest !== null) return { verdict: 'ask', decidedBy: askedBy, setDigest };
  return { verdict: 'deny', refused: refusalOf(checked, ruling), decidedBy, setDigest };
}

/** The ruling on a call; where the approval of a person would permit it, also the policies that ask for one. */
export function decideCall(
  engine: PolicyEngine,
  principals: Directory,
  checked: CheckedCall,
  facts: AskedFacts,
): { readonly ruling: Ruling; readonly askedBy: readonly string[] | null } {
  const ask = (asked: AskedFacts) =>
    decide(engine, (reads) => callQuestion(principals, checked, asked, reads), checked.tool.id);
  const ruling = ask(facts);
  if (ruling.verdict !== 'deny' || facts.approval !== null) return { ruling, askedBy: null };
  const approved = ask({ ...facts, approval: 'assumed' });
  // The forbids that an approval lifts are more informative than the permits that require it.
  const reasons = ruling.decidedBy.length > 0 ? ruling.decidedBy : approved.decidedBy;
  return { ruling, askedBy: approved.verdict === 'allow' ? reasons : null };
}

/** The call with only those artifacts that are certain to run; held to their digests, all are. */
function certain(checked: CheckedCall, isByDigest: boolean): CheckedCall {
  if (checked.process === null) return checked;
  const process = isByDigest ? withPins(checked.process) : checked.process;
  const doubtful = process.terms.files.filter((file) => !isCertain(file)).map(({ path }) => path);
  return { ...checked, process, artifacts: checked.artifacts.filter(({ name }) => !doubtful.includes(name)) };
}

function holdingPaths(checked: CheckedCall): CheckedCall {
  return checked.process === null ? checked : { ...checked, process: withPaths(checked.process) };
}

function refusalOf({ call, tool }: CheckedCall, { verdict, decidedBy, setDigest, errors }: Ruling): Refused {
  const subject = `Cannot call "${tool.id}" as ${formatPrincipal(call.principal)}`;
  if (setDigest === null) return refuse('policy/unavailable', `${subject}: no valid policy set is loaded`);
  if (verdict !== 'deny') return refuse('policy/evaluation-error', `${subject}: ${describeErrors(errors)}`);
  return refuse('policy/denied', `${subject}: ${describeDenial(decidedBy)}`);
}

function describeErrors(errors: Ruling['errors']): string {
  const [{ policy, message } = { policy: null, message: 'the evaluation failed' }] = errors;
  return policy === null ? message : `policy "${policy}" failed with "${message}"`;
}

function describeDenial(decidedBy: readonly string[]): string {
  if (decidedBy.length === 0) return 'no policy permits it';
  return `${decidedBy.map((id) => `policy "${id}"`).join(', ')} forbids it`;
}

type ActRuling = {
  readonly allowed: boolean;
  readonly decidedBy: readonly string[];
  readonly message: string;
};

/** Whether a principal may approve, act upon a skill, read the journal or administer, under the policies as they are now. */
export function authorizeAct<A extends Act>(
  engine: PolicyEngine,
  principal: Principal,
  action: A,
  facts: ActFacts[A],
): ActRuling {
  engine.refresh();
  const ruling = decide(engine, () => actQuestion(engine.principals, principal, action, facts));
  const { verdict, decidedBy, setDigest, errors } = ruling;
  const who = formatPrincipal(principal);
  const what = describeAct(action, facts);
  if (verdict === 'allow') return { allowed: true, decidedBy, message: `${who} may ${what}` };
  const unavailable = setDigest === null ? 'no valid policy set is loaded' : null;
  const why = unavailable ?? (verdict === 'deny' ? describeDenial(decidedBy) : describeErrors(errors));
  return { allowed: false, decidedBy, message: `Cannot ${what} as ${who}: ${why}` };
}

function describeAct(action: Act, facts: ActFacts[Act]): string {
  if (!('skill' in facts)) return action;
  return `${action.replace('Skill', '')} skill "${facts.skill.id}"`;
}

/** Cedar's answer, and under which set; null when none is loaded. Anything but `allow` denies. */
export type Ruling = Omit<PolicyAnswer, 'crashed'> & { readonly setDigest: Digest | null };

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

/** The only ticket into a tier: one call that the policies allow, to be spent once. */
export type Grant = {
  readonly call: CheckedCall;
  readonly limits: Limits;
  readonly decidedBy: readonly string[];
  readonly setDigest: Digest;
  readonly approval: ApprovalFact | null;
};

const unspent: WeakSet<Grant> = new WeakSet();

/** Makes a grant. Boundary: nothing outside this file can. */
function makeGrant(terms: Grant): Grant {
  const { call, limits, decidedBy, setDigest, approval } = terms;
  const grant: Grant = Object.freeze({
    call: Object.freeze({ ...call }),
    limits: Object.freeze({ ...limits }),
    decidedBy: Object.freeze([...decidedBy]),
    setDigest,
    approval: approval === null ? null : Object.freeze({ ...approval }),
  });
  unspent.add(grant);
  return grant;
}

/** Turns a grant back into its call, once. */
export function spend(grant: Grant): CheckedCall {
  // Boundary: a copy, a look-alike and a spent grant are not in the set.
  if (!unspent.delete(grant)) throw new TypeError('Cannot run call: the grant is forged or already spent');
  return grant.call;
}
