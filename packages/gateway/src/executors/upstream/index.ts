/* The executor of tools of upstream MCP servers: one call is one request in the session of its principal. */

import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type Limits, NO_USAGE } from '../../core/limits.ts';
import type { FailedCode } from '../../core/outcome.ts';
import type { UpstreamExecutor, UpstreamMethod } from '../../core/tool.ts';
import { spend } from '../../policy/authorize.ts';
import type { DiscoveringTier, RunContext, RunEnding, RunResult, Tiers } from '../../tiers/tier.ts';
import { PeerError, type RequestListeners } from './peer.ts';
import { AskedQuestions, askUntilComplete, passQuestions } from './questions.ts';
import { readMethodResult, readResult } from './result.ts';
import type { UpstreamServers } from './servers.ts';
import type { Session } from './session.ts';
import type { OpenSession, Sessions } from './sessions.ts';

/** The executor of upstream tools: each call goes to the session of its principal with the server. */
export function upstreamExecutor(servers: UpstreamServers, tiers: Tiers, clock: Clock): DiscoveringTier {
  return {
    discover: (upstream, call) => servers.discover(upstream, call),
    // The server runs in the tier of the tool, so what that cannot enforce is refused before the call begins.
    refusal: async (checked) => (await tiers[checked.tier]?.refusal?.(checked)) ?? null,
    run: (grant, limits, context) => {
      const checked = spend(grant);
      const { executor } = checked.tool;
      if (executor.kind !== 'upstream')
        throw new TypeError(`Cannot run ${checked.tool.id}: it is not a tool of an upstream server`);
      const { upstream } = executor;
      const asks = servers.ruleOf(upstream).elicitation === 'on';
      const call = { checked, asks, upstream, executor, limits, asked: new AskedQuestions() };
      return callUpstream({ sessions: servers.sessions, clock }, call, context);
    },
  };
}

type UpstreamCall = {
  readonly checked: CheckedCall;
  /** Whether the server may put questions to people. */
  readonly asks: boolean;
  readonly upstream: string;
  readonly executor: UpstreamExecutor;
  readonly limits: Limits;
  /** Fills while it runs. */
  readonly asked: AskedQuestions;
};

type Answer = { readonly ending: RunEnding; readonly outputBytes: number };

/** Makes the call, and ends in time whatever the server does. */
async function callUpstream(
  { sessions, clock }: { readonly sessions: Sessions; readonly clock: Clock },
  call: UpstreamCall,
  context: RunContext,
): Promise<RunResult> {
  const { checked, upstream, limits } = call;
  const startedMs = clock.monotonicMs();
  const { principal, tenant } = checked.call;
  const deadline = deadlineOf(limits.wallMs, context.signal);
  let session: Session | null = null;
  const answering = sessions.use(upstream, { principal, tenant }, limits.wallMs, async (opened) => {
    session = opened.session;
    return request(opened, call, deadline, listenersOf(call, context));
  });
  const resultWith = (answer: Answer) => resultOf(call, answer, session, clock.monotonicMs() - startedMs);
  try {
    return resultWith(await Promise.race([answering, deadline.passed.then((code) => stopped(code, call))]));
  } catch (error) {
    return resultWith({ ending: failedBy(error, call), outputBytes: 0 });
  } finally {
    // It may still be waiting for a session that does not open.
    answering.catch(() => undefined);
    deadline.clear();
  }
}

async function request(
  { session, status }: OpenSession,
  { checked, upstream, executor, limits }: UpstreamCall,
  deadline: Deadline,
  listeners: RequestListeners,
): Promise<Answer> {
  const [pinned] = checked.tool.artifacts;
  // Boundary: only what was accepted is called.
  if ('reason' in status || session.offered !== pinned?.sha256)
    throw new CodedError(
      'tier/upstream-failed',
      `it offers other tools than those that were accepted${'reason' in status ? ` (${status.reason})` : ''}`,
      {
        remedy: `Look at what it offers with \`palisade upstream show ${upstream}\`, then run \`palisade upstream approve ${upstream}\`.`,
      },
    );
  let sent = 0;
  let isOver = false;
  const stop = deadline.passed.then((code) => {
    isOver = true;
    if (sent > 0) session.cancel(sent, code === 'tier/cancelled' ? 'cancelled' : 'timed out');
    return null;
  });
  const onSent = (id: number) => {
    sent = id;
  };
  const [method, params] = requestOf(executor, checked.input);
  const answered = askUntilComplete(params, listeners.onQuestions, async (sending) => {
    // Boundary: an answer that comes after the call has ended starts nothing at the server.
    if (isOver) throw new CodedError('tier/upstream-failed', 'the call has ended');
    return session.request(method, sending, { ...listeners, onSent });
  });
  answered.catch(() => undefined);
  const raw = await Promise.race([answered, stop]).catch((error: unknown) => {
    if (!(error instanceof CodedError)) throw error;
    throw new CodedError('tier/upstream-failed', session.reasonFor(error));
  });
  if (raw === null) return stopped(await deadline.passed, { upstream, limits });
  return executor.method === undefined ? answerOf(raw, limits) : methodAnswer(executor.method, raw, limits);
}

function requestOf({ tool, method }: UpstreamExecutor, input: Json): [string, JsonObject] {
  return method === undefined
    ? ['tools/call', { name: tool, arguments: input }]
    : [method, input as JsonObject];
}

/** What is passed on of all that a server says before it answers; questions only where the operator permits them. */
function listenersOf({ upstream, asks, asked }: UpstreamCall, context: RunContext): RequestListeners {
  const { onProgress, onLog, onQuestions } = context;
  return {
    onProgress: onProgress && ((params) => passProgress(onProgress, params)),
    onLog: onLog && ((params) => passLog(onLog, upstream, params)),
    onQuestions: asks
      ? onQuestions && ((requests) => passQuestions(onQuestions, { upstream, asked }, requests))
      : undefined,
  };
}

const LEVELS: readonly Json[] = 'debug info notice warning error critical alert emergency'.split(' ');

/** Boundary: a server's log is forwarded under the name of the server, whatever it calls itself. */
function passLog(
  onLog: NonNullable<RunContext['onLog']>,
  upstream: string,
  { level, logger, data = null }: JsonObject,
): void {
  if (typeof level !== 'string' || !LEVELS.includes(level)) return;
  const own = typeof logger === 'string' ? `/${logger.slice(0, MAX_CHARS)}` : '';
  onLog({ level, logger: `${upstream}${own}`, data });
}

/** Boundary: a server's progress reports are forwarded as numbers and one text of bounded length. */
function passProgress(
  onProgress: NonNullable<RunContext['onProgress']>,
  { progress, total, message }: JsonObject,
): void {
  if (typeof progress !== 'number') return;
  onProgress({
    progress,
    total: typeof total === 'number' ? total : null,
    message: typeof message === 'string' ? message.slice(0, MAX_CHARS) : null,
  });
}

const MAX_CHARS = 1_000;

function methodAnswer(method: UpstreamMethod, raw: JsonObject, limits: Limits): Answer {
  const { output, bytes } = readMethodResult(method, raw, limits.outputBytes);
  return { ending: { status: 'ok', output }, outputBytes: bytes };
}

function answerOf(raw: JsonObject, limits: Limits): Answer {
  const { result, bytes, isCut } = readResult(raw, limits.outputBytes);
  const output = result as unknown as JsonObject;
  if (!isCut && result.isError !== true) return { ending: { status: 'ok', output }, outputBytes: bytes };
  const failure = isCut
    ? failed(
        'tier/output-exceeded',
        `Cannot return output: the tool returned more than ${limits.outputBytes} bytes`,
      )
    : failed('tier/tool-error', 'Cannot finish call: the tool reported an error');
  return { ending: { ...failure, output, truncated: isCut }, outputBytes: bytes };
}

type StopCode = 'tier/cancelled' | 'tier/timed-out';

type Deadline = {
  /** Settles once, when the caller cancels or the time is up. */
  readonly passed: Promise<StopCode>;
  readonly clear: () => void;
};

function deadlineOf(wallMs: number, signal: AbortSignal): Deadline {
  let settle: (code: StopCode) => void = () => undefined;
  const passed = new Promise<StopCode>((resolve) => {
    settle = resolve;
  });
  const onAbort = () => settle('tier/cancelled');
  const timer = setTimeout(() => settle('tier/timed-out'), wallMs);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const clear = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  return { passed, clear };
}

function stopped(code: StopCode, { upstream, limits }: Pick<UpstreamCall, 'upstream' | 'limits'>): Answer {
  const reason =
    code === 'tier/cancelled'
      ? 'the caller cancelled it'
      : `"${upstream}" passed its limit of ${limits.wallMs} ms`;
  return { ending: failed(code, `Cannot finish call: ${reason}`), outputBytes: 0 };
}

function failedBy(error: unknown, { upstream, executor }: UpstreamCall): RunEnding {
  if (error instanceof PeerError) {
    const { code, message, required } = error;
    const text = `MCP error ${code}: ${message}`;
    const ending = failed('tier/tool-error', `Cannot finish call: "${upstream}" answered with ${text}`);
    const output =
      executor.method === undefined
        ? {
            content: [{ type: 'text', text }],
            isError: true,
            error: { code, message, required: [...required] },
          }
        : { error: { code, message, required: [...required] } };
    return { ...ending, output };
  }
  if (!(error instanceof CodedError)) throw error;
  const message = `Cannot call the upstream server "${upstream}": ${error.message}`;
  return { ...failed('tier/upstream-failed', message), remedy: error.remedy };
}

function failed(code: FailedCode, message: string): Extract<RunEnding, { status: 'failed' }> {
  return { status: 'failed', code, message, output: null, truncated: false };
}

/** The receipt names the session, whose own receipt describes its isolation. */
function resultOf(
  { checked, upstream, asked }: UpstreamCall,
  { ending, outputBytes }: Answer,
  session: Session | null,
  wallMs: number,
): RunResult {
  const isolation =
    session === null
      ? { boundary: 'never started', upstream }
      : {
          session: session.callId,
          upstream,
          protocol: session.protocolVersion,
          definitions: session.offered ?? 'none',
          ...asked.facts(),
        };
  return {
    ending,
    usage: { ...NO_USAGE, calls: 1, wallMs: Math.ceil(wallMs), outputBytes },
    execution: { tier: checked.tier, executor: 'mcp-upstream', isolation },
  };
}
