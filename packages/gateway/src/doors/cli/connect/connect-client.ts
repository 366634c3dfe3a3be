import { basename, resolve } from 'node:path';
import { formatPrincipal } from '../../../core/principal.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { earlierTexts, keepBackup } from './backups.ts';
import type { Client, Scope } from './client.ts';
import { demandWritable, isLink, removeClientFile, writeClientFile } from './client-file.ts';
import { type Entry, upstreamName, variablesIn, wordsOf, wrappedIn } from './entry.ts';
import { hasExtras } from './formats/json.ts';
import { isFound } from './places.ts';
import { type Lead, type Planned, planConnect, planDisconnect, planWrap, tokenAt } from './plan.ts';
import { programOf } from './program.ts';
import { placeFor, type Source } from './servers.ts';
import { agentOf, surroundingsOf, type Target, targetOf } from './target.ts';
import { isGood, type Made, makeToken, revoke } from './tokens.ts';
import { unifiedDiff } from './unified-diff.ts';

/* One client connected or disconnected: read, planned, and then, unless it is a trial, written. Nothing is done by halves. */

export type Status =
  | 'connected'
  | 'updated'
  | 'already connected'
  | 'wrapped'
  | 'already wrapped'
  | 'disconnected'
  | 'not connected';

/** What was done, as `--json` shows it. */
export type Done = {
  readonly client: string;
  readonly status: Status;
  /** Nothing was written: it was a trial. */
  readonly dryRun: boolean;
  readonly server: string;
  readonly as: string;
  readonly scope: Scope;
  readonly file: string;
  /** What the file was before; null: there was none, or it stays as it is. */
  readonly backup: string | null;
  readonly diff: string;
  readonly token: { readonly id: string; readonly expiresAt: string | null } | null;
  /** Servers that are started as before again. */
  readonly restored: readonly string[];
  readonly notes: readonly string[];
};

const PRIVATE = 0o600;
/** Stands for a token that is made when it is meant. */
const TOKEN_TO_COME = 'pls_TOKEN_THAT_IS_MADE_THEN';

/** Puts an entry for this gateway into the file of a client, or runs one of its servers through it (--wrap). */
export async function connectClient(invocation: Invocation, client: Client): Promise<Done> {
  const { flags, edge } = invocation;
  const agent = agentOf(invocation, client);
  const target = await targetOf(invocation, client);
  const wrapped = textOf(invocation, 'wrap');
  demandFits(invocation, client);
  const { file, source } = target;
  const isDryRun = flags['dry-run'] === true;
  let made: Made | null = null;
  let planned: Planned;
  if (wrapped !== undefined)
    planned = planWrap(source, wrapped, leadOf(invocation, wrapped, formatPrincipal(agent)));
  else if (flags.http !== true)
    planned = planConnect(source, target.aim, stdioEntry(invocation, formatPrincipal(agent)));
  else {
    const held = await goodToken(invocation, target);
    planned = planConnect(source, target.aim, httpEntry(target, held ?? TOKEN_TO_COME));
    demandWritable(file);
    if (planned !== null && held === null && !isDryRun) {
      made = await makeToken(invocation, agent, `${client.name} (${target.aim.server})`);
      planned = planConnect(source, target.aim, httpEntry(target, made.text));
    }
  }
  const server = wrapped ?? target.aim.server;
  const base = { client: client.id, dryRun: isDryRun, server, as: formatPrincipal(agent), ...about(target) };
  const status = statusOf(planned, wrapped !== undefined);
  if (planned === null) return { ...base, status, ...nothing() };
  const diff = unifiedDiff(file.path, file.text ?? '', planned.text);
  const notes = notesOf(invocation, target);
  if (isDryRun) return { ...base, status, ...nothing(), diff, notes };
  const backup = await orRevoke(invocation, made, () => {
    demandWritable(file);
    const kept = keepBackup(file, edge.clock.nowMs());
    writeClientFile(file, planned.text, flags.http === true ? PRIVATE : file.mode);
    return kept;
  });
  const token = made === null ? null : { id: made.id, expiresAt: made.expiresAt };
  return { ...base, status, ...nothing(), backup, diff: hidden(diff, made), token, notes };
}

/** Takes our entry out of the file of a client, starts its servers as before, and revokes the token that it had. */
export async function disconnectClient(invocation: Invocation, client: Client): Promise<Done> {
  const { flags, edge } = invocation;
  const target = await targetOf(invocation, client);
  const { file, source, aim } = target;
  const isDryRun = flags['dry-run'] === true;
  const base = {
    client: client.id,
    dryRun: isDryRun,
    server: aim.server,
    as: `agent:${client.id}`,
    ...about(target),
  };
  const earlier = earlierTexts(file);
  const undone = file.text === null ? null : planDisconnect(source, aim, earlier);
  if (undone === null) return { ...base, status: 'not connected', ...nothing() };
  const { token, restored } = undone;
  // A link to nothing would be left.
  const text = undone.text === null && isLink(file.path) ? '' : undone.text;
  const diff = unifiedDiff(file.path, file.text ?? '', text ?? '');
  const status = 'disconnected' as const;
  if (isDryRun) return { ...base, status, ...nothing(), diff: withoutToken(diff, token), restored };
  demandWritable(file);
  const isKnown = text === null || earlier.includes(text);
  const backup = isKnown ? null : keepBackup(file, edge.clock.nowMs());
  if (text === null) removeClientFile(file);
  else writeClientFile(file, text, file.mode);
  const id = token === null ? null : await revoke(invocation, token);
  const notes = text === null ? ['The file held nothing else, so it was removed.'] : [];
  const revoked = id === null ? null : { id, expiresAt: null };
  return {
    ...base,
    status,
    ...nothing(),
    backup,
    diff: withoutToken(diff, token),
    token: revoked,
    restored,
    notes,
  };
}

function demandFits({ flags }: Invocation, { id, name, http }: Client): void {
  if (flags.workspace !== undefined && flags.wrap === undefined)
    throw wrongUsage(
      'Cannot use --workspace alone: it is for a server that is wrapped, expected --wrap SERVER',
    );
  if (flags.http !== true) return;
  if (typeof flags.wrap === 'string')
    throw wrongUsage(
      'Cannot use --http with --wrap: a wrapped server is started by a command, expected one of them',
    );
  if (http === null)
    throw wrongUsage(
      `Cannot connect ${id} by --http: the file of ${name} can name no address, expected no --http`,
    );
  // Boundary: files of projects are shared with others, and a token in one is theirs as well.
  if (flags.project === true)
    throw wrongUsage(
      'Cannot use --http with --project: the token would be in a shared file, expected one of them',
    );
}

function stdioEntry({ stateDir }: Invocation, agent: string): Entry {
  return { kind: 'stdio', words: [...programOf().words, 'mcp', '--as', agent, '--state', stateDir.path] };
}

function httpEntry({ aim }: Target, token: string): Entry {
  return { kind: 'http', url: aim.url, token };
}

function leadOf(invocation: Invocation, server: string, agent: string): Lead {
  const { stateDir, edge } = invocation;
  const folder = textOf(invocation, 'workspace');
  const workspace = folder === undefined ? [] : ['--workspace', resolve(edge.cwd, folder)];
  const flags = ['--name', upstreamName(server), '--as', agent, '--state', stateDir.path, ...workspace];
  return { program: programOf().words, flags: ['mcp', 'wrap', ...flags] };
}

/** The token that the file has already, where it still opens the door. */
async function goodToken(invocation: Invocation, { source, aim }: Target): Promise<string | null> {
  const held = tokenAt(source, aim);
  return held !== null && (await isGood(invocation, held)) ? held : null;
}

/** A token that gets into no file is good for nobody, so it does not stay. */
async function orRevoke<T>(invocation: Invocation, made: Made | null, act: () => T): Promise<T> {
  try {
    return act();
  } catch (error) {
    if (made !== null) await revoke(invocation, made.text);
    throw error;
  }
}

function statusOf(planned: Planned, isWrap: boolean): Status {
  if (isWrap) return planned === null ? 'already wrapped' : 'wrapped';
  return planned === null ? 'already connected' : planned.isNew ? 'connected' : 'updated';
}

function notesOf(invocation: Invocation, { client, scope, file, source }: Target): readonly string[] {
  const { flags } = invocation;
  const notes: string[] = [];
  if (flags.http === true) {
    notes.push('The file has a token now, so it is for your eyes alone (mode 600); do not share it.');
    notes.push('The address answers while `palisade serve` runs.');
  }
  if (scope === 'project') notes.push('The entry names paths of this machine; others connect by themselves.');
  else if (flags.file === undefined && !isFound(client, surroundingsOf(invocation)))
    notes.push(`${client.name} was not found on this machine.`);
  if (typeof flags.wrap === 'string')
    notes.push(...wrapNotes(source, flags.wrap, flags.workspace === undefined));
  if (programOf().isPassing)
    notes.push('palisade was started by npx, which may clean it away; install it to stay connected.');
  if (client.format === 'json' && file.text !== null && file.text.trim() !== '' && hasExtras(file.text))
    notes.push(`The file has comments or trailing commas, which ${client.name} may not take.`);
  return notes;
}

/** Programs that fetch what they start. */
const FETCHERS = /(?:^|[\\/])(?:npx|bunx|pnpx|uvx|pipx)(?:\.cmd|\.exe)?$/;

function wrapNotes(source: Source, server: string, isAnywhere: boolean): readonly string[] {
  const { client } = source;
  const { value } = placeFor(source, server);
  const variables = variablesIn(value);
  const [program = ''] = wrappedIn(client, value) ?? wordsOf(client, value) ?? [];
  const where = `It may write where ${client.name} starts it, which must be the folder of a project: else add --workspace DIR.`;
  return [
    ...(isAnywhere ? [where] : []),
    'It is in a jail now: no network, and calls of its tools need your approval. Flags of `palisade mcp wrap`, put before -- in the entry, change that.',
    ...(FETCHERS.test(program)
      ? [
          `In there ${basename(program)} can fetch nothing: install the server, and have the entry start its files.`,
        ]
      : []),
    ...(variables.length === 0
      ? []
      : [
          `Its variables stay outside (${variables.join(', ')}): give it what it needs by --env or --secret.`,
        ]),
  ];
}

function about({ scope, file }: Target): Pick<Done, 'scope' | 'file'> {
  return { scope, file: file.path };
}

function nothing(): Pick<Done, 'backup' | 'diff' | 'token' | 'restored' | 'notes'> {
  return { backup: null, diff: '', token: null, restored: [], notes: [] };
}

function hidden(diff: string, made: Made | null): string {
  return made === null ? diff : withoutToken(diff, made.text);
}

/** Boundary: a token is in the file, and neither on the screen nor in what is logged of it. */
function withoutToken(diff: string, token: string | null): string {
  return token === null ? diff : diff.replaceAll(token, 'pls_…');
}
