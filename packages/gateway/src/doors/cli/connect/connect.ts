import { resolve } from 'node:path';
import { stateFlag } from '../../../config/environment.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { quote, shellWord } from '../../../core/hostile-text.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import { sentenceOf } from '../../../core/result.ts';
import { readPackageCommand } from '../../../packages/read-command.ts';
import { ForbiddenPlaces, settle } from '../../../runner/forbidden.ts';
import { demandRoot } from '../../../runner/roots.ts';
import { listOf, placeIn, textOf, wrongUsage } from '../input.ts';
import { fetchMissing } from '../package/fetch-missing.ts';
import type { Invocation } from '../verb.ts';
import { demandWritable, keepBackup, PRIVATE, readClientFile, writeClientFile } from './client-file.ts';
import { CLIENTS, type McpClient } from './clients.table.ts';
import { argvOf, isOurs, rootsIn, upstreamName, variablesIn, wrappedIn } from './entry.ts';
import { hasExtras } from './formats/json.ts';
import { placeFlags, placeWords } from './place.ts';
import { type Planned, planConnect, planWrap, tokenAt, type Wrapper } from './plan.ts';
import { type ConnectOutcome, printClients, printOutcome, UNCHANGED, unifiedDiff } from './print.ts';
import { serverNamed, serversIn } from './servers.ts';
import {
  agentOf,
  type ClientTarget,
  chooseClient,
  demandNothingHidden,
  fileOf,
  isFound,
  machineOf,
  programOf,
  targetOf,
  urlOf,
} from './target.ts';
import { isValid, type MintedToken, makeToken, revoke } from './tokens.ts';

/* `palisade connect`: the file of a client is read, the edit is planned, and then, unless it is a dry run, written. */

/** In a dry run, in place of the token that would be made. */
const TOKEN_TO_COME = 'pls_TOKEN_TO_BE_MADE';
const FLAGS = [
  'http',
  'project',
  'wrap',
  'fetch',
  'workspace',
  'dry-run',
  'file',
  'name',
  'as',
  'device',
  'channel',
];

export async function run(invocation: Invocation): Promise<number> {
  const { print, args, flags } = invocation;
  const [id] = args;
  if (id !== undefined && flags.list !== true) {
    const client = chooseClient(id);
    await printOutcome(invocation, client, await connectClient(invocation, client));
    return 0;
  }
  const odd = FLAGS.find((name) => flags[name] !== undefined);
  if (id !== undefined || odd !== undefined)
    throw wrongUsage(
      `Cannot list the clients with ${odd === undefined ? 'a CLIENT' : `--${odd}`}: expected a CLIENT or --list`,
    );
  const url = await urlOf(invocation);
  const clients = CLIENTS.map((client) => listed(invocation, client, url));
  return print.result({ clients }, () => printClients(print, clients));
}

export type ListedClient = ReturnType<typeof listed>;

/** A client with the names of our entries in its file, or why that file cannot be read. */
function listed(invocation: Invocation, client: McpClient, url: string) {
  const machine = machineOf(invocation);
  const file = fileOf(client, 'user', machine);
  const about = { id: client.id, name: client.name, found: isFound(client, machine), file };
  try {
    const { text } = readClientFile(file, null);
    const servers = serversIn({ client, name: file, text: text ?? '' });
    const namesOf = (fits: (entry: unknown) => boolean) =>
      servers.filter(({ value }) => fits(value)).map(({ name }) => name);
    const connected = namesOf((entry) => isOurs(client, entry, url));
    const wrapped = namesOf((entry) => wrappedIn(client, entry) !== null);
    return { ...about, connected, wrapped, problem: null };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { ...about, connected: [], wrapped: [], problem: error.message };
  }
}

/** Puts an entry for this gateway into the file of a client, or runs one of its servers through it (--wrap). */
export async function connectClient(invocation: Invocation, client: McpClient): Promise<ConnectOutcome> {
  const { flags, stateDir } = invocation;
  const agent = formatPrincipal(agentOf(invocation, client));
  const target = await targetOf(invocation, client);
  const { file, source, own, scope } = target;
  const wrapped = textOf(invocation, 'wrap');
  demandCompatible(invocation, client);
  demandNothingHidden(target, machineOf(invocation));
  // The token that the file has already, where it is still valid.
  const old = flags.http === true ? tokenAt(source, own) : null;
  // A token names its device and channel for good: others need another token.
  const isNamed = flags.device !== undefined || flags.channel !== undefined;
  const held = old !== null && !isNamed && (await isValid(invocation, old)) ? old : null;
  const plan = (token: string): Planned => {
    if (wrapped !== undefined) return planWrap(source, wrapped, wrapperOf(invocation, wrapped, agent));
    if (flags.http === true) return planConnect(source, own, { kind: 'http', url: own.url, token });
    const place = placeFlags(invocation, target);
    const words = ['--as', agent, ...place, '--state', stateDir.path, ...rootFlags(invocation, target)];
    return planConnect(source, own, { kind: 'stdio', argv: [...programOf().argv, 'mcp', ...words] });
  };
  const planned = plan(held ?? TOKEN_TO_COME);
  const server = wrapped ?? own.server;
  const dryRun = flags['dry-run'] === true;
  const about = { client: client.id, dryRun, server, as: agent, scope, file: file.path, ...UNCHANGED };
  const command = wrapped === undefined ? [] : commandIn(client, serverNamed(source, wrapped)?.value);
  if (planned === null && !dryRun) await fetchMissing(invocation, command);
  if (planned === null)
    return { ...about, status: wrapped === undefined ? 'already connected' : 'already wrapped' };
  const status = wrapped !== undefined ? 'wrapped' : planned.isNew ? 'connected' : 'updated';
  const diff = unifiedDiff(file.path, file.text ?? '', planned.text);
  if (dryRun) return { ...about, status, diff, notes: notesOf(invocation, target, false) };
  demandWritable(file);
  const notes = notesOf(invocation, target, await fetchMissing(invocation, command));
  const label = `${client.name} (${own.server})`;
  const made =
    flags.http === true && held === null
      ? await makeToken(invocation, agentOf(invocation, client), label)
      : null;
  const { text } = (made === null ? planned : plan(made.text)) ?? planned;
  const backup = await orRevoke(invocation, made, () => {
    const kept = keepBackup(file, invocation.edge.clock.nowMs());
    writeClientFile(file, text, flags.http === true ? PRIVATE : file.mode);
    return kept;
  });
  const token = made === null ? null : { id: made.id, expiresAt: made.expiresAt };
  const revoked = await revokeUnused(invocation, target);
  return { ...about, status, backup, diff, token, notes: [...notes, ...revoked] };
}

function demandCompatible({ flags }: Invocation, { id, name, http }: McpClient): void {
  if (flags.fetch === true && flags.wrap === undefined)
    throw wrongUsage('Cannot use --fetch without --wrap: it fetches the package of a server, expected both');
  if (flags.wrap !== undefined && [flags.workspace ?? []].flat().length > 1)
    throw wrongUsage('Cannot use --workspace twice with --wrap: a server writes to one, expected one');
  if (flags.http !== true) return;
  const refuse = (is: string) => wrongUsage(`Cannot use --http with ${is}, expected one of them`);
  if (flags.workspace !== undefined)
    throw wrongUsage(
      'Cannot use --workspace with --http: the daemon has directories of its own, expected one of them',
      'Name them with process.workspaces in palisade.toml, or with `palisade serve --workspace DIR`.',
    );
  if (typeof flags.wrap === 'string') throw refuse('--wrap: a wrapped server is started by a command');
  if (http === null)
    throw wrongUsage(
      `Cannot connect ${id} with --http: the file of ${name} has no key for an address, expected no --http`,
    );
  // Boundary: files of projects are shared with others, who would have the token as well.
  if (flags.project === true) throw refuse('--project: the token would be in a shared file');
}

function wrapperOf(invocation: Invocation, server: string, agent: string): Wrapper {
  const { stateDir } = invocation;
  const place = placeWords(placeIn(invocation));
  const flags = ['--name', upstreamName(server), '--as', agent, ...place, '--state', stateDir.path];
  return { program: programOf().argv, flags: ['mcp', 'wrap', ...flags, ...wordsOf(namedRoots(invocation))] };
}

/** The directories of --workspace, each of which can be a root. */
function namedRoots(invocation: Invocation): readonly string[] {
  const { edge, stateDir } = invocation;
  const named = listOf(invocation, 'workspace').map((path) => resolve(edge.cwd, path));
  if (named.length === 0) return named;
  const forbidden = new ForbiddenPlaces({ stateDir: stateDir.path, home: edge.env.home });
  for (const path of named) demandRoot(path, '--workspace', forbidden);
  return named;
}

/** The flags that grant the client its roots: of --workspace, else those of the entry, else the project of the file. */
function rootFlags(invocation: Invocation, { client, scope, source, own }: ClientTarget): readonly string[] {
  const { edge, stateDir } = invocation;
  const named = namedRoots(invocation);
  if (named.length > 0) return wordsOf(named);
  const kept = rootsIn(client, serverNamed(source, own.server)?.value);
  if (kept.length > 0 || scope !== 'project') return wordsOf(kept);
  const forbidden = new ForbiddenPlaces({ stateDir: stateDir.path, home: edge.env.home });
  return forbidden.againstRoot(settle(edge.cwd)) === null ? wordsOf([edge.cwd]) : [];
}

function wordsOf(roots: readonly string[]): readonly string[] {
  return roots.flatMap((path) => ['--workspace', path]);
}

/** A token that gets into no file does not stay. */
async function orRevoke<T>(invocation: Invocation, made: MintedToken | null, act: () => T): Promise<T> {
  try {
    return act();
  } catch (error) {
    if (made !== null) await revoke(invocation, made.text);
    throw error;
  }
}

/** Nor does one whose entry has become a command. */
async function revokeUnused(
  invocation: Invocation,
  { source, own }: ClientTarget,
): Promise<readonly string[]> {
  const { http, wrap } = invocation.flags;
  const held = http === true || wrap !== undefined ? null : tokenAt(source, own);
  const id = held === null ? null : await revoke(invocation, held);
  return id === null ? [] : [`The token ${id} of the old entry was revoked.`];
}

function notesOf(invocation: Invocation, target: ClientTarget, isFetched: boolean): readonly string[] {
  const { client, scope, file, source } = target;
  const { flags } = invocation;
  const notes: string[] = [];
  if (flags.http === true) {
    notes.push('The file holds a token now, so only you can read it (mode 600). Do not share it.');
    notes.push('The address answers while `palisade serve` runs.');
  }
  if (scope === 'project')
    notes.push(
      'The entry has paths of this machine. Others who share the project run `palisade connect` themselves.',
    );
  else if (flags.file === undefined && !isFound(client, machineOf(invocation)))
    notes.push(`${client.name} was not found on this machine.`);
  const needsRoot =
    flags.http !== true && flags.wrap === undefined && rootFlags(invocation, target).length === 0;
  if (needsRoot && client.isDesktop)
    notes.push(
      `${client.name} starts palisade outside of any project, where its commands are refused unless process.workspaces in palisade.toml names a directory. Run \`palisade connect ${client.id} --workspace DIR\` with the directory that they may work in.`,
    );
  else if (needsRoot)
    notes.push(
      `Unless process.workspaces in palisade.toml names directories, commands of ${client.name} work where it starts palisade, and only if that is in a project. Name directories with --workspace DIR.`,
    );
  if (typeof flags.wrap === 'string') {
    const entry = serverNamed(source, flags.wrap)?.value;
    notes.push(...wrapNotes(invocation, client, { server: flags.wrap, entry, isFetched }));
  }
  if (programOf().isTemporary)
    notes.push(
      'palisade was started by npx, whose cache may be cleaned. Install palisade to stay connected.',
    );
  if (client.format === 'json' && file.text !== null && file.text.trim() !== '' && hasExtras(file.text))
    notes.push(`The file has comments or trailing commas, which ${client.name} may not accept.`);
  return notes;
}

type WrapFacts = { readonly server: string; readonly entry: unknown; readonly isFetched: boolean };

function wrapNotes(
  invocation: Invocation,
  client: McpClient,
  { server, entry, isFetched }: WrapFacts,
): readonly string[] {
  const notes: string[] = [];
  if (invocation.flags.workspace === undefined)
    notes.push(
      `${server} may write to the folder in which ${client.name} starts it, which must be a project. Name another folder with --workspace DIR.`,
    );
  notes.push(
    `${server} runs in a sandbox now: it has no network, and its tool calls need your approval. Flags of \`palisade mcp wrap\` before "--" in the entry change that.`,
  );
  notes.push(...packageNotes(invocation, server, commandIn(client, entry), isFetched));
  const { withheld } = variablesIn(entry);
  if (withheld.length > 0)
    notes.push(
      `These variables are not passed on: ${withheld.map((name) => quote(name)).join(', ')}. For a token or a password, define a secret in palisade.toml and name it with --secret.`,
    );
  return notes;
}

/** The command line of a server itself, whether it is wrapped already or not. */
function commandIn(client: McpClient, entry: unknown): readonly string[] {
  return wrappedIn(client, entry) ?? argvOf(client, entry) ?? [];
}

function packageNotes(
  { stateDir, edge }: Invocation,
  server: string,
  command: readonly string[],
  isFetched: boolean,
): readonly string[] {
  const read = isFetched ? null : readPackageCommand(command);
  if (read === null) return [];
  if (!read.ok) return [`${server} does not start: ${sentenceOf(read.problem)}. ${read.problem.hint}`];
  const fetch = `palisade package add${stateFlag(stateDir.path, edge.env)} -- ${command.map(shellWord).join(' ')}`;
  return [`Its package is fetched once, by you: \`${fetch}\`.`];
}
