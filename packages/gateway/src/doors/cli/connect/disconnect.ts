import { CODES } from '@palisade/sdk';
import type { Invocation } from '../verb.ts';
import {
  demandWritable,
  earlierTexts,
  isLink,
  keepBackup,
  removeClientFile,
  writeClientFile,
} from './client-file.ts';
import type { McpClient } from './clients.table.ts';
import { isOurs } from './entry.ts';
import { type Disconnection, planDisconnect } from './plan.ts';
import { type ConnectOutcome, printOutcome, UNCHANGED, unifiedDiff } from './print.ts';
import { serversIn } from './servers.ts';
import { type ClientTarget, chooseClient, targetOf } from './target.ts';
import { revoke } from './tokens.ts';

/* `palisade disconnect`: our entry and every wrapping are undone, and what was done is said server by server. */

export async function run(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.args;
  const client = chooseClient(id);
  const outcome = await disconnectClient(invocation, client);
  await printOutcome(invocation, client, outcome);
  return outcome.kept.length === 0 ? 0 : CODES['door/wrong-usage'].exitStatus;
}

/** Undoes the entries in one file of a client; with --dry-run it only says what it would do. */
export async function disconnectClient(invocation: Invocation, client: McpClient): Promise<ConnectOutcome> {
  const target = await targetOf(invocation, client);
  const { file, source, own, scope } = target;
  const dryRun = invocation.flags['dry-run'] === true;
  const as = `agent:${client.id}`;
  const about = { client: client.id, dryRun, server: own.server, as, scope, file: file.path, ...UNCHANGED };
  const earlier = earlierTexts(file);
  const undone = file.text === null ? null : planDisconnect(source, own, earlier);
  if (undone === null) return { ...about, status: 'not connected', notes: othersOf(target) };
  const { removed, unwrapped, kept } = undone;
  // With nothing undone, the first refusal says why and what to do.
  const [first] = kept;
  if (first !== undefined && removed === null && unwrapped.length === 0) throw first.refusal;
  // A removed file would leave a link to nothing.
  const text = undone.text === null && isLink(file.path) ? '' : undone.text;
  const outcome = {
    ...about,
    status: kept.length === 0 ? ('disconnected' as const) : ('partly disconnected' as const),
    diff: unifiedDiff(file.path, file.text ?? '', text ?? ''),
    removed,
    restored: unwrapped,
    identical: undone.isRestored,
    deleted: text === null,
    kept: kept.map(({ server, refusal: { message, byHand } }) => ({ server, message, remedy: byHand })),
    notes: othersOf(target),
  };
  return dryRun ? outcome : { ...outcome, ...(await write(invocation, target, undone, { text, earlier })) };
}

async function write(
  invocation: Invocation,
  { file }: ClientTarget,
  { token }: Disconnection,
  { text, earlier }: { readonly text: string | null; readonly earlier: readonly string[] },
): Promise<Pick<ConnectOutcome, 'backup' | 'token'>> {
  demandWritable(file);
  const isKnown = text === null || earlier.includes(text);
  const backup = isKnown ? null : keepBackup(file, invocation.edge.clock.nowMs());
  if (text === null) removeClientFile(file);
  else writeClientFile(file, text, file.mode);
  const id = token === null ? null : await revoke(invocation, token);
  return { backup, token: id === null ? null : { id, expiresAt: null } };
}

/** Entries of ours under other names stay until they are named. */
function othersOf({ source, own }: ClientTarget): readonly string[] {
  return serversIn(source)
    .filter(({ name, value }) => name !== own.server && isOurs(source.client, value, own.url))
    .map(({ name }) => `"${name}" leads to palisade as well. Remove it with --name ${name}.`);
}
