import { type Decided, decide } from '../approval/decide.ts';
import { show } from '../approval/list.ts';
import type { Rotation } from '../attest/keys.ts';
import { CodedError } from '../core/coded-error.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import { readHead } from '../journal/head.ts';
import type { Draft } from '../journal/journal.ts';
import { authorizeAct } from '../policy/authorize.ts';
import type { Gateway, Records } from './gateway.ts';

/** What a person says to an open question. */
export type Answer = {
  readonly id: string;
  readonly verdict: 'approved' | 'denied';
  readonly by: Principal;
  readonly note: string | null;
};

/** Decides an approval request, if the policies let this principal, and records who did. An agent never decides. */
export async function answerApproval(gateway: Gateway, answer: Answer): Promise<Decided> {
  const { id, verdict, by, note } = answer;
  const nowMs = gateway.clock.nowMs();
  const asked = show(gateway.store, id);
  const tool = gateway.registry.find(asked?.tool ?? '')?.tool;
  if (asked === null || tool === undefined) {
    return {
      ok: false,
      code: 'approval/unknown',
      message: `Cannot decide request "${id}": there is none with that id`,
    };
  }
  const { tenant, principal: asker, inputText } = asked;
  const act = authorizeAct(gateway.policy, by, 'approve', { tenant, nowMs, tool, asker, inputText });
  if (!act.allowed) return { ok: false, code: 'approval/not-allowed', message: act.message };
  const currentPolicySet = gateway.policy.set?.digest ?? null;
  return gateway.store.commit((tx) => {
    const decided = decide(tx, { id: asked.id, verdict, by, note, nowMs, currentPolicySet });
    if (!decided.ok) return decided;
    gateway.journal.append(tx, {
      kind: 'approval-decided',
      call: null,
      principal: formatPrincipal(by),
      tool: asked.tool,
      tenant,
      body: { approval: asked.id, digest: asked.digest, verdict, asker, note, decidedBy: act.decidedBy },
    });
    return decided;
  });
}

/** Asks the policies whether this principal may administer; refuses with what they said. */
export function requireAdministrator(gateway: Gateway, by: Principal, tenant: string): void {
  const act = authorizeAct(gateway.policy, by, 'administer', { tenant, nowMs: gateway.clock.nowMs() });
  if (!act.allowed) throw new CodedError('policy/denied', act.message);
}

/** Where the policies cannot be asked (a lost key, a wrong clock), only a person goes on. */
function requirePerson(by: Principal): void {
  if (by.kind === 'user') return;
  throw new CodedError('policy/denied', `Cannot administer as ${formatPrincipal(by)}: expected a user`);
}

/** Retires the signing key and records it with the new one; the old key goes on verifying what it signed. */
export function rotateKey(records: Records, by: Principal, lost: boolean): Rotation {
  if (lost) requirePerson(by);
  return records.store.transact((tx) => {
    let rotated: Rotation = { from: null, to: '' };
    records.journal.append(tx, ({ atMs }) => {
      rotated = records.keys.rotate(atMs, lost);
      return rotationDraft(by, rotated, lost);
    });
    return rotated;
  });
}

/** Goes on from the clock as it is, although the journal is ahead of it; who decided so is on record. */
export function acceptClock({ store, journal, keys }: Records, by: Principal): void {
  requirePerson(by);
  store.transact((tx) => {
    const { atMs: lastMs } = readHead(tx);
    const { atMs } = journal.acceptClock(tx, formatPrincipal(by));
    const rotated = keys.leaveFuture(atMs, lastMs);
    if (rotated !== null) journal.append(tx, rotationDraft(by, rotated, false));
  });
}

function rotationDraft(by: Principal, { from, to }: Rotation, lost: boolean): Draft {
  const principal = formatPrincipal(by);
  return { kind: 'key-rotated', call: null, principal, tool: null, tenant: null, body: { from, to, lost } };
}
