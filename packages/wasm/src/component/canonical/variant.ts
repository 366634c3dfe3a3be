import type { GuestValue, NumberType } from '../../instance/value.ts';
import { alignTo, type Codec, numberAt } from './codec.ts';
import { readUnsigned, writeUnsigned } from './flags.ts';
import { joinAll, type Turns, turnsInto, turnsOutOf } from './join.ts';
import type { LiftLowerContext } from './lift-lower-context.ts';
import type { VariantForm } from './variant-form.ts';

/** A case as it crosses. */
type Case = {
  readonly payload: Codec | null;
  readonly into: Turns;
  readonly outOf: Turns;
  /** How many core values are unused after its own. */
  readonly spare: readonly NumberType[];
};

/** One of several cases, each with or without a payload; `form` says how they are represented in JavaScript. */
export function variantCodec(payloads: readonly (Codec | null)[], form: VariantForm): Codec {
  const tagBytes = payloads.length <= 0x100 ? 1 : payloads.length <= 0x1_0000 ? 2 : 4;
  const payloadAlign = Math.max(1, ...payloads.map((payload) => payload?.align ?? 1));
  const payloadBytes = Math.max(0, ...payloads.map((payload) => payload?.size ?? 0));
  const align = Math.max(tagBytes, payloadAlign);
  const payloadAt = alignTo(tagBytes, payloadAlign);
  const shared = joinAll(payloads.map((payload) => payload?.flat ?? []));
  const cases = payloads.map((payload) => caseOf(payload, shared));
  const { make, indexOf, payloadOf } = form;
  return {
    size: alignTo(payloadAt + payloadBytes, align),
    align,
    flat: ['i32', ...shared],
    load: (context, at) => {
      const index = readUnsigned(context.view, at, tagBytes);
      const { payload } = requireCase(context, cases, index);
      return make(index, payload === null ? null : payload.load(context, at + payloadAt));
    },
    store: (context, at, value) => {
      const index = indexOf(value);
      writeUnsigned(context.view, at, tagBytes, index);
      cases[index]?.payload?.store(context, at + payloadAt, payloadOf(value));
    },
    lift: (context, values, at) => {
      const index = numberAt(values, at) >>> 0;
      const found = requireCase(context, cases, index);
      return make(index, liftPayload(found, context, values, at + 1));
    },
    lower: (context, value, out) => {
      const index = indexOf(value);
      out.push(index);
      const chosen = cases[index];
      if (chosen !== undefined) lowerPayload(chosen, context, payloadOf(value), out);
    },
  };
}

function caseOf(payload: Codec | null, shared: readonly NumberType[]): Case {
  const own = payload?.flat ?? [];
  return {
    payload,
    into: turnsInto(own, shared),
    outOf: turnsOutOf(own, shared),
    spare: shared.slice(own.length),
  };
}

function requireCase(context: LiftLowerContext, cases: readonly Case[], index: number): Case {
  const found = cases[index];
  // Boundary: the guest can only choose an existing case.
  if (found !== undefined) return found;
  throw context.trap('discriminant', `case ${index} is not there`, `one below ${cases.length}`);
}

function liftPayload(
  { payload, outOf }: Case,
  context: LiftLowerContext,
  values: readonly GuestValue[],
  at: number,
): unknown {
  if (payload === null) return null;
  if (outOf === null) return payload.lift(context, values, at);
  const own = outOf.map((turn, index) => {
    const value = values[at + index] ?? 0;
    return turn === undefined ? value : turn(value);
  });
  return payload.lift(context, own, 0);
}

function lowerPayload(
  { payload, into, spare }: Case,
  context: LiftLowerContext,
  value: unknown,
  out: GuestValue[],
): void {
  const first = out.length;
  payload?.lower(context, value, out);
  into?.forEach((turn, index) => {
    const own = out[first + index] ?? 0;
    if (turn !== undefined) out[first + index] = turn(own);
  });
  for (const type of spare) out.push(type === 'i64' ? 0n : 0);
}
