import { CodedError } from '../../../core/coded-error.ts';
import { wrongUsage } from '../input.ts';
import {
  argvOf,
  at,
  type Connection,
  commandFor,
  entryFor,
  isOurs,
  isTable,
  keysOf,
  ownArguments,
  tokenIn,
  variablesIn,
  wrappedIn,
} from './entry.ts';
import {
  readSource,
  type Server,
  type Source,
  same,
  serverNamed,
  serversIn,
  UneditableServer,
  withoutHolder,
  withServer,
} from './servers.ts';

/* From the text of a file and a wish to the text that it becomes. Pure: golden files show what each client gets. */

/** The name of our entry in the file, and the address by which an entry of ours is recognised. */
export type OwnEntry = { readonly server: string; readonly url: string };

/** Null: the file is as it should be. */
export type Planned = { readonly text: string; readonly isNew: boolean } | null;

/** The file with an entry for this gateway. A server of that name that is not ours is never replaced. */
export function planConnect(source: Source, { server, url }: OwnEntry, connection: Connection): Planned {
  const { client, name } = source;
  const old = serverNamed(source, server)?.value;
  const entry = entryFor(client, server, connection);
  if (old === undefined) return { text: withServer(begun(source), server, entry), isNew: true };
  if (!isOurs(client, old, url))
    throw wrongUsage(
      `Cannot connect ${client.name}: "${server}" in "${name}" is another server, expected ours or a free name`,
      'Choose another name with --name.',
    );
  // What the owner has added to the entry stays.
  const added = Object.entries(isTable(old) ? old : {}).filter(([key]) => !keysOf(client).includes(key));
  return changed(source, server, { ...Object.fromEntries(added), ...entry });
}

/** The text to which the first server is added: an empty file gets what the client demands besides servers. */
function begun(source: Source): Source {
  return source.text.trim() === '' ? { ...source, text: source.client.start } : source;
}

/** The token of our entry; null when it has none. */
export function tokenAt(source: Source, { server, url }: OwnEntry): string | null {
  const entry = serverNamed(source, server)?.value;
  return isOurs(source.client, entry, url) ? tokenIn(source.client, entry) : null;
}

/** The command line that goes before the command of a wrapped server: this program, and its flags. */
export type Wrapper = { readonly program: readonly string[]; readonly flags: readonly string[] };

/** The file with one of its servers started through the gateway. Flags of one that is wrapped already stay. */
export function planWrap(source: Source, server: string, { program, flags }: Wrapper): Planned {
  const { client, name } = source;
  const refuse = (is: string, expected: string) =>
    wrongUsage(`Cannot wrap "${server}": ${is}, expected ${expected}`);
  const old = serverNamed(source, server)?.value;
  if (old === undefined) {
    const names = serversIn(source).map((each) => each.name);
    const expected = names.length === 0 ? 'a file with servers' : `one of: ${names.join(', ')}`;
    throw refuse(`"${name}" does not have it`, expected);
  }
  if (isOurs(client, old, '')) throw refuse('it leads to palisade already', 'another server');
  const argv = argvOf(client, old);
  if (argv === null || !isTable(old)) throw refuse('it is not started by a command', 'a server that is');
  const own = wrappedIn(client, old) === null ? null : ownArguments(client, old);
  const unnamed = own === null ? [...flags, '--', ...argv] : withWorkspace(own, flags);
  const rest = withVariables(unnamed, variablesIn(old).passed);
  return changed(source, server, { ...old, ...commandFor(client, [...program, ...rest]) });
}

/** The arguments of a wrapped server, with the directory that is named now. */
function withWorkspace(own: readonly string[], flags: readonly string[]): readonly string[] {
  const named = flags.slice(flags.indexOf('--workspace'), flags.indexOf('--workspace') + 2);
  if (!flags.includes('--workspace')) return own;
  const end = own.indexOf('--');
  const kept = own
    .slice(0, end)
    .filter((each, index) => each !== '--workspace' && own[index - 1] !== '--workspace');
  return [...kept, ...named, ...own.slice(end)];
}

/** The arguments with a flag for each variable that none names; the values stay where the client has them. */
function withVariables(own: readonly string[], names: readonly string[]): readonly string[] {
  const end = own.indexOf('--');
  const flags = own.slice(0, end);
  const named = flags.filter((_, index) => flags[index - 1] === '--env').map((each) => each.split('=')[0]);
  const missing = names.filter((name) => !named.includes(name));
  return [...flags, ...missing.flatMap((name) => ['--env', name]), ...own.slice(end)];
}

function changed(source: Source, server: string, entry: Readonly<Record<string, unknown>>): Planned {
  if (same(serverNamed(source, server)?.value, entry)) return null;
  return { text: withServer(source, server, entry), isNew: false };
}

export type Disconnection = NonNullable<ReturnType<typeof planDisconnect>>;

/**
 * The file as if it had never been connected. Where one of the texts that it had `earlier` becomes the present one by our
 * edits alone, that text comes back byte for byte (null: nothing else is in the file, and it was not there before); else
 * our entry is removed and every wrapped server gets its own command back, except for those that are `kept`.
 */
export function planDisconnect(source: Source, own: OwnEntry, earlier: readonly string[]) {
  const { client } = source;
  const servers = serversIn(source);
  const ours =
    servers.find(({ name, value }) => name === own.server && isOurs(client, value, own.url)) ?? null;
  const wrapped = servers.filter(({ value }) => wrappedIn(client, value) !== null);
  if (ours === null && wrapped.length === 0) return null;
  const token = ours === null ? null : tokenIn(client, ours.value);
  const removed = ours?.name ?? null;
  const before = [...earlier, ''].find((text) => isBefore(begun({ ...source, text }), source, ours, wrapped));
  if (before !== undefined) {
    const text = before === '' && !earlier.includes('') ? null : before;
    return { text, isRestored: true, removed, unwrapped: wrapped.map(({ name }) => name), kept: [], token };
  }
  const undone = undo(source, ours, wrapped, earlier);
  const isKept = undone.kept.some(({ server }) => server === removed);
  return { ...undone, isRestored: false, removed: isKept ? null : removed, token: isKept ? null : token };
}

/** Whether the present text is an older one with exactly our edits; not where that one cannot be read or edited. */
function isBefore(old: Source, now: Source, ours: Server | null, wrapped: readonly Server[]): boolean {
  const { client } = now;
  let { text } = old;
  return unlessRefused(() => {
    for (const { name, value } of wrapped) {
      const was = serverNamed(old, name)?.value;
      // A server that was wrapped then already, or whose command was changed since, is not as it was before.
      if (!isTable(was) || !same(argvOf(client, was), wrappedIn(client, value))) return false;
      const entry = { ...was, ...commandFor(client, argvOf(client, value) ?? []) };
      text = withServer({ ...old, text }, name, entry);
    }
    if (ours !== null) {
      if (serverNamed(old, ours.name) !== undefined) return false;
      text = withServer({ ...old, text }, ours.name, ours.value as Readonly<Record<string, unknown>>);
    }
    return text === now.text || bared({ ...old, text }) === bared(now);
  });
  // What a second `connect` or `--wrap` wrote may have another layout than the first; everything around it counts.
  function bared(source: Source): string {
    const unwrapped = wrapped.reduce((text, { name }) => {
      const entry = serverNamed({ ...source, text }, name)?.value;
      return withServer({ ...source, text }, name, { ...(entry as object), ...commandFor(client, ['x']) });
    }, source.text);
    return ours === null ? unwrapped : withServer({ ...source, text: unwrapped }, ours.name, null);
  }
}

/** Undoes one server after the other; one that cannot be undone keeps none of the others from it. */
function undo(source: Source, ours: Server | null, wrapped: readonly Server[], earlier: readonly string[]) {
  const olds = earlier.map((text) => ({ ...source, text }));
  const unwrapped: string[] = [];
  const kept: { server: string; refusal: UneditableServer }[] = [];
  let { text } = source;
  const attempt = (server: string, entry: Readonly<Record<string, unknown>> | null): boolean => {
    try {
      text = withServer({ ...source, text }, server, entry);
      return true;
    } catch (error) {
      if (!(error instanceof UneditableServer)) throw error;
      kept.push({ server, refusal: error });
      return false;
    }
  };
  for (const server of wrapped)
    if (attempt(server.name, unwrappedEntry(source, server, olds))) unwrapped.push(server.name);
  const isRemoved = ours !== null && attempt(ours.name, null);
  const hadNoHolder = (old: Source) =>
    unlessRefused(() => at(readSource(old), [old.client.key]) === undefined);
  if (isRemoved && serversIn({ ...source, text }).length === 0 && olds.some(hadNoHolder))
    text = withoutHolder({ ...source, text });
  return { text, unwrapped, kept };
}

/** The entry with the command of the server itself; without `args` where it had none before. */
function unwrappedEntry({ client }: Source, { name, value }: Server, olds: readonly Source[]) {
  const argv = wrappedIn(client, value) ?? [];
  const entry = { ...(isTable(value) ? value : {}), ...commandFor(client, argv) };
  const { args } = client.stdio;
  if (args === null || argv.length > 1) return entry;
  const hadNone = olds.some((old) =>
    unlessRefused(() => {
      const was = serverNamed(old, name)?.value;
      return was !== undefined && wrappedIn(client, was) === null && at(was, [args]) === undefined;
    }),
  );
  return hadNone ? Object.fromEntries(Object.entries(entry).filter(([key]) => key !== args)) : entry;
}

/** False where a text cannot be read or edited. */
function unlessRefused(holds: () => boolean): boolean {
  try {
    return holds();
  } catch (error) {
    if (error instanceof CodedError) return false;
    throw error;
  }
}
