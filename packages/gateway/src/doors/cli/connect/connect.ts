import { basename, resolve } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { demandWritable, keepBackup, PRIVATE, readClientFile, writeClientFile } from './client-file.ts';
import { CLIENTS, type McpClient } from './clients.table.ts';
import { argvOf, isOurs, upstreamName, variablesIn, wrappedIn } from './entry.ts';
import { hasExtras } from './formats/json.ts';
import { type Planned, planConnect, planWrap, tokenAt, type Wrapper } from './plan.ts';
import {
  type ConnectOutcome,
  type ListedClient,
  printClients,
  printOutcome,
  UNCHANGED,
  unifiedDiff,
} from './print.ts';
import { serverNamed, serversIn } from './servers.ts';
import {
  agentOf,
  type ClientTarget,
  chooseClient,
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
/** Programs that download what they start. */
const DOWNLOADERS = /(?:^|[\\/])(?:npx|bunx|pnpx|uvx|pipx)(?:\.cmd|\.exe)?$/;
const FLAGS = ['http', 'project', 'wrap', 'workspace', 'dry-run', 'file', 'name', 'as'];

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

function listed(invocation: Invocation, client: McpClient, url: string): ListedClient {
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
  const { flags } = invocation;
  const agent = formatPrincipal(agentOf(invocation, client));
  const target = await targetOf(invocation, client);
  const { file, source, own, scope } = target;
  const wrapped = textOf(invocation, 'wrap');
  demandCompatible(invocation, client);
  const held = flags.http === true ? await validToken(invocation, target) : null;
  const plan = (token: string): Planned => {
    if (wrapped !== undefined) return planWrap(source, wrapped, wrapperOf(invocation, wrapped, agent));
    if (flags.http === true) return planConnect(source, own, { kind: 'http', url: own.url, token });
    const argv = [...programOf().argv, 'mcp', '--as', agent, '--state', invocation.stateDir.path];
    return planConnect(source, own, { kind: 'stdio', argv });
  };
  const planned = plan(held ?? TOKEN_TO_COME);
  const server = wrapped ?? own.server;
  const dryRun = flags['dry-run'] === true;
  const about = { client: client.id, dryRun, server, as: agent, scope, file: file.path, ...UNCHANGED };
  if (planned === null)
    return { ...about, status: wrapped === undefined ? 'already connected' : 'already wrapped' };
  const status = wrapped !== undefined ? 'wrapped' : planned.isNew ? 'connected' : 'updated';
  const diff = unifiedDiff(file.path, file.text ?? '', planned.text);
  const notes = notesOf(invocation, target);
  if (dryRun) return { ...about, status, diff, notes };
  demandWritable(file);
  const made = flags.http === true && held === null ? await mint(invocation, target) : null;
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
  if (flags.workspace !== undefined && flags.wrap === undefined)
    throw wrongUsage('Cannot use --workspace alone: it is for a wrapped server, expected --wrap SERVER');
  if (flags.http !== true) return;
  if (typeof flags.wrap === 'string')
    throw wrongUsage(
      'Cannot use --http with --wrap: a wrapped server is started by a command, expected one of them',
    );
  if (http === null)
    throw wrongUsage(
      `Cannot connect ${id} with --http: the file of ${name} has no key for an address, expected no --http`,
    );
  // Boundary: files of projects are shared with others, who would have the token as well.
  if (flags.project === true)
    throw wrongUsage(
      'Cannot use --http with --project: the token would be in a shared file, expected one of them',
    );
}

function wrapperOf(invocation: Invocation, server: string, agent: string): Wrapper {
  const { stateDir, edge } = invocation;
  const folder = textOf(invocation, 'workspace');
  const workspace = folder === undefined ? [] : ['--workspace', resolve(edge.cwd, folder)];
  const flags = ['--name', upstreamName(server), '--as', agent, '--state', stateDir.path, ...workspace];
  return { program: programOf().argv, flags: ['mcp', 'wrap', ...flags] };
}

function mint(invocation: Invocation, { client, own }: ClientTarget): Promise<MintedToken> {
  return makeToken(invocation, agentOf(invocation, client), `${client.name} (${own.server})`);
}

/** The token that the file has already, where it is still valid. */
async function validToken(invocation: Invocation, { source, own }: ClientTarget): Promise<string | null> {
  const held = tokenAt(source, own);
  return held !== null && (await isValid(invocation, held)) ? held : null;
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

function notesOf(invocation: Invocation, { client, scope, file, source }: ClientTarget): readonly string[] {
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
  if (typeof flags.wrap === 'string') {
    const entry = serverNamed(source, flags.wrap)?.value;
    notes.push(...wrapNotes(client, flags.wrap, entry, flags.workspace === undefined));
  }
  if (programOf().isTemporary)
    notes.push(
      'palisade was started by npx, whose cache may be cleaned. Install palisade to stay connected.',
    );
  if (client.format === 'json' && file.text !== null && file.text.trim() !== '' && hasExtras(file.text))
    notes.push(`The file has comments or trailing commas, which ${client.name} may not accept.`);
  return notes;
}

function wrapNotes(
  client: McpClient,
  server: string,
  entry: unknown,
  isAnywhere: boolean,
): readonly string[] {
  const notes: string[] = [];
  if (isAnywhere)
    notes.push(
      `${server} may write to the folder in which ${client.name} starts it, which must be a project. Name another folder with --workspace DIR.`,
    );
  notes.push(
    `${server} runs in a sandbox now: it has no network, and its tool calls need your approval. Flags of \`palisade mcp wrap\` before "--" in the entry change that.`,
  );
  const [program = ''] = wrappedIn(client, entry) ?? argvOf(client, entry) ?? [];
  if (DOWNLOADERS.test(program))
    notes.push(
      `${basename(program)} cannot download anything in the sandbox. Install the server, and have the entry start the installed files.`,
    );
  const variables = variablesIn(entry);
  if (variables.length > 0)
    notes.push(
      `Its variables are not passed on (${variables.join(', ')}). Pass what it needs with --env or --secret.`,
    );
  return notes;
}
