import type { Printer } from './printer.ts';
import type { Flag, Verb } from './verb.ts';
import { COMMON_FLAGS, FIRST_COMMANDS, VERB_GROUPS, VERBS } from './verbs.table.ts';

/** The help of everything, or of the commands of one noun. */
export function printOverview(print: Printer, words: readonly string[]): void {
  const [noun] = words;
  const shown = VERBS.filter((verb) => noun === undefined || verb.words.split(' ')[0] === noun);
  if (print.json) print.document({ commands: shown.map(describe), flags: COMMON_FLAGS });
  else if (noun === undefined) printEverything(print);
  else printNoun(print, noun, shown);
}

function printEverything(print: Printer): void {
  print.line(
    'palisade runs the tool calls of AI agents: authorised by policy, sandboxed, and with a signed receipt.',
  );
  print.line();
  print.line('Usage: palisade COMMAND [ARGUMENTS] [FLAGS]');
  print.line();
  print.styled('bold', 'Start here:');
  printColumns(print, FIRST_COMMANDS);
  for (const { title, verbs } of VERB_GROUPS) {
    print.line();
    print.styled('bold', `${title}:`);
    printColumns(print, rowsOf(verbs));
  }
  print.line();
  printFlags(print, 'Flags of every command:', COMMON_FLAGS);
  print.line();
  print.line(
    'Run `palisade COMMAND --help` for flags and examples. New here? Run `palisade init` or `palisade demo`.',
  );
}

function printNoun(print: Printer, noun: string, verbs: readonly Verb[]): void {
  print.line(`Usage: palisade ${noun} COMMAND [ARGUMENTS] [FLAGS]`);
  print.line();
  printColumns(print, rowsOf(verbs));
  print.line();
  print.styled('bold', 'Examples:');
  for (const { examples } of verbs) print.line(`  ${examples[0] ?? ''}`);
  print.line();
  printFlags(print, 'Flags of every command:', COMMON_FLAGS);
  print.line();
  print.line(`Run \`palisade ${noun} COMMAND --help\` for its flags.`);
}

/** The help of one command. */
export function printHelp(print: Printer, verb: Verb): void {
  if (print.json) print.document(describe(verb));
  print.line(verb.sentence);
  print.line();
  print.line(`Usage: palisade ${usageOf(verb, verb.flags.length > 0)}`);
  print.line();
  if (verb.flags.length > 0) {
    printFlags(print, 'Flags:', verb.flags);
    print.line();
  }
  printFlags(print, 'Flags of every command:', COMMON_FLAGS);
  print.line();
  print.styled('bold', verb.examples.length > 1 ? 'Examples:' : 'Example:');
  for (const example of verb.examples) print.line(`  ${example}`);
}

function printFlags(print: Printer, title: string, flags: readonly Flag[]): void {
  print.styled('bold', title);
  printColumns(
    print,
    flags.map(({ name, value, sentence }) => [`--${name}${value === null ? '' : ` ${value}`}`, sentence]),
  );
}

function rowsOf(verbs: readonly Verb[]): readonly (readonly [string, string])[] {
  return verbs.map((verb) => [usageOf(verb), verb.sentence]);
}

function printColumns(print: Printer, rows: readonly (readonly [string, string])[]): void {
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, sentence] of rows) print.line(`  ${name.padEnd(width)}  ${sentence}`);
}

function describe({ words, args, rest, flags, sentence, examples }: Verb) {
  return { words, args, ...(rest === undefined ? {} : { rest }), flags, sentence, examples };
}

function usageOf({ words, args, rest }: Verb, hasFlags = false): string {
  const after = rest === undefined ? [] : ['--', rest];
  return [words, ...args, ...(hasFlags ? ['[FLAGS]'] : []), ...after].join(' ');
}
