import type { ToolCall } from '../core/call.ts';
import { makeId } from '../core/clock.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import { accept, type Result, reject } from '../core/result.ts';
import {
  currentSession,
  enterSession,
  findSession,
  isSessionId,
  keyOf,
  namedSession,
  type SessionTerms,
} from '../sessions/sessions.ts';
import type { Transaction } from '../store/transaction.ts';
import { unrecordableName } from './admit.ts';
import type { Line } from './gateway.ts';

/* The session of a call: looked up before the policies see the call, and entered in the transaction that records it. */

/** The call in its session; refused where it names a session that is not its caller's. Nothing is written yet. */
export function joinSession(line: Line, call: ToolCall): Result<ToolCall, Refused> {
  const { source, run } = call;
  // What cannot be recorded is refused by the next step, and names no session.
  if (source === null || unrecordableName(call, line.redact) !== null) return accept(call);
  const terms = termsOf(line);
  const key = keyOf({ ...call, source });
  if (run !== null && isSessionId(run)) {
    const named = namedSession(line.store, run, key, terms);
    // Boundary: a caller is in no session but its own.
    if (!named.ok) return reject(refuse('session/unknown', `Cannot accept call: its run ${named.problem}`));
    return accept({ ...call, session: named.value });
  }
  const session = currentSession(line.store, key, terms) ?? makeId('ses', terms.nowMs, line.random);
  return accept({ ...call, session });
}

/** Enters the session of a call in the transaction that records it; false where the call has to look for it again. */
export function enter(line: Line, tx: Transaction, { session, source, ...call }: ToolCall): boolean {
  if (session === undefined || source === null) return true;
  return enterSession(tx, session, keyOf({ ...call, source }), termsOf(line));
}

function termsOf({ clock, sessionIdleMs: idleMs }: Line): SessionTerms {
  return { nowMs: clock.nowMs(), idleMs };
}

/** The call in the session that it would be in, for those who only ask; a new one or a wrong one is left out. */
export function inItsSession(line: Line, call: ToolCall): ToolCall {
  const joined = joinSession(line, call);
  const session = joined.ok ? joined.value.session : undefined;
  const isThere = session !== undefined && findSession(line.store, session, termsOf(line)) !== null;
  return isThere ? { ...call, session } : call;
}
