import { Writable } from 'node:stream';
import { CODES } from '@palisade/sdk';
import { parsePrincipal } from '../../../core/principal.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import { type Finding, gatewayFindings, recordFindings, tierFindings } from '../../../operations/findings.ts';
import { canAsk } from '../ask.ts';
import { type FirstCall, makeFirstCall } from '../connect/init/first-call.ts';
import { type Offered, offerClients, wantedClients } from '../connect/init/offer-clients.ts';
import { prepare } from '../connect/init/prepare.ts';
import {
  nextSteps,
  tellCall,
  tellFindings,
  tellOffered,
  tellPolicies,
  tellPrepared,
  tellStep,
} from '../connect/init/tell-init.ts';
import { Printer } from '../printer.ts';
import type { Invocation, Opened } from '../verb.ts';

/* From nothing to an agent that is connected, in one command. Whatever is there already is left as it is, so it can be run again. */

/** As `palisade doctor` has it. */
const PROBLEM_STATUS = 2;
/** Who makes the first call where no client is connected. */
const NEWCOMER = { kind: 'agent', name: 'newcomer' } as const;

export async function run(invocation: Invocation): Promise<number> {
  const { print, stateDir, flags } = invocation;
  // A client that nobody knows is found out before anything is made.
  const clients = wantedClients(invocation);
  const prepared = prepare(stateDir.path);
  tellPrepared(print, prepared);
  const gateway = await invocation.openGateway();
  try {
    const { set } = gateway.policy;
    tellPolicies(print, prepared, set?.policies ?? []);
    const findings = await lookAround(invocation, gateway);
    tellFindings(print, findings);
    tellStep(print, '4. Your agents');
    const offered = await offerClients(invocation, clients);
    tellOffered(print, offered, canAsk(invocation));
    const call = await makeFirstCall(invocation, gateway, agentOf(offered));
    tellCall(print, call);
    const demo = flags.demo === true ? await showDemo(invocation) : null;
    const status = statusOf(findings, offered, call, demo);
    const next = nextSteps(prepared, offered);
    if (print.json)
      print.document({ ok: status === 0, ...prepared, findings, clients: offered, call, demo, next });
    tellStep(
      print,
      status === 0 ? 'All is ready. What to do next:' : 'Not all went well; see above. What to do next:',
    );
    for (const line of next) print.styled('cyan', '  → ', line);
    return status;
  } finally {
    await gateway.close();
  }
}

async function lookAround(invocation: Invocation, gateway: Opened<Gateway>): Promise<readonly Finding[]> {
  const rows = await gateway.inspectTiers();
  return [
    ...recordFindings(gateway, invocation.stateDir),
    ...gatewayFindings(gateway),
    ...tierFindings(gateway, rows),
  ];
}

function agentOf(offered: readonly Offered[]) {
  const first = offered.find(({ file }) => file !== null);
  return (first === undefined ? null : parsePrincipal(`agent:${first.client}`)) ?? NEWCOMER;
}

/** The demo as it is; with --json it only says how it ended. */
async function showDemo(invocation: Invocation): Promise<number> {
  const { demo } = await import('../nouns/demo.ts');
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const silent = new Printer({ out: nowhere, err: nowhere, json: false, colour: false });
  return demo({ ...invocation, flags: {}, print: invocation.print.json ? silent : invocation.print });
}

function statusOf(
  findings: readonly Finding[],
  offered: readonly Offered[],
  call: FirstCall,
  demo: number | null,
): number {
  if (findings.some(({ state }) => state === 'problem')) return PROBLEM_STATUS;
  if (offered.some(({ status }) => status === 'failed')) return CODES['door/wrong-usage'].exitStatus;
  if (call.status !== 'ok') return CODES[call.code].exitStatus;
  return call.verified ? (demo ?? 0) : CODES['attest/unverified'].exitStatus;
}
