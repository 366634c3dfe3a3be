import { chooseClient } from '../connect/choose-client.ts';
import { connectClient } from '../connect/connect-client.ts';
import { listClients } from '../connect/list-clients.ts';
import { surroundingsOf, urlOf } from '../connect/target.ts';
import { tellDone } from '../connect/tell.ts';
import { wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [id] = invocation.args;
  if (id === undefined || invocation.flags.list === true) return list(invocation);
  const client = chooseClient(id);
  await tellDone(invocation, client, await connectClient(invocation, client));
  return 0;
}

async function list(invocation: Invocation): Promise<number> {
  const { print, args, flags } = invocation;
  const odd = ['http', 'project', 'wrap', 'workspace', 'dry-run', 'file', 'name', 'as'].find(
    (name) => flags[name] !== undefined,
  );
  if (args.length > 0 || odd !== undefined)
    throw wrongUsage(
      `Cannot list the clients with ${odd === undefined ? 'a CLIENT' : `--${odd}`}: expected a CLIENT or --list`,
    );
  const clients = listClients(surroundingsOf(invocation), await urlOf(invocation));
  if (print.json) {
    print.document({ clients });
    return 0;
  }
  const stateOf = (names: readonly string[], wrapped: readonly string[], problem: string | null): string =>
    problem !== null
      ? 'unreadable'
      : [...names, ...wrapped.map((name) => `${name} (wrapped)`)].join(', ') || '-';
  print.table(
    ['CLIENT', 'NAME', 'FOUND', 'CONNECTED', 'FILE'],
    clients.map(({ id, name, found, connected, wrapped, problem, file }) => [
      id,
      name,
      found ? 'yes' : '-',
      stateOf(connected, wrapped, problem),
      file,
    ]),
  );
  print.note('→', 'cyan', ' palisade connect CLIENT');
  return 0;
}
