import { CODES } from '@palisade/sdk';
import type { ToolCall } from '../core/call.ts';
import { CodedError } from '../core/coded-error.ts';
import { makeId } from '../core/id.ts';
import { NO_USAGE } from '../core/limits.ts';
import { fail, type Outcome, type RefusedCode, refuse } from '../core/outcome.ts';
import type { Transaction } from '../store/transaction.ts';
import { UNDECIDED } from './admit.ts';
import { appendEnding, type Ended } from './ending.ts';
import { type CallFacts, refusalFacts } from './facts.ts';
import type { Line } from './gateway.ts';

/*
 * Something was thrown before the call could run. A coded error is a refusal with its remedy; anything else is our own
 * fault, and the caller gets an incident id instead of a stack. Both are recorded where the journal can still be written.
 */
export async function refuseOrFault(line: Line, call: ToolCall, error: unknown): Promise<Ended> {
  const incident = makeId('inc', line.clock.nowMs(), line.random);
  const outcome = outcomeOf(error, incident);
  try {
    return await line.store.commit((tx) => {
      const facts = refusalFacts(line, call, { checked: null, verdict: UNDECIDED });
      if (outcome.status === 'failed') appendFault(line, tx, facts, { incident, error });
      return appendEnding(line, tx, facts, { outcome, ran: null, trace: call.trace });
    });
  } catch {
    // Nothing ran and nothing can be written: the refusal itself is all we can give.
    return { kind: 'ended', callId: call.id, outcome, usage: NO_USAGE, receipt: null };
  }
}

/** Records what broke while the call ran, and gives the incident that the caller is told. */
export async function recordFault(line: Line, facts: CallFacts, error: unknown): Promise<string> {
  const incident = makeId('inc', line.clock.nowMs(), line.random);
  await line.store.commit((tx) => appendFault(line, tx, facts, { incident, error }));
  return incident;
}

function appendFault(
  line: Line,
  tx: Transaction,
  facts: CallFacts,
  broken: { incident: string; error: unknown },
): void {
  const { call, principal, tool, tenant } = facts;
  const body = { incident: broken.incident, error: describe(broken.error) };
  line.journal.append(tx, { kind: 'fault', call: call.id, principal, tool: tool.id, tenant, body });
}

function outcomeOf(error: unknown, incident: string): Outcome {
  if (error instanceof CodedError && CODES[error.code].kind === 'refused') {
    return refuse(error.code as RefusedCode, error.message, error.remedy);
  }
  return fail('gateway/fault', `Cannot handle call: the gateway broke, incident ${incident}`);
}

/** Enough to find the place in our code; values from the caller stay out of it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const frames = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 5);
  return `${error.name} ${frames.map((frame) => frame.trim().replace(/\(?(file:\/\/)?\/[^)]*\/([^/)]+)\)?$/, '$2')).join(' < ')}`;
}
