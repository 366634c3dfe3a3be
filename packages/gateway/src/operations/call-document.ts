import { CODES, type Wire } from '@palisade/sdk';
import type { Outcome } from '../core/outcome.ts';
import type { Ended } from '../invoke/finish.ts';

/* How a call ended, in the one shape that programs read, through every door. */

export type CallDocument = Pick<
  Wire.CallDocument,
  'callId' | 'status' | 'message' | 'remedy' | 'output' | 'usage' | 'receipt'
> &
  Pick<Outcome, 'code'> &
  Pick<Ended, 'log'>;

/** The document of an ending; the receipt in it is the one that was signed. */
export function callDocument({ callId, outcome, usage, receipt, log }: Ended): CallDocument {
  const { status, code } = outcome;
  return {
    callId,
    status,
    code,
    message: status === 'ok' ? CODES.ok.sentence : outcome.message,
    remedy: status === 'ok' ? null : outcome.remedy,
    output: status === 'refused' ? null : outcome.output,
    usage,
    receipt: receipt === null ? null : (JSON.parse(receipt) as Wire.SignedEnvelope),
    ...(log === undefined ? {} : { log }),
  };
}
