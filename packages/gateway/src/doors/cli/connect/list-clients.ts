import { CodedError } from '../../../core/coded-error.ts';
import type { Client } from './client.ts';
import { readClientFile } from './client-file.ts';
import { CLIENTS } from './clients.table.ts';
import { isOurs, wrappedIn } from './entry.ts';
import { fileOf, isFound, type Surroundings } from './places.ts';
import { serversIn } from './servers.ts';

/** A client as lists show it. */
export type Listed = {
  readonly id: string;
  readonly name: string;
  readonly found: boolean;
  /** What our entries are called there. */
  readonly connected: readonly string[];
  readonly wrapped: readonly string[];
  readonly file: string;
  /** Why its file cannot be read; null: it can, or there is none. */
  readonly problem: string | null;
};

/** All clients, with whether they are on this machine and lead here. */
export function listClients(here: Surroundings, url: string): readonly Listed[] {
  return CLIENTS.map((client) => listed(client, here, url));
}

function listed(client: Client, here: Surroundings, url: string): Listed {
  const path = fileOf(client, 'user', here);
  const about = { id: client.id, name: client.name, found: isFound(client, here), file: path };
  try {
    const { text } = readClientFile(path, null);
    const servers = serversIn({ client, name: path, text: text ?? '' });
    const namesOf = (fits: (value: unknown) => boolean) =>
      servers.filter(({ value }) => fits(value)).map(({ name }) => name);
    const connected = namesOf((value) => isOurs(client, value, url));
    return {
      ...about,
      connected,
      wrapped: namesOf((value) => wrappedIn(client, value) !== null),
      problem: null,
    };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { ...about, connected: [], wrapped: [], problem: error.message };
  }
}
