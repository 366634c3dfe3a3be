import { type Caller, sourceOf } from '../core/caller.ts';
import { isoTime, makeId } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { formatPrincipal } from '../core/principal.ts';
import {
  beginSession,
  endSession,
  findSession,
  keyOf,
  type Session,
  type SessionTerms,
} from '../sessions/sessions.ts';
import type { Transaction } from '../store/transaction.ts';
import { administer } from './administer.ts';
import type { Gateway, Records } from './gateway.ts';

/* Sessions that are begun and ended by an act of their own. All others begin with their first call and end by themselves. */

/** Begins a session of its own for a credential that may, and records it. Only calls that name it as their run are in it. */
export async function startSession(gateway: Gateway, caller: Caller, label: string): Promise<Session> {
  const { store, journal, random } = gateway;
  const allowance = caller.sessions ?? 0;
  // Boundary: what lets a credential begin sessions is the word of an administrator, and no agent's has it.
  if (allowance === 0) throw tooMany('the credential may begin none');
  return store.commit((tx) => {
    const terms = sessionTerms(gateway);
    const key = keyOf({ ...caller, source: sourceOf(caller) });
    const id = makeId('ses', terms.nowMs, random);
    const begun = beginSession(tx, { id, key, label, allowance }, terms);
    if (!begun.ok) throw tooMany(begun.problem);
    const { tenant, principal, credential } = key;
    const body = { session: id, credential, ...(label === '' ? {} : { label }) };
    journal.append(tx, { kind: 'session-begun', principal, tenant, body });
    return begun.value;
  });
}

function tooMany(is: string): CodedError {
  return new CodedError('session/too-many', `Cannot begin a session: ${is}`);
}

/**
 * Ends a session for good, and records who did: an administrator of its tenant, or the credential that began it. One that
 * is over already stays as it is. Calls that run go on.
 */
export async function stopSession(gateway: Gateway, caller: Caller, session: Session): Promise<Session> {
  const { principal: by } = caller;
  const act = (tx: Transaction) => endIn(gateway, tx, session, formatPrincipal(by));
  if (hasBegun(caller, session)) return gateway.store.commit(act);
  return administer(gateway, { by, tenant: session.tenant }, act);
}

/** Whether it is a session that this credential began. One that it did not is what its budgets count by. */
export function hasBegun(caller: Caller, session: Session): boolean {
  const key = keyOf({ ...caller, source: sourceOf(caller) });
  return (
    session.isBegun &&
    session.tenant === key.tenant &&
    session.principal === key.principal &&
    session.credential === key.credential &&
    (session.device ?? '') === key.device &&
    (session.channel ?? '') === key.channel
  );
}

function endIn(gateway: Gateway, tx: Transaction, session: Session, by: string): Session {
  const terms = sessionTerms(gateway);
  const { id, tenant, principal, startedAtMs } = session;
  if (endSession(tx, id, by, terms)) {
    const body = { session: id, of: principal, startedAt: isoTime(startedAtMs) };
    gateway.journal.append(tx, { kind: 'session-ended', principal: by, tenant, body });
  }
  const ended = findSession(tx, id, terms);
  if (ended === null) throw new TypeError('Cannot end the session: its row cannot be read back');
  return ended;
}

type Idling = Pick<Records, 'clock'> & {
  readonly config: { readonly session: { readonly idleAfterMs: number } };
};

/** When a session is over, by the clock and the configuration. */
export function idleTerms({ clock, config }: Idling): SessionTerms {
  return { nowMs: clock.nowMs(), idleMs: config.session.idleAfterMs };
}

function sessionTerms({ clock, sessionIdleMs: idleMs }: Gateway): SessionTerms {
  return { nowMs: clock.nowMs(), idleMs };
}
