import { WasmError } from '../../error.ts';
import { type Guest, GuestView } from '../../instance/guest.ts';
import { type GuestValue, JS_TYPES } from '../../instance/value.ts';
import type { WitFunction } from '../types.ts';
import { Passage } from './passage.ts';
import { type Passing, passingOf } from './passing.ts';

/** An export of the guest, in the types of its WIT. */
export type LiftedExport = {
  readonly name: string;
  readonly type: WitFunction;
  /** The most bytes of text and lists that are accepted of its result; more end the call as 'limit'. */
  readonly mostBytes?: number;
};

/**
 * Calls an export of the guest with values of its WIT, inside a visit (or a host function, during which the guest
 * cannot reach the host). A returned value that is not of its type ends the call.
 */
export function callLifted(
  guest: Guest,
  { name, type, mostBytes }: LiftedExport,
  args: readonly unknown[],
): unknown {
  const passing = passingOf(type);
  const passage = new Passage(GuestView.stateOf(guest), mostBytes);
  const returned = guest.call(name, ...lowerArguments(passage, passing, args));
  passage.refresh();
  return takeResult(passage, passing, name, returned);
}

function lowerArguments(
  passage: Passage,
  { params, isSpilled }: Passing,
  args: readonly unknown[],
): readonly GuestValue[] {
  const out: GuestValue[] = [];
  if (!isSpilled) {
    params.lower(passage, args, out);
    return out;
  }
  passage.pay(params.size);
  const at = passage.allocate(params.size, params.align);
  params.store(passage, at, args);
  return [at];
}

function takeResult(
  passage: Passage,
  { result, isBehind }: Passing,
  name: string,
  returned: GuestValue | undefined,
): unknown {
  if (result === null) return undefined;
  const [type = 'i32'] = isBehind ? [] : result.flat;
  // Boundary: a module that was not linked to this type returns anything.
  if (returned === undefined || typeof returned !== JS_TYPES[type]) {
    const message = `Cannot call ${JSON.stringify(name)}: it returned a ${typeof returned}, expected ${type}`;
    throw new WasmError('export', message, { detail: name });
  }
  if (!isBehind) return result.lift(passage, [returned], 0);
  const at = passage.reach(Number(returned), result.size, result.align);
  passage.pay(result.size);
  return result.load(passage, at);
}
