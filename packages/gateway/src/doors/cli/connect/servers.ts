import { CodedError } from '../../../core/coded-error.ts';
import type { Json } from '../../../core/json.ts';
import type { Client } from './client.ts';
import { type Path, Uneditable } from './formats/format.ts';
import { FORMAT_NAMES, FORMATS } from './formats/formats.ts';
import { at, isTable, same, withAt, withoutAt } from './values.ts';

/*
 * The servers in the file of a client: found, put in and taken out, in whatever language the file is. Pure: a text goes in,
 * a text comes out. Every edit is read back and compared with what was meant, and all else with what was there before: an
 * edit that does anything but what it should is refused here, before a byte is written.
 */

/** A file of a client, as a text; `name` is what messages call it. */
export type Source = { readonly client: Client; readonly name: string; readonly text: string };

/** One change of one value. Without a value it is taken out. */
export type Change = { readonly path: Path; readonly value?: Json };

export type Server = { readonly name: string; readonly path: Path; readonly value: unknown };

/** What the file says; one that cannot be read is refused with the place. */
export function readSource({ client, name, text }: Source): unknown {
  const parsed = FORMATS[client.format].read(text);
  if (!parsed.ok) {
    const where = parsed.place === null ? '' : `:${parsed.place.line}:${parsed.place.column}`;
    const language = FORMAT_NAMES[client.format];
    throw untouched(
      `Cannot read "${name}${where}": it is no ${language} (${parsed.why}), expected ${language}`,
    );
  }
  if (!isTable(parsed.value)) throw wrongType(name, 'the whole file', parsed.value, 'an object');
  return parsed.value;
}

/** The servers of a file, in its order. */
export function serversIn(source: Source): readonly Server[] {
  const { client } = source;
  const held = heldIn(source);
  if (Array.isArray(held))
    return held.map((value, i) => ({
      name: String(at(value, ['name']) ?? ''),
      path: [...client.key, i],
      value,
    }));
  return Object.entries(held).map(([name, value]) => ({ name, path: [...client.key, name], value }));
}

/** Where the server of a name is, or is to be. */
export function placeFor(source: Source, name: string): Server {
  const servers = serversIn(source);
  const found = servers.find((server) => server.name === name);
  const { key, isList } = source.client;
  return found ?? { name, path: [...key, isList ? servers.length : name], value: undefined };
}

/** What holds the servers; empty where the file has nothing of the kind yet. */
function heldIn(source: Source): readonly unknown[] | Readonly<Record<string, unknown>> {
  const { client, name } = source;
  const held = at(readSource(source), client.key) ?? null;
  if (held === null) return client.isList ? [] : {};
  if (client.isList ? Array.isArray(held) : isTable(held)) return held as readonly unknown[];
  throw wrongType(name, client.key.join('.'), held, client.isList ? 'a list' : 'an object');
}

/** The text with the changes made and nothing else. */
export function applyChanges(source: Source, changes: readonly Change[]): string {
  const format = FORMATS[source.client.format];
  let text = source.text;
  let meant = readSource(source);
  try {
    for (const { path, value } of changes) {
      text = value === undefined ? format.drop(text, path) : format.put(text, path, value);
      meant = value === undefined ? withoutAt(meant, path) : withAt(meant, path, value);
    }
  } catch (error) {
    if (!(error instanceof Uneditable)) throw error;
    throw byHand(source, error.message);
  }
  const read = format.read(text);
  // Boundary: the file is the user's. What was not meant to change must read as before, or nothing is changed.
  if (!read.ok || !sameServers(source.client, read.value, meant))
    throw byHand(source, 'more would change than the entry');
  return text;
}

/** A table that came to be by its only entry goes with it in TOML; empty and absent are the same there. */
function sameServers({ key, format }: Client, one: unknown, other: unknown): boolean {
  if (format !== 'toml') return same(one, other);
  const trim = (value: unknown): unknown => {
    const held = at(value, key);
    return typeof held === 'object' && held !== null && Object.keys(held).length === 0
      ? withoutAt(value, key)
      : value;
  };
  return same(trim(one), trim(other));
}

function byHand({ name, client }: Source, why: string): CodedError {
  return new CodedError(
    'door/wrong-usage',
    `Cannot edit "${name}": ${why}, expected a file with ${client.key.join('.')} in its usual form`,
    {
      remedy:
        'Nothing was changed; see what would be written with --dry-run --file NEWFILE, and add it by hand.',
    },
  );
}

function wrongType(name: string, what: string, value: unknown, expected: string): CodedError {
  const is = Array.isArray(value)
    ? 'a list'
    : value === null
      ? 'empty'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`;
  return untouched(`Cannot use "${name}": ${what} is ${is}, expected ${expected}`);
}

function untouched(message: string): CodedError {
  return new CodedError('door/wrong-usage', message, {
    remedy: 'Nothing was changed; correct the file, or name another one with --file.',
  });
}
