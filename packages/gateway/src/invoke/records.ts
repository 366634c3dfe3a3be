import { pruneApprovals } from '../approval/requests.ts';
import { prune, settle } from '../budget/budget.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Log } from '../core/log.ts';
import { fail } from '../core/outcome.ts';
import { readHead } from '../journal/head.ts';
import type { OpenCall, Roller } from '../journal/journal.ts';
import { recordAt } from '../journal/search.ts';
import { pruneResults } from '../results/results.ts';
import type { LeftRun } from '../tiers/workspace/left-runs.ts';
import type { CallFacts } from './admit.ts';
import { appendEnding, UNKNOWN_EXECUTION } from './finish.ts';
import type { Records } from './gateway.ts';

/* The lifetime of the records: created in a new state directory, brought up to date at a start, closed at an end. */

/**
 * Closes what ended processes have left open: whether those calls took effect is not known, so they are recorded as
 * unknown, signed, and charged as reserved. A call of a live process is never touched. Returns how many it closed.
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
  // A call without an account was still one call.
  const usage = { ...settle(tx, open.call, 'as-reserved'), calls: 1 };
  const message = 'Cannot tell how the call ended: the gateway stopped while it was running';
  const startedAt = new Date(intent.at_ms).toISOString();
  appendEnding(gateway, tx, facts, {
    outcome: fail('tier/unknown-ending', message, { usage }),
    ran: { startedAt, execution: UNKNOWN_EXECUTION },
    trace,
  });
}

/** More are in the log, and in the quarantine. */
const MOST_RESTORED = 50;

/** Records what became of the workspace of a run that a killed process has left, and logs a line for each file of it. */
export function reportLeftRun({ store, journal }: Records, run: LeftRun, log: Log): void {
  const { kind, call, workspace, file } = run;
  const findings = kind === 'workspace-restored' ? run.findings : [];
  for (const { path, why, sentence } of findings) log('warn', why, { call, workspace, path, sentence });
  const facts =
    kind === 'workspace-restored'
      ? {
          whole: run.isWhole,
          findings: findings.slice(0, MOST_RESTORED).map(({ path, why }) => ({ path, why })),
        }
      : { why: run.why, file: `running/${file}` };
  const isQuiet = kind === 'workspace-restored' && run.isWhole && findings.length === 0;
  log(isQuiet ? 'info' : 'warn', kind, { call, workspace, ...facts });
  if (isQuiet) return;
  const body = { workspace, ...facts };
  store.commit((tx) => journal.append(tx, { kind, call, body })).catch(() => undefined);
}

/** The first key and the first record of a new state directory, created by exactly one process. */
export function foundState({ store, keys, journal, segments, clock, random, version }: Records): void {
  if (readHead(store).seq > 0) return;
  store.transact((tx) => {
    if (readHead(tx).seq > 0) return;
    if (recordAt(segments, 1) !== undefined) {
      throw new CodedError('store/corrupt', 'Cannot continue the journal: it has records but no head');
    }
    keys.createFirst(clock.nowMs());
    const nonce = Buffer.from(random.bytes(16)).toString('hex');
    const body = { nonce, key: keys.currentId, version };
    journal.append(tx, { kind: 'founded', body });
  });
}

/** Signs what is unsigned, seals what is full, drops what is too old, and releases everything. */
export async function closeRecords(records: Records, roller: Roller): Promise<void> {
  const { store, journal, segments, presence } = records;
  try {
    // A process that is writing at the moment signs in our place.
    if (journal.isUncovered(store)) {
      store.transactIfFree((tx) => {
        journal.checkpoint(tx);
        prune(tx, records.clock.nowMs());
        pruneApprovals(tx, records.clock.nowMs());
        pruneResults(tx, records.clock.nowMs() - records.keep.keepForMs);
      });
    }
    await roller.finish(readHead(store).seq);
    segments.tidy((owner) => presence.isGone(owner));
    presence.sweep(new Set(journal.openCalls(store).map(({ owner }) => owner)));
  } catch (error) {
    // What could not be signed or sealed now is signed or sealed by the next process.
    if (!(error instanceof CodedError)) throw error;
  } finally {
    await roller.idle();
    releaseRecords(records);
  }
}

/** Only releases everything: nothing is signed on the way out. */
export function releaseRecords({ segments, presence, store }: Records): void {
  segments.close();
  presence.close();
  store.close();
}
