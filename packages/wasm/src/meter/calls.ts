/** Adds calls, and operations that become calls, to the flow. */
import { MOST_AFTER_CALL, MOST_UNCHECKED } from '../costs.table.ts';
import type { FunctionType } from '../read/module.ts';
import { SITES } from './flow.ts';
import { OP } from './op.ts';
import { CHANGE_OF, COST_OF } from './opcodes.ts';
import type { Path } from './path.ts';
import { type Plan, PROTOCOLS } from './plan.ts';

/** The callee of a call through a table. */
export const THROUGH_TABLE = -1;

/** Any of the four call instructions; returns the type of the callee. */
export function call(path: Path, plan: Plan, code: number): FunctionType {
  const { first } = path.walker;
  path.work(COST_OF[code] ?? 0);
  const isIndirect = code === OP.callIndirect || code === OP.returnCallIndirect;
  const callee = isIndirect ? THROUGH_TABLE : first;
  const type = plan.typeOf(isIndirect ? first : (plan.module.functions[first] ?? 0));
  // The counter may lie on top of the arguments.
  path.mostHeight = Math.max(path.mostHeight, path.height + 1);
  path.mostCarried = Math.max(path.mostCarried, type.params.length + type.results.length);
  path.changeHeight((CHANGE_OF[code] ?? 0) + type.results.length - type.params.length);
  const protocol = plan.protocolOf(callee);
  if (protocol === PROTOCOLS.host) path.owed += plan.hostFuel[first] ?? 0;
  if (protocol === PROTOCOLS.prepaid) payAhead(path, plan.prepaid[first] ?? 0);
  if (code >= OP.returnCall) tailCall(path, callee);
  else if (protocol === PROTOCOLS.prepaid) record(path, SITES.prepaidCall, first);
  else plainCall(path, plan, callee);
  return type;
}

function payAhead(path: Path, cost: number): void {
  path.owed += cost;
  path.unchecked += cost;
}

function record(path: Path, kind: number, callee: number): void {
  const site = path.flow.addSite(kind, path.walker.at, path.walker.next, 0);
  path.flow.siteExtra[site] = callee;
}

function plainCall(path: Path, plan: Plan, callee: number): void {
  const { at, next } = path.walker;
  path.hasCalls = true;
  const isChecked = callee === THROUGH_TABLE || plan.protocolOf(callee) === PROTOCOLS.host;
  const site = path.toGround(isChecked ? SITES.checkedCall : SITES.call, at, next);
  path.flow.siteExtra[site] = callee;
  const light = callee === THROUGH_TABLE ? 0 : (plan.light[callee] ?? 0);
  // A light function is not checked at entry, so its work counts as the caller's.
  path.unchecked = light > 0 ? path.unchecked + light : MOST_UNCHECKED - MOST_AFTER_CALL;
}

function tailCall(path: Path, callee: number): void {
  path.hasCalls = true;
  const site = path.toGround(SITES.tailCall, path.walker.at, path.walker.next);
  path.flow.siteExtra[site] = callee;
  path.die();
}

/** An operation whose work grows with an operand becomes a call of a helper, which pays for it. */
export function byLength(path: Path, plan: Plan, code: number): void {
  const { at, next, first, second } = path.walker;
  const site = path.toGround(SITES.byLength, at, next);
  path.flow.siteExtra[site] = plan.helperFor(code, first, second);
  path.unchecked = 0;
  // The counter is passed to the helper on top of the operands.
  path.mostHeight = Math.max(path.mostHeight, path.height + 4);
}
