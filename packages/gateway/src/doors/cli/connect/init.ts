import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { CODES, parseKeyRing, verifyReceipt } from '@palisade/sdk';
import { nodePrimitives } from '../../../attest/primitives.ts';
import { CONFIG_KEYS, type ConfigKey } from '../../../config/config.table.ts';
import { CONFIG_FILE } from '../../../config/load.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { inert } from '../../../core/hostile-text.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../../../core/principal.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { examineGateway, type Finding, recordFindings } from '../../../operations/findings.ts';
import { prepareStateDir } from '../../../store/state-dir.ts';
import { canAsk } from '../ask.ts';
import { callOf } from '../make-call.ts';
import { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import { CLIENTS, type McpClient } from './clients.table.ts';
import { connectClient } from './connect.ts';
import type { Status } from './print.ts';
import {
  nextSteps,
  printCall,
  printFindings,
  printOffered,
  printPolicies,
  printPrepared,
  printStep,
} from './print-init.ts';
import { chooseClient, isFound, machineOf } from './target.ts';

/* `palisade init`: from nothing to a connected agent in one command. What exists is left as it is, so it can be run again. */

/** The exit status of `palisade doctor` for a problem of the machine. */
const PROBLEM_STATUS = 2;
/** The principal of the first call where no client is connected. */
const NEWCOMER = { kind: 'agent', name: 'newcomer' } as const;

/** What of the state directory existed and what was made. */
export type PreparedState = ReturnType<typeof prepare>;

/** What became of a client that was found or named. */
export type OfferedClient = {
  readonly client: string;
  readonly name: string;
  readonly status: Status | 'left alone' | 'failed';
  readonly file: string | null;
  readonly backup: string | null;
  readonly message: string | null;
  readonly next: string;
};

/** How the first call ended. */
export type FirstCall = Awaited<ReturnType<typeof makeFirstCall>>;

export async function run(invocation: Invocation): Promise<number> {
  const { print, stateDir, flags } = invocation;
  // An unknown client is refused before anything is made.
  const clients = wantedClients(invocation);
  const prepared = prepare(stateDir.path);
  printPrepared(print, prepared);
  const gateway = await invocation.openGateway();
  try {
    printPolicies(print, prepared, gateway.policy.set?.policies ?? []);
    const { findings: ofGateway } = await examineGateway(gateway);
    const findings = [...recordFindings(gateway, stateDir), ...ofGateway];
    printFindings(print, findings);
    printStep(print, '4. Your agents');
    const offered = await offerClients(invocation, clients);
    printOffered(print, offered, canAsk(invocation));
    const call = await makeFirstCall(invocation, gateway, callerOf(offered));
    printCall(print, call);
    const demo = flags.demo === true ? await showDemo(invocation) : null;
    const status = exitStatus(findings, offered, call, demo);
    const next = nextSteps(prepared, offered);
    if (print.json)
      print.document({ ok: status === 0, ...prepared, findings, clients: offered, call, demo, next });
    printStep(print, `${status === 0 ? 'Ready.' : 'Something failed; see above.'} What to do next:`);
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
    sections.set(section, [...lines, `# ${row.sentence}`, `#${name} = ${defaultOf(row)}`]);
  }
  const parts = [...sections].map(([section, lines]) => `\n[${section}]\n${lines.join('\n')}\n`);
  return `${STARTER_HEAD}${parts.join('')}`;
}

function defaultOf(row: ConfigKey): string {
  if (row.default !== null) return JSON.stringify(row.default).replaceAll('","', '", "');
  return row.type === 'string-list' ? '[]' : '""';
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

async function offerClient(
  invocation: Invocation,
  client: McpClient,
  isWanted: boolean,
): Promise<OfferedClient> {
  const { id, name, next } = client;
  const about = { client: id, name, file: null, backup: null, message: null, next };
  if (!isWanted) return { ...about, status: 'left alone' };
  try {
    // The flags of init are not those of connect.
    const { status, file, backup } = await connectClient({ ...invocation, flags: {} }, client);
    return { ...about, status, file, backup };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { ...about, status: 'failed', message: `${error.message}. ${error.remedy}` };
  }
}

/** One dialogue at the terminal; what is typed ahead counts for the questions to come. */
function openQuestions({ edge, signal }: Invocation) {
  const lines = createInterface({ input: edge.stdin as Readable, terminal: false, signal });
  const answers = lines[Symbol.asyncIterator]();
  return {
    /** Anything but a clear yes is a no. */
    ask: async (question: string): Promise<boolean> => {
      edge.stderr.write(`${inert(question)} [y/N] `);
      const { value, done } = await answers.next().catch(() => ({ value: undefined, done: true }));
      if (signal.aborted) throw new CodedError('tier/cancelled', 'Cannot read the answer: it was cancelled');
      if (done === true) edge.stderr.write('\n');
      return typeof value === 'string' && /^y(es)?$/i.test(value.trim());
    },
    close: () => lines.close(),
  };
}

function callerOf(offered: readonly OfferedClient[]): Principal {
  const first = offered.find(({ file }) => file !== null);
  return (first === undefined ? null : parsePrincipal(`agent:${first.client}`)) ?? NEWCOMER;
}

/** Calls a harmless tool as that agent, and verifies the receipt as a stranger would: with the public keys alone. */
async function makeFirstCall({ edge, signal }: Invocation, gateway: Opened<Gateway>, principal: Principal) {
  const { tenant } = gateway.config.gateway;
  const rawInput = '{"message":"hello from palisade init"}';
  const call = callOf(edge, { principal, tenant, tool: 'palisade.echo', rawInput });
  const { callId, outcome, receipt } = await invoke(gateway, call, signal);
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
