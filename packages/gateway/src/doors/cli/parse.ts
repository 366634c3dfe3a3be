import { parseArgs } from 'node:util';
import type { CodedError } from '../../core/coded-error.ts';
import { quote } from '../../core/hostile-text.ts';
import { nearest } from '../../core/suggest.ts';
import { wrongUsage } from './input.ts';
import type { Flag, FlagValues, Verb } from './verb.ts';
import { COMMON_FLAGS, FIRST_WORDS, VERBS } from './verbs.table.ts';

/** Flags that have a letter as well, by convention of command lines. */
const SHORT: Readonly<Record<string, string>> = { help: 'h', out: 'o' };

export type Parsed = ReturnType<typeof parseCommandLine>;

const END_OF_FLAGS = '--';

/** The arguments that palisade reads: what follows `--` never is a flag. */
export function wordsBeforeEnd(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf(END_OF_FLAGS);
  return end === -1 ? argv : argv.slice(0, end);
}

/**
 * Reads the command line against the table of verbs; anything unknown is wrong usage. Without a verb, `words` name the
 * group of commands whose help is requested; `rest` is what follows `--`, unread, where the verb takes it.
 */
export function parseCommandLine(argv: readonly string[]) {
  const leading = leadingWords(argv);
  const verb = findVerb(leading);
  const flags = [...COMMON_FLAGS, ...(verb?.flags ?? [])];
  // Boundary: the arguments of a command are not read as flags, whatever they look like.
  const own = verb?.rest === undefined ? argv : wordsBeforeEnd(argv);
  if (verb === null && leading.length > 0 && !isHelpOfGroup(leading, own)) throw unknownVerb(leading);
  const { values, positionals } = readFlags(own, flags, verb);
  if (verb === null) {
    if (positionals.length > leading.length) throw misplacedFlags(positionals);
    return { verb, words: leading, args: [], rest: [], flags: values };
  }
  const args = positionals.slice(verb.words.split(' ').length);
  const rest = argv.slice(own.length + 1);
  if (values.help !== true) checkCount(verb, args, rest);
  return { verb, words: leading, args, rest, flags: values };
}

/** A value cannot be distinguished from an argument before the verb is known, so flags come after the verb. */
function leadingWords(argv: readonly string[]): string[] {
  const end = argv.findIndex((word) => word.startsWith('-'));
  return argv.slice(0, end === -1 ? argv.length : end).map(String);
}

function findVerb(words: readonly string[]): Verb | null {
  const two = VERBS.find((verb) => verb.words === words.slice(0, 2).join(' '));
  return two ?? VERBS.find((verb) => verb.words === words[0]) ?? null;
}

function isHelpOfGroup(words: readonly string[], argv: readonly string[]): boolean {
  const isHelp = argv.includes('--help') || argv.includes('-h');
  return isHelp && words.length === 1 && verbsOf(words[0] ?? '').length > 0;
}

function verbsOf(noun: string): readonly Verb[] {
  return VERBS.filter((verb) => verb.words.startsWith(`${noun} `));
}

function readFlags(argv: readonly string[], flags: readonly Flag[], verb: Verb | null) {
  const options = Object.fromEntries(
    flags.map(({ name, value, repeats = false }) => [
      name,
      {
        type: value === null ? ('boolean' as const) : ('string' as const),
        multiple: repeats,
        ...(SHORT[name] === undefined ? {} : { short: SHORT[name] }),
      },
    ]),
  );
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...argv],
      options,
      allowPositionals: true,
      strict: true,
      tokens: true,
    });
    const seen = new Set<string>();
    for (const token of tokens) {
      if (token.kind !== 'option' || options[token.name]?.multiple === true) continue;
      if (seen.has(token.name)) throw new TypeError(`The flag --${token.name} is given twice`);
      seen.add(token.name);
    }
    return { values: values as FlagValues, positionals };
  } catch (error) {
    throw badFlag(error as Error & { code?: string }, flags, verb);
  }
}

function badFlag(error: Error & { code?: string }, flags: readonly Flag[], verb: Verb | null): CodedError {
  const help = `Run \`palisade ${verb === null ? '' : `${verb.words} `}--help\`.`;
  const [why = ''] = error.message.split(/\.\s/);
  const [, unknown] = error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? (/'--([^']*)'/.exec(why) ?? []) : [];
  const names = flags.map(({ name }) => name);
  const meant = unknown === undefined ? null : nearest(unknown, names);
  const hint = meant === null ? '' : `; did you mean --${meant}?`;
  return wrongUsage(`Cannot read the command line: ${why}${hint}`, help);
}

function checkCount(verb: Verb, given: readonly string[], rest: readonly string[]): void {
  const { words, args: wanted } = verb;
  if (verb.rest !== undefined && rest.length === 0)
    throw wrongUsage(
      `Cannot run "palisade ${words}": expected ${verb.rest} after --`,
      `Write \`palisade ${words} [FLAGS] -- ${verb.rest}\`.`,
    );
  const least = wanted.filter((arg) => !arg.startsWith('[')).length;
  if (given.length >= least && given.length <= wanted.length) return;
  const expected = wanted.length === 0 ? 'no argument' : wanted.join(' ');
  const found = given.length === 0 ? 'none' : String(given.length);
  const message = `Cannot run "palisade ${words}": got ${found}, expected ${expected}`;
  throw wrongUsage(message, `Run \`palisade ${words} --help\`.`);
}

function misplacedFlags(words: readonly string[]): CodedError {
  const named = words.slice(0, 2).join(' ');
  return wrongUsage(
    `Cannot run "palisade ${named}": a flag comes before the command, expected it after`,
    `Write the command first: \`palisade ${findVerb(words)?.words ?? 'COMMAND'} [FLAGS]\`.`,
  );
}

/** Names the command that was probably meant: one of the noun, else the nearest of all. */
function unknownVerb(words: readonly string[]): CodedError {
  const named = words.slice(0, 2).join(' ');
  const [noun = ''] = words;
  const group = verbsOf(noun).map((verb) => verb.words);
  const remedy = `List the commands with \`palisade ${group.length > 0 ? `${noun} ` : ''}--help\`.`;
  if (group.length > 0 && words.length === 1)
    return wrongUsage(`Cannot run "palisade ${named}": expected one of ${group.join(', ')}`, remedy);
  const all = VERBS.map((verb) => verb.words);
  const meant =
    group.length > 0 ? nearest(named, group) : (nearest(named, all) ?? nearest(noun, FIRST_WORDS));
  const hint = meant === null ? '' : `; did you mean \`palisade ${meant}\`?`;
  return wrongUsage(`Cannot run ${quote(`palisade ${named}`)}: no such command${hint}`, remedy);
}
