import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../../../config/load.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { shellWord } from '../../../core/hostile-text.ts';
import { prepareStateDir } from '../../../store/state-dir.ts';
import { programOf } from '../connect/target.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import type { Scope } from './directives.table.ts';
import { managerOf, reloadWords, startWords, stopWords } from './manager.ts';
import { type FoundFile, look, placeOfService, remove, type ServicePlace, write } from './place.ts';
import { launchdFile, type PlannedFile, type ServiceWish, SYSTEM_STATE, systemdFiles } from './units.ts';

/* `palisade service install` and `uninstall`: a plan first, then the files, then the manager of services. */

export async function install(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const place = placeOfService(invocation);
  const files = filesOf(place, await wishOf(invocation, place));
  const refused = files
    .map(({ path }) => look(path))
    .find(({ state }) => state === 'edited' || state === 'other');
  if (refused !== undefined && flags.force !== true) throw notOurs(refused, 'replace');
  const [first] = files.slice(-1);
  const commands = startWords(place.manager, place.scope, first?.path ?? '', process.getuid?.() ?? 0);
  const dryRun = flags['dry-run'] === true;
  if (!dryRun) {
    // A user's directory exists before the service starts; systemd makes that of the system.
    if (place.scope === 'user' && place.root === null) prepareStateDir(invocation.stateDir.path);
    for (const file of files) write(file);
  }
  const isStarted = !dryRun && flags['no-start'] !== true && (await ask(invocation, place, commands));
  const changes = files.map(({ path, text }) => ({ path, text }));
  return print.result(
    { ...about(place), dryRun, started: isStarted, files: changes, commands: spelled(commands) },
    () => {
      for (const { path, text } of files) {
        if (dryRun) print.block(`${path}\n`, text);
        else print.styled('green', 'wrote', `  ${path}`);
      }
      if (isStarted) print.styled('green', 'serving', '  palisade service status shows how it is');
      else if (place.root === null) for (const words of spelled(commands)) print.next(words);
    },
  );
}

export async function uninstall(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const place = placeOfService(invocation);
  const found = pathsOf(place).map(look);
  const ours = found.filter(({ state }) => state === 'ours' || (state === 'edited' && flags.force === true));
  const kept = found.filter((file) => file.state !== 'missing' && !ours.includes(file));
  const [edited] = kept.filter(({ state }) => state === 'edited');
  if (edited !== undefined) throw notOurs(edited, 'remove');
  const dryRun = flags['dry-run'] === true;
  if (!dryRun && ours.length > 0) await undo(invocation, place, ours);
  const document = { ...about(place), dryRun, removed: ours.map(({ path }) => path), kept };
  return print.result(document, () => {
    if (ours.length === 0) print.line(`No service of palisade is in ${place.folder}.`);
    for (const { path } of ours) print.styled('green', dryRun ? 'would remove' : 'removed', `  ${path}`);
    for (const { path } of kept) print.styled('yellow', 'kept', `  ${path}, which palisade did not make`);
    if (ours.length > 0) print.line('The state directory stays as it is.');
  });
}

/** The same for `palisade uninstall`, of one scope of this machine: what is ours goes, the rest is told. */
export async function uninstallAt(invocation: Invocation, scope: Scope, dryRun: boolean) {
  const place = placeOfService({ ...invocation, flags: { [scope]: true } });
  const found = pathsOf(place)
    .map(look)
    .filter(({ state }) => state !== 'missing');
  const ours = found.filter(({ state }) => state === 'ours');
  const kept = found.filter((file) => !ours.includes(file));
  if (!dryRun && ours.length > 0) await undo(invocation, place, ours);
  return { ours: ours.map(({ path }) => path), kept: kept.map(({ path }) => path) };
}

/** Stops the service where its manager runs, removes its files, and has them forgotten. */
async function undo(invocation: Invocation, place: ServicePlace, ours: readonly FoundFile[]): Promise<void> {
  await ask(invocation, place, stopWords(place.manager, place.scope, process.getuid?.() ?? 0));
  for (const { path } of ours) remove(path);
  await ask(invocation, place, reloadWords(place.manager, place.scope));
}

/** The files that a service has there, whatever is in them. */
export function pathsOf(place: ServicePlace): readonly string[] {
  const nothing: ServiceWish = {
    scope: place.scope,
    program: [],
    launcher: null,
    stateDir: '/',
    listen: '',
    workspaces: [],
  };
  return filesOf(place, nothing).map(({ path }) => path);
}

function filesOf({ manager, folder }: ServicePlace, wish: ServiceWish): readonly PlannedFile[] {
  return manager === 'launchd' ? [launchdFile(wish, folder)] : systemdFiles(wish, folder);
}

/** What this command line wishes for, from its flags and the configuration. */
export async function wishOf(
  invocation: Invocation,
  { scope, manager, root }: ServicePlace,
): Promise<ServiceWish> {
  const { edge, flags, stateDir } = invocation;
  const state = scope === 'system' ? SYSTEM_STATE : stateDir.path;
  if (scope === 'system' && stateDir.origin === 'flag --state' && stateDir.path !== SYSTEM_STATE)
    throw wrongUsage(
      `Cannot use --state with the system service: systemd makes ${SYSTEM_STATE} for it, expected no --state`,
      'Leave --state out, or use --user.',
    );
  const { argv, isTemporary } = programOf();
  if (isTemporary)
    throw wrongUsage(
      'Cannot install a service of a program in the cache of npx: it may be cleaned, expected an installed palisade',
      'Install it with `npm install -g palisade` first.',
    );
  const hidden = argv.find((path) => /^\/(home|root|run\/user)\//.test(path));
  if (scope === 'system' && root === null && hidden !== undefined)
    throw wrongUsage(
      `Cannot install the system service of "${hidden}": homes are hidden from it, expected a program outside of them`,
      'Install Node and palisade for all users, as in /usr/local, or use --user.',
    );
  const { http } = await loadConfig({ stateDir: state });
  const listen = textOf(invocation, 'listen') ?? http.listen;
  if (!/^(?:\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.]+\]):[1-9]\d{0,4}$/.test(listen))
    throw wrongUsage(
      `Cannot listen on "${listen}": expected ADDRESS:PORT with a number for each, as 127.0.0.1:7433`,
    );
  const named = [flags.workspace ?? []].flat().map((path) => resolve(edge.cwd, String(path)));
  const launcher = manager === 'systemd' ? await serviceLauncher() : null;
  return { scope, program: argv, launcher, stateDir: state, listen, workspaces: named };
}

async function serviceLauncher(): Promise<string | null> {
  const { LAUNCHERS } = await import('../../../open.ts');
  const { findLauncher } = await import('../../../tiers/process/launcher.ts');
  const found = findLauncher({ launchers: LAUNCHERS });
  return found.ok ? realpathSync(found.value.path) : null;
}

/** Asks the manager where it runs; a refusal of it is an error with its words. */
async function ask(
  { edge }: Invocation,
  place: ServicePlace,
  commands: readonly (readonly string[])[],
): Promise<boolean> {
  const { manager, scope, root } = place;
  const runtimeDir = edge.env.entries().find(([name]) => name === 'XDG_RUNTIME_DIR')?.[1] ?? null;
  const { isRunning, ask: askManager } = managerOf(manager, scope, runtimeDir);
  if (root !== null || !isRunning) return false;
  for (const words of commands) {
    const { ok, output } = await askManager(words);
    if (ok) continue;
    const [command = ''] = spelled([words]);
    throw new CodedError(
      'door/wrong-usage',
      `Cannot change the service: \`${command}\` failed: ${output.trim()}`,
      {
        remedy: `The files are in ${place.folder}. Correct what it says, and run \`${command}\` again.`,
      },
    );
  }
  return true;
}

function spelled(commands: readonly (readonly string[])[]): readonly string[] {
  return commands.map((words) => words.map(shellWord).join(' '));
}

export function about({ manager, scope, folder }: ServicePlace) {
  return { manager, scope, folder };
}

function notOurs({ path, state }: FoundFile, act: string): CodedError {
  const is = state === 'edited' ? 'it was edited since palisade wrote it' : 'palisade did not write it';
  const other = `Move it away, or ${act} it with --force.`;
  const remedy =
    state === 'edited' ? `Keep your changes with \`systemctl edit palisade\` instead. ${other}` : other;
  return wrongUsage(`Cannot ${act} "${path}": ${is}, expected a file as palisade made it`, remedy);
}
