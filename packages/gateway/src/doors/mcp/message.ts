import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isJsonObject, type Json } from '../../core/json.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { parseStrict, type StrictLimits } from '../../core/strict-json.ts';

/*
 * Parses bytes into one JSON-RPC message. The JSON is read by the strict reader, so that an argument has the same value
 * for the SDK, the policies and the tool: no key twice, no number that changes on the way.
 */

export type MessageId = string | number;

export type JsonRpcError = {
  readonly jsonrpc: '2.0';
  readonly id: MessageId | null;
  readonly error: { readonly code: number; readonly message: string };
};

type Read<T> = Result<T, JsonRpcError>;

const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const SERVER_ERROR = -32_000;

/** A message nests the arguments of a call a few levels deep. */
const MESSAGE_LEVELS = 8;

/** The limits of a message, given those of the input of a call. */
export function messageLimits(input: StrictLimits, maxBytes: number): StrictLimits {
  return { maxBytes, maxDepth: input.maxDepth + MESSAGE_LEVELS };
}

/** Reads the JSON of a message; a batch is not a message. */
export function readBody(raw: string | Uint8Array, limits: StrictLimits): Read<Json> {
  const parsed = parseStrict(raw, limits);
  if (!parsed.ok) return reject(errorOf(idIn(raw, limits), PARSE_ERROR, `Parse error: ${parsed.message}`));
  // Boundary: no revision that we speak has batches; one answer to many requests would evade the limits of one.
  if (Array.isArray(parsed.value))
    return reject(errorOf(null, INVALID_REQUEST, 'Invalid Request: batches are not taken'));
  return accept(parsed.value);
}

/** Reads one message. */
export function readMessage(raw: string | Uint8Array, limits: StrictLimits): Read<JSONRPCMessage> {
  const body = readBody(raw, limits);
  if (!body.ok || isMessage(body.value)) return body as Read<JSONRPCMessage>;
  return reject(
    errorOf(idOf(body.value), INVALID_REQUEST, 'Invalid Request: expected a JSON-RPC 2.0 message'),
  );
}

/** The kinds of messages by what they have beside the version; nothing is two of them. */
function isMessage(value: Json): boolean {
  // Boundary: the SDK gets messages of the shape that it relies on. Its own check would take longer than ours.
  if (!isJsonObject(value)) return false;
  const { jsonrpc, id, method, params, result, error } = value;
  if (jsonrpc !== '2.0' || (id !== undefined && idOf(value) === null)) return false;
  if (method !== undefined) {
    const isPlain = result === undefined && error === undefined;
    return typeof method === 'string' && isPlain && (params === undefined || isJsonObject(params));
  }
  if (result !== undefined) return id !== undefined && error === undefined && isJsonObject(result);
  return isJsonObject(error) && Number.isSafeInteger(error.code) && typeof error.message === 'string';
}

/** The answer to what is too long to be read. */
export function tooLong(maxBytes: number): JsonRpcError {
  return errorOf(null, INVALID_REQUEST, `Invalid Request: the message has more than ${maxBytes} bytes`);
}

/** An error of the protocol. */
export function errorOf(id: MessageId | null, code: number, message: string): JsonRpcError {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

/** An HTTP response with an error of the server itself. */
export function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json(errorOf(null, SERVER_ERROR, message), { status, headers });
}

/** The id to answer if a message is lenient JSON; nothing else of it is used. */
function idIn(raw: string | Uint8Array, { maxBytes }: StrictLimits): MessageId | null {
  if (raw.length > maxBytes) return null;
  try {
    return idOf(JSON.parse(typeof raw === 'string' ? raw : Buffer.from(raw).toString()));
  } catch {
    return null;
  }
}

function idOf(message: unknown): MessageId | null {
  if (message === null || typeof message !== 'object' || !('id' in message)) return null;
  const { id } = message;
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : null;
}
