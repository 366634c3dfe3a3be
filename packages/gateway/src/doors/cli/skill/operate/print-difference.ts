import type { SkillDifference } from '../../../../skills/difference.ts';
import type { Printer } from '../../printer.ts';

const QUOTAS = { wallMs: 'wall clock in ms', fuel: 'fuel', memoryBytes: 'memory in bytes' } as const;
const STYLES = { '+': 'green', '-': 'red', '@': 'dim', ' ': 'dim' } as const;

/** Prints what a version has that another does not, what it could do more first. */
export function printDifference(print: Printer, difference: SkillDifference): void {
  const { widens, capabilities, quotas, reviewers, tools, prose } = difference;
  if (widens) print.styled('yellow', '! ', 'it could do more than before');
  else print.styled('green', '✓ ', 'it could do no more than before');
  printSection(print, 'capabilities', [...plus(capabilities.added), ...minus(capabilities.removed)]);
  printSection(
    print,
    'quotas',
    quotas.map(({ name, before, after }) => `~ ${QUOTAS[name]}: ${before ?? 'none'} → ${after ?? 'none'}`),
  );
  if (reviewers !== null) printSection(print, 'reviewers', [`~ ${reviewers.before} → ${reviewers.after}`]);
  const changed = tools.changed.flatMap(({ id, what }) => what.map((each) => `~ ${id}: ${each}`));
  printSection(print, 'tools', [...plus(tools.added), ...minus(tools.removed), ...changed]);
  if (prose.changed) printSection(print, 'SKILL.md', prose.lines);
  if (isEmpty(difference)) print.line('Nothing that can be seen from outside has changed.');
}

function isEmpty({ capabilities, quotas, reviewers, tools, prose }: SkillDifference): boolean {
  const lists = [capabilities.added, capabilities.removed, quotas, tools.added, tools.removed, tools.changed];
  return lists.every((list) => list.length === 0) && reviewers === null && !prose.changed;
}

function printSection(print: Printer, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  print.line();
  print.styled('bold', title);
  for (const line of lines) {
    const [sign = ' '] = line;
    print.styled(Object.hasOwn(STYLES, sign) ? STYLES[sign as keyof typeof STYLES] : 'yellow', line);
  }
}

function plus(names: readonly string[]): readonly string[] {
  return names.map((name) => `+ ${name}`);
}

function minus(names: readonly string[]): readonly string[] {
  return names.map((name) => `- ${name}`);
}
