import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_FILE } from '../../config/load.ts';
import { CodedError } from '../../core/coded-error.ts';
import { type FailedCode, fail, type Outcome, type RefusedCode, refuse } from '../../core/outcome.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { Ended } from '../../invoke/finish.ts';
import type { CallDocument } from '../../operations/call-document.ts';
import type { ServerEvent } from '../../operations/operation.ts';
import { type DaemonFacts, readDaemon } from '../../store/daemon-seat.ts';
import type { CallContext } from '../../tiers/tier.ts';
import type { Wanted } from './call-once.ts';
import { textOf } from './input.ts';
import { tellPolicyProblems } from './policy-note.ts';
import type { Printer } from './printer.ts';
import type { Edge, Invocation } from './verb.ts';

/*
 * A call by the daemon that serves the state directory, where there is one: its sandboxes stand ready. The command says
 * and returns what it would have said and returned by itself. It is only left to a daemon that would take it for the same
 * call: of this very version, with the settings of now and, for a tool whose workspace is where it was started, started
 * where we are.
 */

/** Works in the directory that palisade was started in, unless the call names another. */
const WORKS_HERE = 'palisade.process.run';

const INPUT_LIMITS = { maxBytes: 16 * 1024 * 1024, maxDepth: 1_000 };

/** How the call ended; null where no daemon took it, and nothing of it has begun. */
export async function callThroughDaemon(
  invocation: Invocation,
  wanted: Wanted,
  context: CallContext,
): Promise<Ended | null> {
  const { stateDir, flags } = invocation;
  if (flags.embedded === true || context.signal.aborted) return null;
  const facts = readDaemon(stateDir.path);
  const rawInput = facts === null ? null : inputFor(facts, invocation.edge, wanted);
  if (facts === null || rawInput === null) return null;
  const { LocalClient, socketIn } = await import('../http/local-client.ts');
  const path = socketIn(stateDir.path);
  if (path === null || !existsSync(path)) return null;
  if (hasOldSettings(facts, stateDir.path)) {
    tellOldSettings(invocation.print);
    return null;
  }
  const client = new LocalClient(path, wanted.principal);
  const run = textOf(invocation, 'run') ?? null;
  const { tool, timeoutMs } = wanted;
  const events = await client.call({ tool, rawInput, run, timeoutMs }, context.signal);
  if (events === null) return null;
  return follow(invocation, events, { ...context, cancel: (callId) => client.cancel(callId) });
}

/** The daemon read palisade.toml when it started, and it was written since. */
function hasOldSettings({ startedAt }: DaemonFacts, directory: string): boolean {
  const file = statSync(join(directory, CONFIG_FILE), { throwIfNoEntry: false });
  return file !== undefined && file.mtimeMs > Date.parse(startedAt);
}

function tellOldSettings(print: Printer): void {
  print.note(
    'palisade.toml changed after `palisade serve` was started, so this call is made without it.',
    'yellow',
    ' Restart it for the change to count there.',
  );
}

/** The input by which that daemon makes the same call; null where it cannot. */
function inputFor(facts: DaemonFacts, { cwd, version }: Edge, { tool, rawInput }: Wanted) {
  if (facts.version !== version) return null;
  if (tool !== WORKS_HERE || facts.cwd === cwd) return rawInput;
  if (!facts.hasWorkspaces) return null;
  const input = parseStrict(rawInput, INPUT_LIMITS);
  if (!input.ok || typeof input.value !== 'object' || Array.isArray(input.value)) return null;
  return JSON.stringify({ workspace: cwd, ...input.value });
}

type Following = CallContext & { readonly cancel: (callId: string) => Promise<void> };

async function follow(
  invocation: Invocation,
  events: AsyncIterable<ServerEvent>,
  { signal, onOutput, cancel }: Following,
): Promise<Ended> {
  let callId = '';
  const stop = () => void (callId !== '' && cancel(callId));
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const { event, data } of events) {
      if (event === 'ended') return endedOf(data as CallDocument);
      if (event === 'output') onOutput?.(...outputOf(data as Output));
      if (event !== 'started') continue;
      const started = data as Started;
      callId = started.callId;
      if (started.hasPolicyProblems) tellPolicyProblems(invocation.print);
      if (signal.aborted) stop();
    }
  } catch (error) {
    throw lost(callId, error);
  } finally {
    signal.removeEventListener('abort', stop);
  }
  throw lost(callId, undefined);
}

type Started = { readonly callId: string; readonly hasPolicyProblems: boolean };
type Output = { readonly stream: 'stdout' | 'stderr'; readonly base64: string };

function outputOf({ stream, base64 }: Output): ['stdout' | 'stderr', Uint8Array] {
  return [stream, Buffer.from(base64, 'base64')];
}

function lost(callId: string, cause: unknown): CodedError {
  const named = callId === '' ? 'the call' : `the call ${callId}`;
  const message = `Cannot tell how ${named} ended: the daemon went away`;
  const remedy =
    callId === ''
      ? undefined
      : `Look at \`palisade receipt ${callId}\` and at its effects before repeating it.`;
  return new CodedError('tier/unknown-ending', message, {
    cause,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

function endedOf(document: CallDocument): Ended {
  const { callId, usage, receipt } = document;
  return {
    kind: 'ended',
    callId,
    outcome: outcomeOf(document),
    usage,
    receipt: receipt === null ? null : JSON.stringify(receipt),
  };
}

function outcomeOf({ status, code, message, remedy, output, usage }: CallDocument): Outcome {
  const told = remedy ?? undefined;
  switch (status) {
    case 'ok':
      return { status, code: 'ok', output, usage };
    case 'failed':
      return fail(code as FailedCode, message, {
        output,
        usage,
        ...(told === undefined ? {} : { remedy: told }),
      });
    case 'refused':
      return refuse(code as RefusedCode, message, told);
  }
}
