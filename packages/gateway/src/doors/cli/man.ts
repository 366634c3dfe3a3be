import type { Flag, Invocation, Verb } from './verb.ts';
import { COMMON_FLAGS, VERB_GROUPS } from './verbs.table.ts';

/* The manual page, made from the table of verbs; for `man palisade`. */

const STATUSES: readonly (readonly [status: string, meaning: string])[] = [
  ['0', 'The command succeeded.'],
  ['1', 'It failed: a tool failed, or something that was looked for is not there.'],
  ['2', 'It was refused, by a policy, a budget, or a state that does not permit it.'],
  ['64', 'Wrong usage.'],
  ['70', 'A fault of palisade.'],
];

const VARIABLES: readonly (readonly [name: string, meaning: string])[] = [
  ['PALISADE_STATE', 'The state directory where --state is absent.'],
  ['XDG_STATE_HOME', 'Where the default state directory is, which is palisade in it.'],
  ['NO_COLOR', 'Like --no-color.'],
];

/** The page in the language of man(7). */
export function manPage(version: string): string {
  const head = `.TH PALISADE 1 "" "palisade ${version}" "User Commands"`;
  const parts = [
    head,
    section('NAME', 'palisade \\- a gateway between AI agents and their tools'),
    section('SYNOPSIS', '.B palisade', '.I COMMAND', '[\\fIARGUMENTS\\fR] [\\fIFLAGS\\fR]'),
    section(
      'DESCRIPTION',
      plain(
        'Palisade runs the tool calls of AI agents: each is authorised by policy, paid for from a budget, run in a sandbox, and leaves a signed receipt.',
      ),
      '.PP',
      plain(
        'Flags come after the command, as --flag VALUE or --flag=VALUE. Each command with --help shows its flags.',
      ),
    ),
    section('FLAGS OF EVERY COMMAND', ...COMMON_FLAGS.map(flagOf)),
    '.SH COMMANDS',
    ...VERB_GROUPS.flatMap(({ title, verbs }) => [`.SS ${plain(title)}`, ...verbs.map(verbOf)]),
    section('EXIT STATUS', ...STATUSES.map(tagged)),
    section('ENVIRONMENT', ...VARIABLES.map(tagged)),
    section(
      'FILES',
      tagged([
        '~/.local/state/palisade',
        'The default state directory: the database, keys, policies and the configuration palisade.toml.',
      ]),
    ),
  ];
  return `${parts.join('\n')}\n`;
}

function section(title: string, ...lines: readonly string[]): string {
  return [`.SH ${title}`, ...lines].join('\n');
}

function verbOf({ words, args, rest, sentence, flags, examples }: Verb): string {
  const usage = ['palisade', words, ...args, ...(rest === undefined ? [] : ['--', rest])].join(' ');
  const shown = flags.length === 0 ? [] : ['.RS', ...flags.map(flagOf), '.RE'];
  const tries = examples.map((example) => `.br\n${plain(example)}`);
  return [
    `.TP\n.B ${plain(usage)}`,
    plain(sentence),
    ...shown,
    '.RS',
    '.PP',
    'Example:',
    ...tries,
    '.RE',
  ].join('\n');
}

function flagOf({ name, value, sentence }: Flag): string {
  const after = value === null ? '' : ` ${value}`;
  return tagged([`--${name}${after}`, sentence]);
}

function tagged([name, meaning]: readonly [string, string]): string {
  return `.TP\n.B ${plain(name)}\n${plain(meaning)}`;
}

/** Boundary: text of the tables is no request and no escape of roff. */
function plain(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

export async function man({ edge, print }: Invocation): Promise<number> {
  const page = manPage(edge.version);
  if (print.json) print.document({ page });
  else await print.exact(page);
  return 0;
}
