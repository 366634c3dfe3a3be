import type { InstallResult } from '../../../invoke/skills/install.ts';
import { installSkill } from '../../../invoke/skills/install.ts';
import { skillDocument } from '../../../operations/skill-document.ts';
import { withGateway } from '../skill/operate/act.ts';
import { readPackageFile } from '../skill/operate/package-file.ts';
import { printDifference } from '../skill/operate/print-difference.ts';
import { findingsOf, printFindings, summaryOfReport } from '../skill/operate/print-report.ts';
import type { Invocation } from '../verb.ts';

const TRUSTED = { operator: 'which you trust', 'first-use': 'trusted because it was the first one' } as const;

/** Takes a package in. Whatever it is, it ends in quarantine. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print, flags, signal } = invocation;
  const [path = ''] = args;
  const bytes = await readPackageFile(invocation, path);
  return withGateway(invocation, async (gateway, acting) => {
    const allowDowngrade = flags['allow-downgrade'] === true;
    if (!print.json)
      print.note('installing', 'dim', `  ${bytes.length} bytes; it is audited and its test cases are run`);
    const result = await installSkill(gateway, { ...acting, bytes, allowDowngrade, signal });
    const { skill, difference, isNew } = result;
    if (print.json) print.document({ skill: skillDocument(skill), difference, isNew });
    else show(invocation, result);
    return 0;
  });
}

function show({ print }: Invocation, { skill, difference, isNew }: InstallResult): void {
  const { id, version, name, publisher, keyId, trust, state, reason, report, artifact } = skill;
  print.styled('bold', `${id}@${version}`, `  ${state}`);
  print.line(`name       ${name}`);
  print.line(`publisher  ${publisher}, key ${keyId}, ${TRUSTED[trust]}`);
  print.line(`sha256     ${artifact}`);
  print.line(`state      ${state}${reason === null ? '' : `: ${reason}`}`);
  print.line(`audit      ${report === null ? 'not yet' : summaryOfReport(report)}`);
  // Notes are for whoever reads the whole report.
  if (report !== null)
    printFindings(print, { findings: [...findingsOf(report, 'refusal'), ...findingsOf(report, 'warning')] });
  if (difference !== null) {
    print.line();
    print.styled('bold', 'Against the version that runs');
    printDifference(print, difference);
  }
  if (!isNew) print.note('installed already', 'yellow', '  nothing has changed');
  else print.note('installed', 'green', `  ${id}@${version}; nothing of it runs before it is approved`);
  if (state !== 'quarantined') return;
  if (report?.verdict === 'failed')
    print.note(
      '→',
      'cyan',
      ` palisade skill audit ${id}@${version}   then   palisade skill remove ${id}@${version}`,
    );
  else
    print.note(
      '→',
      'cyan',
      ` palisade skill show ${id}@${version}   then   palisade skill approve ${id}@${version}`,
    );
}
