import type { Wire } from '@palisade/sdk';
import { choiceOf, pageOf } from '../input.ts';
import { operationVerb } from '../operate.ts';
import type { FactRow } from '../printer.ts';
import { ACCOUNT_COLUMNS, accountRows } from './budget.ts';

const BY_ITSELF = 'itself, being idle';
const STATES = ['open', 'ended'] as const;

export const list = operationVerb(
  'listSessions',
  (invocation) => ({ ...pageOf(invocation), state: choiceOf(invocation, 'only', STATES) }),
  ({ sessions, cursor }, { print }) => {
    print.table(
      ['ID', 'STATE', 'WHO', 'CREDENTIAL', 'DEVICE', 'CHANNEL', 'STARTED', 'LAST CALL'],
      sessions.map((each) => [
        ...[each.id, each.state, each.principal, each.credential],
        ...[each.device, each.channel, each.startedAt, each.usedAt],
      ]),
      'There are no sessions yet: the first call of a caller begins one.',
    );
    print.more('palisade session list --cursor', cursor);
  },
);

export const show = operationVerb(
  'getSession',
  ({ args: [id] }) => ({ id }),
  (session, { print }) => {
    const { id, state, accounts } = session;
    print.line(`${id}  ${state}`);
    print.facts(factsOf(session));
    if (accounts.length === 0) return;
    print.table(ACCOUNT_COLUMNS, accountRows(accounts));
    if (state === 'open') print.next(`palisade session end ${id}`);
  },
);

function factsOf(session: Wire.Replies['getSession']): readonly FactRow[] {
  const { principal, tenant, credential, device, channel, label, startedAt, usedAt, endedAt } = session;
  const ended = endedAt === null ? null : `${endedAt} by ${session.endedBy ?? BY_ITSELF}`;
  const rows = Object.entries({
    credential,
    device,
    channel,
    label,
    started: startedAt,
    used: usedAt,
    ended,
  });
  const known = rows.flatMap(([name, text]) => (text === null ? [] : [[name, text] as const]));
  return [['who', `${principal} (tenant ${tenant})`], ...known];
}

export const end = operationVerb(
  'endSession',
  ({ args: [id] }) => ({ id }),
  ({ id, principal, endedBy, credential }, { print }) => {
    print.note('ended', 'red', `  ${id} of ${principal} by ${endedBy ?? BY_ITSELF}`);
    print.next(
      `the next call of ${principal} with ${credential} begins a new session, with new budgets per run`,
    );
  },
);
