import { dirname } from 'node:path';
import type { Finding } from '../../../operations/findings.ts';
import type { Printer } from '../printer.ts';
import type { FirstCall, OfferedClient, PreparedState } from './init.ts';

/* What `palisade init` prints: what was done, step by step. */

export function printStep(print: Printer, title: string): void {
  print.line();
  print.styled('bold', title);
}

function printThing(print: Printer, { path, made }: { path: string; made: boolean }, what: string): void {
  print.styled('green', '  ✓ ', made ? `made ${path}${what}` : `${path} exists and stays as it is`);
}

export function printPrepared(print: Printer, { stateDir, config }: PreparedState): void {
  printStep(print, '1. The state directory: keys, journal, policies');
  printThing(print, stateDir, ', readable by you only');
  printThing(print, config, ': every setting with its default, all commented out');
}

type PolicyRow = { readonly id: string; readonly effect: string; readonly file: string };

export function printPolicies(print: Printer, { policies }: PreparedState, rows: readonly PolicyRow[]): void {
  printStep(print, '2. The policies: who may call what');
  printThing(print, policies, ': starter policies');
  for (const { id, effect, file } of rows)
    print.styled(effect === 'permit' ? 'green' : 'yellow', `  ${effect.padEnd(7)}`, `${id} (${file})`);
}

export function printFindings(print: Printer, findings: readonly Finding[]): void {
  printStep(print, '3. This machine');
  const odd = findings.filter(({ state }) => state !== 'ok');
  print.styled('green', '  ✓ ', `${findings.length - odd.length} of ${findings.length} checks passed`);
  for (const { name, state, detail, remedy } of odd) {
    print.styled(
      state === 'problem' ? 'red' : 'yellow',
      state === 'problem' ? '  ✗ ' : '  ! ',
      `${name}: ${detail}`,
    );
    if (remedy !== null) print.styled('cyan', '    → ', remedy);
  }
}

export function printOffered(print: Printer, offered: readonly OfferedClient[], isAsked: boolean): void {
  if (offered.length === 0) print.line('  No client was found. `palisade connect` lists the supported ones.');
  for (const { client, name, status, file, backup, message } of offered) {
    if (status === 'left alone') {
      print.line(`  - ${name} was skipped. To connect it later: palisade connect ${client}`);
    } else if (status === 'failed') print.styled('red', '  ✗ ', `${name}: ${message}`);
    else {
      print.styled('green', '  ✓ ', `${name}: ${status}${file === null ? '' : ` (${file})`}`);
      if (backup !== null) print.line(`    backup of the file before this change: ${backup}`);
    }
  }
  if (!isAsked && offered.some(({ status }) => status === 'left alone'))
    print.line('  No terminal to ask at: connect all of them with --yes, or some with --client CLIENT.');
}

export function printCall(print: Printer, { as, callId, status, code, message, verified }: FirstCall): void {
  printStep(print, '5. The first call, with its receipt');
  if (status === 'ok') print.styled('green', '  ✓ ', `${as} called palisade.echo: ${callId}`);
  else print.styled('red', '  ✗ ', `${as} called palisade.echo: ${code}: ${message}`);
  print.styled(
    verified ? 'green' : 'red',
    verified ? '  ✓ ' : '  ✗ ',
    `its receipt ${verified ? 'verifies' : 'does NOT verify'}`,
  );
}

/** What to do now, as commands that can be copied. */
export function nextSteps({ policies }: PreparedState, offered: readonly OfferedClient[]): readonly string[] {
  const ready = offered.filter(({ file }) => file !== null);
  return [
    ...ready.map(({ name, next }) => `${name}: ${next} Then ask it to call palisade.echo.`),
    ...(ready.length === 0 ? ['palisade connect CLIENT    connect an agent'] : []),
    'palisade journal tail      see what was called, and by whom',
    'palisade approvals list    see which calls wait for your approval',
    `palisade policy check      check your edits of ${policies.path}`,
    `palisade doctor            check this machine and ${dirname(policies.path)}`,
  ];
}
