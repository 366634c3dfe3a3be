import type { Principal } from '../core/principal.ts';
import type { PolicyEngine } from './engine.ts';
import type { PolicySet } from './policy-set.ts';
import { actQuestion } from './request.ts';

type Act = 'administer' | 'readJournal';
type Facts = { readonly tenant: string; readonly nowMs: number };

const NAME = 'would-permit';

/** Whether a checked set would let a principal act, if it were the one that decides; every doubt is a no. */
export function wouldPermit(
  { bench, principals }: PolicyEngine,
  { policies }: PolicySet,
  principal: Principal,
  { act, ...facts }: Facts & { readonly act: Act },
): boolean {
  const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
  const result = bench.try((cedar) => {
    const { schema, ...question } = actQuestion(principals, principal, act, facts);
    const known = [
      cedar.preparsePolicySet(NAME, { staticPolicies }),
      cedar.preparseSchema(schema.name, schema.text),
    ];
    if (known.some(({ type }) => type === 'failure')) return false;
    const answer = cedar.statefulIsAuthorized({
      ...question,
      preparsedPolicySetId: NAME,
      preparsedSchemaName: schema.name,
      validateRequest: true,
    });
    if (answer.type === 'failure') return false;
    const { decision, diagnostics } = answer.response;
    return decision === 'allow' && diagnostics.errors.length === 0;
  });
  // The set would stay in the instance for as long as that lives.
  bench.clear();
  return result.ok && result.value;
}
