import { canonicalize } from '../canonical.ts';
import type { KeyRing } from '../key-ring.ts';
import { type Primitives, webPrimitives } from '../primitives.ts';
import { allOk, type Check, judge, note, quote } from '../report.ts';
import { type Report, verifyReceipt } from '../verify-receipt.ts';
import type { CallDocument } from './wire.ts';

/** The request and its result. */
export type ToldCall = Pick<CallDocument, 'callId' | 'status' | 'code' | 'output' | 'receipt'> & {
  /** The input of the tool; if absent, it is not compared. */
  readonly input?: unknown;
};

/**
 * Verifies that the receipt of a call is valid, belongs to this call, and states the same ending and output as the
 * document. The keys are the reader's root of trust; they must come from another source than the document.
 */
export async function verifyCall(
  call: ToldCall,
  keys: KeyRing,
  primitives: Primitives = webPrimitives,
): Promise<Report> {
  const { input, output, receipt } = call;
  const raw = receipt === null ? '' : canonicalize(receipt);
  const compared = {
    ...(input === undefined ? {} : { input }),
    ...(output === null ? {} : { output }),
  };
  const { statement, checks } = await verifyReceipt(raw, keys, compared, primitives);
  if (statement === null) return { ok: false, checks, statement };
  const { predicate } = statement;
  const all: Check[] = [...checks];
  const pairs = [
    ['The receipt is of this call', predicate.call.id, call.callId],
    ['The receipt states the same status', predicate.outcome.status, call.status],
    ['The receipt states the same code', predicate.outcome.code, call.code],
    ['The receipt states an output if there is one', predicate.output !== null, output !== null],
  ] as const;
  for (const [name, signed, reported] of pairs)
    note(
      all,
      name,
      judge(signed === reported, quote(signed), `it says ${quote(signed)}, the call ${quote(reported)}`),
    );
  return { ok: allOk(all), checks: all, statement };
}
