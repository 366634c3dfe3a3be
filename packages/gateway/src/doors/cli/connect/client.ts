import type { Json } from '../../../core/json.ts';

/* What is known of an MCP client: where its configuration is, and what an entry in it looks like. */

export type Platform = 'linux' | 'darwin' | 'win32';
export type Scope = 'user' | 'project';

/**
 * A place below a folder of the user. `home` is the home directory; `config` is ~/.config or XDG_CONFIG_HOME; `app` is where
 * the platform keeps the data of applications (the same on Linux, ~/Library/Application Support, %APPDATA%).
 */
export type Spot = { readonly from: 'home' | 'config' | 'app'; readonly path: string };

type Fixed = { readonly [key: string]: Json };

/** How a server that is started by a command is written. */
export type StdioForm = {
  readonly command: string;
  /** Null: the arguments stand in the list of the command itself. */
  readonly args: string | null;
  /** Keys with the same value in every entry. */
  readonly more: Fixed;
};

/** How a server at an address is written. */
export type HttpForm = {
  readonly url: string;
  /** The keys down to the object that has the headers of requests. */
  readonly headers: readonly string[];
  readonly more: Fixed;
};

export type Client = {
  readonly id: string;
  readonly name: string;
  /** The files of a user, per platform; of several, the first that is there counts, else the first. */
  readonly user: Readonly<Record<Platform, readonly Spot[]>>;
  /** The file of a project, below its folder; null: it has none. */
  readonly project: string | null;
  /** Folders and files that are there when the client is. */
  readonly signs: readonly Spot[];
  /** `jsonc` takes comments and trailing commas; that a client of `json` does is not known. */
  readonly format: 'json' | 'jsonc' | 'yaml' | 'toml';
  /** The keys down to what holds the servers. */
  readonly key: readonly string[];
  /** Servers are elements of a list, each with a `name`, and not values of keys. */
  readonly isList: boolean;
  /** An entry says its own name as well. */
  readonly isNamed: boolean;
  readonly stdio: StdioForm;
  /** Null: its file can name no address. */
  readonly http: HttpForm | null;
  /** What it takes until the client reads the file. */
  readonly next: string;
};
