import { type Comparison, compareSkill } from '../../../operations/compare-skill.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Printer } from '../printer.ts';
import { withGateway } from '../skill/operate/act.ts';
import { openPackageFile } from '../skill/operate/package-file.ts';
import { printDifference } from '../skill/operate/print-difference.ts';
import { parseReference, readVersion } from '../skill/operate/reference.ts';
import type { Invocation } from '../verb.ts';

/** Shows what one version has that another does not. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [raw = '', path] = args;
  const named = parseReference(raw);
  const [from, to] = [versionFlag(invocation, 'from'), versionFlag(invocation, 'to') ?? named.version];
  if (path !== undefined && to !== null)
    throw wrongUsage('Cannot compare: a package and a version are given, expected one of both');
  const file = path === undefined ? null : await openPackageFile(invocation, path);
  return withGateway(invocation, async (gateway) => {
    tell(print, await compareSkill(gateway, { id: named.id, from, to, file }));
    return 0;
  });
}

function tell(print: Printer, comparison: Comparison): void {
  const { id, from, to, against } = comparison;
  if (print.json) print.document(comparison);
  const what = against === 'asked' ? 'what is asked for' : 'what was granted';
  print.styled('bold', `${id}  ${from} → ${to}`, `  against ${what} in ${from}`);
  printDifference(print, comparison);
}

function versionFlag(invocation: Invocation, name: 'from' | 'to'): string | null {
  const raw = textOf(invocation, name);
  return raw === undefined ? null : readVersion(raw);
}
