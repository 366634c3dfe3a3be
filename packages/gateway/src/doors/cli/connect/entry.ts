import type { Json } from '../../../core/json.ts';
import { hasToken } from '../../../identity/tokens.ts';
import type { Client } from './client.ts';
import { at, isTable, plain, withAt } from './values.ts';

/* What an entry says: how a client reaches this gateway. Made for each client in its own form, and recognised again. */

/** How a client is to reach the gateway. */
export type Entry =
  | { readonly kind: 'stdio'; readonly words: readonly string[] }
  | { readonly kind: 'http'; readonly url: string; readonly token: string | null };

type Value = { readonly [key: string]: Json };

/** What stands in front of the words of a server that is run through the gateway. */
const END_OF_FLAGS = '--';

/** The entry as the file of this client has it. */
export function valueFor(client: Client, name: string, entry: Entry): Value {
  const named = client.isNamed ? { name } : {};
  if (entry.kind === 'stdio') return { ...named, ...client.stdio.more, ...commandFor(client, entry.words) };
  const { http } = client;
  if (http === null) throw new TypeError(`Cannot write an address for ${client.id}: its file can name none`);
  const value = { ...named, ...http.more, [http.url]: entry.url };
  if (entry.token === null) return value;
  return plain(withAt(value, [...http.headers, 'Authorization'], `Bearer ${entry.token}`)) as Value;
}

/** The keys that start a command, and no others. */
export function commandFor({ stdio }: Client, words: readonly string[]): Value {
  const [command = '', ...args] = words;
  if (stdio.args === null) return { [stdio.command]: [...words] };
  return { [stdio.command]: command, [stdio.args]: args };
}

/** Every key that either form uses, so that changing from one to the other leaves none behind. */
export function keysOf({ stdio, http }: Client): readonly string[] {
  const keys = [stdio.command, stdio.args, ...Object.keys(stdio.more)];
  const others = http === null ? [] : [http.url, http.headers[0] ?? null, ...Object.keys(http.more)];
  return [...new Set([...keys, ...others])].filter((key) => key !== null);
}

/** The words by which a server is started; null when it is not started by a command. */
export function wordsOf({ stdio }: Client, value: unknown): readonly string[] | null {
  const command = at(value, [stdio.command]);
  const args = stdio.args === null ? [] : (at(value, [stdio.args]) ?? []);
  const words = [...(Array.isArray(command) ? command : [command]), ...(Array.isArray(args) ? args : [null])];
  return words.length > 0 && words.every((word) => typeof word === 'string') ? words : null;
}

/** The words of `palisade` itself in a command; null when it starts something else. */
export function ownWords(client: Client, value: unknown): readonly string[] | null {
  const words = wordsOf(client, value) ?? [];
  const index = words.slice(0, 2).findIndex((word) => /(^|[\\/])palisade(\.js|\.cmd|\.exe)?$/.test(word));
  const own = words.slice(index + 1);
  return index !== -1 && own[0] === 'mcp' ? own : null;
}

/** Whether an entry is one that leads to a gateway as such. */
export function isOurs(client: Client, value: unknown, url: string): boolean {
  const own = ownWords(client, value);
  if (own !== null) return own[1] !== 'wrap';
  if (client.http === null || !isTable(value)) return false;
  return at(value, [client.http.url]) === url || tokenIn(client, value) !== null;
}

/** The token of an entry; null when it has none of ours. */
export function tokenIn(client: Client, value: unknown): string | null {
  const header = client.http === null ? undefined : at(value, [...client.http.headers, 'Authorization']);
  const token = typeof header === 'string' ? header.replace(/^Bearer /, '') : '';
  return hasToken(token) ? token : null;
}

/** The words of the server that an entry runs through the gateway; null when it runs none. */
export function wrappedIn(client: Client, value: unknown): readonly string[] | null {
  const own = ownWords(client, value);
  if (own?.[1] !== 'wrap') return null;
  const end = own.indexOf(END_OF_FLAGS);
  return end === -1 || end === own.length - 1 ? null : own.slice(end + 1);
}

/** The names of the variables that an entry gives its server. */
export function variablesIn(value: unknown): readonly string[] {
  const found = ['env', 'envs', 'environment'].map((key) => at(value, [key])).find(isTable);
  return Object.keys(found ?? {});
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
