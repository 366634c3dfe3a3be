import { type JSONRPCMessage, PARSE_ERROR } from '@modelcontextprotocol/server';
import type { Json } from '../../core/json.ts';
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

type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: JsonRpcError };

const INVALID_REQUEST = -32_600;

/** A message nests the arguments of a call a few levels deep. */
const MESSAGE_LEVELS = 8;

/** The limits of a message, given those of the input of a call. */
export function messageLimits(input: StrictLimits, maxBytes: number): StrictLimits {
  return { maxBytes, maxDepth: input.maxDepth + MESSAGE_LEVELS };
}

/** Reads the JSON of a message; a batch is not a message. */
export function readBody(raw: string | Uint8Array, limits: StrictLimits): Read<Json> {
  const parsed = parseStrict(raw, limits);
  if (!parsed.ok) return failed(idIn(raw, limits), PARSE_ERROR, `Parse error: ${parsed.message}`);
  // Boundary: no revision that we speak has batches; one answer to many requests would evade the limits of one.
  if (Array.isArray(parsed.value))
    return failed(null, INVALID_REQUEST, 'Invalid Request: batches are not taken');
  return { ok: true, value: parsed.value };
}

/** Reads one message. */
export function readMessage(raw: string | Uint8Array, limits: StrictLimits): Read<JSONRPCMessage> {
  const body = readBody(raw, limits);
  if (!body.ok || isMessage(body.value)) return body as Read<JSONRPCMessage>;
  return failed(idOf(body.value), INVALID_REQUEST, 'Invalid Request: expected a JSON-RPC 2.0 message');
}

/** The kinds of messages by what they have beside the version; nothing is two of them. */
function isMessage(value: Json): boolean {
  // Boundary: the SDK gets messages of the shape that it relies on. Its own check would take longer than ours.
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const { jsonrpc, id, method, params, result, error } = value as { readonly [key: string]: Json };
  if (jsonrpc !== '2.0' || (id !== undefined && idOf(value) === null)) return false;
  if (method !== undefined) {
    const isPlain = result === undefined && error === undefined;
    return typeof method === 'string' && isPlain && (params === undefined || isObject(params));
  }
  if (result !== undefined) return id !== undefined && error === undefined && isObject(result);
  return isErrorObject(error);
}

function isErrorObject(error: Json | undefined): boolean {
  if (error === undefined || !isObject(error)) return false;
  const { code, message } = error as { readonly [key: string]: Json };
  return Number.isSafeInteger(code) && typeof message === 'string';
}

function isObject(value: Json): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** The answer to what is too long to be read. */
export function tooLong(maxBytes: number): JsonRpcError {
  return errorOf(null, INVALID_REQUEST, `Invalid Request: the message has more than ${maxBytes} bytes`);
}

/** An error of the protocol. */
export function errorOf(id: MessageId | null, code: number, message: string): JsonRpcError {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

function failed(id: MessageId | null, code: number, message: string): { ok: false; error: JsonRpcError } {
  return { ok: false, error: errorOf(id, code, message) };
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

/** Cuts a stream of bytes into lines, and buffers no more of an unfinished one than a line may have. */

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

type LineListeners = {
  readonly onLine: (line: Uint8Array) => void;
  /** A line is longer than it may be; the rest of it is skipped. */
  readonly onTooLong: () => void;
};

export class Lines {
  readonly #maxBytes: number;
  readonly #listeners: LineListeners;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isSkipping = false;

  constructor(maxBytes: number, listeners: LineListeners) {
    this.#maxBytes = maxBytes;
    this.#listeners = listeners;
  }

  /** Takes the next bytes; whole lines are given on at once. */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#hold(chunk.subarray(start, end));
      this.#end();
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  #hold(part: Uint8Array): void {
    if (this.#isSkipping) return;
    // Boundary: a client that sends without an end of line fills no memory.
    if (this.#heldBytes + part.length > this.#maxBytes) {
      this.#clear();
      this.#isSkipping = true;
      this.#listeners.onTooLong();
      return;
    }
    if (part.length === 0) return;
    this.#held.push(part);
    this.#heldBytes += part.length;
  }

  #end(): void {
    const wasSkipped = this.#isSkipping;
    const [only] = this.#held;
    const whole = this.#held.length === 1 && only !== undefined ? only : Buffer.concat(this.#held);
    this.#clear();
    if (wasSkipped) return;
    const line = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
    if (line.length > 0) this.#listeners.onLine(line);
  }

  #clear(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#isSkipping = false;
  }
}
