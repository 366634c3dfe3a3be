import { isDeepStrictEqual } from 'node:util';
import { CodedError } from '../../../core/coded-error.ts';
import type { ValuePath } from '../../../core/result.ts';
import { wrongUsage } from '../input.ts';
import type { McpClient } from './clients.table.ts';
import { at, isTable, plain, tokenIn } from './entry.ts';
import { type FileFormat, Uneditable } from './formats/format.ts';
import { json } from './formats/json.ts';
import { toml } from './formats/toml.ts';
import { yaml } from './formats/yaml.ts';

/*
 * The servers in the file of a client: found, added, changed and removed, in any format. Pure: a text goes in, a text comes
 * out. Every edit is read back: exactly one server differs and has the wanted value, or the edit is refused with the line
 * that its owner can paste.
 */

const FORMATS: Readonly<Record<McpClient['format'], FileFormat>> = { json, jsonc: json, yaml, toml };

/** The text of a client's file; `name` is what messages call the file. */
export type Source = { readonly client: McpClient; readonly name: string; readonly text: string };

type Entry = Readonly<Record<string, unknown>>;
export type Server = { readonly name: string; readonly path: ValuePath; readonly value: unknown };

/** A server that cannot be edited alone; `byHand` is what its owner can do instead. */
export class UneditableServer extends CodedError {
  readonly byHand: string;

  constructor(source: Source, server: string, entry: Entry | null, why: string) {
    const { name, client } = source;
    const byHand = instruction(source, server, entry);
    const message = `Cannot edit "${server}" in "${name}": ${why}, expected ${client.key} in its usual form`;
    super('door/wrong-usage', message, { remedy: `Nothing was changed. ${byHand}` });
    this.byHand = byHand;
  }
}

/** What the file says; one that cannot be read is refused with the position. */
export function readSource({ client, name, text }: Source): Entry {
  const { name: language, read } = FORMATS[client.format];
  const parsed = read(text);
  if (!parsed.ok) {
    const { is, position } = parsed.problem;
    const where = position === undefined ? '' : `:${position.line}:${position.column}`;
    throw untouched(
      `Cannot read "${name}${where}": it is not valid ${language} (${is}), expected ${language}`,
    );
  }
  if (!isTable(parsed.value)) throw wrongType(name, 'the whole file', parsed.value, 'an object');
  return parsed.value;
}

/** The servers of a file, in its order. */
export function serversIn(source: Source): readonly Server[] {
  return serversOf(source, readSource(source));
}

function serversOf({ client, name: file }: Source, document: Entry): readonly Server[] {
  const { key, isList } = client;
  const held = at(document, [key]) ?? (isList ? [] : {});
  if (isList && Array.isArray(held))
    return held.map((value, i) => ({ name: String(at(value, ['name']) ?? ''), path: [key, i], value }));
  if (!isList && isTable(held))
    return Object.entries(held).map(([name, value]) => ({ name, path: [key, name], value }));
  throw wrongType(file, key, held, isList ? 'a list' : 'an object');
}

export function serverNamed(source: Source, name: string): Server | undefined {
  return serversIn(source).find((server) => server.name === name);
}

/** The text in which that server has that entry (null: is absent) and nothing else differs. */
export function withServer(source: Source, name: string, entry: Entry | null): string {
  try {
    const text = edited(source, serverNamed(source, name), name, entry);
    // Boundary: the file is the user's. Whatever was not meant to change reads as before, or nothing is written.
    if (differsOnlyIn(source, text, name, entry)) return text;
  } catch (error) {
    if (!(error instanceof Uneditable)) throw error;
    throw new UneditableServer(source, name, entry, error.message);
  }
  throw new UneditableServer(source, name, entry, 'more would change than the entry');
}

/** The text without the key that contains the servers, once there are none. */
export function withoutHolder(source: Source): string {
  const { client, text } = source;
  try {
    const bare = FORMATS[client.format].drop(text, [client.key]);
    if (differsOnlyIn(source, bare, '', null)) return bare;
  } catch (error) {
    if (!(error instanceof Uneditable)) throw error;
  }
  return text;
}

function edited(
  { client, text }: Source,
  old: Server | undefined,
  name: string,
  entry: Entry | null,
): string {
  const { insert, put, drop } = FORMATS[client.format];
  if (entry === null) return old === undefined ? text : drop(text, old.path);
  if (old === undefined) return insert(text, client, name, plain(entry));
  const fields = isTable(old.value) ? old.value : {};
  const stale = Object.keys(fields).filter((field) => !Object.hasOwn(entry, field));
  const without = stale.reduce((each, field) => drop(each, [...old.path, field]), text);
  return Object.entries(entry)
    .filter(([field, value]) => !same(at(fields, [field]), value))
    .reduce((each, [field, value]) => put(each, [...old.path, field], plain(value)), without);
}

/** Whether both texts say the same of everything but that server, and the new one has that entry of it. */
function differsOnlyIn(source: Source, text: string, name: string, entry: Entry | null): boolean {
  const { key, format } = source.client;
  const after = FORMATS[format].read(text);
  if (!after.ok || !isTable(after.value)) return false;
  const partsOf = (document: Entry) => {
    const servers = serversOf(source, document);
    const others = servers.flatMap((each) => (each.name === name ? [] : [[each.name, each.value]]));
    return { ...document, [key]: others };
  };
  const found = serversOf(source, after.value).find((each) => each.name === name);
  return same(partsOf(after.value), partsOf(readSource(source))) && same(found?.value ?? null, entry);
}

/** Whether two values are equal, whatever objects their parsers make and in which order the keys are. */
export function same(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(bare(one), bare(other));
}

function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (!isTable(value)) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(value)) copy[key] = bare(value[key]);
  return copy;
}

function instruction(source: Source, server: string, entry: Entry | null): string {
  const { client } = source;
  if (entry === null) return `Remove "${server}" from ${client.key} by hand.`;
  const old = serverNamed(source, server)?.value;
  // Boundary: only keys that differ are shown: others may hold secrets of the owner. Nor is a token of ours shown.
  const fresh = Object.entries(entry).filter(([field, value]) => !same(at(old, [field]), value));
  const shown = FORMATS[client.format].line(client, server, plain(Object.fromEntries(fresh)));
  const token = tokenIn(client, entry);
  const line = token === null ? shown : shown.replaceAll(token, 'TOKEN');
  return old === undefined
    ? `Add this line to ${client.key} by hand: ${line}`
    : `Change these keys of "${server}" in ${client.key} by hand: ${line}`;
}

function wrongType(name: string, what: string, value: unknown, expected: string): CodedError {
  const kind = Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value;
  return untouched(
    `Cannot use "${name}": ${what} is ${kind === 'object' ? 'an' : 'a'} ${kind}, expected ${expected}`,
  );
}

function untouched(message: string): CodedError {
  return wrongUsage(message, 'Nothing was changed. Correct the file, or name another one with --file.');
}
