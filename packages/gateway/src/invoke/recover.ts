import { settle } from '../budget/settle.ts';
import { CodedError } from '../core/coded-error.ts';
import { fail } from '../core/outcome.ts';
import type { OpenCall } from '../journal/journal.ts';
import { recordAt } from '../journal/search.ts';
import { appendEnding, UNKNOWN_EXECUTION } from './ending.ts';
import type { CallFacts } from './facts.ts';
import type { Records } from './gateway.ts';

/**
 * Closes what processes that are gone have left open: whether those calls took effect is not known, so it is recorded as
 * unknown, signed, and charged as reserved. A call of a process that is alive is never touched. Gives how many it closed.
 */
export function recover(gateway: Records): number {
  const { journal, store, presence } = gateway;
  const owners = new Set(journal.openCalls(store).map(({ owner }) => owner));
  owners.delete(presence.id);
  let closed = 0;
  for (const owner of owners) {
    if (!presence.isGone(owner)) continue;
    closed += store.transact((tx) => {
      const left = journal.openCalls(tx).filter((open) => open.owner === owner);
      for (const open of left) closeUnknown(gateway, tx, open);
      return left.length;
    });
    presence.forget(owner);
  }
  return closed;
}

function closeUnknown(gateway: Records, tx: Parameters<typeof settle>[0], open: OpenCall): void {
  const intent = recordAt(gateway.segments, open.seq);
  if (intent === undefined) {
    throw new CodedError(
      'store/corrupt',
      `Cannot close call ${open.call}: its intent, record ${open.seq}, is missing`,
    );
  }
  const { facts, trace } = (JSON.parse(intent.line) as { body: { facts: CallFacts; trace?: string } }).body;
  // A call that drew on no account was still one call.
  const usage = { ...settle(tx, open.call, 'as-reserved'), calls: 1 };
  const message = 'Cannot tell how the call ended: the gateway stopped while it was running';
  const startedAt = new Date(intent.at_ms).toISOString();
  appendEnding(gateway, tx, facts, {
    outcome: fail('tier/unknown-ending', message, { usage }),
    ran: { startedAt, execution: UNKNOWN_EXECUTION },
    trace,
  });
}
