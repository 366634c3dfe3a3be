import { existsSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { CODES } from '@palisade/sdk';
import { CONFIG_FILE } from '../../../config/environment.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { packagesIn } from '../../../packages/store.ts';
import { STARTER_POLICIES } from '../../../policy/starter.table.ts';
import { demandAlone } from '../../../store/state-version.ts';
import { namesIn } from '../../../store/whole-file.ts';
import { starterConfig } from '../connect/init.ts';
import { textOf, wrongUsage } from '../input.ts';
import { exportJournal } from '../nouns/journal.ts';
import { exportKeys } from '../nouns/keys.ts';
import { verify } from '../nouns/verify.ts';
import { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import { STATE_FILES } from './state-files.table.ts';

/* What becomes of the state directory: it stays, or its journal is exported and verified before it goes, or it just goes. */

export type StatePlan = {
  readonly path: string;
  readonly action: 'absent' | 'keep' | 'export' | 'purge';
  /** Where the journal goes. */
  readonly file: string | null;
  readonly removes: readonly string[];
  /** What the operator wrote or edited, and what palisade does not know. */
  readonly keeps: readonly string[];
};

export function planState(invocation: Invocation): StatePlan {
  const { stateDir, flags, edge } = invocation;
  const named = textOf(invocation, 'export');
  if (named !== undefined && flags.purge === true)
    throw wrongUsage(
      'Cannot use --export with --purge: each decides about the journal, expected one of them',
    );
  const file = named === undefined ? null : resolve(edge.cwd, named);
  const path = stateDir.path;
  for (const each of file === null ? [] : [file, `${file}.keys`])
    if (existsSync(each)) throw wrongUsage(`Cannot export to "${each}": it exists, expected a new file`);
  if (file?.startsWith(`${path}/`))
    throw wrongUsage(
      `Cannot export to "${file}": it is in the state directory, which goes, expected another folder`,
    );
  if (!existsSync(path)) return { path, action: 'absent', file: null, removes: [], keeps: [] };
  if (file === null && flags.purge !== true) return { path, action: 'keep', file, removes: [], keeps: [] };
  const policies = namesIn(join(path, 'policies')).map((name) => join('policies', name));
  const names = [...namesIn(path).filter((name) => name !== 'policies'), ...policies].sort();
  const isOurs = (name: string) => isOwn(path, name);
  return {
    path,
    action: file === null ? 'purge' : 'export',
    file,
    removes: [...names.filter(isOurs).map((name) => join(path, name)), ...outsidePackages(path)],
    keeps: names.filter((name) => !isOurs(name)).map((name) => join(path, name)),
  };
}

/** Boundary: only what palisade has made; the configuration and a policy only as it made them. */
function isOwn(directory: string, name: string): boolean {
  if (STATE_FILES.some((each) => each.name.test(name))) return true;
  const starters: Readonly<Record<string, string>> = STARTER_POLICIES;
  const made = name === CONFIG_FILE ? starterConfig() : starters[name.replace(/^policies\//, '')];
  return made !== undefined && readFileSync(join(directory, name), 'utf8') === made;
}

/** Packages of MCP servers are in a folder of their own where commands cannot enter the state directory. */
function outsidePackages(directory: string): readonly string[] {
  const folder = packagesIn(directory);
  return folder.startsWith(directory) || !existsSync(folder) ? [] : [folder];
}

/** Does what was planned. The export is verified with its own keys before anything is removed. */
export async function removeState(invocation: Invocation, plan: StatePlan): Promise<void> {
  const { path, action, file, removes } = plan;
  if (action === 'absent' || action === 'keep') return;
  demandAlone(path, `remove "${path}"`);
  if (file !== null) await exportTo(invocation, file);
  // Closing the database may leave files beside it that were not there when the plan was made.
  const left = namesIn(path).filter((name) => isDatabaseFile(name));
  for (const each of [...removes, ...left.map((name) => join(path, name))])
    rmSync(each, { recursive: true, force: true });
  for (const folder of [join(path, 'policies'), path]) {
    if (existsSync(folder) && namesIn(folder).length === 0) rmdirSync(folder);
  }
}

function isDatabaseFile(name: string): boolean {
  return name.startsWith('palisade.db') && STATE_FILES.some((each) => each.name.test(name));
}

async function exportTo(invocation: Invocation, file: string): Promise<void> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const print = new Printer({ out: nowhere, err: nowhere, json: false, colour: false });
  const quiet = { ...invocation, print, args: [] };
  await exportJournal({ ...quiet, flags: { out: file } });
  await exportKeys({ ...quiet, flags: { out: `${file}.keys` } });
  const status = await verify({ ...quiet, args: [file], flags: { key: `${file}.keys` } });
  if (status === CODES.ok.exitStatus) return;
  throw new CodedError(
    'attest/unverified',
    `Cannot remove "${dirname(file)}": the export "${file}" does not verify, expected one that does`,
    {
      remedy: `Nothing of the state directory was removed. Look with \`palisade verify ${file} --key ${file}.keys\`.`,
    },
  );
}
