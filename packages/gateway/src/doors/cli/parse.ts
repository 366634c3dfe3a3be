import { parseArgs } from 'node:util';
import { CodedError } from '../../core/coded-error.ts';
import type { Flag, FlagValues, Verb } from './verb.ts';
import { VERBS } from './verbs.table.ts';

export const COMMON_FLAGS = [
  {
    name: 'state',
    value: 'DIR',
    sentence: 'The state directory (default: PALISADE_STATE, else the XDG state directory).',
  },
  { name: 'json', value: null, sentence: 'Print one JSON document.' },
  { name: 'no-color', value: null, sentence: 'Print without colours (also NO_COLOR=1).' },
  { name: 'help', value: null, sentence: 'Show the help of a command.' },
] as const;

/** Flags that have a letter as well, because every command line has it so. */
const SHORT: Readonly<Record<string, string>> = { help: 'h', out: 'o' };

export type Parsed = {
  readonly verb: Verb | null;
  /** The words that name a group of verbs, when help for it is wanted. */
  readonly words: readonly string[];
  readonly args: readonly string[];
  /** The words after `--`, unread, where the verb takes them. */
  readonly rest: readonly string[];
  readonly flags: FlagValues;
};

const END_OF_FLAGS = '--';

/** The words that are ours to read: what stands after `--` never is a flag. */
export function wordsBeforeEnd(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf(END_OF_FLAGS);
  return end === -1 ? argv : argv.slice(0, end);
}

/** Reads the command line against the table of verbs; anything unknown is wrong usage. */
export function parseCommandLine(argv: readonly string[]): Parsed {
  const leading = leadingWords(argv);
  const verb = findVerb(leading);
  const flags = [...COMMON_FLAGS, ...(verb?.flags ?? [])];
  // Boundary: the words of a command are not read as flags, whatever they look like.
  const own = verb?.rest === undefined ? argv : wordsBeforeEnd(argv);
  const { values, positionals } = readFlags(own, flags, verb);
  if (verb === null) {
    if (leading.length > 0 && !(values.help === true && isGroup(leading))) throw unknownVerb(leading);
    if (positionals.length > leading.length) throw misplacedFlags(positionals);
    return { verb: null, words: leading, args: [], rest: [], flags: values };
  }
  const args = positionals.slice(verb.words.split(' ').length);
  const rest = argv.slice(own.length + 1);
  if (values.help !== true) checkCount(verb, args, rest);
  return { verb, words: leading, args, rest, flags: values };
}

/** A flag and its value cannot be told from words before the verb is known, so flags come after the verb. */
function leadingWords(argv: readonly string[]): string[] {
  const end = argv.findIndex((word) => word.startsWith('-'));
  return argv.slice(0, end === -1 ? argv.length : end).map(String);
}

function findVerb(words: readonly string[]): Verb | null {
  const two = VERBS.find((verb) => verb.words === words.slice(0, 2).join(' '));
  return two ?? VERBS.find((verb) => verb.words === words[0]) ?? null;
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
    const [why = ''] = (error as Error).message.split(/\.\s/);
    throw new CodedError('door/wrong-usage', `Cannot read the command line: ${why}`, {
      remedy: `Run \`palisade ${verb === null ? '' : `${verb.words} `}--help\`.`,
    });
  }
}

function checkCount(verb: Verb, given: readonly string[], rest: readonly string[]): void {
  const { words, args: wanted } = verb;
  if (verb.rest !== undefined && rest.length === 0) throw restMissing(words, verb.rest);
  const least = wanted.filter((arg) => !arg.startsWith('[')).length;
  if (given.length >= least && given.length <= wanted.length) return;
  const expected = wanted.length === 0 ? 'no argument' : wanted.join(' ');
  const found =
    given.length === 0 ? 'none is given' : `${given.length} ${given.length === 1 ? 'is' : 'are'} given`;
  throw new CodedError('door/wrong-usage', `Cannot run "palisade ${words}": it takes ${expected}, ${found}`, {
    remedy: `Run \`palisade ${words} --help\`.`,
  });
}

function restMissing(words: string, rest: string): CodedError {
  const message = `Cannot run "palisade ${words}": nothing stands after --, expected ${rest}`;
  return new CodedError('door/wrong-usage', message, {
    remedy: `Write \`palisade ${words} [FLAGS] -- ${rest}\`.`,
  });
}

function isGroup(words: readonly string[]): boolean {
  return words.length === 1 && VERBS.some((verb) => verb.words.startsWith(`${words[0]} `));
}

function misplacedFlags(words: readonly string[]): CodedError {
  const named = words.slice(0, 2).join(' ');
  const message = `Cannot run "palisade ${named}": a flag stands before the command, expected it after`;
  return new CodedError('door/wrong-usage', message, {
    remedy: `Write the command first: \`palisade ${findVerb(words)?.words ?? 'COMMAND'} [FLAGS]\`.`,
  });
}

function unknownVerb(words: readonly string[]): CodedError {
  const group = VERBS.filter((verb) => verb.words.startsWith(`${words[0]} `)).map((verb) => verb.words);
  const remedy =
    group.length > 0
      ? `Choose one of: ${group.join(', ')}.`
      : 'Run `palisade --help` for the list of commands.';
  return new CodedError(
    'door/wrong-usage',
    `Cannot run "palisade ${words.slice(0, 2).join(' ')}": there is no such command`,
    { remedy },
  );
}
