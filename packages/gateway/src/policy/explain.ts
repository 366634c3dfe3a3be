import { capabilitiesOfCall } from '../core/capability.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import type { Digest } from '../core/digest.ts';
import { formatPrincipal } from '../core/principal.ts';
import type { Cedar, Expr, PolicyJson, Workbench } from './cedar.ts';
import type { PolicyEngine } from './engine.ts';
import type { Policy, PolicySet } from './policy-set.ts';
import { type CallFacts, callQuestion, type PolicyQuestion } from './request.ts';
import { decideCall, describeGuard, type Ruling, strongerRemedy, strongerTier } from './ruling.ts';

/*
 * Answers why a call is allowed or not, under the active set. The verdict comes from the deciding instance; policies
 * are analysed on the bench, which may break without harm.
 */

/** A policy about this action, and which of its parts keep it from matching. */
type PolicyNote = Policy & { readonly matched: boolean; readonly parts: readonly Part[] };

export type Explanation = {
  readonly verdict: 'allow' | 'ask' | 'deny' | 'error';
  /** Where the call was taken to come from; null: the policies are told nothing about it. */
  readonly from: {
    readonly device: string | null;
    readonly channel: string | null;
    readonly session: string | null;
  };
  /** What the policies are told that the call can do (`context.capabilities`). */
  readonly capabilities: readonly string[];
  readonly setDigest: Digest | null;
  readonly decidedBy: readonly Policy[];
  readonly errors: Ruling['errors'];
  /** Every permit and forbid that could matter, those that matched first. */
  readonly policies: readonly PolicyNote[];
  readonly approvalWouldHelp: boolean;
  /** What would have to be different for the other answer, in sentences. */
  readonly differences: readonly string[];
};

const NO_SET = 'A valid policy set would have to be loaded: run `palisade policy check`.';

/** Explains a call under the live set without running or recording anything. */
export function explain(engine: PolicyEngine, checked: CheckedCall, facts: CallFacts): Explanation {
  engine.refresh();
  const { set, principals } = engine;
  const { ruling, askedBy } = decideCall(engine, principals, checked, facts);
  const approvalWouldHelp = askedBy !== null;
  const policies = set === null ? [] : notesOf(engine, set, checked, facts);
  const { setDigest, errors } = ruling;
  return {
    verdict: approvalWouldHelp ? 'ask' : ruling.verdict,
    from: fromOf(checked),
    capabilities: capabilitiesOfCall(checked),
    setDigest,
    decidedBy: set?.policies.filter(({ id }) => ruling.decidedBy.includes(id)) ?? [],
    errors,
    policies,
    approvalWouldHelp,
    differences:
      set === null
        ? [NO_SET]
        : [
            ...differencesOf(ruling, policies, approvalWouldHelp, checked),
            ...tierAdvice(engine, checked, facts, ruling),
          ],
  };
}

function fromOf({ call: { source, session } }: CheckedCall): Explanation['from'] {
  return { device: source?.device ?? null, channel: source?.channel ?? null, session: session ?? null };
}

/** What a tier that confines the program changes, and what the guard of the others takes. */
function tierAdvice(
  engine: PolicyEngine,
  checked: CheckedCall,
  facts: CallFacts,
  { verdict, isOfGuard }: Ruling,
): readonly string[] {
  if (verdict === 'allow') return [];
  const stronger = strongerTier(engine, engine.principals, checked, facts);
  const advice = stronger === null ? [] : [strongerRemedy(stronger)];
  if (isOfGuard !== true || checked.process === null) return advice;
  const { why, remedy } = describeGuard(checked.process, checked.tier);
  return [`The program would have to be another one: ${why}.`, ...advice, remedy];
}

function notesOf(engine: PolicyEngine, set: PolicySet, checked: CheckedCall, facts: CallFacts): PolicyNote[] {
  try {
    const question = callQuestion(engine.principals, checked, facts);
    const examined = examine(engine.bench, set.policies, question);
    const notes = set.policies.map((policy) => noteOf(policy, examined.get(policy.id) ?? []));
    const relevant = notes.filter(({ parts }) => !isAboutAnotherAction(parts));
    return relevant.sort((a, b) => Number(b.matched) - Number(a.matched) || closeness(a) - closeness(b));
  } catch {
    // The question cannot be built; the ruling says why.
    return [];
  }
}

function noteOf(policy: Policy, parts: readonly Part[]): PolicyNote {
  return { ...policy, parts, matched: parts.length > 0 && parts.every(({ state }) => state === 'holds') };
}

function isAboutAnotherAction(parts: readonly Part[]): boolean {
  return parts.some(({ kind, state }) => kind === 'action' && state === 'differs');
}

function closeness({ parts }: PolicyNote): number {
  return parts.filter(({ state }) => state !== 'holds').length;
}

function differencesOf(
  ruling: Ruling,
  notes: readonly PolicyNote[],
  approvalWouldHelp: boolean,
  checked: CheckedCall,
): string[] {
  if (ruling.verdict === 'allow') return [];
  const sentences = ruling.errors.map(({ policy, message }) =>
    policy === null
      ? `The request would have to be valid: ${message}.`
      : `Policy "${policy}" would have to be corrected: ${message}.`,
  );
  if (approvalWouldHelp) sentences.push('A user would have to approve this call.');
  for (const note of notes) {
    if (note.effect === 'forbid' && note.matched) sentences.push(forbidSentence(note));
  }
  const permits = notes.filter(({ effect }) => effect === 'permit');
  if (permits.some(({ matched }) => matched)) return sentences;
  sentences.push(...permits.map((note) => permitSentence(note, checked)));
  if (permits.length === 0) sentences.push('A policy would have to permit calls: none does.');
  return sentences;
}

function forbidSentence({ id, file, parts }: PolicyNote): string {
  const conditions = parts.filter(({ kind }) => kind === 'when' || kind === 'unless').map(wantedOf);
  const how =
    conditions.length === 0
      ? 'it forbids without a condition'
      : `one of these would have to end: ${conditions.join('; ')}`;
  return `Forbid "${id}" (${file}) would have to not match: ${how}.`;
}

function wantedOf({ kind, text }: Part): string {
  return kind === 'unless' ? `\`${text}\` is false` : `\`${text}\` is true`;
}

function permitSentence({ id, file, parts }: PolicyNote, checked: CheckedCall): string {
  const missing = parts.filter(({ state }) => state !== 'holds');
  if (missing.length === 0) return `Permit "${id}" (${file}) could not be analysed.`;
  // What follows a false guard was never evaluated: that it fails alone means nothing.
  const telling = missing.filter(({ state }) => state === 'differs');
  const wanted = (telling.length > 0 ? telling : missing).map((part) => missingWords(part, checked));
  return `Permit "${id}" (${file}) would match if ${wanted.join(' and ')}.`;
}

/** What a caller is told of a part about where its call comes from: what it is now. */
function placeWords(text: string, checked: CheckedCall): string {
  const told = Object.entries(fromOf(checked)).filter(([name]) => text.includes(`context.${name}`));
  const words = told.map(([name, value]) =>
    value === null ? `it has no ${name}` : `its ${name} is "${value}"`,
  );
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}

function missingWords({ kind, text }: Part, checked: CheckedCall): string {
  const { call, tool } = checked;
  if (kind === 'principal')
    return `the principal were \`${text}\` (it is ${formatPrincipal(call.principal)})`;
  if (kind === 'resource') return `the tool were \`${text}\` (it is "${tool.id}")`;
  const place = placeWords(text, checked);
  return kind === 'unless' ? `\`${text}\` were false${place}` : `\`${text}\` were true${place}`;
}

/*
 * Splits a policy into what must be true for it to match (its three scopes, each conjunct of its conditions) and asks
 * Cedar about each part alone, as a small policy of its own.
 */

type PartState = 'holds' | 'differs' | 'fails';

type Part = {
  readonly kind: 'principal' | 'action' | 'resource' | 'when' | 'unless';
  /** The part as Cedar text; for `unless` this expression must be false. */
  readonly text: string;
  readonly state: PartState;
};

type Draft = { readonly policy: string; readonly kind: Part['kind']; readonly json: PolicyJson };

const ANY: PolicyJson = {
  effect: 'permit',
  principal: { op: 'All' },
  action: { op: 'All' },
  resource: { op: 'All' },
  conditions: [],
};

/** The parts of each policy under one question, by policy id. A policy that cannot be split has none. */
function examine(
  bench: Workbench,
  policies: readonly Policy[],
  question: PolicyQuestion,
): Map<string, readonly Part[]> {
  const result = bench.try((cedar) => {
    const drafts = policies.flatMap(({ id, text }) => draftsOf(cedar, id, text));
    return judge(cedar, question, drafts);
  });
  if (result.ok) return result.value;
  if (policies.length <= 1) return new Map(policies.map(({ id }) => [id, []]));
  // One of them broke it: bisection finds which, and the others are still examined.
  const middle = Math.ceil(policies.length / 2);
  const halves = [policies.slice(0, middle), policies.slice(middle)];
  return new Map(halves.flatMap((half) => [...examine(bench, half, question)]));
}

function draftsOf(cedar: Cedar, policy: string, text: string): Draft[] {
  const answer = cedar.policyToJson(text);
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const { principal, action, resource, conditions } = answer.json;
  const drafts: Draft[] = [
    { policy, kind: 'principal', json: { ...ANY, principal } },
    { policy, kind: 'action', json: { ...ANY, action } },
    { policy, kind: 'resource', json: { ...ANY, resource } },
  ];
  for (const { kind, body } of conditions) {
    // All conjuncts of a `when` must be true; an `unless` is one part, which must be false.
    const bodies = kind === 'when' ? conjunctsOf(body) : [body];
    for (const one of bodies)
      drafts.push({ policy, kind, json: { ...ANY, conditions: [{ kind, body: one }] } });
  }
  return drafts;
}

/** `a && b && c` as its members. Not recursive on the left, where the parser nests. */
function conjunctsOf(body: Expr): Expr[] {
  const conjuncts: Expr[] = [];
  let rest = body;
  while ('&&' in rest) {
    const { left, right } = rest['&&'] as { left: Expr; right: Expr };
    conjuncts.unshift(right);
    rest = left;
  }
  return [rest, ...conjuncts];
}

function judge(
  cedar: Cedar,
  { schema, ...question }: PolicyQuestion,
  drafts: readonly Draft[],
): Map<string, readonly Part[]> {
  const answer = cedar.isAuthorized({
    ...question,
    policies: { staticPolicies: Object.fromEntries(drafts.map(({ json }, i) => [`part${i}`, json])) },
    schema: schema.text,
    validateRequest: true,
  });
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const { reason, errors } = answer.response.diagnostics;
  const holding = new Set(reason);
  const failing = new Set(errors.map(({ policyId }) => policyId));
  const parts = new Map<string, Part[]>();
  drafts.forEach(({ policy, kind, json }, i) => {
    const state = failing.has(`part${i}`) ? 'fails' : holding.has(`part${i}`) ? 'holds' : 'differs';
    const own = parts.get(policy) ?? [];
    own.push({ kind, text: wordsOf(cedar, kind, json), state });
    parts.set(policy, own);
  });
  return parts;
}

const SCOPE = /^permit\((.*), (action.*), (resource.*)\);$/s;
const CONDITION = /^permit\(principal, action, resource\) (?:when|unless) \{ (.*) \};$/s;

function wordsOf(cedar: Cedar, kind: Part['kind'], json: PolicyJson): string {
  const answer = cedar.policyToText(json);
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const text = answer.text.trim();
  const [, principal = text, action = text, resource = text] = SCOPE.exec(text) ?? [];
  if (kind === 'principal') return principal;
  if (kind === 'action') return action;
  if (kind === 'resource') return resource;
  return CONDITION.exec(text)?.[1] ?? text;
}
