import type { ConfigFile } from '../config/config.ts';
import { configOf, readConfigFile } from '../config/load.ts';
import { type AllowList, NOWHERE } from '../egress/allowlist.ts';
import { allowListOf } from './settings-of.ts';

export type LiveHostsOptions = {
  /** Where the configuration is, or would be. */
  readonly path: string;
  /** The text that the list was read from; null: there was no file. */
  readonly text: string | null;
  readonly list: AllowList;
};

/** Stands for a file that nobody can read; no file is this text, as none has a NUL. */
const UNREADABLE = '\0';

/**
 * The operator's allow-list as the configuration says it at this moment. A file that was changed is read by the time of
 * the next look; one that cannot be read, or is wrong, allows nothing until it is mended.
 */
export class LiveHosts {
  readonly #path: string;
  #text: string | null;
  #list: AllowList;
  #loading: Promise<void> = Promise.resolve();

  constructor({ path, text, list }: LiveHostsOptions) {
    this.#path = path;
    this.#text = text;
    this.#list = list;
  }

  /** The list as it was read last; where the file has changed since, the next look has what it says. */
  get list(): AllowList {
    void this.refresh();
    return this.#list;
  }

  /** Reads the file again where it has changed, and is done when the list is that of the file. */
  async refresh(): Promise<void> {
    const file = this.#read();
    const text = file === UNREADABLE ? file : (file?.text ?? null);
    if (text !== this.#text) {
      this.#text = text;
      this.#loading = this.#load(file);
    }
    await this.#loading;
  }

  #read(): ConfigFile | typeof UNREADABLE | null {
    try {
      return readConfigFile(this.#path);
    } catch {
      return UNREADABLE;
    }
  }

  /** What was compared is what is read: the file may be another one by now. */
  async #load(file: ConfigFile | typeof UNREADABLE | null): Promise<void> {
    const wanted = this.#text;
    const list = await listOf(file);
    if (wanted === this.#text) this.#list = list;
  }
}

/** Boundary: what the operator wants is not known of a file that cannot be read or is wrong, so nothing is allowed. */
async function listOf(file: ConfigFile | typeof UNREADABLE | null): Promise<AllowList> {
  if (file === UNREADABLE) return NOWHERE;
  return configOf(file)
    .then(({ process }) => allowListOf(process.egressHosts))
    .catch(() => NOWHERE);
}
