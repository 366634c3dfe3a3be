import { dirname } from 'node:path';
import type { Finding } from '../../../../operations/findings.ts';
import type { Printer } from '../../printer.ts';
import type { FirstCall } from './first-call.ts';
import type { Offered } from './offer-clients.ts';
import type { Prepared } from './prepare.ts';

/* The words of `palisade init`: what was done, step by step. */

export function tellStep(print: Printer, title: string): void {
  print.line();
  print.styled('bold', title);
}

function tellThing(print: Printer, { path, made }: { path: string; made: boolean }, what: string): void {
  print.styled('green', '  ✓ ', made ? `made ${path}${what}` : `${path} is there and stays as it is`);
}

export function tellPrepared(print: Printer, { stateDir, config }: Prepared): void {
  tellStep(print, '1. The state directory: keys, journal, policies');
  tellThing(print, stateDir, ', for you alone');
  tellThing(print, config, ': every setting with its default, all switched off');
}

type PolicyRow = { readonly id: string; readonly effect: string; readonly file: string };

export function tellPolicies(print: Printer, { policies }: Prepared, rows: readonly PolicyRow[]): void {
  tellStep(print, '2. The policies: who may call what');
  tellThing(print, policies, ': policies to start with');
  for (const { id, effect, file } of rows)
    print.styled(effect === 'permit' ? 'green' : 'yellow', `  ${effect.padEnd(7)}`, `${id} (${file})`);
}

export function tellFindings(print: Printer, findings: readonly Finding[]): void {
  tellStep(print, '3. A look at this machine');
  const odd = findings.filter(({ state }) => state !== 'ok');
  print.styled(
    'green',
    '  ✓ ',
    `${findings.length - odd.length} of ${findings.length} things are as they should be`,
  );
  for (const { name, state, detail, remedy } of odd) {
    print.styled(
      state === 'problem' ? 'red' : 'yellow',
      state === 'problem' ? '  ✗ ' : '  ! ',
      `${name}: ${detail}`,
    );
    if (remedy !== null) print.styled('cyan', '    → ', remedy);
  }
}

export function tellOffered(print: Printer, offered: readonly Offered[], isAsked: boolean): void {
  if (offered.length === 0)
    print.line('  No client was found. `palisade connect` lists those that are known.');
  for (const { client, name, status, file, backup, message } of offered) {
    if (status === 'left alone') {
      print.line(`  - ${name} is left alone; later: palisade connect ${client}`);
    } else if (status === 'failed') print.styled('red', '  ✗ ', `${name}: ${message}`);
    else {
      print.styled('green', '  ✓ ', `${name}: ${status}${file === null ? '' : ` (${file})`}`);
      if (backup !== null) print.line(`    the file as it was: ${backup}`);
    }
  }
  if (!isAsked && offered.some(({ status }) => status === 'left alone'))
    print.line('  Nobody can be asked here: add --yes for all of them, or --client CLIENT.');
}

export function tellCall(print: Printer, { as, callId, status, code, message, verified }: FirstCall): void {
  tellStep(print, '5. The first call, with its receipt');
  if (status === 'ok') print.styled('green', '  ✓ ', `${as} called palisade.echo: ${callId}`);
  else print.styled('red', '  ✗ ', `${as} called palisade.echo: ${code}: ${message}`);
  print.styled(
    verified ? 'green' : 'red',
    verified ? '  ✓ ' : '  ✗ ',
    `its receipt ${verified ? 'verifies' : 'does NOT verify'}`,
  );
}

/** What to do now, as commands that can be copied. */
export function nextSteps({ policies }: Prepared, offered: readonly Offered[]): readonly string[] {
  const ready = offered.filter(({ file }) => file !== null);
  return [
    ...ready.map(({ name, next }) => `${name}: ${next} Then ask it to call palisade.echo.`),
    ...(ready.length === 0 ? ['palisade connect CLIENT    connect an agent'] : []),
    'palisade journal tail      see what was called, and by whom',
    'palisade approvals list    see what waits for you',
    `palisade policy check      after you edited ${policies.path}`,
    `palisade doctor            whenever something is odd in ${dirname(policies.path)}`,
  ];
}
