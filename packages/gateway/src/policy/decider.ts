import { type Cedar, type CedarLoader, isCrash } from './cedar.ts';
import { SCHEMAS_PER_INSTANCE } from './limits.ts';
import type { PolicySet } from './policy-set.ts';
import type { Question } from './request.ts';

/*
 * The instance that decides. It is given only texts that passed the check, keeps them parsed, and is thrown away when
 * it breaks: the call at hand is denied and the next one finds a new instance. Cedar never frees a parsed set but by
 * reusing its name, so two names take turns.
 */

export type Answer = {
  readonly verdict: 'allow' | 'deny' | 'error';
  /** The policies that decided: the forbids of a denial, the permits of an allowance. */
  readonly decidedBy: readonly string[];
  readonly errors: readonly { readonly policy: string | null; readonly message: string }[];
  readonly crashed: boolean;
};

type Slot = 'blue' | 'green';
type Instance = { readonly cedar: Cedar; readonly schemas: Set<string>; slot: Slot };

export class Decider {
  readonly #load: CedarLoader;
  #set: PolicySet | null = null;
  #instance: Instance | null = null;

  constructor(load: CedarLoader) {
    this.#load = load;
  }

  get set(): PolicySet | null {
    return this.#set;
  }

  /** Puts a checked set in the place of the one before, or throws and leaves that one in place. */
  use(set: PolicySet): void {
    if (this.#instance !== null) this.#fill(this.#instance, set);
    this.#set = set;
  }

  /** Answers under the set in place; every doubt is an `error`, which denies. */
  ask(question: Question): Answer {
    try {
      return this.#ask(question);
    } catch (error) {
      const crashed = isCrash(error);
      if (crashed) this.#instance = null;
      return { ...failed(null, String(error)), crashed };
    }
  }

  #ask({ schema, ...question }: Question): Answer {
    const { cedar, schemas, slot } = this.#ready();
    if (!schemas.has(schema.name)) {
      const parsed = cedar.preparseSchema(schema.name, schema.text);
      if (parsed.type === 'failure')
        return failed(null, parsed.errors[0]?.message ?? 'the schema was refused');
      schemas.add(schema.name);
    }
    const answer = cedar.statefulIsAuthorized({
      ...question,
      preparsedPolicySetId: slot,
      preparsedSchemaName: schema.name,
      // Boundary: without it a forbid that meets an unforeseen value is skipped and the call allowed.
      validateRequest: true,
    });
    if (answer.type !== 'success')
      return failed(null, answer.errors[0]?.message ?? 'the request was refused');
    const { decision, diagnostics } = answer.response;
    // Boundary: Cedar skips a policy that errs, even a forbid; here one error denies.
    if (diagnostics.errors.length > 0) {
      const errors = diagnostics.errors.map(({ policyId, error }) => ({
        policy: policyId,
        message: error.message,
      }));
      return { verdict: 'error', decidedBy: [], errors, crashed: false };
    }
    const verdict = decision === 'allow' ? 'allow' : 'deny';
    return { verdict, decidedBy: [...diagnostics.reason].sort(), errors: [], crashed: false };
  }

  #ready(): Instance {
    if (this.#set === null) throw new TypeError('Cannot decide: no policy set is loaded');
    const isFull = (this.#instance?.schemas.size ?? 0) >= SCHEMAS_PER_INSTANCE;
    if (this.#instance === null || isFull) {
      const instance: Instance = { cedar: this.#load(), schemas: new Set(), slot: 'blue' };
      this.#fill(instance, this.#set);
      this.#instance = instance;
    }
    return this.#instance;
  }

  #fill(instance: Instance, { policies }: PolicySet): void {
    const slot = instance.slot === 'blue' ? 'green' : 'blue';
    const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
    try {
      const parsed = instance.cedar.preparsePolicySet(slot, { staticPolicies });
      if (parsed.type === 'failure') throw new Error(parsed.errors[0]?.message);
    } catch (error) {
      if (isCrash(error)) this.#instance = null;
      throw error;
    }
    instance.slot = slot;
  }
}

function failed(policy: string | null, message: string): Answer {
  return { verdict: 'error', decidedBy: [], errors: [{ policy, message }], crashed: false };
}
