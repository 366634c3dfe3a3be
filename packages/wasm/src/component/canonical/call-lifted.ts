import { WasmError } from '../../error.ts';
import { type Guest, GuestView } from '../../instance/guest.ts';
import { type GuestValue, JS_TYPES } from '../../instance/value.ts';
import type { WitFunction } from '../types.ts';
import { type FlatSignature, flatSignatureOf } from './flat-signature.ts';
import { LiftLowerContext } from './lift-lower-context.ts';

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
  const signature = flatSignatureOf(type);
  const context = new LiftLowerContext(GuestView.stateOf(guest), mostBytes);
  const returned = guest.call(name, ...lowerArguments(context, signature, args));
  context.refresh();
  return takeResult(context, signature, name, returned);
}

function lowerArguments(
  context: LiftLowerContext,
  { params, isSpilled }: FlatSignature,
  args: readonly unknown[],
): readonly GuestValue[] {
  const out: GuestValue[] = [];
  if (!isSpilled) {
    params.lower(context, args, out);
    return out;
  }
  context.pay(params.size);
  const at = context.allocate(params.size, params.align);
  params.store(context, at, args);
  return [at];
}

function takeResult(
  context: LiftLowerContext,
  { result, isResultInMemory }: FlatSignature,
  name: string,
  returned: GuestValue | undefined,
): unknown {
  if (result === null) return undefined;
  const [type = 'i32'] = isResultInMemory ? [] : result.flat;
  // Boundary: a module that was not linked to this type returns anything.
  if (returned === undefined || typeof returned !== JS_TYPES[type]) {
    const message = `Cannot call ${JSON.stringify(name)}: it returned a ${typeof returned}, expected ${type}`;
    throw new WasmError('export', message, { detail: name });
  }
  if (!isResultInMemory) return result.lift(context, [returned], 0);
  const at = context.reach(Number(returned), result.size, result.align);
  context.pay(result.size);
  return result.load(context, at);
}
