/*
 * The other end of a session: JSON-RPC in lines, as MCP has it on standard input and output. Whatever comes from there is
 * hostile: a line has a length, an answer has a question, and who says more than was asked is cut off. Requests of the
 * server (sampling, roots, elicitation) are answered with an error: nothing of ours is at its service.
 */
import { CodedError } from '../../core/coded-error.ts';
import { inert } from '../../core/hostile-text.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import { looseMessage } from './loose-message.ts';

export const PEER_LIMITS = {
  /** Of one message, whatever a call may return. */
  messageBytes: 16 * 1024 * 1024,
  depth: 64,
  /** Messages that answer nothing, between two that do. */
  unasked: 1_000,
  /** Messages that tell how far one request is. */
  progress: 10_000,
  /** Of what is written to a server that does not read. */
  waitingBytes: 16 * 1024 * 1024,
} as const;

export type PeerOptions = {
  /** Writes to the server; gives how many bytes wait. */
  readonly write: (bytes: Uint8Array) => number;
  readonly onNotification: (method: string) => void;
  /** The server broke the protocol, for good. */
  readonly onBroken: (why: string) => void;
};

type Waiting = {
  readonly method: string;
  readonly onProgress: ((params: JsonObject) => void) | undefined;
  told: number;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
};

/** What whoever asks wants to know before the answer. */
export type Asked = {
  /** The number of the request. */
  readonly onSent?: ((id: number) => void) | undefined;
  readonly onProgress?: ((params: JsonObject) => void) | undefined;
};

/** An error that the server answered with. */
export class PeerError extends Error {
  override readonly name = 'PeerError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const LINE_END = 0x0a;
const OPEN_OBJECT = 0x7b;
const METHOD_NOT_FOUND = -32601;

export class Peer {
  readonly #options: PeerOptions;
  readonly #waiting = new Map<number, Waiting>();
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #lastId = 0;
  #unasked = 0;
  #gone: string | null = null;

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** Sends a request; the answer, or the reason why there is none. */
  request(method: string, params: JsonObject, { onSent, onProgress }: Asked = {}): Promise<JsonObject> {
    if (this.#gone !== null) return Promise.reject(failure(this.#gone));
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<JsonObject>((resolve, reject) => {
      this.#waiting.set(id, { method, onProgress, told: 0, resolve, reject });
    });
    // Whoever asked may have stopped waiting.
    answered.catch(() => undefined);
    onSent?.(id);
    const _meta = { ...(params._meta as JsonObject | undefined), progressToken: id };
    const told = onProgress === undefined ? params : { ...params, _meta };
    this.#send({ jsonrpc: '2.0', id, method, params: told });
    return answered;
  }

  notify(method: string, params: JsonObject): void {
    this.#send({ jsonrpc: '2.0', method, params });
  }

  /** An answer to this request is for nobody any more. */
  forget(id: number): void {
    this.#waiting.delete(id);
  }

  /** Takes what the server wrote, in pieces as they come. */
  take(chunk: Uint8Array): void {
    let from = 0;
    for (
      let end = chunk.indexOf(LINE_END);
      end >= 0 && this.#gone === null;
      end = chunk.indexOf(LINE_END, from)
    ) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      this.#line();
    }
    if (this.#gone === null && from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** Nothing comes any more: whoever waits is told why. */
  end(why: string): void {
    if (this.#gone !== null) return;
    this.#gone = why;
    this.#rest = [];
    for (const { reject } of this.#waiting.values()) reject(failure(why));
    this.#waiting.clear();
  }

  #keep(part: Uint8Array): void {
    this.#restBytes += part.length;
    // Boundary: a line without an end is not read to its end.
    if (this.#restBytes > PEER_LIMITS.messageBytes)
      this.#break(`it wrote a message of more than ${PEER_LIMITS.messageBytes} bytes`);
    else if (part.length > 0) this.#rest.push(Uint8Array.from(part));
  }

  #line(): void {
    if (this.#gone !== null) return;
    const line = this.#rest.length === 1 ? (this.#rest[0] ?? new Uint8Array(0)) : Buffer.concat(this.#rest);
    this.#rest = [];
    this.#restBytes = 0;
    if (line.length === 0) return;
    // Some servers greet on standard output; it is noise, and counted.
    if (line[0] !== OPEN_OBJECT) {
      this.#count();
      return;
    }
    const parsed = parseStrict(line, { maxBytes: PEER_LIMITS.messageBytes, maxDepth: PEER_LIMITS.depth });
    if (parsed.ok) this.#message(parsed.value as JsonObject);
    else this.#loose(line, parsed.message);
  }

  /** Boundary: an answer that could mean several things is none; of a list of tools, its bounds may be out of reach. */
  #loose(line: Uint8Array, why: string): void {
    const message = looseMessage(line, PEER_LIMITS.depth);
    const waiting = typeof message?.id === 'number' ? this.#waiting.get(message.id) : undefined;
    if (message === null) this.#break(`it wrote a message that is no strict JSON (${why})`);
    else if (waiting === undefined || waiting.method === 'tools/list') this.#message(message);
    else this.#message({ ...message, result: null, error: { code: 0, message: `its answer: ${why}` } });
  }

  #message(message: JsonObject): void {
    const { id, method, result, error } = message;
    if (typeof method === 'string') {
      if (!this.#progressed(message)) this.#asked(method, id);
      return;
    }
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    // Boundary: an answer to a question that nobody asked, or asked long ago, is nobody's.
    if (waiting === undefined) {
      this.#count();
      return;
    }
    this.#waiting.delete(id as number);
    this.#unasked = 0;
    if (isObject(result)) waiting.resolve(result);
    else if (isObject(error)) waiting.reject(peerError(error));
    else waiting.reject(failure('it answered with neither a result nor an error'));
  }

  /** Tells how far a request is to whoever asked to know; false where the message is something else, or too many. */
  #progressed({ method, id, params }: JsonObject): boolean {
    if (method !== 'notifications/progress' || id !== undefined || !isObject(params)) return false;
    const { progressToken } = params;
    const waiting = typeof progressToken === 'number' ? this.#waiting.get(progressToken) : undefined;
    if (waiting?.onProgress === undefined || waiting.told >= PEER_LIMITS.progress) return false;
    waiting.told += 1;
    waiting.onProgress(params);
    return true;
  }

  #asked(method: string, id: Json | undefined): void {
    this.#count();
    if (this.#gone !== null) return;
    if (typeof id !== 'number' && typeof id !== 'string') this.#options.onNotification(method);
    else if (method === 'ping') this.#send({ jsonrpc: '2.0', id, result: {} });
    else {
      const message = `This client does not answer ${method.slice(0, 64)}`;
      this.#send({ jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message } });
    }
  }

  #count(): void {
    this.#unasked += 1;
    // Boundary: to read what nobody asked for costs time that is everybody's.
    if (this.#unasked > PEER_LIMITS.unasked)
      this.#break(`it wrote more than ${PEER_LIMITS.unasked} messages that nobody asked for`);
  }

  #send(message: JsonObject): void {
    if (this.#gone !== null) return;
    const waiting = this.#options.write(Buffer.from(`${JSON.stringify(message)}\n`));
    if (waiting > PEER_LIMITS.waitingBytes) this.#break('it does not read what it is sent');
  }

  #break(why: string): void {
    this.end(why);
    this.#options.onBroken(why);
  }
}

function failure(why: string): CodedError {
  return new CodedError('tier/upstream-failed', why);
}

const MOST_CHARS = 500;

function peerError({ code, message }: JsonObject): PeerError {
  const text = typeof message === 'string' ? inert(message.slice(0, MOST_CHARS)) : 'without a message';
  return new PeerError(typeof code === 'number' ? code : 0, text);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
