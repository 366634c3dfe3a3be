import type { Approval } from '../approval/approval.ts';
import { type Decided, decide, type LastingApproval, show } from '../approval/requests.ts';
import type { Keys, Rotation } from '../attest/keys.ts';
import type { CallSource } from '../core/call.ts';
import { placeOf } from '../core/caller.ts';
import { isoTime } from '../core/clock.ts';
import { CodedError, wrongUsage } from '../core/coded-error.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import { type Actor, formatPrincipal, type Principal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import { readHead } from '../journal/head.ts';
import type { Draft } from '../journal/journal.ts';
import { search } from '../journal/search.ts';
import { authorizeAct } from '../policy/authorize.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Gateway, Records } from './gateway.ts';
import type { Acting } from './skills/skill-acts.ts';

export type Answer = {
  readonly id: string;
  readonly verdict: 'approved' | 'denied';
  readonly by: Principal;
  readonly note: string | null;
  /** How long an approval lasts; left out: for one call. */
  readonly lasting?: LastingApproval | null;
  /** How the answer was given. */
  readonly door: 'http' | 'mcp' | 'cli';
} & CallSource;

/** Decides an approval request, if the policies permit this principal, and records who did. An agent never decides. */
export async function answerApproval(gateway: Gateway, answer: Answer): Promise<Decided> {
  const { id, verdict, by, note, lasting = null, door, credential } = answer;
  const place = placeOf(answer);
  const nowMs = gateway.clock.nowMs();
  const asked = show(gateway.store, id);
  const tool = asked === null ? undefined : toolOf(gateway, asked);
  if (asked === null || tool === undefined) {
    const message = `Cannot decide request "${id}": it does not exist`;
    return { ok: false, code: 'approval/unknown', message };
  }
  const { tenant, principal: asker, inputText } = asked;
  return gateway.store.commit((tx) => {
    // Boundary: the wait for the database may have been long; a policy that changed since then counts.
    const act = authorizeAct(gateway.policy, by, 'approve', {
      tenant,
      nowMs,
      tool,
      asker,
      inputText,
      ...place,
    });
    if (!act.allowed) return { ok: false, code: 'approval/not-allowed', message: act.message };
    const currentPolicySet = gateway.policy.set?.digest ?? null;
    const decided = decide(tx, { id: asked.id, verdict, by, note, lasting, nowMs, currentPolicySet });
    if (!decided.ok) return decided;
    gateway.journal.append(tx, {
      kind: 'approval-decided',
      principal: formatPrincipal(by),
      tool: asked.tool,
      tenant,
      body: {
        approval: asked.id,
        digest: asked.digest,
        verdict,
        asker,
        note,
        ...(lasting === null ? {} : { ...lasting }),
        door,
        credential,
        ...place,
        decidedBy: act.decidedBy,
      },
    });
    return decided;
  });
}

/** The tool of this gateway; for one that existed only during its call, the recorded description. */
function toolOf({ registry }: Gateway, asked: Approval): Tool | undefined {
  const { tool: id, risk, askedTool } = asked;
  const found = registry.find(id)?.tool;
  if (found !== undefined || askedTool === null) return found;
  const run = () => Promise.reject(new TypeError(`Cannot run ${id}: it exists only to be judged`));
  return {
    ...askedTool,
    id,
    risk,
    outputSchema: {},
    limits: LIMIT_CEILINGS,
    artifacts: [],
    hosts: () => [],
    paths: () => [],
    executor: { kind: 'builtin', run },
  };
}

/**
 * Runs an administrative act in one transaction. The policies are asked before it, so that a denied caller neither waits
 * for the database nor learns anything, and again in it: a policy that changed in between counts.
 */
export async function administer<T>(
  gateway: Gateway,
  { by, tenant }: Acting,
  act: (tx: Transaction) => T,
): Promise<T> {
  requireAdministrator(gateway, by, tenant);
  return gateway.store.commit((tx) => {
    // Boundary: the wait for the database may have been long.
    requireAdministrator(gateway, by, tenant);
    return act(tx);
  });
}

/** Refuses a principal whom the policies do not let administer now, with their reason; returns those that do. */
export function requireAdministrator(gateway: Gateway, by: Principal, tenant: string): readonly string[] {
  const act = authorizeAct(gateway.policy, by, 'administer', { tenant, nowMs: gateway.clock.nowMs() });
  if (!act.allowed) throw new CodedError('policy/denied', act.message);
  return act.decidedBy;
}

/** The same for acts that begin their transactions themselves. */
export function administrator(gateway: Gateway, { by, tenant }: Acting): Actor {
  const demand = () => void requireAdministrator(gateway, by, tenant);
  demand();
  return { ...by, require: demand };
}

/** Where the policies cannot be evaluated (a lost key, a wrong clock), only a person may proceed. */
function requirePerson(by: Principal): void {
  if (by.kind === 'user') return;
  throw new CodedError('policy/denied', `Cannot administer as ${formatPrincipal(by)}: expected a user`);
}

/**
 * Starts a new signing key in two steps: the record that names it, then the key itself. If the record cannot be
 * written, nothing has changed; if the process ends in between, `finishRotation` continues from the record. The old key
 * still verifies what it signed.
 */
export function rotateKey(records: Records, by: Actor, lost: boolean): Rotation {
  if (lost) requirePerson(by);
  const { store, journal, keys } = records;
  let rotation: Rotation = { from: null, to: '' };
  try {
    store.transact((tx) => {
      settleRotation(records, tx);
      by.require?.();
      if (lost) requireLost(keys);
      journal.append(tx, ({ atMs }) => {
        rotation = keys.prepare(atMs, lost);
        return rotationDraft(by, { ...rotation, lost });
      });
    });
  } finally {
    keys.leavePrepared();
  }
  finishRotation(records);
  return rotation;
}

/** Completes a rotation that was recorded but not finished, and drops a key that was never recorded. */
export function finishRotation(records: Records): void {
  if (records.keys.hasPending) records.store.transact((tx) => settleRotation(records, tx));
}

/** Continues from the current clock, although the journal is ahead of it; who decided so is recorded. */
export function acceptClock(records: Records, by: Principal): void {
  requirePerson(by);
  const { store, journal, keys } = records;
  store.transact((tx) => {
    settleRotation(records, tx);
    const { atMs: lastMs } = readHead(tx);
    const { atMs } = journal.acceptClock(tx, formatPrincipal(by));
    // The key has signed with future times: it stays valid until then, and signs no more.
    if (lastMs <= atMs || !keys.isReady) return;
    const rotation = keys.prepare(atMs, false);
    journal.append(tx, rotationDraft(by, { ...rotation, lost: false, until: isoTime(lastMs) }));
  });
  finishRotation(records);
}

type RotationBody = Rotation & { readonly lost: boolean; readonly until?: string };

/** Only while the write lock is held: nothing is signed between the last record and the retirement of its key. */
function settleRotation({ keys, segments }: Records, tx: Transaction): void {
  if (!keys.hasPending) return;
  const page = search(segments, { kind: 'key-rotated' }, { newestFirst: true, limit: 1, cursor: null });
  const [newest] = page.records;
  const body = newest === undefined ? null : (JSON.parse(newest.line) as { body: RotationBody }).body;
  const untilMs = body?.until === undefined ? 0 : Date.parse(body.until);
  keys.settle(body?.to ?? null, Math.max(readHead(tx).atMs, untilMs));
}

function requireLost(keys: Keys): void {
  if (!keys.isReady) return;
  throw wrongUsage('Cannot replace a lost key: the key exists and signs', 'Rotate without --lost.');
}

function rotationDraft(by: Principal, body: RotationBody): Draft {
  return { kind: 'key-rotated', principal: formatPrincipal(by), body: { ...body } };
}
