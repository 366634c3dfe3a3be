/*
 * Questions of an upstream server to the person at the caller, in both generations of MCP: as a request of its own while
 * a call runs, or as an answer that asks for input. The server is hostile: its form is bounded, only forms are passed on,
 * and it gets back only what its form has fields for. The receipt says how many questions there were.
 */
import { CodedError } from '../../core/coded-error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { publishedSchema } from '../../registry/upstream-schema.ts';
import type { AskPerson, RunAnswer, RunQuestion } from '../../tiers/tier.ts';
import { MISSING_CAPABILITY, PeerError, type RequestListeners } from './peer.ts';

const MAX_FORM_BYTES = 16 * 1024;
const MAX_MESSAGE_CHARS = 2_000;
/** How often a server may ask before one call is done, and how much at a time. */
const MAX_ROUNDS = 8;
const MAX_AT_ONCE = 8;
const KEY = /^[A-Za-z0-9_.-]{1,64}$/;

const CANCELLED: JsonObject = { action: 'cancel' };

/** How many questions one call asked. A digest of short answers could be guessed, so there is none. */
export class AskedQuestions {
  #count = 0;

  add(count: number): void {
    this.#count += count;
  }

  /** For the receipt: never what was asked or answered. */
  facts(): Readonly<Record<string, number>> {
    return this.#count === 0 ? {} : { questions: this.#count };
  }
}

/** Has questions answered together, by their keys; one that is not a plain form is cancelled. */
export async function passQuestions(
  ask: AskPerson,
  { upstream, asked }: { readonly upstream: string; readonly asked: AskedQuestions },
  requests: JsonObject,
): Promise<JsonObject> {
  const entries = Object.entries(requests);
  const questions = entries
    .slice(0, MAX_AT_ONCE)
    .flatMap(([key, params]) => questionIn(key, upstream, params) ?? []);
  const given = questions.length === 0 ? [] : await ask(questions);
  const answers = questions.map((question, at) => answerOf(question, given[at]));
  asked.add(questions.length);
  const byKey = new Map(questions.map(({ key }, at) => [key, answers[at] ?? CANCELLED]));
  return Object.fromEntries(entries.map(([key]) => [key, byKey.get(key) ?? CANCELLED]));
}

function questionIn(key: string, upstream: string, params: Json): RunQuestion | null {
  const { mode = 'form', message, requestedSchema }: Partial<JsonObject> = isJsonObject(params) ? params : {};
  // Boundary: no one is sent to an address, and no form is larger than a person can judge.
  if (!KEY.test(key) || mode !== 'form' || typeof message !== 'string') return null;
  if (!isJsonObject(requestedSchema ?? null)) return null;
  if (JSON.stringify(requestedSchema).length > MAX_FORM_BYTES) return null;
  const schema = publishedSchema(requestedSchema as JsonObject);
  return { key, upstream, message: message.slice(0, MAX_MESSAGE_CHARS), schema };
}

function answerOf({ schema }: RunQuestion, given: RunAnswer | undefined): JsonObject {
  if (given === undefined) return CANCELLED;
  const { action, content } = given;
  return action !== 'accept' || content === null
    ? { action }
    : { action, content: fieldsOf(content, schema) };
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
  onQuestions: RequestListeners['onQuestions'],
  send: (params: JsonObject) => Promise<JsonObject>,
): Promise<JsonObject> {
  let raw = await send(params);
  for (let round = 0; raw.resultType === 'input_required'; round++) {
    if (round === MAX_ROUNDS)
      throw new CodedError('tier/upstream-failed', `it asked for input more than ${MAX_ROUNDS} times`);
    const { inputRequests, requestState } = raw;
    const forms = formsIn(inputRequests ?? null);
    if (onQuestions === undefined) throw needs('elicitation', 'no one can be asked here');
    const inputResponses = await onQuestions(forms);
    raw = await send({ ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) });
  }
  return raw;
}

/** The forms of a round. Sampling and roots are not passed on, and a round that has one is not answered in part. */
function formsIn(requests: Json): JsonObject {
  const asked = Object.entries(isJsonObject(requests) ? requests : {}).map(([key, each]) => {
    const { method, params }: Partial<JsonObject> = isJsonObject(each) ? each : {};
    if (method === 'elicitation/create' && isJsonObject(params ?? null)) return [key, params] as const;
    const name = CAPABILITY_OF[typeof method === 'string' ? method : ''] ?? '';
    throw needs(name, 'only forms are passed on');
  });
  return Object.fromEntries(asked) as JsonObject;
}

const CAPABILITY_OF: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

/** The server relies on a capability that was not declared to it, which counts as if it had said so. */
function needs(capability: string, why: string): PeerError {
  const what = capability === '' ? 'something unknown' : capability;
  const message = `The server asked its client for ${what}, and ${why}`;
  return new PeerError(MISSING_CAPABILITY, message, capability === '' ? [] : [capability]);
}
