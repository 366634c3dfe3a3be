import type { Json, JsonObject } from '../../../core/json.ts';
import type { ValuePath } from '../../../core/result.ts';
import { hasToken } from '../../../identity/tokens.ts';
import { isForServers } from '../../../runner/environment.ts';
import type { McpClient } from './clients.table.ts';

/* One server in the file of a client: our entry in the form that the client reads, and how an entry of ours is recognised. */

/** How a client reaches the gateway. */
export type Connection =
  | { readonly kind: 'stdio'; readonly argv: readonly string[] }
  | { readonly kind: 'http'; readonly url: string; readonly token: string };

/** Ends the flags of `palisade mcp wrap`; the command of the wrapped server follows. */
const END_OF_FLAGS = '--';

/** The entry as the file of this client has it. */
export function entryFor(client: McpClient, name: string, connection: Connection): JsonObject {
  const named = client.isNamed ? { name } : {};
  if (connection.kind === 'stdio')
    return { ...named, ...client.stdio.more, ...commandFor(client, connection.argv) };
  const { http } = client;
  if (http === null)
    throw new TypeError(`Cannot write an address for ${client.id}: its file has no key for one`);
  const authorization: JsonObject = { Authorization: `Bearer ${connection.token}` };
  const headers = http.headers.reduceRight((inner, key) => ({ [key]: inner }), authorization);
  return { ...named, ...http.more, [http.url]: connection.url, ...headers };
}

/** The keys that start a command, and no others. */
export function commandFor({ stdio }: McpClient, argv: readonly string[]): JsonObject {
  const [command = '', ...args] = argv;
  if (stdio.args === null) return { [stdio.command]: [...argv] };
  return { [stdio.command]: command, [stdio.args]: args };
}

/** Every key that either form uses, so that a change from one to the other leaves none behind. */
export function keysOf({ stdio, http }: McpClient): readonly string[] {
  const keys = [stdio.command, stdio.args, ...Object.keys(stdio.more)];
  const others = http === null ? [] : [http.url, http.headers[0] ?? null, ...Object.keys(http.more)];
  return [...new Set([...keys, ...others])].filter((key) => key !== null);
}

/** The command line that starts a server; null when no command does. */
export function argvOf({ stdio }: McpClient, entry: unknown): readonly string[] | null {
  const command = at(entry, [stdio.command]);
  const args = stdio.args === null ? [] : (at(entry, [stdio.args]) ?? []);
  const argv = [...(Array.isArray(command) ? command : [command]), ...(Array.isArray(args) ? args : [null])];
  return argv.length > 0 && argv.every((each) => typeof each === 'string') ? argv : null;
}

/** The arguments of `palisade` where an entry starts `palisade mcp`; null when it starts something else. */
export function ownArguments(client: McpClient, entry: unknown): readonly string[] | null {
  const argv = argvOf(client, entry) ?? [];
  // As `palisade`, as a file of Node, and by a package runner with flags of its own: `npx -y palisade`.
  const index = argv.findIndex(
    (each, i) =>
      /(^|[\\/])palisade(\.js|\.cmd|\.exe|@[\w.-]+)?$/.test(each) &&
      argv.slice(1, i).every((flag) => flag.startsWith('-')),
  );
  const own = argv.slice(index + 1);
  return index !== -1 && own[0] === 'mcp' ? own : null;
}

/** The directories that an entry of ours grants the client. */
export function rootsIn(client: McpClient, entry: unknown): readonly string[] {
  const own = ownArguments(client, entry) ?? [];
  if (own[1] === 'wrap') return [];
  return own.filter((_, index) => own[index - 1] === '--workspace');
}

/** Whether an entry leads to a gateway itself. */
export function isOurs(client: McpClient, entry: unknown, url: string): boolean {
  const own = ownArguments(client, entry);
  if (own !== null) return own[1] !== 'wrap';
  if (client.http === null || !isTable(entry)) return false;
  return at(entry, [client.http.url]) === url || tokenIn(client, entry) !== null;
}

/** The token of an entry; null when it has none of ours. */
export function tokenIn(client: McpClient, entry: unknown): string | null {
  const header = client.http === null ? undefined : at(entry, [...client.http.headers, 'Authorization']);
  const token = typeof header === 'string' ? header.replace(/^Bearer /, '') : '';
  return hasToken(token) ? token : null;
}

/** The command line of the server that an entry runs through the gateway; null when it runs none. */
export function wrappedIn(client: McpClient, entry: unknown): readonly string[] | null {
  const own = ownArguments(client, entry);
  if (own?.[1] !== 'wrap') return null;
  const end = own.indexOf(END_OF_FLAGS);
  return end === -1 || end === own.length - 1 ? null : own.slice(end + 1);
}

/** Keys of clients for the variables of a server: a table of them, or a list of names that the client has values for. */
const VARIABLE_KEYS = ['env', 'envs', 'environment', 'env_vars', 'env_keys'];

/** The names of the variables that an entry gives its server: those that a wrapped one gets, and those that none gets. */
export function variablesIn(entry: unknown) {
  const names = VARIABLE_KEYS.map((key) => at(entry, [key])).flatMap((found) =>
    Array.isArray(found)
      ? found.filter((each) => typeof each === 'string')
      : Object.keys(isTable(found) ? found : {}),
  );
  const passed = [...new Set(names)].filter(isForServers);
  return { passed, withheld: [...new Set(names)].filter((name) => !passed.includes(name)) };
}

/** A name that an upstream server may have, as near as possible to the one in the file. */
export function upstreamName(server: string): string {
  const parts =
    server
      .normalize('NFKD')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const name = parts
    .join('-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 32)
    .replace(/-$/, '');
  return name === '' ? 'server' : name;
}

/** The value at the end of a path; undefined where it is missing. */
export function at(value: unknown, path: ValuePath): unknown {
  let here = value;
  for (const step of path) {
    // Boundary: only keys of the file itself, never inherited ones.
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}

/** Whether a value is an object with keys, and not a list. */
export function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The same as plain JSON, whatever objects the parser makes. */
export function plain(value: unknown): Json {
  const text = JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each));
  return text === undefined ? null : (JSON.parse(text) as Json);
}
