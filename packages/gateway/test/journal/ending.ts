import { isoTime } from '../../src/core/clock.ts';
import { digestBytes } from '../../src/core/digest.ts';
import type { Json } from '../../src/core/json.ts';
import { DEFAULT_LIMITS, NO_USAGE } from '../../src/core/limits.ts';
import { appendEnding } from '../../src/invoke/finish.ts';
import type { Records } from '../../src/invoke/gateway.ts';
import type { Transaction } from '../../src/store/transaction.ts';

/** Ends a call of ada's with a receipt, as the line does; gives the receipt. */
export function endCall(records: Records, tx: Transaction, id: string, egress: Json = null): string {
  const at = isoTime(records.clock.nowMs());
  const facts = {
    call: { id, run: null, door: 'test', receivedAt: at },
    principal: 'agent:ada',
    tenant: 'default',
    tool: { id: 'palisade.echo', definition: digestBytes('definition') },
    inputDigest: digestBytes('{}'),
    policy: { set: null, decidedBy: [] },
    approval: null,
    artifacts: [],
    limits: DEFAULT_LIMITS,
    gateway: { version: records.version },
  };
  const outcome = { status: 'ok', code: 'ok', output: {}, usage: { ...NO_USAGE, calls: 1 } } as const;
  const execution = { tier: 'builtin', executor: 'in-process', isolation: {} };
  return (
    appendEnding(records, tx, facts, { outcome, ran: { startedAt: at, execution }, egress }).receipt ?? ''
  );
}
