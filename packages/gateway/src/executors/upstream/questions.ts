/*
 * Questions of an upstream server to the person at the caller, in both generations of MCP: as a request of its own while
 * a call runs, or as an answer that asks for input. The server is hostile: its form is bounded, only forms are passed on,
 * and it gets back only what its form has fields for.
 */
import { CodedError } from '../../core/coded-error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { publishedSchema } from '../../registry/upstream-schema.ts';
import type { RunContext } from '../../tiers/tier.ts';
import type { RequestListeners } from './peer.ts';

const MAX_FORM_BYTES = 16 * 1024;
const MAX_MESSAGE_CHARS = 2_000;
/** How often a server may ask before one call is done. */
const MAX_ROUNDS = 8;

const CANCELLED: JsonObject = { action: 'cancel' };

/** Has a question answered; one that is not a plain form is cancelled. */
export async function passQuestion(
  onQuestion: NonNullable<RunContext['onQuestion']>,
  upstream: string,
  { mode = 'form', message, requestedSchema }: JsonObject,
): Promise<JsonObject> {
  // Boundary: no one is sent to an address, and no form is larger than a person can judge.
  if (mode !== 'form' || typeof message !== 'string' || !isJsonObject(requestedSchema)) return CANCELLED;
  if (JSON.stringify(requestedSchema).length > MAX_FORM_BYTES) return CANCELLED;
  const schema = publishedSchema(requestedSchema);
  const question = { upstream, message: message.slice(0, MAX_MESSAGE_CHARS), schema };
  const { action, content } = await onQuestion(question);
  if (action !== 'accept' || content === null) return { action };
  return { action, content: fieldsOf(content, schema) };
}

/** Boundary: the server learns what its form has fields for, and nothing else that a client sends. */
function fieldsOf(content: JsonObject, { properties }: JsonObject): JsonObject {
  const fields: JsonObject = isJsonObject(properties) ? properties : {};
  const isPlain = (value: Json) => value !== null && (typeof value !== 'object' || isTexts(value));
  return Object.fromEntries(
    Object.entries(content).filter(([name, value]) => Object.hasOwn(fields, name) && isPlain(value)),
  );
}

function isTexts(value: Json): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** Sends a request, and again with answers for as long as the server answers with questions. */
export async function askUntilComplete(
  params: JsonObject,
  onQuestion: RequestListeners['onQuestion'],
  send: (params: JsonObject) => Promise<JsonObject>,
): Promise<JsonObject> {
  let raw = await send(params);
  for (let round = 0; onQuestion !== undefined && raw.resultType === 'input_required'; round++) {
    if (round === MAX_ROUNDS)
      throw new CodedError('tier/upstream-failed', `it asked for input more than ${MAX_ROUNDS} times`);
    const { inputRequests, requestState } = raw;
    const inputResponses = await answersTo(inputRequests ?? null, onQuestion);
    raw = await send({ ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) });
  }
  return raw;
}

async function answersTo(
  requests: Json,
  onQuestion: NonNullable<RequestListeners['onQuestion']>,
): Promise<JsonObject> {
  const answers: [string, JsonObject][] = [];
  for (const [key, asked] of Object.entries(isJsonObject(requests) ? requests : {})) {
    const isForm = isJsonObject(asked) && asked.method === 'elicitation/create' && isJsonObject(asked.params);
    if (!isForm)
      throw new CodedError(
        'tier/upstream-failed',
        'it asked for something else than a form, which no one answers',
      );
    answers.push([key, await onQuestion(asked.params as JsonObject)]);
  }
  return Object.fromEntries(answers);
}
