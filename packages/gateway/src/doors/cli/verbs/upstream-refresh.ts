import { CODES } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import type { Requester } from '../../../executors/upstream/pinning.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import { refreshUpstream } from '../../../invoke/upstreams.ts';
import { tellNone } from '../print-upstream.ts';
import type { Printer } from '../printer.ts';
import { withGateway } from '../skill/operate/act.ts';
import type { Invocation } from '../verb.ts';

type Refreshed = { readonly name: string; readonly state: string; readonly why: string | null };

/** Gives the status of a failure where a server could not be talked to, or is in quarantine. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  return withGateway(invocation, async (gateway, { by, tenant }) => {
    const [named] = args;
    const names = named === undefined ? gateway.upstreams.rules.map(({ name }) => name) : [named];
    const all: Refreshed[] = [];
    for (const name of names) all.push(await refreshOne(gateway, name, { principal: by, tenant }));
    if (print.json) print.document({ upstreams: all });
    else if (all.length === 0) tellNone(print);
    else for (const refreshed of all) tell(print, refreshed);
    if (all.some(({ state }) => state === 'failed')) return CODES['tier/upstream-failed'].exitStatus;
    return all.some(({ state }) => state === 'quarantined') ? CODES['upstream/quarantined'].exitStatus : 0;
  });
}

async function refreshOne(gateway: Gateway, name: string, requester: Requester): Promise<Refreshed> {
  try {
    const status = await refreshUpstream(gateway, name, requester);
    return { name, state: status.kind, why: 'reason' in status ? status.reason : null };
  } catch (error) {
    if (!(error instanceof CodedError) || error.code === 'upstream/unknown') throw error;
    return { name, state: 'failed', why: error.message };
  }
}

function tell(print: Printer, { name, state, why }: Refreshed): void {
  const isWell = why === null;
  print.note(state, isWell ? 'green' : 'red', `  ${name}${isWell ? '' : `: ${why}`}`);
  if (state === 'quarantined') print.note('→', 'cyan', ` palisade upstream show ${name}`);
}
