import type { Cedar, Expr, PolicyJson } from './cedar.ts';
import type { Policy } from './policy-set.ts';
import type { Question } from './request.ts';
import type { Workbench } from './workbench.ts';

/*
 * Takes a policy apart into what must hold for it to match (its three scopes, each conjunct of its conditions) and asks
 * Cedar about each part alone, as a small policy of its own.
 */

export type PartState = 'holds' | 'differs' | 'fails';

/** One thing that must hold for a policy to match. */
export type Part = {
  readonly kind: 'principal' | 'action' | 'resource' | 'when' | 'unless';
  /** The part in Cedar's words; for `unless` these words must be false. */
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

/** The parts of each policy under one question, by policy id. A policy that cannot be taken apart has none. */
export function examine(
  bench: Workbench,
  policies: readonly Policy[],
  question: Question,
): Map<string, readonly Part[]> {
  const result = bench.try((cedar) => {
    const drafts = policies.flatMap(({ id, text }) => draftsOf(cedar, id, text));
    return judge(cedar, question, drafts);
  });
  if (result.ok) return result.value;
  if (policies.length <= 1) return new Map(policies.map(({ id }) => [id, []]));
  // One of them broke it: the halves tell which, and the others are still examined.
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
    // All conjuncts of a `when` must hold; an `unless` is one thing, that must not.
    const bodies = kind === 'when' ? conjunctsOf(body) : [body];
    for (const one of bodies)
      drafts.push({ policy, kind, json: { ...ANY, conditions: [{ kind, body: one }] } });
  }
  return drafts;
}

/** `a && b && c` as its members. Not recursive on the left, where the parser nests. */
export function conjunctsOf(body: Expr): Expr[] {
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
  { schema, ...question }: Question,
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
