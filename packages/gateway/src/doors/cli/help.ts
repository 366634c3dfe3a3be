import type { Printer } from './printer.ts';
import type { Flag, Verb } from './verb.ts';
import { COMMON_FLAGS, FIRST_COMMANDS, VERB_GROUPS, VERBS } from './verbs.table.ts';

type Row = readonly [name: string, sentence: string];

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
  printSection(print, 'Start here:', columns(FIRST_COMMANDS));
  for (const { title, verbs } of VERB_GROUPS) printSection(print, `${title}:`, columns(rowsOf(verbs)));
  printCommonFlags(print);
  print.line();
  print.line(
    'Run `palisade COMMAND --help` for flags and examples. New here? Run `palisade init` or `palisade demo`.',
  );
}

function printNoun(print: Printer, noun: string, verbs: readonly Verb[]): void {
  print.line(`Usage: palisade ${noun} COMMAND [ARGUMENTS] [FLAGS]`);
  printSection(print, null, columns(rowsOf(verbs)));
  const examples = verbs.map((verb) => verb.examples[0] ?? '');
  printSection(print, 'Examples:', examples);
  printCommonFlags(print);
  print.line();
  print.line(`Run \`palisade ${noun} COMMAND --help\` for its flags.`);
}

/** The help of one command. */
export function printHelp(print: Printer, verb: Verb): void {
  const { sentence, flags, examples } = verb;
  if (print.json) print.document(describe(verb));
  print.line(sentence);
  print.line();
  print.line(`Usage: palisade ${usageOf(verb, flags.length > 0)}`);
  if (flags.length > 0) printSection(print, 'Flags:', columns(flagRows(flags)));
  printCommonFlags(print);
  printSection(print, examples.length > 1 ? 'Examples:' : 'Example:', examples);
}

function printCommonFlags(print: Printer): void {
  printSection(print, 'Flags of every command:', columns(flagRows(COMMON_FLAGS)));
}

function printSection(print: Printer, title: string | null, lines: readonly string[]): void {
  print.line();
  if (title !== null) print.styled('bold', title);
  for (const line of lines) print.line(`  ${line}`);
}

function rowsOf(verbs: readonly Verb[]): readonly Row[] {
  return verbs.map((verb) => [usageOf(verb), verb.sentence]);
}

function flagRows(flags: readonly Flag[]): readonly Row[] {
  return flags.map(({ name, value, sentence }) => [
    value === null ? `--${name}` : `--${name} ${value}`,
    sentence,
  ]);
}

function columns(rows: readonly Row[]): readonly string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, sentence]) => `${name.padEnd(width)}  ${sentence}`);
}

function describe({ load: _, ...described }: Verb) {
  return described;
}

/** How a command is written, without `palisade`. */
function usageOf({ words, args, rest }: Verb, hasFlags = false): string {
  const after = rest === undefined ? [] : ['--', rest];
  return [words, ...args, ...(hasFlags ? ['[FLAGS]'] : []), ...after].join(' ');
}
