import { fileURLToPath } from 'node:url';
import { CODES } from '@palisade/sdk';
import type { StateDir } from '../config/environment.ts';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { isWithin } from '../core/paths.ts';
import type { Gateway, Opened, Records } from '../invoke/gateway.ts';
import { readHead } from '../journal/head.ts';
import { packagePins } from '../packages/pins.ts';
import { packagesIn, whyNotWhole } from '../packages/store.ts';
import { ROOT_REMEDY } from '../runner/roots.ts';
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
    ...keyFindings(records),
    ok('journal', `${head.seq} records, signed up to ${head.checkpointSeq}, ${open} calls open`),
    ...packageFindings(records, path),
  ];
}

/** Whether the packages of servers are still what was fetched; nothing where there are none. */
function packageFindings({ store }: Records, stateDir: string): readonly Finding[] {
  const pins = packagePins(store);
  const findings = pins.flatMap(({ source, digest }): readonly Finding[] => {
    const why = whyNotWhole(packagesIn(stateDir), digest);
    const remedy = `Run \`palisade package update "${source}"\`.`;
    return why === null ? [] : [{ name: 'packages', state: 'problem', detail: why, remedy }];
  });
  if (pins.length === 0 || findings.length > 0) return findings;
  return [ok('packages', `${pins.length} fetched, all of them as they were fetched`)];
}

type Examined = { readonly findings: readonly Finding[]; readonly tiers: readonly TierRow[] };
export type DoctorReport = Examined & { readonly ok: boolean };

/** Looks at both parts. One that cannot be opened or examined is itself a finding. */
export async function examine(
  records: () => Promise<readonly Finding[]>,
  gateway: () => Promise<Examined>,
): Promise<DoctorReport> {
  const first = await records().catch(problemIn('state directory'));
  const { findings: rest, tiers } = await gateway().catch((error: unknown) => ({
    // What keeps both from being opened is told once.
    findings: problemIn('gateway')(error).filter(({ detail }) => !first.some((one) => one.detail === detail)),
    tiers: [],
  }));
  const findings = [...first, ...rest];
  return { ok: findings.every(({ state }) => state !== 'problem'), findings, tiers };
}

const problemIn =
  (name: string) =>
  (error: unknown): readonly Finding[] => {
    if (!(error instanceof CodedError)) throw error;
    return [{ name, state: 'problem', detail: error.message, remedy: error.remedy }];
  };

/** The state of the policies, the budgets and the tiers, each of which is tried. */
export async function examineGateway(gateway: Opened<Gateway>): Promise<Examined> {
  const tiers = await gateway.inspectTiers();
  const budgets = ok('budgets', gateway.budgets.map(({ name }) => name).join(', '));
  const findings = [
    ...policyFindings(gateway),
    budgets,
    workspaceFinding(gateway),
    ...installationFindings(fileURLToPath(import.meta.url), gateway.workspaces.roots),
    undoFinding(gateway),
    ...tierFindings(gateway, tiers),
  ];
  return { findings, tiers };
}

function policyFindings({ policy: { set, problems } }: Opened<Gateway>): Finding[] {
  const remedy = 'Run `palisade policy check` and correct the files.';
  const unavailable = CODES['policy/unavailable'].sentence;
  const stale = `${problems.length} problems; an earlier set stays live`;
  return [
    set === null
      ? { name: 'policies', state: 'problem', detail: unavailable, remedy }
      : ok('policies', `${set.policies.length} live, set ${set.digest.slice(0, 12)}`),
    ...(problems.length === 0
      ? []
      : [{ name: 'policy files', state: 'warning', detail: stale, remedy } as const]),
  ];
}

function undoFinding({ undos, config }: Opened<Gateway>): Finding {
  const count = undos.count();
  const size = `${Math.ceil(undos.bytes() / 1024)} KiB of copies`;
  const detail = `${count} ${count === 1 ? 'command' : 'commands'} can be undone, ${size}`;
  return ok('undo', config.process.snapshots === 'on' ? detail : `${detail}; snapshots are off`);
}

/** Where commands may work, and why the directory that palisade was started in is such a root or is not. */
function workspaceFinding({ workspaces: { roots, grantedBy, startedIn } }: Opened<Gateway>): Finding {
  const here = startedIn === null ? '' : `; the working directory ${startedIn}`;
  if (roots.length > 0) return ok('workspaces', `${roots.join(', ')}, granted by ${grantedBy}${here}`);
  const detail = `commands may work nowhere${here}`;
  return { name: 'workspaces', state: 'warning', detail, remedy: ROOT_REMEDY };
}

/** An installation by npm that commands could change, and with it the gateway that is started next. */
export function installationFindings(file: string, roots: readonly string[]): readonly Finding[] {
  const [installation] = /^.*\/node_modules\/palisade(?=\/)/.exec(file) ?? [];
  const root = roots.find((each) => installation !== undefined && isWithin(installation, each));
  if (root === undefined) return [];
  const detail = `${installation} lies in the workspace ${root}: commands can change it, and with it palisade itself`;
  const remedy = 'Install palisade outside of workspaces: `npm install -g palisade`.';
  return [{ name: 'installation', state: 'warning', detail, remedy }];
}

/**
 * Which tiers can be used, and which of their protections work. What is missing is a warning: a call that needs it is
 * refused, and all others run.
 */
function tierFindings({ executors }: Opened<Gateway>, rows: readonly TierRow[]): Finding[] {
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

function keyFindings({ keys }: Records): readonly Finding[] {
  try {
    return [ok('signing key', keys.currentId)];
  } catch (error) {
    return problemIn('signing key')(error);
  }
}
