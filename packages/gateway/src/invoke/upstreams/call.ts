/* One call of a tool of an upstream server, over the session of whoever calls. */

import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type Limits, NO_USAGE } from '../../core/limits.ts';
import type { FailedCode } from '../../core/outcome.ts';
import type { UpstreamExecutor, UpstreamMethod } from '../../core/tool.ts';
import type { RunEnding, RunResult, RunTies } from '../../tiers/tier.ts';
import type { Ear, Ears } from './ears.ts';
import { readMethodResult } from './method-result.ts';
import { PeerError } from './peer.ts';
import { readResult } from './result.ts';
import type { Session } from './session.ts';
import type { Opened, Sessions } from './sessions.ts';

export type CallKit = { readonly sessions: Sessions; readonly clock: Clock; readonly ears: Ears };

export type UpstreamCall = {
  readonly checked: CheckedCall;
  readonly upstream: string;
  readonly executor: UpstreamExecutor;
  readonly limits: Limits;
};

type Answer = { readonly ending: RunEnding; readonly outputBytes: number };

/** A session was opened for the call, or there is none. */
type Through = { session: Session | null };

/** Makes the call, and ends in time whatever the server does. */
export async function callUpstream(kit: CallKit, call: UpstreamCall, ties: RunTies): Promise<RunResult> {
  const { checked, upstream, limits } = call;
  const startedMs = kit.clock.monotonicMs();
  const { principal, tenant } = checked.call;
  const patience = patienceOf(limits.wallMs, ties.signal);
  const through: Through = { session: null };
  const asking = kit.sessions.use(upstream, { principal, tenant }, limits.wallMs, async (opened) => {
    through.session = opened.session;
    return ask(opened, { ...call, ear: kit.ears.of(checked.call.id) }, patience);
  });
  try {
    const answer = await Promise.race([asking, patience.over.then((code) => stopped(code, call))]);
    return resultOf(call, answer, through, kit.clock.monotonicMs() - startedMs);
  } catch (error) {
    const ending = failedBy(error, call);
    return resultOf(call, { ending, outputBytes: 0 }, through, kit.clock.monotonicMs() - startedMs);
  } finally {
    // It may still be waiting for a session that does not come.
    asking.catch(() => undefined);
    patience.end();
  }
}

async function ask(
  { session, stand }: Opened,
  { checked, upstream, executor, limits, ear }: UpstreamCall & { readonly ear: Ear | undefined },
  patience: Patience,
): Promise<Answer> {
  const [pinned] = checked.tool.artifacts;
  // Boundary: what is called is what was accepted, or nothing is.
  if ('why' in stand || session.offered !== pinned?.sha256)
    throw new CodedError(
      'tier/upstream-failed',
      `it offers other tools than those that were accepted${'why' in stand ? ` (${stand.why})` : ''}`,
      { remedy: `Look at the difference with \`palisade upstream show ${upstream}\`.` },
    );
  let sent = 0;
  const over = patience.over.then((code) => {
    if (sent > 0) session.takeBack(sent, code === 'tier/cancelled' ? 'cancelled' : 'timed out');
    return null;
  });
  const onSent = (id: number) => {
    sent = id;
  };
  const onProgress = ear && ((params: JsonObject) => tellProgress(ear, params));
  const answered = session.ask(...requestOf(executor, checked.input), { onSent, onProgress });
  const raw = await Promise.race([answered, over]).catch((error: unknown) => {
    if (!(error instanceof CodedError)) throw error;
    throw new CodedError('tier/upstream-failed', session.reasonFor(error));
  });
  if (raw === null) return stopped(await patience.over, { upstream, limits });
  return executor.method === undefined ? answerOf(raw, limits) : methodAnswer(executor.method, raw, limits);
}

function requestOf({ tool, method }: UpstreamExecutor, input: Json): [string, JsonObject] {
  return method === undefined
    ? ['tools/call', { name: tool, arguments: input }]
    : [method, input as JsonObject];
}

/** Boundary: how far a server says that it is goes on as numbers, and as one text of a known length. */
function tellProgress(ear: Ear, { progress, total, message }: JsonObject): void {
  if (typeof progress !== 'number') return;
  ear({
    progress,
    total: typeof total === 'number' ? total : null,
    message: typeof message === 'string' ? message.slice(0, MOST_CHARS) : null,
  });
}

const MOST_CHARS = 1_000;

function methodAnswer(method: UpstreamMethod, raw: JsonObject, limits: Limits): Answer {
  const { output, bytes } = readMethodResult(method, raw, limits.outputBytes);
  return { ending: { status: 'ok', output }, outputBytes: bytes };
}

function answerOf(raw: JsonObject, { outputBytes }: Limits): Answer {
  const { result, bytes, isCut } = readResult(raw, outputBytes);
  const output = result as unknown as JsonObject;
  if (isCut) {
    const message = `Cannot return output: the tool gave more than ${outputBytes} bytes`;
    const failed = {
      status: 'failed',
      code: 'tier/output-exceeded',
      message,
      output,
      truncated: true,
    } as const;
    return { ending: failed, outputBytes: bytes };
  }
  if (result.isError !== true) return { ending: { status: 'ok', output }, outputBytes: bytes };
  const message = 'Cannot call it done: the tool says that it failed';
  return {
    ending: { status: 'failed', code: 'tier/tool-error', message, output, truncated: false },
    outputBytes: bytes,
  };
}

type Patience = {
  /** Settles once, when the caller goes away or the time is over. */
  readonly over: Promise<'tier/cancelled' | 'tier/timed-out'>;
  readonly end: () => void;
};

function patienceOf(wallMs: number, signal: AbortSignal): Patience {
  let settle: (code: 'tier/cancelled' | 'tier/timed-out') => void = () => undefined;
  const over = new Promise<'tier/cancelled' | 'tier/timed-out'>((resolve) => {
    settle = resolve;
  });
  const onAbort = () => settle('tier/cancelled');
  const timer = setTimeout(() => settle('tier/timed-out'), wallMs);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  return { over, end };
}

function stopped(
  code: 'tier/cancelled' | 'tier/timed-out',
  { upstream, limits }: Pick<UpstreamCall, 'upstream' | 'limits'>,
): Answer {
  const why =
    code === 'tier/cancelled' ? 'the caller cancelled it' : `"${upstream}" passed ${limits.wallMs} ms`;
  return { ending: failed(code, `Cannot finish call: ${why}`), outputBytes: 0 };
}

function failedBy(error: unknown, { upstream, executor }: UpstreamCall): RunEnding {
  if (error instanceof PeerError) {
    const { code, message } = error;
    const ending = failed(
      'tier/tool-error',
      `Cannot call it done: "${upstream}" answered with error ${code}: ${message}`,
    );
    return executor.method === undefined ? ending : { ...ending, output: { error: { code, message } } };
  }
  if (!(error instanceof CodedError)) throw error;
  return failed('tier/upstream-failed', `Cannot call the upstream server "${upstream}": ${error.message}`);
}

function failed(code: FailedCode, message: string): Extract<RunEnding, { status: 'failed' }> {
  return { status: 'failed', code, message, output: null, truncated: false };
}

/** The receipt names the session, whose own receipt says how it was held. */
function resultOf(
  { checked, upstream }: UpstreamCall,
  { ending, outputBytes }: Answer,
  { session }: Through,
  wallMs: number,
): RunResult {
  const isolation =
    session === null
      ? { boundary: 'never started', upstream }
      : { session: session.callId, upstream, protocol: session.era, definitions: session.offered ?? 'none' };
  return {
    ending,
    usage: { ...NO_USAGE, calls: 1, wallMs: Math.ceil(wallMs), outputBytes },
    execution: { tier: checked.tier, executor: 'mcp-upstream', isolation },
  };
}
