import type { ApprovalFact, CheckedCall } from '../core/checked-call.ts';
import type { Digest } from '../core/digest.ts';
import type { Limits } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import { isCertain, type ProcessTierName, withPaths, withPins } from '../core/process.ts';
import type { PolicyEngine } from './engine.ts';
import { type Act, type ActFacts, actQuestion, type CallFacts } from './request.ts';
import { decide, decideCall, describeGuard, type Ruling, strongerRemedy, strongerTier } from './ruling.ts';

export type { SkillAct, SkillActFacts, SkillStanding } from './entities.ts';
export type { Act, ActFacts, CallFacts } from './request.ts';

export type Decision =
  | { readonly verdict: 'allow'; readonly grant: Grant }
  | {
      readonly verdict: 'ask';
      readonly decidedBy: readonly string[];
      readonly setDigest: Digest;
      /** The tier that the policies would permit without an approval; null: none. */
      readonly stronger: ProcessTierName | null;
    }
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
  const stronger = strongerTier(engine, engine.principals, checked, facts);
  if (askedBy !== null && setDigest !== null)
    return { verdict: 'ask', decidedBy: askedBy, setDigest, stronger };
  return { verdict: 'deny', refused: refusalOf(checked, ruling, stronger), decidedBy, setDigest };
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

function refusalOf(
  { call, tool, process, tier }: CheckedCall,
  { verdict, decidedBy, setDigest, errors, isOfGuard }: Ruling,
  stronger: ProcessTierName | null,
): Refused {
  const subject = `Cannot call "${tool.id}" as ${formatPrincipal(call.principal)}`;
  if (setDigest === null) return refuse('policy/unavailable', `${subject}: no valid policy set is loaded`);
  if (verdict !== 'deny') return refuse('policy/evaluation-error', `${subject}: ${describeErrors(errors)}`);
  const advice = stronger === null ? undefined : strongerRemedy(stronger);
  if (isOfGuard !== true || process === null)
    return refuse('policy/denied', `${subject}: ${describeDenial(decidedBy)}`, advice);
  const guarded = describeGuard(process, tier);
  return refuse(
    'policy/denied',
    `${subject}: ${guarded.why}, and ${describeDenial(decidedBy)}`,
    [...(advice === undefined ? [] : [advice]), guarded.remedy].join(' '),
  );
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
