import { resolve } from 'node:path';
import { CODES } from '@palisade/sdk';
import type { ToolCall } from '../../core/call.ts';
import { makeId } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { type FailedCode, fail, type Outcome, type RefusedCode, refuse } from '../../core/outcome.ts';
import { isWithin } from '../../core/paths.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { Ended } from '../../invoke/finish.ts';
import type { Gateway, Opened } from '../../invoke/gateway.ts';
import type { CallDocument } from '../../operations/call-document.ts';
import type { ServerEvent } from '../../operations/operation.ts';
import type { DaemonFacts } from '../../store/daemon-facts.ts';
import type { CallContext } from '../../tiers/tier.ts';
import { findDaemon } from './find-daemon.ts';
import { placeIn, textOf } from './input.ts';
import { withGateway } from './opened.ts';
import { type OutFile, openOut } from './out-file.ts';
import type { Printer } from './printer.ts';
import type { Invocation } from './verb.ts';

/** What a verb knows of the call that it makes. */
export type Wanted = Pick<ToolCall, 'principal' | 'tool' | 'rawInput'> &
  Partial<Pick<ToolCall, 'timeoutMs' | 'run'>>;

/** A call of this door, for a gateway that is open. It belongs to the run of --run. */
export function callOf(invocation: Invocation, { config }: Opened<Gateway>, wanted: Wanted): ToolCall {
  const { clock, random } = invocation.edge;
  const receivedAtMs = clock.nowMs();
  const id = makeId('call', receivedAtMs, random);
  const run = textOf(invocation, 'run') ?? null;
  const { tenant } = config.gateway;
  const source = { credential: 'process', ...placeIn(invocation) };
  return { run, timeoutMs: null, ...wanted, tenant, source, id, door: 'cli', receivedAtMs };
}

/** The exit status of a call that succeeded while its receipt could not be written. */
const NOT_KEPT = CODES['door/wrong-usage'].exitStatus;

/** Makes one call through the daemon; where none serves, opens the gateway for it and closes it again. */
export async function callOnce(
  invocation: Invocation,
  wanted: Wanted,
  context: CallContext = { signal: invocation.signal },
): Promise<Ended> {
  return (await callThroughDaemon(invocation, wanted, context)) ?? callEmbedded(invocation, wanted, context);
}

async function callEmbedded(
  invocation: Invocation,
  wanted: Wanted,
  { signal, onOutput }: CallContext,
): Promise<Ended> {
  const act = async (gateway: Opened<Gateway>) => {
    if (gateway.policy.problems.length > 0) warnOfPolicyProblems(invocation.print);
    // Loaded here: a call through the daemon does not need it.
    const { invoke } = await import('../../invoke/invoke.ts');
    return invoke(gateway, callOf(invocation, gateway, wanted), signal, { onOutput });
  };
  const tier = invocation.flags.tier === 'b' ? 'b' : 'c';
  return withGateway(invocation, act, WORK_HERE.includes(wanted.tool) ? { expects: tier } : {});
}

/** Makes and prints a call by `act`, and writes its receipt to --receipt; gives the exit status. */
export async function withReceipt(
  invocation: Invocation,
  act: () => Promise<{ readonly ended: Ended; readonly status: number }>,
): Promise<number> {
  const path = textOf(invocation, 'receipt');
  // A file that cannot be written is found before the call runs, not after.
  const file = path === undefined ? null : openOut(path);
  try {
    const { ended, status } = await act();
    return keepReceipt(invocation.print, file, ended) ? status : status || NOT_KEPT;
  } finally {
    file?.close();
  }
}

/** Prints how a call ended that was refused or failed. */
export function printUnsuccessful(
  print: Printer,
  callId: string,
  outcome: Exclude<Outcome, { status: 'ok' }>,
): void {
  print.note(outcome.status, 'red', `  ${outcome.code}  ${callId}`);
  print.note(outcome.message);
  print.next(outcome.remedy);
}

/** False where the receipt could not be written; it is in the journal all the same. */
function keepReceipt(print: Printer, file: OutFile | null, { callId, receipt }: Ended): boolean {
  if (file === null || receipt === null) return true;
  try {
    file.write(receipt);
    return true;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    print.note(error.message);
    print.next(`palisade receipt ${callId} --out FILE`);
    return false;
  }
}

function warnOfPolicyProblems(print: Printer): void {
  print.note(
    'The policy files have problems; an earlier policy set decides.',
    'yellow',
    ' Run `palisade policy check`.',
  );
}

/*
 * A call through the daemon that serves the state directory, where there is one: its sandboxes are ready. The command
 * prints and returns what it would without a daemon. A daemon is used only where it makes the same call of it: one of
 * this version, with the current settings and, for a tool that works in the current directory, started in it.
 */

/** The tools that work in the directory that palisade was started in, unless the call names another. */
const WORK_HERE: readonly string[] = ['palisade.process.run', 'palisade.process.start'];

export const INPUT_LIMITS = { maxBytes: 16 * 1024 * 1024, maxDepth: 1_000 };

/** How the call ended; null where no daemon took it, and nothing of it has begun. */
async function callThroughDaemon(
  invocation: Invocation,
  wanted: Wanted,
  context: CallContext,
): Promise<Ended | null> {
  if (context.signal.aborted) return null;
  const found = await findDaemon(invocation);
  const rawInput = found === null ? null : inputFor(found.facts, invocation, wanted);
  if (found === null || rawInput === null) return null;
  const { LocalClient } = await import('../http/local-client.ts');
  const client = new LocalClient(found.socketPath, wanted.principal, placeIn(invocation));
  const run = textOf(invocation, 'run') ?? null;
  const { tool, timeoutMs = null } = wanted;
  const events = await client.call({ tool, rawInput, run, timeoutMs }, context.signal);
  if (events === null) return null;
  return follow(invocation, events, { ...context, cancel: (callId) => client.cancel(callId) });
}

/** The input for the same call by that daemon; null where it cannot make it. */
function inputFor(facts: DaemonFacts, { edge, flags }: Invocation, { tool, rawInput }: Wanted) {
  if (!WORK_HERE.includes(tool)) return rawInput;
  const workspace = workspaceFor(facts, edge.cwd, flags.workspace);
  if (workspace === null) return null;
  if (workspace === facts.cwd) return rawInput;
  const input = parseStrict(rawInput, INPUT_LIMITS);
  if (!input.ok || typeof input.value !== 'object' || Array.isArray(input.value)) return null;
  return JSON.stringify({ workspace, ...input.value });
}

/** The workspace of a call that names none, where the daemon has the same roots for it as this process would. */
function workspaceFor({ roots, hasWorkspaces }: DaemonFacts, cwd: string, flag: unknown): string | null {
  if (typeof flag === 'string' || Array.isArray(flag)) {
    const granted = [flag].flat().map((path) => resolve(cwd, path));
    return granted.every((path) => roots.includes(path)) ? defaultIn(granted, cwd) : null;
  }
  if (!hasWorkspaces) return roots.includes(cwd) ? cwd : null;
  return defaultIn(roots, cwd);
}

function defaultIn(roots: readonly string[], cwd: string): string | null {
  return roots.some((root) => isWithin(cwd, root)) ? cwd : (roots[0] ?? null);
}

async function follow(
  { print }: Invocation,
  events: AsyncIterable<ServerEvent>,
  { signal, onOutput, cancel }: CallContext & { readonly cancel: (callId: string) => Promise<void> },
): Promise<Ended> {
  let callId = '';
  const stop = () => void (callId !== '' && cancel(callId));
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const { event, data } of events) {
      if (event === 'ended') return endedOf(data as CallDocument);
      if (event === 'output') {
        const { stream, base64 } = data as { stream: 'stdout' | 'stderr'; base64: string };
        onOutput?.(stream, Buffer.from(base64, 'base64'));
      }
      if (event !== 'started') continue;
      const started = data as { callId: string; hasPolicyProblems: boolean };
      callId = started.callId;
      if (started.hasPolicyProblems) warnOfPolicyProblems(print);
      if (signal.aborted) stop();
    }
  } catch (error) {
    throw lost(callId, error);
  } finally {
    signal.removeEventListener('abort', stop);
  }
  throw lost(callId, undefined);
}

function lost(callId: string, cause: unknown): CodedError {
  const named = callId === '' ? 'the call' : `the call ${callId}`;
  const message = `Cannot tell how ${named} ended: the connection to the daemon was lost`;
  const remedy = `Check \`palisade receipt ${callId}\` and the effects of the call before you repeat it.`;
  return new CodedError('tier/unknown-ending', message, callId === '' ? { cause } : { cause, remedy });
}

function endedOf(document: CallDocument): Ended {
  const { callId, usage, log } = document;
  const receipt = document.receipt === null ? null : JSON.stringify(document.receipt);
  return {
    ...{ kind: 'ended', callId, outcome: outcomeOf(document), usage, receipt },
    ...(log === undefined ? {} : { log }),
  };
}

function outcomeOf({ status, code, message, remedy, output, usage }: CallDocument): Outcome {
  if (status === 'ok') return { status, code: 'ok', output, usage };
  if (status === 'refused') return refuse(code as RefusedCode, message, remedy ?? undefined);
  const more = remedy === null ? { output, usage } : { output, usage, remedy };
  return fail(code as FailedCode, message, more);
}
