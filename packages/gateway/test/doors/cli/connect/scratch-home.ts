import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readEnvironment } from '../../../../src/config/environment.ts';
import type { Edge } from '../../../../src/doors/cli/verb.ts';
import { openGateway, openRecords, systemClock, systemRandom } from '../../../../src/open.ts';
import { CHECKED } from '../../../fixture/checked.ts';
import { tempDir } from '../../../fixture/temp-dir.ts';
import { type Ran, runInside } from '../fake-edge.ts';

/** A home, a project and a state directory of one test, and the command line in them. */
export type ScratchHome = {
  readonly home: string;
  readonly project: string;
  readonly state: string;
  readonly run: (args: readonly string[], parts?: Partial<Edge>) => Promise<Ran>;
  /** What the command gives with --json. */
  readonly json: (args: readonly string[]) => Promise<Record<string, unknown>>;
  readonly write: (path: string, text: string | Uint8Array) => string;
};

export const NOON = Date.UTC(2026, 4, 1, 12, 0, 0);

export function makeScratchHome(variables: Readonly<Record<string, string>> = {}): ScratchHome {
  const root = tempDir();
  const [home, project, state] = [join(root, 'home'), join(root, 'project'), join(root, 'state')];
  for (const path of [home, project]) mkdirSync(path);
  const env = readEnvironment({ HOME: home, ...variables }, { username: 'grace', homedir: home });
  const clock = { ...systemClock, nowMs: () => NOON };
  const run: ScratchHome['run'] = (args, parts = {}) =>
    runInside([...args, '--state', state], {
      ...{ env, cwd: project, clock, random: systemRandom },
      openRecords: (options) => openRecords({ ...options, clock }),
      openGateway: (options) => openGateway({ ...options, clock, checked: CHECKED }),
      ...parts,
    });
  const json: ScratchHome['json'] = async (args) => JSON.parse((await run([...args, '--json'])).out);
  const write: ScratchHome['write'] = (path, text) => {
    const full = join(home, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    chmodSync(full, 0o640);
    return full;
  };
  return { home, project, state, run, json, write };
}

/** The names of the backups beside a file. */
export function backupsOf(path: string): readonly string[] {
  return readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.palisade-backup-`));
}

/** All that lies in a folder but the file itself. */
export function besides(path: string): readonly string[] {
  return readdirSync(dirname(path)).filter((name) => name !== basename(path));
}

export function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}
