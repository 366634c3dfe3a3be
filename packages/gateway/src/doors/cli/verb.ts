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
  readonly repeats?: true;
};

/** What the flags of a command line say; one that repeats has a list. */
export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** One row of the table of verbs. An argument in brackets may be left out. */
export type Verb = {
  readonly words: string;
  readonly args: readonly string[];
  /** What stands after `--`, for a verb that hands it on as it is; any other has no such part. */
  readonly rest?: string;
  readonly flags: readonly Flag[];
  readonly sentence: string;
  readonly examples: readonly string[];
  readonly load: () => Promise<{ readonly run: VerbRun }>;
};

/** What a verb is handed: its words, the places to print, and the ways to open what it needs, and only that. */
export type Invocation = {
  readonly args: readonly string[];
  /** The words after `--`, unread. */
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
  /** Says what to do when nobody reads standard output any more; without a word the program ends. */
  readonly whenUnread: (act: () => void) => void;
  /** Folders of packages beside this program, where compilers of skills are looked for last. */
  readonly packageFolders: readonly string[];
  readonly openRecords: (options: OpenOptions) => Promise<Opened<Records>>;
  readonly openGateway: (options: OpenOptions) => Promise<Opened<Gateway>>;
};
