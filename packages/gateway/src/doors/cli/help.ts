import { COMMON_FLAGS } from './parse.ts';
import type { Printer } from './printer.ts';
import type { Flag, Verb } from './verb.ts';
import { VERBS } from './verbs.table.ts';

/** The help of everything, or of the commands that start with these words. */
export function printOverview(print: Printer, words: readonly string[]): void {
  const [group] = words;
  const shown = VERBS.filter((verb) => group === undefined || verb.words.split(' ')[0] === group);
  if (print.json) print.document({ commands: shown.map(describe), flags: COMMON_FLAGS });
  print.line('palisade runs the tool calls of AI agents: authorised, paid, sandboxed, receipted.');
  print.line();
  print.line('Usage: palisade COMMAND [ARGUMENTS] [FLAGS]');
  print.line();
  const width = Math.max(...shown.map((verb) => usageOf(verb).length));
  for (const verb of shown) print.line(`  ${usageOf(verb).padEnd(width)}  ${verb.sentence}`);
  print.line();
  printFlags(print, 'Flags of every command:', COMMON_FLAGS);
  print.line();
  print.line('Run `palisade COMMAND --help` for its flags and examples. Start with `palisade demo`.');
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
  print.line(verb.examples.length > 1 ? 'Examples:' : 'Example:');
  for (const example of verb.examples) print.line(`  ${example}`);
}

function printFlags(print: Printer, title: string, flags: readonly Flag[]): void {
  print.line(title);
  const spelled = flags.map(({ name, value }) => `--${name}${value === null ? '' : ` ${value}`}`);
  const width = Math.max(...spelled.map((text) => text.length));
  for (const [i, { sentence }] of flags.entries())
    print.line(`  ${(spelled[i] ?? '').padEnd(width)}  ${sentence}`);
}

function describe({ words, args, rest, flags, sentence, examples }: Verb) {
  return { words, args, ...(rest === undefined ? {} : { rest }), flags, sentence, examples };
}

function usageOf({ words, args, rest }: Verb, hasFlags = false): string {
  const after = rest === undefined ? [] : ['--', rest];
  return [words, ...args, ...(hasFlags ? ['[FLAGS]'] : []), ...after].join(' ');
}
