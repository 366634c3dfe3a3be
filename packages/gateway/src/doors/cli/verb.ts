import type { Environment, StateDir } from '../../config/environment.ts';
import type { Clock, Random } from '../../core/clock.ts';
import type { Gateway, Opened, Records } from '../../invoke/gateway.ts';
import type { OpenMore, OpenOptions } from '../../open.ts';
import type { Printer } from './printer.ts';

export type { OpenMore, OpenOptions } from '../../open.ts';

/** A flag; without a value it is a switch. One that repeats may be given more than once. */
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

/** The outside as the program's entry hands it to the command line. */
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
