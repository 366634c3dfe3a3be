import type { Principal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import type { EntityJson, PolicyJson, TypeAndId } from './cedar.ts';
import type { PolicyEngine } from './engine.ts';
import { evaluate, isIn, type Known, sameEntity, UNKNOWN } from './evaluate.ts';
import { parsePolicy } from './parse.ts';
import type { PolicySet } from './policy-set.ts';
import { viewTool } from './tool-view.ts';

/*
 * Which tools a caller is shown. A list is made before there is a call, so nothing of a context is known: a tool is shown
 * if some call of it could be permitted, be it after an approval, and hidden if none ever could under these policies. It
 * grants nothing: the call itself is decided by Cedar, whatever was listed. What cannot be told counts as possible.
 */

type Rule = Pick<PolicyJson, 'effect' | 'principal' | 'resource' | 'conditions'>;

const rulesOfSet: WeakMap<PolicySet, readonly Rule[]> = new WeakMap();

/** Tells of each tool whether some call of it by this principal could be permitted. */
export function visibility(
  engine: PolicyEngine,
  principal: Principal,
  tenant: string,
): (tool: Tool) => boolean {
  const { set } = engine;
  // Boundary: without a set everything is denied.
  if (set === null) return () => false;
  const who = engine.principals.entityOf(principal, tenant);
  const rules = rulesOf(engine, set).filter((rule) => fits(rule.principal, who));
  return (tool) => {
    const { entity, skill } = viewTool(tool);
    const things = { principal: who, resource: entity, skill };
    const near = rules.filter(({ resource }) => fits(resource, entity));
    const isForbidden = near.some((rule) => rule.effect === 'forbid' && outcome(rule, things) === true);
    return !isForbidden && near.some((rule) => rule.effect === 'permit' && outcome(rule, things) !== false);
  };
}

/** The policies about calls, parsed once for each set. */
function rulesOf({ bench }: PolicyEngine, set: PolicySet): readonly Rule[] {
  let rules = rulesOfSet.get(set);
  if (rules === undefined) {
    rules = set.policies.flatMap(({ text }) => {
      const json = parsePolicy(bench, text);
      if (typeof json === 'string') throw new TypeError('Cannot read a policy that passed the check');
      return isAboutCalls(json.action) ? [json] : [];
    });
    rulesOfSet.set(set, rules);
  }
  return rules;
}

function isAboutCalls(action: PolicyJson['action']): boolean {
  if (action.op === 'All') return true;
  const entities = 'entities' in action ? action.entities : 'entity' in action ? [action.entity] : [];
  return entities.some((each) => uid(each).id === 'call');
}

function fits(constraint: PolicyJson['principal'] | PolicyJson['resource'], entity: EntityJson): boolean {
  switch (constraint.op) {
    case 'All':
      return true;
    case '==':
      return 'entity' in constraint && sameEntity(uid(constraint.entity), uid(entity.uid));
    case 'in':
      return 'entity' in constraint && isIn(entity, uid(constraint.entity));
    case 'is': {
      if (constraint.entity_type !== uid(entity.uid).type) return false;
      const { in: above } = constraint;
      return above === undefined || above === null || ('entity' in above && isIn(entity, uid(above.entity)));
    }
  }
}

type Things = Parameters<typeof evaluate>[1];

/** Whether every condition of a rule holds; unknown where that depends on the call. */
function outcome({ conditions }: Rule, things: Things): Known | typeof UNKNOWN {
  let whole: Known | typeof UNKNOWN = true;
  for (const { kind, body } of conditions) {
    const value = evaluate(body, things);
    if (typeof value !== 'boolean') whole = UNKNOWN;
    else if (value !== (kind === 'when')) return false;
  }
  return whole;
}

function uid(entity: EntityJson['uid']): TypeAndId {
  return '__entity' in entity ? entity.__entity : entity;
}
