/*
 * What an upstream server says to a client while a call runs, besides its progress: its log, and questions to the person
 * at the client. All of it is untrusted text, and is labelled with the name that the operator gave the server.
 */
import type { ElicitRequestFormParams, LoggingLevel } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { cut, safeJson, safeLine, safeText } from '../../core/hostile-text.ts';
import type { JsonObject } from '../../core/json.ts';
import type { CallContext, RunAnswer, RunQuestion } from '../../tiers/tier.ts';
import { type Asking, showsForms } from './asking.ts';
import { LONGEST_QUESTION_MS } from './open-calls.ts';

/** How often log messages are passed on in all, and how many at a time. */
const LOG_EVERY_MS = 20;
const MOST_AT_ONCE = 100;
const MAX_DATA_CHARS = 4_096;
const MAX_LOGGER_CHARS = 128;
const MAX_QUESTION_CHARS = 2_000;

/** Passes the log of a server on; the SDK leaves out what is below the level that the client asked for. */
export function relayLog({ door, ctx }: Asking): NonNullable<CallContext['onLog']> {
  const { clock } = door.gateway;
  let saidUntilMs = clock.monotonicMs();
  return ({ level, logger, data }) => {
    // Boundary: a server that logs too much is throttled.
    const nowMs = clock.monotonicMs();
    if (saidUntilMs > nowMs + MOST_AT_ONCE * LOG_EVERY_MS) return;
    saidUntilMs = Math.max(saidUntilMs, nowMs) + LOG_EVERY_MS;
    const text =
      typeof data === 'string' ? safeText(data, MAX_DATA_CHARS) : cut(safeJson(data), MAX_DATA_CHARS);
    ctx.mcpReq
      .log(level as LoggingLevel, text, safeLine(logger, MAX_LOGGER_CHARS))
      .catch((error: unknown) => door.log('debug', 'mcp.unlogged', { name: (error as Error).name }));
  };
}

const ANSWER = z.object({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), z.unknown()).nullish(),
});

/** Shows the questions of a server to the person at a client of the legacy era; undefined where that cannot be done. */
export function relayQuestions(asking: Asking): CallContext['onQuestions'] {
  if (!showsForms(asking)) return undefined;
  return async (questions) => {
    const answers: RunAnswer[] = [];
    for (const question of questions) answers.push(await showQuestion(asking, question));
    return answers;
  };
}

const DISMISSED: RunAnswer = { action: 'cancel', content: null };

async function showQuestion({ door, ctx }: Asking, question: RunQuestion): Promise<RunAnswer> {
  try {
    const request = { method: 'elicitation/create' as const, params: formOf(question) };
    const { signal } = ctx.mcpReq;
    const sent = await ctx.mcpReq.send(request, { timeout: LONGEST_QUESTION_MS, signal });
    return readAnswer(sent) ?? DISMISSED;
  } catch (error) {
    const { upstream } = question;
    door.log('info', 'mcp.question-unanswered', { upstream, why: (error as Error).name });
    return DISMISSED;
  }
}

/** The answers to these questions among what a client sent, in their order; null where one is missing. */
export function answersTo(
  questions: readonly RunQuestion[],
  responses: Readonly<Record<string, unknown>> | undefined,
): readonly RunAnswer[] | null {
  const given = questions.map(({ key }) =>
    responses !== undefined && Object.hasOwn(responses, key) ? readAnswer(responses[key]) : null,
  );
  return given.every((each) => each !== null) ? given : null;
}

function readAnswer(raw: unknown): RunAnswer | null {
  // Boundary: the answer comes from the client.
  const read = ANSWER.safeParse(raw);
  if (!read.success) return null;
  const { action, content } = read.data;
  return { action, content: (content ?? null) as JsonObject | null };
}

/** Boundary: the person must not take the server's question for one of ours: its words are quoted, on one line. */
export function formOf({ upstream, message, schema }: RunQuestion): ElicitRequestFormParams {
  const asked = safeLine(message, MAX_QUESTION_CHARS);
  return {
    message: `The MCP server "${upstream}" asks (this is not a question of Palisade): ${JSON.stringify(asked)}`,
    requestedSchema: schema as unknown as ElicitRequestFormParams['requestedSchema'],
  };
}
