import { existsSync } from 'node:fs';
import { CODES } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import { confirm } from '../ask.ts';
import { CLIENTS } from '../connect/clients.table.ts';
import { disconnectClient } from '../connect/disconnect.ts';
import type { ConnectOutcome } from '../connect/print.ts';
import type { Printer } from '../printer.ts';
import type { Scope } from '../service/directives.table.ts';
import { uninstallAt } from '../service/service.ts';
import { SERVICE } from '../service/units.ts';
import { findShellFiles, removeShellFile } from '../shell-files.ts';
import type { Invocation } from '../verb.ts';
import { planState, removeState, type StatePlan } from './state.ts';

/*
 * `palisade uninstall`: what init, connect, service install and completion install did, undone in the order in which nothing
 * is used any more by what is left. The plan comes first and is the whole truth: what it does not name stays.
 */

/** A step of the plan, as it is shown before and told after it was done. */
export type Step = {
  readonly kind: 'service' | 'client' | 'shell' | 'state' | 'kept';
  readonly what: string;
};

type Plan = {
  readonly steps: readonly Step[];
  readonly state: StatePlan;
  readonly clients: readonly ConnectOutcome[];
};

export async function uninstall(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const plan = await makePlan(invocation);
  const isDryRun = flags['dry-run'] === true;
  const { steps, state } = plan;
  const document = { dryRun: isDryRun, steps, state };
  if (!print.json) printPlan(print, plan);
  if (isDryRun || !steps.some(({ kind }) => kind !== 'kept')) {
    if (print.json) print.document(document);
    return 0;
  }
  await confirm(invocation, {
    act: 'uninstall',
    question: 'Type uninstall to do this',
    answer: 'uninstall',
    needs: ['yes'],
  });
  const failed = await perform(invocation, plan);
  print.result({ ...document, failed }, () => {
    for (const each of failed) print.styled('red', '✗ ', each);
    if (failed.length === 0) print.styled('green', 'done', '  The program itself: npm uninstall -g palisade');
  });
  return failed.length === 0 ? 0 : CODES['door/wrong-usage'].exitStatus;
}

async function makePlan(invocation: Invocation): Promise<Plan> {
  // Wrong flags are refused before anything is looked at.
  const state = planState(invocation);
  const services: Step[] = [];
  for (const scope of scopesIn(invocation)) {
    const { ours, kept } = await uninstallAt(invocation, scope, true);
    services.push(...ours.map((what) => ({ kind: 'service' as const, what })));
    services.push(...kept.map((what) => ({ kind: 'kept' as const, what })));
  }
  const { clients, steps: ofClients } = await findClients(invocation);
  const files = findShellFiles(without(invocation)).filter(({ state: is }) => is !== 'missing');
  const shells = files.map(({ path, state: is }) => step(is === 'ours' ? 'shell' : 'kept', path));
  services.push(...systemService(invocation));
  return { state, clients, steps: [...services, ...ofClients, ...shells, ...stateSteps(state)] };
}

function step(kind: Step['kind'], what: string): Step {
  return { kind, what };
}

/** The service of the machine serves others, too: it goes only where that is said. */
function scopesIn({ flags }: Invocation): readonly Scope[] {
  if (process.platform === 'win32') return [];
  return flags.system === true ? ['user', 'system'] : ['user'];
}

/** A system service that stays, where there is one. */
function systemService({ flags }: Invocation): readonly Step[] {
  const path = `/etc/systemd/system/${SERVICE}`;
  if (flags.system === true || !existsSync(path)) return [];
  return [step('kept', `${path}, the service of the machine. --system removes it, as root.`)];
}

/** The flags of uninstall are not those of the commands that it undoes. */
function without(invocation: Invocation, flags: Invocation['flags'] = {}): Invocation {
  return { ...invocation, flags };
}

async function findClients(invocation: Invocation) {
  const clients: ConnectOutcome[] = [];
  const steps: Step[] = [];
  for (const client of CLIENTS) {
    try {
      const outcome = await disconnectClient(without(invocation, { 'dry-run': true }), client);
      if (outcome.status === 'not connected') continue;
      clients.push(outcome);
      const back = [...(outcome.removed === null ? [] : [outcome.removed]), ...outcome.restored].join(', ');
      steps.push(step('client', `${client.name}: ${back} in ${outcome.file}`));
      steps.push(
        ...outcome.kept.map(({ server, remedy }) => step('kept', `${server} in ${outcome.file}. ${remedy}`)),
      );
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      steps.push(step('kept', `${client.name}: ${error.message}`));
    }
  }
  return { clients, steps };
}

function stateSteps({ path, action, file, removes, keeps }: StatePlan): readonly Step[] {
  if (action === 'absent') return [];
  if (action === 'keep')
    return [step('kept', `${path}, with the journal. --export FILE or --purge removes it.`)];
  const moves =
    file === null
      ? []
      : [step('state', `export the journal to ${file}, and the public keys to ${file}.keys`)];
  return [
    ...moves,
    ...removes.map((each) => step('state', `remove ${each}`)),
    ...keeps.map((each) => step('kept', `${each}, which you wrote or edited`)),
  ];
}

const TITLES = {
  service: 'Stop the service, and remove',
  client: 'Disconnect',
  shell: 'Remove',
  state: 'State directory',
  kept: 'Stays',
} as const;

function printPlan(print: Printer, { steps }: Plan): void {
  for (const kind of ['service', 'client', 'shell', 'state', 'kept'] as const) {
    const own = steps.filter((each) => each.kind === kind);
    if (own.length === 0) continue;
    print.heading(`${TITLES[kind]}:`);
    for (const { what } of own) print.line(`  ${what}`);
  }
  print.line();
  print.line(
    'Entries of projects are not searched: `palisade disconnect CLIENT --project` in a project removes its own.',
  );
}

/** Each part is tried, so that one that fails keeps none of the others; the state directory goes only after all of them. */
async function perform(invocation: Invocation, { clients, state }: Plan): Promise<readonly string[]> {
  const failed: string[] = [];
  const attempt = async (act: () => Promise<unknown>) => {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      failed.push(`${error.message}. ${error.remedy}`);
    }
  };
  for (const scope of scopesIn(invocation)) await attempt(() => uninstallAt(invocation, scope, false));
  for (const { client: id } of clients) {
    const client = CLIENTS.find((each) => each.id === id);
    if (client !== undefined) await attempt(() => disconnectClient(without(invocation), client));
  }
  for (const file of findShellFiles(without(invocation))) if (file.state === 'ours') removeShellFile(file);
  if (failed.length === 0) await attempt(() => removeState(without(invocation), state));
  return failed;
}
