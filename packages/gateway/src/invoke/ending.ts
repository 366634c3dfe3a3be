import { canonicalize } from '@palisade/sdk';
import { signReceipt } from '../attest/receipt.ts';
import { digestBytes } from '../core/digest.ts';
import type { Json } from '../core/json.ts';
import { NO_USAGE, type Usage } from '../core/limits.ts';
import type { Outcome } from '../core/outcome.ts';
import { pruneResults } from '../results/prune.ts';
import { type Keeping, keepResult } from '../results/results.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Execution } from '../tiers/tier.ts';
import type { CallFacts } from './facts.ts';
import type { Records } from './gateway.ts';

/** How a call ended, with the receipt that proves it; null only when nothing could be recorded any more. */
export type Ended = {
  readonly kind: 'ended';
  readonly callId: string;
  readonly outcome: Outcome;
  readonly usage: Usage;
  readonly receipt: string | null;
  /** The call had ended before, and is told again to whoever repeated it with its idempotency key. */
  readonly replayed?: true;
};

/** Of a call that may have run, and nobody can tell where or how. */
export const UNKNOWN_EXECUTION: Execution = { tier: 'unknown', executor: 'unknown', isolation: {} };

/** When and where it ran; null when nothing ran. */
export type Ran = { readonly startedAt: string; readonly execution: Execution } | null;

/**
 * Signs the receipt and adds the record that holds it, in one transaction. The receipt names the place of the record, the
 * record holds the receipt, and its hash goes into the chain: neither can be changed or left out without the other.
 */
export function appendEnding(
  gateway: Records,
  tx: Transaction,
  facts: CallFacts,
  ended: { outcome: Outcome; ran: Ran; egress?: Json | null; trace?: string | undefined },
): Ended {
  const { outcome, ran, trace } = ended;
  // Boundary: hosts are named by what ran, which may have put a secret into a name.
  const egress = gateway.redact(ended.egress ?? null);
  const { status, code } = outcome;
  const usage = status === 'refused' ? NO_USAGE : outcome.usage;
  const output = outputOf(outcome);
  let receipt = '';
  const { seq, atMs } = gateway.journal.append(tx, (place) => {
    const { inputDigest, call, ...rest } = facts;
    const signed = signReceipt(
      {
        ...rest,
        call: {
          ...call,
          receivedAt: earlier(call.receivedAt, ran?.startedAt ?? place.at),
          startedAt: ran?.startedAt ?? null,
        },
        inputDigest,
        outputDigest: output?.digest ?? null,
        outcome: { status, code },
        output: output === null ? null : { bytes: output.bytes, truncated: output.truncated },
        execution: ran === null ? null : withRecord(ran.execution, egress),
        usage,
      },
      place,
      gateway.keys,
    );
    receipt = signed.envelope;
    return {
      kind: status === 'refused' ? 'refused' : 'ended',
      call: call.id,
      principal: facts.principal,
      tool: facts.tool.id,
      tenant: facts.tenant,
      body: {
        ...{ status, code, usage, receipt: signed.sha256, envelope: JSON.parse(signed.envelope) },
        ...(egress === null ? {} : { egress }),
        ...(trace === undefined ? {} : { trace }),
      },
      closes: ran !== null,
      isPlain: true,
    };
  });
  keep(gateway, tx, facts, { outcome, usage, receiptSeq: seq, atMs });
  return { kind: 'ended', callId: facts.call.id, outcome, usage, receipt };
}

/** Every so many records, some of what is kept too long is dropped. */
const PRUNE_EVERY = 64;

type Kept = Pick<Keeping, 'outcome' | 'usage' | 'receiptSeq' | 'atMs'>;

/** Keeps what the caller is told, without secrets, for as long as the operator says. */
function keep(
  gateway: Records,
  tx: Transaction,
  { call, principal, tenant, tool }: CallFacts,
  kept: Kept,
): void {
  const { id: callId, run, door } = call;
  // Boundary: what a tool printed may be in its message as well as in its output.
  const outcome = gateway.redact(kept.outcome as unknown as Json) as unknown as Outcome;
  keepResult(tx, { callId, tenant, principal, run, door, tool: tool.id, ...kept, outcome }, gateway.keep);
  if (kept.receiptSeq % PRUNE_EVERY === 0) pruneResults(tx, kept.atMs - gateway.keep.keepForMs);
}

/** The receipt names what the journal has of the network, as it is written there. */
function withRecord(execution: Execution, egress: Json): Execution {
  if (egress === null) return execution;
  const egressRecord = digestBytes(canonicalize(egress));
  return { ...execution, isolation: { ...execution.isolation, egressRecord } };
}

function outputOf(outcome: Outcome) {
  if (outcome.status === 'refused' || outcome.output === null) return null;
  const text = canonicalize(outcome.output);
  const truncated = outcome.status === 'failed' && outcome.truncated;
  return { digest: digestBytes(text), bytes: Buffer.byteLength(text), truncated };
}

/** Times in a receipt are in order even when the clock was set back by a little in between. */
function earlier(a: string, b: string): string {
  return a < b ? a : b;
}
