import { basename } from 'node:path';
import { ARGUMENT_ROLES, type ArgumentRole, type ProgramRow } from './argument-roles.table.ts';
import { readLine } from './shell-line.ts';

/*
 * The commands that a command line names: the command itself and, where an argument is a shell line or a command of its
 * own (`sh -c …`, `xargs …`, `find -exec …`), those inside, each with what its arguments are. Pure; paths and hosts are
 * then found in the arguments, not here.
 */

/** An argument, what it is for its program, and the argument of the whole command that it was found in. */
export type NamedArgument = {
  readonly text: string;
  readonly role: ArgumentRole;
  readonly source: string;
  readonly isColonRemote: boolean;
};

export type NamedCommand = { readonly program: string; readonly args: readonly NamedArgument[] };

/** Not complete where commands are nested deeper, or are more, than are read. */
export type NamedCommands = { readonly commands: readonly NamedCommand[]; readonly isComplete: boolean };

type Found = { readonly commands: NamedCommand[]; isComplete: boolean };
type Context = {
  readonly variables: Readonly<Record<string, string>>;
  readonly found: Found;
  readonly depth: number;
  /** The argument that everything is part of; null for the command itself, whose arguments are their own. */
  readonly source: string | null;
};

const MAX_DEPTH = 5;
const MAX_COMMANDS = 1_000;

/** The command and those in its arguments; `variables` are those that a shell line can use. */
export function commandsIn(
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): NamedCommands {
  const found: Found = { commands: [], isComplete: true };
  addCommand(program, args, { variables, found, depth: 0, source: null });
  return found;
}

function addCommand(program: string, args: readonly string[], context: Context): void {
  const { found, depth, source } = context;
  if (depth > MAX_DEPTH || found.commands.length >= MAX_COMMANDS) {
    found.isComplete = false;
    return;
  }
  const known = knownProgram(program, args);
  const isColonRemote = known?.row.isColonRemote === true;
  const { roles, inner } = rolesOf(known, args);
  const own = roles.map((role, i) => argumentOf(args[i] ?? '', { role, source, isColonRemote }));
  found.commands.push({ program, args: own });
  const deeper = { ...context, depth: depth + 1 };
  for (const [from, to] of inner) addInner(args.slice(from, to), [], deeper);
  for (const { text, role, source: from } of own)
    if (role === 'line') addLine(text, { ...deeper, source: from });
}

/** A command inside another one: its program is named by an argument, and so are the files of its redirections. */
function addInner(
  [program = '', ...args]: readonly string[],
  files: readonly string[],
  context: Context,
): void {
  const named = program.includes('/') ? [program, ...files] : files;
  const opened = named.map((text) =>
    argumentOf(text, { role: 'any', source: context.source, isColonRemote: false }),
  );
  if (opened.length > 0) context.found.commands.push({ program: '', args: opened });
  addCommand(program, args, context);
}

function addLine(line: string, context: Context): void {
  const { commands, isComplete } = readLine(line, context.variables);
  if (!isComplete) context.found.isComplete = false;
  for (const { words, files } of commands) addInner(words, files, context);
}

function argumentOf(
  text: string,
  { source, ...rest }: Pick<NamedArgument, 'role' | 'isColonRemote'> & Pick<Context, 'source'>,
): NamedArgument {
  return { text, source: source ?? text, ...rest };
}

type KnownProgram = { readonly row: ProgramRow; readonly options: ReadonlyMap<string, Option> };

const PROGRAMS: ReadonlyMap<string, ProgramRow> = new Map(
  ARGUMENT_ROLES.flatMap((row) => wordsOf(row.names).map((name) => [name, row] as const)),
);

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function optionOf(word: string): readonly [string, Option] {
  const [, name = '', sign = '', roles = ''] = /^([^=?#]+)([=?#]?)(.*)$/.exec(word) ?? [];
  const named = roles.split(',') as ArgumentRole[];
  if (sign === '=') return [name, { kind: 'values', roles: named }];
  if (sign === '?') return [name, { kind: 'attached', role: named[0] ?? 'any' }];
  return [name, { kind: sign === '#' ? 'digits' : 'flag' }];
}

function knownProgram(program: string, args: readonly string[]): KnownProgram | undefined {
  const name = basename(program).toLowerCase();
  const subcommand = args.find((arg, i) => !arg.startsWith('-') && !/^-[cC]$/.test(args[i - 1] ?? ''));
  const bare = name.replace(/\d[\d.]*$/, '');
  const row = PROGRAMS.get(`${name}-${subcommand}`) ?? PROGRAMS.get(name) ?? PROGRAMS.get(bare);
  return row && { row, options: new Map(wordsOf(row.options ?? '').map(optionOf)) };
}

/** The role of each argument, and where commands begin and end among them. */
type Roles = {
  readonly roles: readonly ArgumentRole[];
  readonly inner: readonly (readonly [number, number])[];
};

type Option =
  | { readonly kind: 'flag' | 'digits' }
  | { readonly kind: 'values'; readonly roles: readonly ArgumentRole[] }
  | { readonly kind: 'attached'; readonly role: ArgumentRole };

function rolesOf(known: KnownProgram | undefined, args: readonly string[]): Roles {
  if (known === undefined) return { roles: args.map(() => 'any'), inner: [] };
  const { row, options } = known;
  const read = readOptions(row, options, args);
  if (row.command !== undefined) return launcherRoles(row, args, read);
  const { roles, operands, seen, isKnown } = read;
  // Boundary: an option that is not known could have taken what looks like the first operand.
  if (isKnown) {
    const isGiven = wordsOf(row.instead ?? '').some((name) => seen.has(name));
    for (const [i, at] of operands.entries()) {
      const role = i === 0 && !isGiven ? (row.first ?? row.operands) : row.operands;
      if (role !== undefined) roles[at] = role;
    }
  }
  const inner = row.names.startsWith('find') ? commandsOfFind(args) : [];
  return { roles: withoutInner(roles, inner), inner };
}

/** What belongs to a command inside is read as that command. */
function withoutInner(roles: readonly ArgumentRole[], inner: Roles['inner']): readonly ArgumentRole[] {
  return roles.map((role, at) => (inner.some(([from, to]) => at >= from && at < to) ? 'text' : role));
}

type ReadOptions = {
  readonly roles: ArgumentRole[];
  readonly operands: readonly number[];
  readonly seen: ReadonlySet<string>;
  /** Whether the row has all of the options. */
  readonly isKnown: boolean;
};

function readOptions(
  row: ProgramRow,
  options: KnownProgram['options'],
  args: readonly string[],
): ReadOptions {
  const roles: ArgumentRole[] = args.map(() => 'any');
  const operands: number[] = [];
  const seen = new Set<string>();
  let isKnown = true;
  const isEndedByOperand = row.isOptionsFirst === true || row.command !== undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    const isOver = seen.has('--') || (isEndedByOperand && operands.length > 0);
    if (arg === '--' && !isOver) seen.add(arg);
    else if (isOver || !arg.startsWith('-') || arg === '-') operands.push(at);
    else {
      const read = readOption(arg, options, seen);
      if (read === null) isKnown = false;
      else {
        roles[at] = read.own;
        for (const role of read.next) if (at + 1 < args.length) roles[++at] = role;
      }
    }
  }
  return { roles, operands, seen, isKnown };
}

/** What an argument with an option is itself, by a value that is attached, and what the arguments after it are. */
type ReadOption = { readonly own: ArgumentRole; readonly next: readonly ArgumentRole[] };

/** Null if the option is not known. */
function readOption(arg: string, options: KnownProgram['options'], seen: Set<string>): ReadOption | null {
  const isLong = arg.startsWith('--');
  const equals = isLong ? arg.indexOf('=') : -1;
  const name = equals < 0 ? arg : arg.slice(0, equals);
  const option = options.get(name);
  if (option === undefined) return isLong ? null : readLetters(arg, options, seen);
  seen.add(name);
  return withValue(option, equals >= 0);
}

function withValue(option: Option, isAttached: boolean): ReadOption {
  if (option.kind === 'attached') return { own: isAttached ? option.role : 'text', next: [] };
  if (option.kind !== 'values') return { own: 'text', next: [] };
  const [first = 'any', ...more] = option.roles;
  return isAttached ? { own: first, next: more } : { own: 'text', next: option.roles };
}

/** A bundle of letters, the last of which can have a value: `-rn`, `-F/`, `-ne PROGRAM`. */
function readLetters(arg: string, options: KnownProgram['options'], seen: Set<string>): ReadOption | null {
  for (let at = 1; at < arg.length; at++) {
    const letter = `-${arg.charAt(at)}`;
    const option = options.get(letter);
    if (option === undefined) return null;
    seen.add(letter);
    const rest = arg.slice(at + 1);
    if (option.kind === 'attached' || option.kind === 'values') return withValue(option, rest !== '');
    if (option.kind === 'digits') at += /^\d*/.exec(rest)?.[0].length ?? 0;
  }
  return { own: 'text', next: [] };
}

/** The operands of a launcher: assignments, what belongs to itself, and the command. */
function launcherRoles(
  { command = 0 }: ProgramRow,
  args: readonly string[],
  { roles, operands, isKnown }: ReadOptions,
): Roles {
  // Boundary: behind an option that is not known, it is not certain where the command begins.
  if (!isKnown) return { roles, inner: [] };
  const assigned = operands.findIndex((at) => !/^[A-Za-z_]\w*=/.test(args[at] ?? ''));
  const before = operands.slice(0, assigned < 0 ? operands.length : assigned);
  for (const at of before) roles[at] = 'text';
  const begin = operands[before.length + command];
  if (begin === undefined) return { roles, inner: [] };
  const inner = [[begin, args.length]] as const;
  return { roles: withoutInner(roles, inner), inner };
}

/** `-exec COMMAND ;` */
function commandsOfFind(args: readonly string[]): Roles['inner'] {
  return args.flatMap((arg, at) => {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(arg)) return [];
    const length = args.slice(at + 1).findIndex((each) => each === ';' || each === '+');
    return [[at + 1, length < 0 ? args.length : at + 1 + length] as const];
  });
}
