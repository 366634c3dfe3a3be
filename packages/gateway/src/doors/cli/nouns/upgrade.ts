import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_FILE } from '../../../config/environment.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { MIGRATIONS } from '../../../invoke/migrations.ts';
import { checkDirectory } from '../../../policy/check.ts';
import { type Backup, listBackups } from '../../../store/backups.ts';
import type { MigrationStatus } from '../../../store/migrate.ts';
import {
  demandAlone,
  inspectState,
  requireBackup,
  restoreState,
  tryUpgrade,
} from '../../../store/state-version.ts';
import { confirm } from '../ask.ts';
import { textOf } from '../input.ts';
import { withRecords } from '../opened.ts';
import { counted, type FactRow } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import { withToolsOf } from './policy.ts';

/*
 * `palisade upgrade`: what every command does when it opens an older state directory, as a step of its own; --check tries it
 * on a copy, and --restore takes it back.
 */

const STATUS = { current: 0, new: 0, older: 1, problem: 2 } as const;

/** What stands in the way of this version, with what helps. */
type Obstacle = { readonly what: string; readonly remedy: string | null };

export async function upgrade(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  if (flags.check === true) return check(invocation);
  const name = textOf(invocation, 'restore');
  return name === undefined ? upgradeNow(invocation) : restore(invocation, name);
}

async function upgradeNow(invocation: Invocation): Promise<number> {
  const { print, stateDir, edge } = invocation;
  const before = inspectState(stateDir.path, MIGRATIONS);
  const pending = before?.pending ?? [];
  const earlier = new Set(listBackups(stateDir.path).map(({ name }) => name));
  await withRecords(invocation, () => undefined);
  const backup = listBackups(stateDir.path).find(({ name }) => !earlier.has(name)) ?? null;
  return print.result({ version: edge.version, applied: pending, backup }, () => {
    const done = pending.length === 0 ? 'nothing to do' : counted(pending.length, 'change');
    print.styled('green', 'ok', `  ${stateDir.path} is one of palisade ${edge.version} (${done})`);
    if (backup === null) return;
    print.line(`Before it, a backup was made: ${backup.name}`);
    print.next(`to go back: palisade upgrade --restore ${backup.name}`);
  });
}

async function check(invocation: Invocation): Promise<number> {
  const { print, stateDir, edge } = invocation;
  const status = inspectState(stateDir.path, MIGRATIONS);
  const obstacles = status === null ? [] : await obstaclesTo(invocation, status);
  const state = stateOf(status, obstacles);
  const backups = listBackups(stateDir.path);
  const { pending = [] } = status ?? {};
  const document = {
    ...{ version: edge.version, stateDir: stateDir.path, state, writtenBy: writerOf(status), pending },
    ...{ problems: obstacles, backups },
  };
  print.result(document, () => {
    print.facts(factsOf(document), 16);
    for (const { what, remedy } of obstacles) {
      print.styled('red', '✗ ', what);
      if (remedy !== null) print.styled('cyan', '  → ', remedy);
    }
    for (const { name, madeAt, bytes } of backups) print.line(`  ${name}  ${madeAt}  ${bytes} bytes`);
    if (state === 'older') print.next('palisade upgrade');
  });
  return STATUS[state];
}

function stateOf(status: MigrationStatus | null, obstacles: readonly Obstacle[]): keyof typeof STATUS {
  if (obstacles.length > 0) return 'problem';
  if (status === null) return 'new';
  return status.pending.length === 0 ? 'current' : 'older';
}

type Checked = {
  readonly version: string;
  readonly stateDir: string;
  readonly state: string;
  readonly writtenBy: string | null;
  readonly pending: readonly string[];
  readonly backups: readonly Backup[];
};

function factsOf({ version, stateDir, state, writtenBy, pending, backups }: Checked): readonly FactRow[] {
  const by = writtenBy === null ? 'by a version that did not leave its name' : `by palisade ${writtenBy}`;
  return [
    ['this palisade', version],
    ['state directory', stateDir],
    ['state', state === 'new' ? 'it does not exist yet' : `${state}, last changed ${by}`],
    ['upgrade', pending.length === 0 ? 'nothing to do' : pending.join(', ')],
    ['backups', String(backups.length)],
  ];
}

function writerOf(status: MigrationStatus | null): string | null {
  return status?.applied.map(({ version }) => version).findLast((version) => version !== null) ?? null;
}

/** Whatever would fail is found on a copy: the tables, the configuration, the policies, and processes in the way. */
async function obstaclesTo(
  invocation: Invocation,
  { pending }: MigrationStatus,
): Promise<readonly Obstacle[]> {
  const { stateDir, edge } = invocation;
  const about = { version: edge.version, nowMs: edge.clock.nowMs() };
  try {
    const trial = tryUpgrade(stateDir.path, MIGRATIONS, about);
    try {
      const found = trial.problems.map((what) => ({
        what,
        remedy: 'Go back to a backup, or ask for help with it.',
      }));
      if (pending.length > 0) demandAlone(stateDir.path, `upgrade "${stateDir.path}"`);
      return [...found, ...(await policyObstacles(invocation, trial.directory))];
    } finally {
      trial.remove();
    }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return [{ what: error.message, remedy: error.remedy }];
  }
}

/** The configuration and the policies as this version reads them, with the tools of the upgraded copy. */
async function policyObstacles({ edge, stateDir }: Invocation, copy: string): Promise<readonly Obstacle[]> {
  const path = join(stateDir.path, CONFIG_FILE);
  const config = existsSync(path) ? { configPath: path } : {};
  const records = await edge.openRecords({
    stateDir: copy,
    ...config,
    env: edge.env,
    version: edge.version,
  });
  try {
    const directory = join(stateDir.path, 'policies');
    const result = withToolsOf(records, stateDir.path, (toolsOf) => checkDirectory(directory, toolsOf));
    const problems = result.ok ? [] : result.problems;
    return problems.map(({ file, line, message }) => ({
      what: `${file}:${line ?? 1}: ${message}`,
      remedy:
        'Correct the file, and look with `palisade policy check`; until then the set that was live stays.',
    }));
  } finally {
    await records.release();
  }
}

async function restore(invocation: Invocation, name: string): Promise<number> {
  const { print, stateDir, edge } = invocation;
  requireBackup(stateDir.path, name);
  const head = 'All that was recorded since then leaves the journal; what is there now is kept as a backup.';
  if (!print.json) print.note(head, 'yellow');
  await confirm(invocation, {
    act: `go back to "${name}"`,
    question: 'Type the name of the backup to go back to it',
    answer: name,
    needs: ['yes'],
  });
  const about = { version: edge.version, nowMs: edge.clock.nowMs() };
  const { restored, kept } = restoreState(stateDir.path, name, about);
  return print.result({ restored, kept }, () => {
    print.styled('green', 'restored', `  ${restored.name}, as it was at ${restored.madeAt}`);
    print.line(`What was there until now: ${kept.name}`);
    print.next(`use the palisade of that time now; this one (${edge.version}) would upgrade it again`);
  });
}
