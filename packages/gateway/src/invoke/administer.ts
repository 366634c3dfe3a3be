import { type Decided, decide } from '../approval/decide.ts';
import { show } from '../approval/list.ts';
import type { Keys } from '../attest/keys.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
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

/** Retires the signing key and records it with the new one; the old key goes on verifying what it signed. */
export function rotateKey(records: Records, by: Principal, lost: boolean): ReturnType<Keys['rotate']> {
  return records.store.transact((tx) => {
    let rotated: ReturnType<Keys['rotate']> = { from: null, to: '' };
    records.journal.append(tx, ({ atMs }) => {
      rotated = records.keys.rotate(atMs, lost);
      const body = { from: rotated.from, to: rotated.to, lost };
      return {
        kind: 'key-rotated',
        call: null,
        principal: formatPrincipal(by),
        tool: null,
        tenant: null,
        body,
      };
    });
    return rotated;
  });
}

/** Goes on from the clock as it is, although the journal is ahead of it; who decided so is on record. */
export function acceptClock({ store, journal }: Records, by: Principal): void {
  store.transact((tx) => journal.acceptClock(tx, formatPrincipal(by)));
}
