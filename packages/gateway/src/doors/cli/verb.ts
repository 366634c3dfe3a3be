import type { UpstreamRule } from '../../config/config.ts';
import type { Environment } from '../../config/environment.ts';
import type { StateDir } from '../../config/state-dir.ts';
import type { Clock, Random } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Observer } from '../../core/observer.ts';
import type { Tool } from '../../core/tool.ts';
import type { Gateway, Opened, Records } from '../../invoke/gateway.ts';
import type { Printer } from './printer.ts';

/** A flag; without a value it is a switch. */
export type Flag = {
  readonly name: string;
  readonly value: string | null;
  readonly sentence: string;
  /** It may be given more than once. */
  readonly repeats?: true;
};

/** The values of the flags of a command line; one that repeats has a list. */
export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** One row of the table of verbs. An argument in brackets is optional. */
export type Verb = {
  readonly words: string;
  readonly args: readonly string[];
  /** What follows `--`, for a verb that passes it on as it is; others have no such part. */
  readonly rest?: string;
  readonly flags: readonly Flag[];
  readonly sentence: string;
  readonly examples: readonly string[];
  readonly load: () => Promise<VerbRun>;
};

/** What a verb gets: its arguments and flags, the printer, and the ways to open what it needs. */
export type Invocation = {
  readonly args: readonly string[];
  /** The arguments after `--`, unread. */
  readonly rest: readonly string[];
  readonly flags: FlagValues;
  readonly print: Printer;
  readonly edge: Edge;
  readonly stateDir: StateDir;
  readonly signal: AbortSignal;
  readonly openRecords: () => Promise<Opened<Records>>;
  readonly openGateway: (more?: OpenMore) => Promise<Opened<Gateway>>;
};

/** Gives the exit status. */
export type VerbRun = (invocation: Invocation) => Promise<number>;

export type { Opened } from '../../invoke/gateway.ts';

export type OpenOptions = {
  readonly stateDir: string;
  readonly env: Environment;
  readonly version: string;
  /** Tools in addition to those of every gateway. */
  readonly tools?: readonly Tool[];
  /** The upstream MCP servers, in place of those of the configuration. */
  readonly upstreams?: readonly UpstreamRule[];
  /** It serves many calls, so that sandboxes are worth keeping ready. */
  readonly isLasting?: boolean;
  readonly observer?: Observer;
  readonly log?: Log;
  /** The ports that this process listens on, which no run may reach. */
  readonly ports?: readonly number[];
};

/** What a verb can add to the options of the command line. */
export type OpenMore = Pick<OpenOptions, 'tools' | 'upstreams' | 'isLasting' | 'observer' | 'log' | 'ports'>;

/** The outside world, as the entry of the program hands it to the command line. */
export type Edge = {
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly cwd: string;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly stderr: NodeJS.WritableStream;
  readonly signal: AbortSignal;
  /** Sets what happens when no one reads standard output any more; by default the program ends. */
  readonly whenUnread: (act: () => void) => void;
  /** Folders of packages next to this program, where compilers of skills are searched last. */
  readonly packageFolders: readonly string[];
  readonly openRecords: (options: OpenOptions) => Promise<Opened<Records>>;
  readonly openGateway: (options: OpenOptions) => Promise<Opened<Gateway>>;
};
