import { CodedError } from '../../../core/coded-error.ts';
import {
  commandFor,
  type Entry,
  isOurs,
  keysOf,
  ownWords,
  tokenIn,
  valueFor,
  wordsOf,
  wrappedIn,
} from './entry.ts';
import {
  applyChanges,
  type Change,
  placeFor,
  readSource,
  type Server,
  type Source,
  serversIn,
} from './servers.ts';
import { at, plain, same } from './values.ts';

/* From the text of a file and a wish to the text that it becomes. Pure: golden files show what each client gets. */

/** What an entry is called in the file, and by which address one of ours is known. */
export type Aim = { readonly server: string; readonly url: string };

/** Null: all is as it should be. */
export type Planned = { readonly text: string; readonly isNew: boolean } | null;

/** The file with an entry for this gateway. A server of that name that is not ours is left alone and refused. */
export function planConnect(source: Source, aim: Aim, entry: Entry): Planned {
  const { client } = source;
  const found = placeFor(source, aim.server);
  const value = valueFor(client, aim.server, entry);
  if (found.value === undefined)
    return { text: applyChanges(source, [{ path: found.path, value }]), isNew: true };
  if (!isOurs(client, found.value, aim.url)) throw nameTaken(source, aim.server);
  const stale = keysOf(client).filter(
    (key) => !Object.hasOwn(value, key) && at(found.value, [key]) !== undefined,
  );
  const changes: Change[] = stale.map((key) => ({ path: [...found.path, key] }));
  for (const [key, wanted] of Object.entries(value))
    if (!same(at(found.value, [key]), wanted)) changes.push({ path: [...found.path, key], value: wanted });
  return changes.length === 0 ? null : { text: applyChanges(source, changes), isNew: false };
}

/** The token of the entry that is there already; null when there is none. */
export function tokenAt(source: Source, aim: Aim): string | null {
  const { value } = placeFor(source, aim.server);
  return value !== undefined && isOurs(source.client, value, aim.url) ? tokenIn(source.client, value) : null;
}

/** The words that start a server through the gateway: those of this program, and what it is told. */
export type Lead = { readonly program: readonly string[]; readonly flags: readonly string[] };

/** The file with a server of it started through the gateway. What its owner tells one that already is stays. */
export function planWrap(source: Source, server: string, { program, flags }: Lead): Planned {
  const { client, name } = source;
  const found = placeFor(source, server);
  if (found.value === undefined) {
    const names = serversIn(source).map((each) => each.name);
    const expected =
      names.length === 0 ? 'a server of that file, which has none' : `one of: ${names.join(', ')}`;
    throw refuse(`Cannot wrap "${server}": it is not in "${name}", expected ${expected}`);
  }
  if (isOurs(client, found.value, ''))
    throw refuse(`Cannot wrap "${server}": it leads to palisade already, expected another server`);
  const words = wordsOf(client, found.value);
  if (words === null)
    throw refuse(`Cannot wrap "${server}": it is not started by a command, expected a server that is`);
  const told =
    wrappedIn(client, found.value) === null ? [...flags, '--', ...words] : ownWords(client, found.value);
  const changes = commandChanges(source, found, [...program, ...(told ?? [])]);
  return changes.length === 0 ? null : { text: applyChanges(source, changes), isNew: false };
}

export type Undone = {
  /** Null: nothing is left, so the file goes. */
  readonly text: string | null;
  readonly removed: string | null;
  readonly restored: readonly string[];
  readonly token: string | null;
};

/**
 * The file as if it had never been connected: the entry is gone, and servers that were wrapped are started as before. Where
 * one of the texts that it had `earlier` becomes the present one by the same entries, that is what comes back.
 */
export function planDisconnect(source: Source, aim: Aim, earlier: readonly string[]): Undone | null {
  const { client } = source;
  const own = placeFor(source, aim.server);
  const hasOwn = own.value !== undefined && isOurs(client, own.value, aim.url);
  const wrapped = serversIn(source).filter(({ value }) => wrappedIn(client, value) !== null);
  if (!hasOwn && wrapped.length === 0) return null;
  const entries = hasOwn ? [own, ...wrapped] : wrapped;
  const before = [...earlier, ...(earlier.length === 0 ? [''] : [])].find((text) =>
    isBefore({ ...source, text }, source, entries),
  );
  const text = before ?? undone(source, hasOwn ? own : null, wrapped, earlier);
  return {
    text: before === '' && earlier.length === 0 ? null : text,
    removed: hasOwn ? own.name : null,
    restored: wrapped.map(({ name }) => name),
    token: hasOwn ? tokenIn(client, own.value) : null,
  };
}

/** Whether the present text is an older one with these entries and nothing else. */
function isBefore(old: Source, now: Source, entries: readonly Server[]): boolean {
  if (!isReadable(old)) return false;
  const changes: Change[] = [];
  for (const { name, value } of entries) {
    const place = placeFor(old, name);
    const isWrapped = wrappedIn(old.client, value) !== null;
    // An entry of ours was not there before, and a server that is wrapped was.
    if (isWrapped !== (place.value !== undefined)) return false;
    if (isWrapped) changes.push(...commandChanges(old, place, wordsOf(old.client, value) ?? []));
    else changes.push({ path: place.path, value: plain(value) });
  }
  try {
    return applyChanges(old, changes) === now.text;
  } catch (error) {
    if (error instanceof CodedError) return false;
    throw error;
  }
}

function undone(
  source: Source,
  own: Server | null,
  wrapped: readonly Server[],
  earlier: readonly string[],
): string {
  const olds = earlier.map((text) => ({ ...source, text }));
  const changes = wrapped.flatMap((server) => {
    const words = wrappedIn(source.client, server.value) ?? [];
    return unwrapping(source, server, words, olds);
  });
  // Elements of a list have numbers, so those are changed before one is taken out.
  if (own !== null) changes.push({ path: own.path });
  const text = applyChanges(source, changes);
  const after = { ...source, text };
  const isBare = own !== null && serversIn(after).length === 0 && olds.some((old) => serversAbsent(old));
  return isBare && !serversAbsent(after) ? applyChanges(after, [{ path: source.client.key }]) : text;
}

function unwrapping(
  source: Source,
  server: Server,
  words: readonly string[],
  olds: readonly Source[],
): Change[] {
  const { client } = source;
  const { args } = client.stdio;
  const changes = commandChanges(source, server, words);
  const hadNone = olds.some((old) => isReadable(old) && hasNoArgs(old, server.name, args));
  if (args === null || words.length > 1 || !hadNone) return changes;
  return [...changes.filter(({ path }) => path[path.length - 1] !== args), { path: [...server.path, args] }];
}

function hasNoArgs(old: Source, name: string, args: string | null): boolean {
  const { value } = placeFor(old, name);
  return (
    value !== undefined && wrappedIn(old.client, value) === null && at(value, [args ?? '']) === undefined
  );
}

function commandChanges({ client }: Source, { path, value }: Server, words: readonly string[]): Change[] {
  return Object.entries(commandFor(client, words))
    .filter(([key, wanted]) => !same(at(value, [key]), wanted))
    .map(([key, wanted]) => ({ path: [...path, key], value: wanted }));
}

function isReadable(source: Source): boolean {
  try {
    serversIn(source);
    return true;
  } catch (error) {
    if (error instanceof CodedError) return false;
    throw error;
  }
}

/** Whether a file has no place for servers at all. */
function serversAbsent(source: Source): boolean {
  return isReadable(source) && at(readSource(source), source.client.key) === undefined;
}

function nameTaken({ name, client }: Source, server: string): CodedError {
  return new CodedError(
    'door/wrong-usage',
    `Cannot connect ${client.name}: "${server}" in "${name}" is another server, expected ours or a free name`,
    { remedy: 'Choose another name with --name.' },
  );
}

function refuse(message: string): CodedError {
  return new CodedError('door/wrong-usage', message);
}
