import { CODES } from '@palisade/sdk';
import type { StateDir } from '../config/environment.ts';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Gateway, Opened, Records } from '../invoke/gateway.ts';
import { readHead } from '../journal/head.ts';
import { type TierRow, TRIAL_ROW } from '../tiers/process/inspect.ts';

/** One thing that doctor examined, and what to do about it. */
export type Finding = {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly detail: string;
  readonly remedy: string | null;
};

const ok = (name: string, detail: string): Finding => ({ name, state: 'ok', detail, remedy: null });

/** A state directory, and who chose it where that is known. */
type Chosen = Pick<StateDir, 'path'> & Partial<StateDir>;

/** The state of the state directory, the clock, the keys and the journal. */
export function recordFindings(records: Opened<Records>, { path, origin }: Chosen): Finding[] {
  const head = readHead(records.store);
  const open = records.journal.openCalls(records.store).length;
  return [
    ok('node', process.version),
    ok('state directory', origin === undefined ? path : `${path} (${origin})`),
    ok(
      'configuration',
      records.config.file === null ? 'all defaults' : `${records.config.file.path} is valid`,
    ),
    clockFinding(records.clock.nowMs(), head.atMs, records.config.clock.maxBehindMs),
    keyFinding(records),
    ok('journal', `${head.seq} records, signed up to ${head.checkpointSeq}, ${open} calls open`),
  ];
}

/** The state of the policies and the budgets. */
export function gatewayFindings({ policy, budgets }: Opened<Gateway>): Finding[] {
  const findings: Finding[] = [];
  const remedy = 'Run `palisade policy check` and correct the files.';
  const count = policy.problems.length;
  if (policy.set === null)
    findings.push({
      name: 'policies',
      state: 'problem',
      detail: CODES['policy/unavailable'].sentence,
      remedy,
    });
  else
    findings.push(
      ok('policies', `${policy.set.policies.length} live, set ${policy.set.digest.slice(0, 12)}`),
    );
  if (count > 0)
    findings.push({
      name: 'policy files',
      state: 'warning',
      detail: `${count} problems; an earlier set stays live`,
      remedy,
    });
  findings.push(ok('budgets', budgets.map(({ name }) => name).join(', ')));
  return findings;
}

/**
 * Which tiers can be used, and which of their protections work. What is missing is a warning: a call that needs it is
 * refused, and all others run.
 */
export function tierFindings({ executors }: Opened<Gateway>, rows: readonly TierRow[]): Finding[] {
  const unheld = rows.filter(({ name, holds }) => name === TRIAL_ROW && !holds).map(({ tier }) => tier);
  const usable = Object.keys(executors).filter(
    (name) => name !== 'upstream' && !unheld.some((tier) => tier === name),
  );
  return [ok('tiers', `${usable.join(', ')} can run here`), ...rows.map(rowFinding)];
}

function rowFinding({ tier, name, holds, detail, fix }: TierRow): Finding {
  return {
    name: tier === null ? 'tiers b, c' : `tier ${tier}`,
    state: holds ? 'ok' : 'warning',
    detail: `${name} ${detail}`,
    remedy: fix,
  };
}

function clockFinding(nowMs: number, lastMs: number, maxBehindMs: number): Finding {
  if (nowMs >= lastMs - maxBehindMs) return ok('clock', isoTime(nowMs));
  const detail = `it says ${isoTime(nowMs)}, the last record is of ${isoTime(lastMs)}`;
  return { name: 'clock', state: 'problem', detail, remedy: CODES['store/clock-behind'].remedy };
}

function keyFinding({ keys }: Records): Finding {
  try {
    return ok('signing key', keys.currentId);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { name: 'signing key', state: 'problem', detail: error.message, remedy: error.remedy };
  }
}
