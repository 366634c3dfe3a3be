import { CONFIG_KEYS, type ConfigKey } from '../../../../config/config.table.ts';

const HEAD = `# The configuration of palisade. Every key of its sections is here with its default; take away the "#" before
# the keys that you want to change. An unknown key or a number out of range is an error with its line.
# \`palisade config show\` says what holds. Groups, secrets, budgets and upstream servers have sections
# of their own, which docs/config.md explains.
`;

/** A palisade.toml that changes nothing, and shows what can be changed. */
export function starterConfig(): string {
  const sections = new Map<string, string[]>();
  for (const row of CONFIG_KEYS.filter(({ key }) => /^[a-z]+\.[a-z_]+$/.test(key))) {
    const [section = '', name = ''] = row.key.split('.');
    const lines = sections.get(section) ?? [];
    sections.set(section, [...lines, `# ${row.sentence}`, `#${name} = ${defaultOf(row)}`]);
  }
  const parts = [...sections].map(([section, lines]) => `\n[${section}]\n${lines.join('\n')}\n`);
  return `${HEAD}${parts.join('')}`;
}

function defaultOf(row: ConfigKey): string {
  if (row.default !== null) return JSON.stringify(row.default).replaceAll('","', '", "');
  return row.type === 'string-list' ? '[]' : '""';
}
