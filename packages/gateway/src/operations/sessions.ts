import * as z from 'zod';
import { balances } from '../budget/balances.ts';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { hasBegun, idleTerms, startSession, stopSession } from '../invoke/sessions.ts';
import { findSession, listSessions, type Session } from '../sessions/sessions.ts';
import { isSeen, type Reading, requireScope, viewOf } from './access.ts';
import { account } from './budgets.ts';
import { type Operation, operation } from './operation.ts';
import {
  isoTimeText,
  nameText,
  pageInput,
  pageOf,
  principalText,
  proseText,
  someId,
} from './schema-parts.ts';

/* Sessions: what budgets per run count by. Callers see their own, administrators end them. */

const PAGE = 20;
const LABEL_CHARS = 128;
const MOST_ACCOUNTS = 64;

const session = z
  .object({
    id: nameText,
    state: z.enum(['open', 'ended']),
    principal: principalText,
    tenant: z.string(),
    credential: z.string().describe('Names the credential in records; it is not a secret.'),
    device: z.string().nullable(),
    channel: z.string().nullable(),
    label: z.string().nullable().describe('As the credential called it when it began it.'),
    isBegun: z
      .boolean()
      .describe('The credential began it, and only calls that name it as their run are in it.'),
    startedAt: isoTimeText,
    usedAt: isoTimeText.describe('The time of its last call.'),
    endedAt: isoTimeText.nullable(),
    endedBy: z.string().nullable().describe('Null: it is open, or ended by itself, being idle.'),
  })
  .meta({ id: 'Session' });

const shown = session
  .extend({ accounts: z.array(account).describe('What it has used of the budgets per run.') })
  .meta({ id: 'ShownSession' });

const id = someId.describe('The id of a session: ses_…');
const facts = { noun: 'sessions', scope: null, action: 'readJournal', opens: 'records' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listSessions',
    sentence: 'Lists sessions, the newest first: one’s own, and those of others for who may read them.',
    http: { method: 'GET', path: '/v1/sessions' },
    input: pageInput(PAGE).extend({
      state: z.enum(['open', 'ended']).optional().describe('Only sessions in this state.'),
    }),
    output: pageOf('sessions', session),
    handle: (context, { limit, cursor: after = null, state }) => {
      const { store } = context.gateway;
      const isOpen = state === undefined ? undefined : state === 'open';
      const wanted = { ...viewOfSessions(context), ...idleTerms(context.gateway), isOpen, after, limit };
      const found = listSessions(store, wanted);
      const cursor = found.length < limit ? null : (found.at(-1)?.id ?? null);
      return { sessions: found.map(sessionDocument), cursor };
    },
  }),
  operation({
    ...facts,
    name: 'getSession',
    sentence: 'Shows a session, and what it has used of the budgets per run.',
    http: { method: 'GET', path: '/v1/sessions/{id}' },
    input: z.strictObject({ id }),
    output: { schema: shown, sentence: 'The session.' },
    handle: (context, { id: wanted }) => {
      const { gateway } = context;
      const found = seenSession(context, wanted);
      const { budgets: rules } = gateway.config;
      // The subject of its accounts is the tenant and the session.
      const of = `${found.tenant}/${found.id}`;
      const asked = { rules, nowMs: gateway.clock.nowMs(), limit: MOST_ACCOUNTS, tenant: of };
      const accounts = balances(gateway.store, asked);
      return { ...sessionDocument(found), accounts };
    },
  }),
  operation({
    name: 'beginSession',
    noun: 'sessions',
    sentence:
      'Begins a session of its own, for calls that name it as their run. The token says how many: `palisade token create --sessions N`.',
    scope: 'call',
    action: 'call',
    opens: 'gateway',
    http: { method: 'POST', path: '/v1/sessions' },
    input: z.strictObject({ label: proseText(LABEL_CHARS).default('').describe('What it is for.') }),
    output: { schema: session, sentence: 'The session.', created: true },
    handle: async ({ gateway, caller }, { label }) =>
      sessionDocument(await startSession(gateway, caller, label)),
  }),
  operation({
    name: 'endSession',
    noun: 'sessions',
    sentence:
      'Ends a session for good: the next call of its credential begins a new one. For administrators, and for the credential that began it.',
    scope: null,
    action: 'administer',
    opens: 'gateway',
    http: { method: 'POST', path: '/v1/sessions/{id}/end' },
    input: z.strictObject({ id }),
    output: { schema: session, sentence: 'The session, ended.' },
    handle: async (context, { id: wanted }) => {
      const { gateway, caller } = context;
      const found = seenSession(context, wanted);
      // Boundary: permission to see a session is not permission to end it.
      requireScope(caller, hasBegun(caller, found) ? 'call' : 'admin');
      return sessionDocument(await stopSession(gateway, caller, found));
    },
  }),
];

function sessionDocument(found: Session) {
  const { startedAtMs, usedAtMs, endedAtMs, ...facts } = found;
  return {
    ...facts,
    state: endedAtMs === null ? ('open' as const) : ('ended' as const),
    startedAt: isoTime(startedAtMs),
    usedAt: isoTime(usedAtMs),
    endedAt: endedAtMs === null ? null : isoTime(endedAtMs),
  };
}

/** The session of that id; one that this caller may not see does not exist. */
function seenSession(reading: Reading, wanted: string): Session {
  const found = findSession(reading.gateway.store, wanted, idleTerms(reading.gateway));
  if (found !== null && isSeen(viewOfSessions(reading), found)) return found;
  throw new CodedError(
    'session/unknown',
    `Cannot find session "${wanted}": no session that you may see has this id`,
    { remedy: 'List them with `palisade session list`.' },
  );
}

function viewOfSessions(reading: Reading) {
  return viewOf(reading, { any: ['call', 'read', 'admin'], forAll: ['read', 'admin'] });
}
