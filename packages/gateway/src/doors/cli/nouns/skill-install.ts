import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseReference as parseOciReference } from '../../../oci/reference.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { operationVerb } from '../operate.ts';
import type { Printer } from '../printer.ts';
import { readPackageFile } from '../skill/package-file.ts';
import {
  findingsOf,
  printDifference,
  printFindings,
  signerOf,
  summaryOfReport,
} from '../skill/print-skill.ts';
import type { Invocation } from '../verb.ts';

/** Installs a package. Whatever it contains, it ends in quarantine. */
export async function install(invocation: Invocation): Promise<number> {
  if (!isRegistryReference(invocation)) return installFile(invocation);
  return (await import('./skill-share.ts')).installFrom(invocation, printInstalled);
}

const installFile = operationVerb(
  'installSkill',
  async (invocation) => {
    const { args, print, flags } = invocation;
    const bytes = await readPackageFile(invocation, args[0] ?? '');
    if (!print.json)
      print.note('installing', 'dim', `  ${bytes.length} bytes; auditing it and running its test cases`);
    return { package: bytes, allowDowngrade: flags['allow-downgrade'] === true };
  },
  (installed, { print }) => printInstalled(print, installed),
);

/** A file of that name is meant first; `oci://` is never one. */
function isRegistryReference({ edge, args: [given = ''] }: Invocation): boolean {
  if (given.startsWith('oci://')) return true;
  const isFile = lstatSync(resolve(edge.cwd, given), { throwIfNoEntry: false }) !== undefined;
  if (isFile) return false;
  // What can only be a mistyped reference is reported as one.
  return parseOciReference(given).ok || /^[^./][^/]*\/.*[:@]|^[^/]*[:@].*\//.test(given);
}

function printInstalled(print: Printer, { skill, difference, isNew }: ResultOf<'installSkill'>): void {
  const { id, version, name, state, reason, report, artifact } = skill;
  print.styled('bold', `${id}@${version}`, `  ${state}`);
  print.line(`name       ${name}`);
  print.line(`publisher  ${signerOf(skill)}`);
  print.line(`sha256     ${artifact}`);
  print.line(`state      ${state}${reason === null ? '' : `: ${reason}`}`);
  print.line(`audit      ${report === null ? 'not yet' : summaryOfReport(report)}`);
  // Notes of the audit are shown with the whole report, by `skill audit`.
  if (report !== null)
    printFindings(print, { findings: [...findingsOf(report, 'refusal'), ...findingsOf(report, 'warning')] });
  if (difference !== null) {
    print.heading('Compared with the active version');
    printDifference(print, difference);
  }
  if (!isNew) print.note('already installed', 'yellow', '  nothing has changed');
  else print.note('installed', 'green', `  ${id}@${version}; it does not run before it is approved`);
  if (state !== 'quarantined') return;
  const [first, then] = report?.verdict === 'failed' ? ['audit', 'remove'] : ['show', 'approve'];
  print.next(`palisade skill ${first} ${id}@${version}   then   palisade skill ${then} ${id}@${version}`);
}
