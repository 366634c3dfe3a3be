import type { Environment, StateDir } from '../../config/environment.ts';
import type { Clock, Random } from '../../core/clock.ts';
import { once } from '../../core/once.ts';
import type { Gateway, Opened, Records } from '../../invoke/gateway.ts';
import type { OpenMore, OpenOptions } from '../../open.ts';
import type { MessageId } from '../mcp/message.ts';
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

/** Flags by how they are written: `yes`, `name NAME`, or `env NAME=VALUE...` for one that repeats; with a sentence each. */
type FlagRows = Readonly<Record<string, string>>;

/** The flags of a table. */
export function flags(rows: FlagRows): readonly Flag[] {
  return Object.entries(rows).map(([usage, sentence]) => {
    const [, name = '', value = null, repeats] = /^(\S+?)(?: (\S+?))?(\.\.\.)?$/.exec(usage) ?? [];
    return { name, value, ...(repeats === undefined ? {} : { repeats: true }), sentence };
  });
}

/** A row of a table of verbs; without examples, the words alone are one. */
type VerbRow = Pick<Verb, 'sentence' | 'load'> &
  Partial<Pick<Verb, 'examples'>> & { readonly flags?: FlagRows };

/** Verbs by how they are written: the words in lower case, the arguments, and what is passed on after `--`. */
export function verbs(rows: Readonly<Record<string, VerbRow>>): readonly Verb[] {
  return Object.entries(rows).map(([usage, { sentence, load, ...row }]) => {
    const [own = '', rest] = usage.split(' -- ');
    const [words = ''] = /^[a-z-]+(?: [a-z-]+(?= |$))?/.exec(own) ?? [];
    const args = own.slice(words.length).split(' ').slice(1);
    const { examples = [`palisade ${words}`] } = row;
    const passed = rest === undefined ? {} : { rest };
    // A command has one of a hundred rows.
    const read = once(() => flags(row.flags ?? {}));
    return {
      ...{ words, args, ...passed, sentence, examples, load },
      get flags() {
        return read();
      },
    };
  });
}

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
  /** The id of the request of an MCP client that was answered before this program was loaded. */
  readonly answered?: MessageId | null;
  /** Sets what happens when no one reads standard output any more; by default the program ends. */
  readonly whenUnread: (act: () => void) => void;
  /** Folders of packages next to this program, where compilers of skills are searched last. */
  readonly packageFolders: readonly string[];
  readonly openRecords: (options: OpenOptions) => Promise<Opened<Records>>;
  readonly openGateway: (options: OpenOptions) => Promise<Opened<Gateway>>;
};
