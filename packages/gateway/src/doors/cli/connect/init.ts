import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { CODES, parseKeyRing, verifyReceipt } from '@palisade/sdk';
import { nodePrimitives } from '../../../attest/primitives.ts';
import { CONFIG_KEYS } from '../../../config/config.table.ts';
import { CONFIG_FILE } from '../../../config/environment.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../../../core/principal.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { examineGateway, type Finding, recordFindings } from '../../../operations/findings.ts';
import type { PolicySet } from '../../../policy/policy-set.ts';
import { prepareStateDir } from '../../../store/state-dir.ts';
import { canAsk, openQuestions } from '../ask.ts';
import { callOf } from '../make-call.ts';
import { PROBLEM_STATUS, printFinding } from '../nouns/doctor.ts';
import { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import { CLIENTS, type McpClient } from './clients.table.ts';
import { connectClient } from './connect.ts';
import { chooseClient, isFound, machineOf } from './target.ts';

/* `palisade init`: from nothing to a connected agent in one command. What exists is left as it is, so it can be run again. */

/** The principal of the first call where no client is connected. */
const NEWCOMER = { kind: 'agent', name: 'newcomer' } as const;

/** What of the state directory existed and what was made. */
type PreparedState = ReturnType<typeof prepare>;

/** What became of a client that was found or named. */
type OfferedClient = Awaited<ReturnType<typeof offerClient>>;

/** How the first call ended. */
type FirstCall = Awaited<ReturnType<typeof makeFirstCall>>;

export async function init(invocation: Invocation): Promise<number> {
  const { print, stateDir, flags } = invocation;
  // An unknown client is refused before anything is made.
  const clients = wantedClients(invocation);
  const prepared = prepare(stateDir.path);
  printPrepared(print, prepared);
  const gateway = await invocation.openGateway();
  try {
    printPolicies(print, prepared, gateway.policy.set);
    const { findings: ofGateway } = await examineGateway(gateway);
    const findings = [...recordFindings(gateway, stateDir), ...ofGateway];
    printFindings(print, findings);
    print.heading('4. Your agents');
    const offered = await offerClients(invocation, clients);
    printOffered(print, offered, canAsk(invocation));
    const call = await makeFirstCall(invocation, gateway, callerOf(offered));
    printCall(print, call);
    const demo = flags.demo === true ? await showDemo(invocation) : null;
    const status = exitStatus(findings, offered, call, demo);
    const next = nextSteps(prepared, offered);
    if (print.json)
      print.document({ ok: status === 0, ...prepared, findings, clients: offered, call, demo, next });
    print.heading(`${status === 0 ? 'Ready.' : 'Something failed; see above.'} What to do next:`);
    for (const line of next) print.styled('cyan', '  → ', line);
    return status;
  } finally {
    await gateway.close();
  }
}

function exitStatus(
  findings: readonly Finding[],
  offered: readonly OfferedClient[],
  call: FirstCall,
  demo: number | null,
): number {
  if (findings.some(({ state }) => state === 'problem')) return PROBLEM_STATUS;
  if (offered.some(({ status }) => status === 'failed')) return CODES['door/wrong-usage'].exitStatus;
  if (call.status !== 'ok') return CODES[call.code].exitStatus;
  return call.verified ? (demo ?? 0) : CODES['attest/unverified'].exitStatus;
}

/** Makes the state directory and a configuration that changes nothing; what exists stays as it is. */
function prepare(stateDir: string) {
  const isNew = !existsSync(stateDir);
  prepareStateDir(stateDir);
  const config = join(stateDir, CONFIG_FILE);
  const policies = join(stateDir, 'policies');
  return {
    stateDir: { path: stateDir, made: isNew },
    config: { path: config, made: makeConfig(config) },
    // Those are made when the gateway is opened for the first time.
    policies: { path: policies, made: !existsSync(policies) },
  };
}

function makeConfig(path: string): boolean {
  try {
    // Boundary: `wx` overwrites nothing, and follows no link.
    writeFileSync(path, starterConfig(), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EEXIST') return false;
    throw new CodedError(
      'store/unwritable',
      `Cannot write "${path}": ${code}, expected a state directory that this user may write`,
    );
  }
}

const STARTER_HEAD = `# The configuration of palisade. Every key of its sections is here with its default; remove the "#" before
# the keys that you want to change. An unknown key or a number out of range is an error with its line.
# \`palisade config show\` shows the values in force. Groups, secrets, budgets and upstream servers have sections
# of their own, which docs/config.md explains.
`;

/** A palisade.toml that changes nothing, and shows what can be changed. */
export function starterConfig(): string {
  const sections = new Map<string, string[]>();
  for (const row of CONFIG_KEYS.filter(({ key }) => /^[a-z]+\.[a-z_]+$/.test(key))) {
    const [section = '', name = ''] = row.key.split('.');
    const lines = sections.get(section) ?? [];
    const value = row.default ?? (row.type === 'string-list' ? [] : '');
    const text = JSON.stringify(value).replaceAll('","', '", "');
    sections.set(section, [...lines, `# ${row.sentence}`, `#${name} = ${text}`]);
  }
  const parts = [...sections].map(([section, lines]) => `\n[${section}]\n${lines.join('\n')}\n`);
  return `${STARTER_HEAD}${parts.join('')}`;
}

function wantedClients(invocation: Invocation): readonly McpClient[] {
  const { client } = invocation.flags;
  if (Array.isArray(client)) return [...new Set(client.map((id: string) => chooseClient(id)))];
  return CLIENTS.filter((each) => isFound(each, machineOf(invocation)));
}

/** Connects each client that is named or agreed to. A file that cannot be used does not stop the others. */
async function offerClients(
  invocation: Invocation,
  clients: readonly McpClient[],
): Promise<readonly OfferedClient[]> {
  const { flags } = invocation;
  const isAgreed = flags.yes === true || Array.isArray(flags.client);
  const questions = !isAgreed && canAsk(invocation) && clients.length > 0 ? openQuestions(invocation) : null;
  const offered: OfferedClient[] = [];
  try {
    for (const client of clients) {
      const isWanted = isAgreed || (await questions?.ask(`Connect ${client.name} to palisade?`)) === true;
      offered.push(await offerClient(invocation, client, isWanted));
    }
  } finally {
    questions?.close();
  }
  return offered;
}

async function offerClient(invocation: Invocation, client: McpClient, isWanted: boolean) {
  const { id, name, next } = client;
  const about = { client: id, name, file: null, backup: null, message: null, next };
  if (!isWanted) return { ...about, status: 'left alone' as const };
  try {
    // The other flags of init are not those of connect.
    const { workspace } = invocation.flags;
    const { status, file, backup } = await connectClient({ ...invocation, flags: { workspace } }, client);
    return { ...about, status, file, backup };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { ...about, status: 'failed' as const, message: `${error.message}. ${error.remedy}` };
  }
}

function callerOf(offered: readonly OfferedClient[]): Principal {
  const first = offered.find(({ file }) => file !== null);
  return (first === undefined ? null : parsePrincipal(`agent:${first.client}`)) ?? NEWCOMER;
}

/** Calls a harmless tool as that agent, and verifies the receipt as a stranger would: with the public keys alone. */
async function makeFirstCall(invocation: Invocation, gateway: Opened<Gateway>, principal: Principal) {
  const rawInput = '{"message":"hello from palisade init"}';
  const call = callOf(invocation, gateway, { principal, tool: 'palisade.echo', rawInput });
  const { callId, outcome, receipt } = await invoke(gateway, call, invocation.signal);
  const ring = await parseKeyRing(gateway.keys.export(), nodePrimitives);
  const report =
    ring.ok && receipt !== null ? await verifyReceipt(receipt, ring.keys, {}, nodePrimitives) : null;
  const { status, code } = outcome;
  const message = outcome.status === 'ok' ? CODES.ok.sentence : outcome.message;
  return { as: formatPrincipal(principal), callId, status, code, message, verified: report?.ok === true };
}

/** The demo as it is; with --json only its exit status is shown. */
async function showDemo(invocation: Invocation): Promise<number> {
  const { demo } = await import('../nouns/demo.ts');
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const silent = new Printer({ out: nowhere, err: nowhere, json: false, colour: false });
  return demo({ ...invocation, flags: {}, print: invocation.print.json ? silent : invocation.print });
}

/* What `palisade init` prints: what was done, step by step. */

function printThing(print: Printer, { path, made }: { path: string; made: boolean }, what: string): void {
  print.styled('green', '  ✓ ', made ? `made ${path}${what}` : `${path} exists and stays as it is`);
}

function printPrepared(print: Printer, { stateDir, config }: PreparedState): void {
  print.heading('1. The state directory: keys, journal, policies');
  printThing(print, stateDir, ', readable by you only');
  printThing(print, config, ': every setting with its default, all commented out');
}

function printPolicies(print: Printer, { policies }: PreparedState, set: PolicySet | null): void {
  print.heading('2. The policies: who may call what');
  printThing(print, policies, ': starter policies');
  for (const { id, effect, file } of set?.policies ?? [])
    print.styled(effect === 'permit' ? 'green' : 'yellow', `  ${effect.padEnd(7)}`, `${id} (${file})`);
}

function printFindings(print: Printer, findings: readonly Finding[]): void {
  print.heading('3. This machine');
  const odd = findings.filter(({ state }) => state !== 'ok');
  print.styled('green', '  ✓ ', `${findings.length - odd.length} of ${findings.length} checks passed`);
  for (const finding of odd) printFinding(print, finding, '  ');
}

function printOffered(print: Printer, offered: readonly OfferedClient[], isAsked: boolean): void {
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

function printCall(print: Printer, { as, callId, status, code, message, verified }: FirstCall): void {
  print.heading('5. The first call, with its receipt');
  if (status === 'ok') print.styled('green', '  ✓ ', `${as} called palisade.echo: ${callId}`);
  else print.styled('red', '  ✗ ', `${as} called palisade.echo: ${code}: ${message}`);
  if (verified) print.styled('green', '  ✓ ', 'its receipt verifies');
  else print.styled('red', '  ✗ ', 'its receipt does NOT verify');
}

/** What to do now, as commands that can be copied. */
function nextSteps({ policies }: PreparedState, offered: readonly OfferedClient[]): readonly string[] {
  const ready = offered.filter(({ file }) => file !== null);
  return [
    ...ready.map(
      ({ name, next }) =>
        `${name}: ${next} Then, in a project, ask it to run "ls" with palisade_process_run.`,
    ),
    ...(ready.length === 0 ? ['palisade connect CLIENT    connect an agent'] : []),
    'palisade journal tail      see what was called, and by whom',
    'palisade approvals list    see which calls wait for your approval',
    `palisade policy check      check your edits of ${policies.path}`,
    `palisade doctor            check this machine and ${dirname(policies.path)}`,
    'palisade service install   serve all agents from one daemon that is always there',
  ];
}
