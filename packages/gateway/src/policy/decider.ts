import { cached } from '../core/cached.ts';
import { type Digest, digestValue } from '../core/digest.ts';
import { accept, orElse, reject } from '../core/result.ts';
import { type Cedar, type CedarLoader, cedarVersion, type EntityJson, isCrash } from './cedar.ts';
import { uidOf } from './entities.ts';
import { KEPT_ANSWERS, SCHEMAS_PER_INSTANCE } from './limits.ts';
import type { PolicySet } from './policy-set.ts';
import type { PolicyQuestion } from './request.ts';
import { EVERYTHING, type Reads, type ReadsByTool, readsByTool, readsDigests } from './schema.ts';

/*
 * The instance that decides. It gets only texts that passed the check, keeps them parsed, and is discarded when it
 * breaks: the current call is denied and the next one gets a new instance. Cedar frees a parsed set only when its name
 * is reused, so two names alternate.
 */

export type PolicyAnswer = {
  readonly verdict: 'allow' | 'deny' | 'error';
  /** The policies that decided: the forbids of a denial, the permits of an allowance. */
  readonly decidedBy: readonly string[];
  readonly errors: readonly { readonly policy: string | null; readonly message: string }[];
  readonly crashed: boolean;
};

/** A set, what it reads and what it has answered, always together. */
type Live = {
  readonly set: PolicySet;
  readonly reads: ReadsByTool;
  readonly readsDigests: boolean;
  readonly answers: Answers;
};

/** An instance with the policies under this name, and the schemas that it has parsed. */
type Instance = { readonly cedar: Cedar; readonly schemas: Set<string>; slot: string };

/** Answers that outlive the process; see memory.ts. */
export type LastingAnswers = {
  readonly find: (key: Digest) => PolicyAnswer | null;
  readonly keep: (key: Digest, answer: PolicyAnswer) => void;
};

const FORGETFUL: LastingAnswers = { find: () => null, keep: () => undefined };

export class Decider {
  readonly #load: CedarLoader;
  readonly #lasting: LastingAnswers;
  #live: Live | null = null;
  #instance: Instance | null = null;

  constructor(load: CedarLoader, lasting = FORGETFUL) {
    this.#load = load;
    this.#lasting = lasting;
  }

  get set(): PolicySet | null {
    return this.#live?.set ?? null;
  }

  /** The attributes that a question about a call must contain under the active set. */
  get reads(): Reads {
    return this.#live?.reads.all ?? EVERYTHING;
  }

  readsFor(toolId: string): Reads {
    return this.#live?.reads.of(toolId) ?? EVERYTHING;
  }

  get readsDigests(): boolean {
    return this.#live?.readsDigests ?? true;
  }

  /** Replaces the set by a checked one, or throws and leaves that one in place. */
  use(set: PolicySet): void {
    const texts = set.policies.map(({ text }) => text);
    const reads = readsByTool(texts);
    const answers = new Answers(this.#lasting, set.digest);
    const live = { set, reads, readsDigests: readsDigests(texts), answers };
    if (this.#instance !== null) this.#fill(this.#instance, set);
    this.#live = live;
  }

  /** Answers under the active set; any uncertainty is an `error`, which denies. */
  ask(question: PolicyQuestion): PolicyAnswer {
    try {
      const { answers } = this.#live ?? noSet();
      // Boundary: a question written for another set may lack what this one reads, and `has` would be false.
      const told = [EVERYTHING, this.reads, this.readsFor(question.resource.id)];
      if (!told.includes(question.schema.tells))
        return failed(null, 'the policies changed while the question was written');
      return answers.of(question, () => this.#ask(question));
    } catch (error) {
      const crashed = isCrash(error);
      if (crashed) this.#instance = null;
      return { ...failed(null, String(error)), crashed };
    }
  }

  #ask(question: PolicyQuestion): PolicyAnswer {
    const answer = consult(this.#ready(), question);
    if (!answer.ok) return failed(null, answer.problem);
    const { decision, decidedBy, errors } = answer.value;
    // Boundary: Cedar skips a policy that errs, even a forbid; here one error denies.
    if (errors.length > 0) return { verdict: 'error', decidedBy: [], errors, crashed: false };
    return { verdict: decision === 'allow' ? 'allow' : 'deny', decidedBy, errors, crashed: false };
  }

  #ready(): Instance {
    const { set } = this.#live ?? noSet();
    const isFull = (this.#instance?.schemas.size ?? 0) >= SCHEMAS_PER_INSTANCE;
    if (this.#instance === null || isFull) {
      const instance: Instance = { cedar: this.#load(), schemas: new Set(), slot: 'blue' };
      this.#fill(instance, set);
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

/** Asks an instance a question; the problem is why it does not accept the question. */
export function consult({ cedar, schemas, slot }: Instance, question: PolicyQuestion) {
  const { principal, action, resource, context, entities, schema } = question;
  // Reading a schema takes longer than a dozen answers under it, and most questions share one.
  if (!schemas.has(schema.name)) {
    const parsed = cedar.preparseSchema(schema.name, schema.text);
    if (parsed.type === 'failure') return reject(parsed.errors[0]?.message ?? 'the schema was refused');
    schemas.add(schema.name);
  }
  const answer = cedar.statefulIsAuthorized({
    // One by one: Cedar reads an object made by spreading a tenth slower.
    principal,
    action,
    resource,
    context,
    entities,
    preparsedPolicySetId: slot,
    preparsedSchemaName: schema.name,
    // Boundary: without it a forbid that encounters an unexpected value is skipped and the call allowed.
    validateRequest: true,
  });
  if (answer.type !== 'success') return reject(answer.errors[0]?.message ?? 'the request was refused');
  const { decision, diagnostics } = answer.response;
  const errors = diagnostics.errors.map(({ policyId: policy, error: { message } }) => ({ policy, message }));
  // Cedar lists them in no order, and the first one is shown.
  errors.sort((a, b) => (a.policy < b.policy ? -1 : 1));
  return accept({ decision, decidedBy: [...diagnostics.reason].sort(), errors });
}

function noSet(): never {
  throw new TypeError('Cannot decide: no policy set is loaded');
}

function failed(policy: string | null, message: string): PolicyAnswer {
  return { verdict: 'error', decidedBy: [], errors: [{ policy, message }], crashed: false };
}

/*
 * A cache of Cedar's answers under one policy set. An answer is a function of the set and of the question, and a
 * question contains only what the policies can read; so most calls of one tool by one principal are the same question.
 * The cache key is the exact entities and the whole text of the context: any difference makes another question. The
 * cache is discarded with its set. A command that makes one call asks once, and loading Cedar takes longer than all else
 * that it does; so its answers are also kept from one process to the next, by the digest of all that they depend on.
 */

type ByContext = Map<string, PolicyAnswer>;

class Answers {
  readonly #lasting: LastingAnswers;
  readonly #set: Digest;
  readonly #kept: WeakMap<EntityJson, WeakMap<EntityJson, ByContext>> = new WeakMap();

  constructor(lasting: LastingAnswers, set: Digest) {
    this.#lasting = lasting;
    this.#set = set;
  }

  /** The answer to this question, from the cache or evaluated now. */
  of(question: PolicyQuestion, ask: () => PolicyAnswer): PolicyAnswer {
    const contexts = this.#contextsOf(question);
    if (contexts === null) return ask();
    const key = JSON.stringify(question.context);
    if (key.length > KEPT_ANSWERS.contextChars) return this.#lastingOf(question, ask);
    const before = contexts.get(key);
    if (before !== undefined) return before;
    const answer = this.#lastingOf(question, ask);
    // Boundary: an error may be temporary, so it is not cached.
    if (answer.verdict === 'error') return answer;
    if (contexts.size >= KEPT_ANSWERS.contexts) contexts.clear();
    contexts.set(key, answer);
    return answer;
  }

  #lastingOf(question: PolicyQuestion, ask: () => PolicyAnswer): PolicyAnswer {
    if (this.#lasting === FORGETFUL) return ask();
    const key = orElse(() => keyOf(this.#set, question), null);
    const before = key === null ? null : this.#lasting.find(key);
    if (before !== null) return before;
    const answer = ask();
    if (key !== null && answer.verdict !== 'error') this.#lasting.keep(key, answer);
    return answer;
  }

  /** Null for a question about more than a principal and a tool, or about an action other than a call. */
  #contextsOf({ action, entities }: PolicyQuestion): ByContext | null {
    const [principal, tool, third] = entities;
    // Boundary: the skill of a tool is a part of the tool; an approver is not.
    const isMore = third !== undefined && (entities.length > 3 || !isSkill(third));
    if (action.id !== 'call' || principal === undefined || tool === undefined || isMore) return null;
    const ofTool = cached(this.#kept, tool, () => new WeakMap());
    return cached(ofTool, principal, () => new Map());
  }
}

function isSkill({ uid }: EntityJson): boolean {
  return uidOf(uid).type === 'Skill';
}

/** Boundary: the evaluator, the set, the schema and the whole question; with anything else it is another answer. */
function keyOf(
  set: Digest,
  { principal, action, resource, context, entities, schema }: PolicyQuestion,
): Digest {
  const { text } = schema;
  return digestValue({
    ...{ cedar: cedarVersion(), set, schema: text, principal, action, resource, context, entities },
  });
}
