import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../../config/environment.ts';
import { loadConfig } from '../../../config/load.ts';
import { type Principal, parsePrincipal } from '../../../core/principal.ts';
import { orElse } from '../../../core/result.ts';
import { editSteps } from '../../../core/suggest.ts';
import { parsedOf, textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { readClientFile } from './client-file.ts';
import { CLIENTS, type FileScope, type Location, type McpClient, type Platform } from './clients.table.ts';
import type { OwnEntry } from './plan.ts';
import type { Source } from './servers.ts';

/* What a command line names: which client, which file of it, what our entry is called, and how a client starts palisade. */

/** A name that every client accepts, and that needs no quotes in any format. */
const SERVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** At most this many characters of a client's id may be wrong for it to be suggested. */
const MAX_EDIT_STEPS = 3;
const MAX_SUGGESTED_CHARS = 32;

type Machine = { readonly env: Environment; readonly cwd: string; readonly platform: Platform };

export type ClientTarget = Awaited<ReturnType<typeof targetOf>>;

/** The client of that id; an unknown one is refused with the one that was probably meant, and with all ids. */
export function chooseClient(id: string): McpClient {
  const found = CLIENTS.find((client) => client.id === id);
  if (found !== undefined) return found;
  const meant = nearestIds(id.toLowerCase());
  const hint = meant.length === 0 ? '' : `; did you mean ${meant.map((one) => `"${one}"`).join(' or ')}?`;
  throw wrongUsage(
    `Cannot find the client "${id}": it is unknown, expected one of the list${hint}`,
    `Choose one of: ${CLIENTS.map((client) => client.id).join(', ')}.`,
  );
}

/** All clients with that part in their id, else the one with the most similar id. */
function nearestIds(id: string): readonly string[] {
  if (id.length > MAX_SUGGESTED_CHARS) return [];
  const parts = CLIENTS.filter(
    (client) => client.id.split('-').includes(id) || client.name.toLowerCase() === id,
  );
  if (parts.length > 0) return parts.map((client) => client.id);
  const [best] = CLIENTS.map((client) => ({ id: client.id, steps: editSteps(id, client.id) })).sort(
    (a, b) => a.steps - b.steps,
  );
  const maxSteps = Math.min(MAX_EDIT_STEPS, Math.floor(id.length / 2));
  return best !== undefined && best.steps <= maxSteps ? [best.id] : [];
}

/** The file that the flags name, read, and what our entry in it is called. */
export async function targetOf(invocation: Invocation, client: McpClient) {
  const { flags, edge } = invocation;
  const readName = (raw: string) => (SERVER_NAME.test(raw) ? raw : null);
  const server = parsedOf(invocation, 'name', readName, 'up to 64 letters, digits, - and _') ?? 'palisade';
  const scope: FileScope = flags.project === true ? 'project' : 'user';
  const named = textOf(invocation, 'file');
  if (named !== undefined && scope === 'project')
    throw wrongUsage('Cannot use --project with --file: each names a file, expected one of them');
  const path = named === undefined ? fileOf(client, scope, machineOf(invocation)) : resolve(edge.cwd, named);
  const file = readClientFile(path, scope === 'project' ? edge.cwd : null);
  const source: Source = { client, name: path, text: file.text ?? '' };
  const own: OwnEntry = { server, url: await urlOf(invocation) };
  return { client, scope, file, source, own };
}

/** Boundary: a new file must not replace the settings that the client has in another one. */
export function demandNothingHidden({ client, scope, file }: ClientTarget, machine: Machine): void {
  const { name, hides } = client;
  const { path, text } = file;
  if (hides === null || scope !== 'user' || text !== null) return;
  const hidden = pathOf(hides, machine);
  if (path !== fileOf(client, scope, machine) || !existsSync(hidden)) return;
  throw wrongUsage(
    `Cannot create "${path}": ${name} would no longer read "${hidden}", expected settings in the new form`,
    `Move the settings to ${path} first, or use --project.`,
  );
}

/** The address of the MCP endpoint of this gateway, from its configuration. */
export async function urlOf({ stateDir }: Invocation): Promise<string> {
  const { http } = await loadConfig({ stateDir: stateDir.path });
  const base = http.publicUrl ?? `http://${http.listen.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:')}`;
  return `${base.replace(/\/$/, '')}/mcp`;
}

/** The principal of the client: --as, else an agent of its own name. */
export function agentOf(invocation: Invocation, client: McpClient): Principal {
  const raw = textOf(invocation, 'as') ?? `agent:${client.id}`;
  const principal = parsePrincipal(raw);
  // Boundary: a client never acts as a person, who could approve what the client requests.
  if (principal?.kind === 'agent') return principal;
  throw wrongUsage(`Cannot connect ${client.name} as "${raw}": expected agent:NAME`);
}

export function machineOf({ edge: { env, cwd } }: Invocation): Machine {
  const { platform } = process;
  return { env, cwd, platform: platform === 'darwin' || platform === 'win32' ? platform : 'linux' };
}

/** The file of a client: that of the project or of the user; of several, the first that exists. */
export function fileOf(client: McpClient, scope: FileScope, machine: Machine): string {
  if (scope === 'project') {
    if (client.project !== null) return join(machine.cwd, client.project);
    throw wrongUsage(
      `Cannot use --project with ${client.id}: ${client.name} has no file for a project, expected no --project`,
    );
  }
  const paths = client.user[machine.platform].map((location) => pathOf(location, machine));
  const [first = ''] = paths;
  return paths.find((path) => existsSync(path)) ?? first;
}

/** Whether the client is on this machine. An empty folder does not count: `disconnect` leaves one behind. */
export function isFound(client: McpClient, machine: Machine): boolean {
  const hasSign = client.signs.some((location) => {
    const path = pathOf(location, machine);
    return existsSync(path) && orElse(() => readdirSync(path).length, 1) > 0;
  });
  return hasSign || client.programs.some((program) => isOnPath(program, machine));
}

function isOnPath(program: string, { env, platform }: Machine): boolean {
  const folders = (variable(env, 'PATH') ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const names = platform === 'win32' ? [`${program}.exe`, `${program}.cmd`] : [program];
  return folders.some((folder) => names.some((name) => existsSync(join(folder, name))));
}

function variable(env: Environment, name: string): string | undefined {
  return env.entries().find(([key]) => key === name)?.[1];
}

function pathOf({ from, path }: Location, { env, platform }: Machine): string {
  if (env.home === null)
    throw wrongUsage('Cannot find the files of clients: there is no home directory, expected HOME or --file');
  const home = resolve(env.home);
  const named = (name: string): string | null => {
    const value = variable(env, name);
    return value !== undefined && isAbsolute(value) ? value : null;
  };
  const config = named('XDG_CONFIG_HOME') ?? join(home, '.config');
  const app = {
    linux: config,
    darwin: join(home, 'Library', 'Application Support'),
    win32: named('APPDATA') ?? join(home, 'AppData', 'Roaming'),
  }[platform];
  return join({ home, config, app }[from], path);
}

/** The command beside this package: seen from the bundle, and from the sources. */
const PROGRAMS = ['../bin/palisade.js', '../../../../bin/palisade.js'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
/** Where package managers put a link to the current Node. */
const LINK_FOLDERS = ['/usr/local/bin', '/usr/bin', '/opt/homebrew/bin', '/home/linuxbrew/.linuxbrew/bin'];

/**
 * The command line that starts this palisade from any program. A desktop client is not started from a shell, so its
 * search path has neither `palisade` nor, often, `node`: both are absolute, and Node by a link that survives an update.
 */
export function programOf(node = process.execPath, folders = LINK_FOLDERS) {
  const program = PROGRAMS.find((path) => existsSync(path)) ?? PROGRAMS[0] ?? '';
  const realOf = (path: string) => orElse(() => realpathSync(path), null);
  const links = folders.map((folder) => join(folder, 'node'));
  const link = links.find((each) => realOf(each) !== null && realOf(each) === realOf(node));
  // Packages that npx fetched are in a cache that may be cleaned.
  return { argv: [link ?? node, program], isTemporary: /[\\/]_npx[\\/]/.test(program) };
}
