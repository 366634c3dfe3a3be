import { CODES } from '@palisade/sdk';
import type { Json } from '../core/json.ts';
import type { Usage } from '../core/limits.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Ended } from '../invoke/ending.ts';

/* How a call ended, in the one shape that programs read, whatever door it came by. */

export type CallDocument = {
  readonly callId: string;
  readonly status: Outcome['status'];
  readonly code: Outcome['code'];
  readonly message: string;
  readonly remedy: string | null;
  readonly output: Json;
  readonly usage: Usage;
  readonly receipt: Json;
};

/** The document of an ending; the receipt in it is the one that was signed. */
export function callDocument({ callId, outcome, usage, receipt }: Ended): CallDocument {
  const { status, code } = outcome;
  return {
    callId,
    status,
    code,
    message: status === 'ok' ? CODES.ok.sentence : outcome.message,
    remedy: status === 'ok' ? null : outcome.remedy,
    output: status === 'refused' ? null : outcome.output,
    usage,
    receipt: receipt === null ? null : (JSON.parse(receipt) as Json),
  };
}
