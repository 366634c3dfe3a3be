import { cached } from '../core/cached.ts';
import type { Principal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import type { EntityJson, Expr, PolicyJson, TypeAndId } from './cedar.ts';
import type { PolicyEngine } from './engine.ts';
import { uidOf, viewTool } from './entities.ts';
import { namedActions, parsePolicy } from './parse.ts';
import type { PolicySet } from './policy-set.ts';

/*
 * Which tools a caller is shown. A list precedes the call, so its context is unknown: a tool is shown if some call of
 * it could be permitted, perhaps after approval, and hidden if none ever could under these policies. It grants nothing:
 * the call itself is decided by Cedar, whatever was listed. What is unknown counts as possible.
 */

type CallRule = Pick<PolicyJson, 'effect' | 'principal' | 'resource' | 'conditions'>;

const rulesOfSet: WeakMap<PolicySet, readonly CallRule[]> = new WeakMap();

/** For each tool, whether some call of it by this principal could be permitted. */
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
function rulesOf({ bench }: PolicyEngine, set: PolicySet): readonly CallRule[] {
  return cached(rulesOfSet, set, () =>
    set.policies.flatMap(({ text }) => {
      const json = parsePolicy(bench, text);
      if (typeof json === 'string') throw new TypeError('Cannot read a policy that passed the check');
      return namedActions(json.action)?.includes('call') === false ? [] : [json];
    }),
  );
}

function fits(constraint: PolicyJson['principal'] | PolicyJson['resource'], entity: EntityJson): boolean {
  switch (constraint.op) {
    case 'All':
      return true;
    case '==':
      return 'entity' in constraint && sameEntity(uidOf(constraint.entity), uidOf(entity.uid));
    case 'in':
      return 'entity' in constraint && isIn(entity, uidOf(constraint.entity));
    case 'is': {
      if (constraint.entity_type !== uidOf(entity.uid).type) return false;
      const { in: above } = constraint;
      return (
        above === undefined || above === null || ('entity' in above && isIn(entity, uidOf(above.entity)))
      );
    }
  }
}

function outcome({ conditions }: CallRule, things: Things): Known | typeof UNKNOWN {
  let whole: Known | typeof UNKNOWN = true;
  for (const { kind, body } of conditions) {
    const value = evaluate(body, things);
    if (typeof value !== 'boolean') whole = UNKNOWN;
    else if (value !== (kind === 'when')) return false;
  }
  return whole;
}

/*
 * A partial evaluator of Cedar expressions: the whole context is unknown. It supports the operators about a principal
 * and a tool; everything else, and whatever Cedar would call an error, is unknown.
 */

const UNKNOWN: unique symbol = Symbol('unknown');

type Known = string | number | boolean | TypeAndId | readonly Value[];
type Value = Known | typeof UNKNOWN;

type Things = {
  readonly principal: EntityJson;
  readonly resource: EntityJson;
  readonly skill: EntityJson | null;
};

/** The value of an expression, as far as it can be known without a call. */
function evaluate(expr: Expr, things: Things): Value {
  const node = expr as unknown as Readonly<Record<string, unknown>>;
  const [operator = ''] = Object.keys(node);
  const rule = RULES.get(operator);
  return rule === undefined ? UNKNOWN : rule(node[operator] as never, things);
}

type Pair = { readonly left: Expr; readonly right: Expr };
type Access = { readonly left: Expr; readonly attr: string };
type Operator = (operands: never, things: Things) => Value;

const RULES: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['Value', (value: unknown) => literal(value)],
  ['Var', (name: string, things) => variable(name, things)],
  ['Set', (elements: readonly Expr[], things) => elements.map((each) => evaluate(each, things))],
  ['!', ({ arg }: { arg: Expr }, things) => not(evaluate(arg, things))],
  ['&&', (pair: Pair, things) => both(pair, things)],
  ['||', (pair: Pair, things) => either(pair, things)],
  ['if-then-else', (choice: Choice, things) => chosen(choice, things)],
  ['==', (pair: Pair, things) => equals(...sides(pair, things))],
  ['!=', (pair: Pair, things) => not(equals(...sides(pair, things)))],
  ['.', (access: Access, things) => attribute(access, things)],
  ['has', (access: Access, things) => hasAttribute(access, things)],
  ['in', (pair: Pair, things) => inside(...sides(pair, things), things)],
  ['is', (asked: Is, things) => isOfType(asked, things)],
  ['contains', (pair: Pair, things) => contains(...sides(pair, things))],
]);

type Choice = { readonly if: Expr; readonly then: Expr; readonly else: Expr };
type Is = { readonly left: Expr; readonly entity_type: string; readonly in?: Expr };

function literal(value: unknown): Value {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(literal);
  if (typeof value === 'object' && value !== null && '__entity' in value) return value.__entity as TypeAndId;
  return UNKNOWN;
}

function variable(name: string, { principal, resource }: Things): Value {
  if (name === 'principal') return uidOf(principal.uid);
  return name === 'resource' ? uidOf(resource.uid) : UNKNOWN;
}

function not(value: Value): Value {
  return typeof value === 'boolean' ? !value : UNKNOWN;
}

function both({ left, right }: Pair, things: Things): Value {
  const first = evaluate(left, things);
  if (first === false) return false;
  const second = evaluate(right, things);
  // Where the first is unknown it may be an error, which denies; so the second decides.
  if (second === false) return false;
  return first === true && second === true ? true : UNKNOWN;
}

function either({ left, right }: Pair, things: Things): Value {
  const first = evaluate(left, things);
  if (first === true) return true;
  const second = evaluate(right, things);
  if (second === true) return true;
  return first === false && second === false ? false : UNKNOWN;
}

function chosen(choice: Choice, things: Things): Value {
  const condition = evaluate(choice.if, things);
  if (typeof condition !== 'boolean') return UNKNOWN;
  return evaluate(condition ? choice.then : choice.else, things);
}

function sides({ left, right }: Pair, things: Things): [Value, Value] {
  return [evaluate(left, things), evaluate(right, things)];
}

function equals(a: Value, b: Value): Value {
  if (a === UNKNOWN || b === UNKNOWN) return UNKNOWN;
  if (isEntity(a) && isEntity(b)) return sameEntity(a, b);
  if (typeof a === 'object' || typeof b === 'object') return UNKNOWN;
  return a === b;
}

function attribute({ left, attr }: Access, things: Things): Value {
  const entity = entityOf(evaluate(left, things), things);
  const value: unknown = entity?.attrs[attr];
  return value === undefined ? UNKNOWN : literal(value);
}

function hasAttribute({ left, attr }: Access, things: Things): Value {
  const entity = entityOf(evaluate(left, things), things);
  return entity === null ? UNKNOWN : Object.hasOwn(entity.attrs, attr);
}

function inside(a: Value, b: Value, things: Things): Value {
  const entity = entityOf(a, things);
  if (entity === null) return UNKNOWN;
  if (isEntity(b)) return isIn(entity, b);
  if (!Array.isArray(b)) return UNKNOWN;
  const found = (b as readonly Value[]).map((each) => (isEntity(each) ? isIn(entity, each) : UNKNOWN));
  if (found.includes(true)) return true;
  return found.includes(UNKNOWN) ? UNKNOWN : false;
}

function isOfType({ left, entity_type: type, in: above }: Is, things: Things): Value {
  const value = evaluate(left, things);
  if (!isEntity(value)) return UNKNOWN;
  if (value.type !== type) return false;
  return above === undefined ? true : inside(value, evaluate(above, things), things);
}

function contains(list: Value, wanted: Value): Value {
  if (!Array.isArray(list) || wanted === UNKNOWN) return UNKNOWN;
  const found = (list as readonly Value[]).map((each) => equals(each, wanted));
  if (found.includes(true)) return true;
  return found.includes(UNKNOWN) ? UNKNOWN : false;
}

function entityOf(value: Value, { principal, resource, skill }: Things): EntityJson | null {
  if (!isEntity(value)) return null;
  const known = [principal, resource, ...(skill === null ? [] : [skill])];
  return known.find((each) => sameEntity(uidOf(each.uid), value)) ?? null;
}

function isEntity(value: Value): value is TypeAndId {
  return typeof value === 'object' && !Array.isArray(value) && 'type' in value;
}

function sameEntity(a: TypeAndId, b: TypeAndId): boolean {
  return a.type === b.type && a.id === b.id;
}

/** Whether an entity equals another or is below it; all its ancestors are named as parents. */
function isIn(entity: EntityJson, above: TypeAndId): boolean {
  if (sameEntity(uidOf(entity.uid), above)) return true;
  return entity.parents.some((parent) => sameEntity(uidOf(parent), above));
}
