import { loadConfig } from '../config/load.ts';
import { readConfigFile } from '../config/read-file.ts';
import { type AllowList, NOWHERE } from '../egress/allowlist.ts';
import { allowListOf } from './settings-of.ts';

export type LiveHostsOptions = {
  /** Where the configuration is, or would be. */
  readonly path: string;
  readonly stateDir: string;
  /** The text that the list was read from; null: there was no file. */
  readonly text: string | null;
  readonly list: AllowList;
};

/**
 * The operator's allow-list as the configuration says it at this moment. A file that was changed is read by the time of
 * the next look; one that cannot be read, or is wrong, allows nothing until it is mended.
 */
export class LiveHosts {
  readonly #options: LiveHostsOptions;
  #text: string | null;
  #list: AllowList;
  #loading: Promise<void> = Promise.resolve();

  constructor(options: LiveHostsOptions) {
    this.#options = options;
    this.#text = options.text;
    this.#list = options.list;
  }

  /** The list as it was read last; where the file has changed since, the next look has what it says. */
  get list(): AllowList {
    void this.refresh();
    return this.#list;
  }

  /** Reads the file again where it has changed, and is done when the list is that of the file. */
  async refresh(): Promise<void> {
    const text = this.#read();
    if (text !== this.#text) {
      this.#text = text;
      this.#loading = this.#load();
    }
    await this.#loading;
  }

  #read(): string | null {
    try {
      return readConfigFile(this.#options.path)?.text ?? null;
    } catch {
      // Boundary: a file that cannot be read is one that says nothing sound.
      return '';
    }
  }

  async #load(): Promise<void> {
    const { stateDir, path } = this.#options;
    const wanted = this.#text;
    const list = await loadConfig({ stateDir, ...(wanted === null ? {} : { configPath: path }) })
      .then(({ process }) => allowListOf(process.egressHosts))
      // Boundary: what the operator wants is not known then, so nothing is allowed.
      .catch(() => NOWHERE);
    if (wanted === this.#text) this.#list = list;
  }
}
