import type { EntityJson } from './cedar.ts';
import type { Answer } from './decider.ts';
import type { Question } from './request.ts';

/*
 * Answers of Cedar under one policy set, kept. An answer is a function of the set and of the question, and a question is
 * told only what the policies can read; so most calls of one tool by one principal are the same question. What is kept is
 * found by the very entities and by the whole text of the context: a question that differs in anything is another one.
 * The keeper is thrown away with its set.
 */

type ByContext = Map<string, Answer>;

/** A longer context is hardly ever the same twice, and writing it out costs as much as it saves. */
const LONGEST_CONTEXT = 512;
/** Of one principal and one tool; more than this are no longer the same question. */
const MOST_CONTEXTS = 64;

export class Answers {
  readonly #kept: WeakMap<EntityJson, WeakMap<EntityJson, ByContext>> = new WeakMap();

  /** The answer to this question, kept from before or asked for now. */
  of(question: Question, ask: () => Answer): Answer {
    const contexts = this.#contextsOf(question);
    const key = contexts === null ? '' : JSON.stringify(question.context);
    if (contexts === null || key.length > LONGEST_CONTEXT) return ask();
    const before = contexts.get(key);
    if (before !== undefined) return before;
    const answer = ask();
    // Boundary: an error may pass, and heals at the next question.
    if (answer.verdict === 'error') return answer;
    if (contexts.size >= MOST_CONTEXTS) contexts.clear();
    contexts.set(key, answer);
    return answer;
  }

  /** Null for a question about more than a principal and a tool, or about another act than a call. */
  #contextsOf({ action, entities }: Question): ByContext | null {
    const [principal, tool, third] = entities;
    // Boundary: the skill of a tool is a part of the tool; an approver is not.
    const isMore = third !== undefined && (entities.length > 3 || !isSkill(third));
    if (action.id !== 'call' || principal === undefined || tool === undefined || isMore) return null;
    let ofTool = this.#kept.get(tool);
    if (ofTool === undefined) {
      ofTool = new WeakMap();
      this.#kept.set(tool, ofTool);
    }
    let contexts = ofTool.get(principal);
    if (contexts === undefined) {
      contexts = new Map();
      ofTool.set(principal, contexts);
    }
    return contexts;
  }
}

function isSkill({ uid }: EntityJson): boolean {
  return ('__entity' in uid ? uid.__entity : uid).type === 'Skill';
}
