/** Writes the reference of docs/cli.md from the tables of verbs: each command with its sentence, flags and examples. */

/** The Markdown of all groups of commands. */
export function commandReference(groups) {
  return groups
    .map(({ title, verbs }) => [`### ${title}`, ...verbs.map(commandOf)].join('\n\n'))
    .join('\n\n');
}

function commandOf({ words, args, rest, flags, sentence, examples }) {
  const usage = ['palisade', words, ...args, ...(rest === undefined ? [] : ['[FLAGS] --', rest])].join(' ');
  const parts = [`#### \`${usage}\``, plainText(sentence)];
  if (flags.length > 0) parts.push(flagTable(flags));
  parts.push(['```sh', ...examples, '```'].join('\n'));
  return parts.join('\n\n');
}

function flagTable(flags) {
  const rows = flags.map(
    ({ name, value, sentence }) =>
      `| \`--${name}${value === null ? '' : ` ${value.replaceAll('|', '\\|')}`}\` | ${plainText(sentence)} |`,
  );
  return ['| flag | meaning |', '|---|---|', ...rows].join('\n');
}

/** Sentences are plain text: what Markdown would read as markup or as a cell is escaped, outside of code spans. */
function plainText(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replace(/[*_[\]<]/g, '\\$&')))
    .join('')
    .replaceAll('|', '\\|');
}
