import { CodedError } from '../../core/coded-error.ts';
import { inert } from '../../core/hostile-text.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { Lines } from '../../core/lines.ts';
import { parseStrict } from '../../core/strict-json.ts';

/*
 * The other end of a session: JSON-RPC in lines, as MCP defines it for standard input and output. Everything from there
 * is hostile: a line has a bounded length, an answer belongs to a request, and a server that breaks these rules is
 * ended. Requests of the server are answered with an error, but for questions where the operator permits them.
 */

export const PEER_LIMITS = {
  /** For one message, whatever a call may return. */
  messageBytes: 16 * 1024 * 1024,
  depth: 64,
  /** Messages that answer no request, between two that do. */
  unsolicited: 1_000,
  /** Messages about one request: its progress, what the server logs meanwhile, and its questions. */
  about: 10_000,
  /** For what is queued to a server that does not read. */
  waitingBytes: 16 * 1024 * 1024,
} as const;

type PeerOptions = {
  /** Writes to the server; returns how many bytes are queued. */
  readonly write: (bytes: Uint8Array) => number;
  readonly onNotification: (method: string) => void;
  /** The server broke the protocol; this is final. */
  readonly onBroken: (reason: string) => void;
};

type Waiting = {
  readonly method: string;
  readonly listeners: RequestListeners;
  /** How many messages about it have arrived. */
  reported: number;
  isAsking: boolean;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
};

/** What a caller gets to know about its request before the answer. */
export type RequestListeners = {
  /** Receives the id of the request. */
  readonly onSent?: ((id: number) => void) | undefined;
  readonly onProgress?: ((params: JsonObject) => void) | undefined;
  readonly onLog?: ((params: JsonObject) => void) | undefined;
  /** Answers questions that the server puts to the person at the caller, by their keys. */
  readonly onQuestions?: ((asked: JsonObject) => Promise<JsonObject>) | undefined;
};

/** An error that the server answered with. */
export class PeerError extends Error {
  override readonly name = 'PeerError';
  readonly code: number;
  /** What the server needs of a client and was not offered. */
  readonly required: readonly string[];

  constructor(code: number, message: string, required: readonly string[] = []) {
    super(message);
    this.code = code;
    this.required = required;
  }
}

const OPEN_OBJECT = 0x7b;
/** The key of a question that a server asks by a request of its own. */
const QUESTION = 'question';
const METHOD_NOT_FOUND = -32601;
export const MISSING_CAPABILITY = -32021;
const CAPABILITIES = ['elicitation', 'sampling', 'roots'] as const;

export class Peer {
  readonly #options: PeerOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #lines = new Lines(PEER_LIMITS.messageBytes, {
    onLine: (line) => this.#line(line),
    // Boundary: an endless line is not read to its end.
    onTooLong: () => this.#break(`it wrote a message of more than ${PEER_LIMITS.messageBytes} bytes`),
  });
  #lastId = 0;
  #unsolicited = 0;
  #gone: string | null = null;

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** Sends a request; resolves with its answer, or rejects with the reason why there is none. */
  request(method: string, params: JsonObject, listeners: RequestListeners = {}): Promise<JsonObject> {
    if (this.#gone !== null) return Promise.reject(failure(this.#gone));
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<JsonObject>((resolve, reject) => {
      this.#waiting.set(id, { method, listeners, reported: 0, isAsking: false, resolve, reject });
    });
    // The caller may have stopped waiting.
    answered.catch(() => undefined);
    listeners.onSent?.(id);
    const _meta = { ...(params._meta as JsonObject | undefined), progressToken: id };
    const sent = listeners.onProgress === undefined ? params : { ...params, _meta };
    this.#send({ jsonrpc: '2.0', id, method, params: sent });
    return answered;
  }

  notify(method: string, params: JsonObject): void {
    this.#send({ jsonrpc: '2.0', method, params });
  }

  /** Drops the answer to this request, should one arrive. */
  forget(id: number): void {
    this.#waiting.delete(id);
  }

  /** Takes what the server wrote, in chunks as they arrive. */
  take(chunk: Uint8Array): void {
    if (this.#gone === null) this.#lines.push(chunk);
  }

  /** Nothing more will arrive: every pending request fails with the reason. */
  end(reason: string): void {
    if (this.#gone !== null) return;
    this.#gone = reason;
    for (const { reject } of this.#waiting.values()) reject(failure(reason));
    this.#waiting.clear();
  }

  #line(line: Uint8Array): void {
    if (this.#gone !== null) return;
    // Some servers print a greeting on standard output; it is ignored, but counted.
    if (line[0] !== OPEN_OBJECT) {
      this.#count();
      return;
    }
    const parsed = parseStrict(line, { maxBytes: PEER_LIMITS.messageBytes, maxDepth: PEER_LIMITS.depth });
    if (parsed.ok) this.#message(parsed.value as JsonObject);
    else this.#loose(line, parsed.message);
  }

  /** Boundary: an ambiguous answer is rejected; in a list of tools, numbers may be out of range. */
  #loose(line: Uint8Array, reason: string): void {
    const message = looseMessage(line, PEER_LIMITS.depth);
    const waiting = typeof message?.id === 'number' ? this.#waiting.get(message.id) : undefined;
    if (message === null) this.#break(`it wrote a message that is not strict JSON (${reason})`);
    else if (waiting === undefined || waiting.method === 'tools/list') this.#message(message);
    else this.#message({ ...message, result: null, error: { code: 0, message: `its answer: ${reason}` } });
  }

  #message(message: JsonObject): void {
    const { id, method, result, error } = message;
    if (typeof method === 'string') {
      if (!this.#progressed(message) && !this.#logged(message) && !this.#asked(message))
        this.#unasked(method, id);
      return;
    }
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    // Boundary: an answer to no open request is dropped, and counted.
    if (waiting === undefined) {
      this.#count();
      return;
    }
    this.#waiting.delete(id as number);
    this.#unsolicited = 0;
    if (isJsonObject(result)) waiting.resolve(result);
    else if (isJsonObject(error)) waiting.reject(peerError(error));
    else waiting.reject(failure('it answered with neither a result nor an error'));
  }

  /** Passes progress to the listener of its request; false where the message is something else, or one too many. */
  #progressed({ method, id, params }: JsonObject): boolean {
    if (method !== 'notifications/progress' || id !== undefined || !isJsonObject(params)) return false;
    const { progressToken } = params;
    const waiting = typeof progressToken === 'number' ? this.#waiting.get(progressToken) : undefined;
    if (waiting?.listeners.onProgress === undefined || !isHeard(waiting)) return false;
    waiting.listeners.onProgress(params);
    return true;
  }

  /** Passes what the server logs to every open request that listens: it does not say which one it is about. */
  #logged({ method, id, params }: JsonObject): boolean {
    if (method !== 'notifications/message' || id !== undefined || !isJsonObject(params)) return false;
    const hearing = [...this.#waiting.values()].filter(({ listeners }) => listeners.onLog !== undefined);
    const heard = hearing.filter(isHeard);
    for (const { listeners } of heard) listeners.onLog?.(params);
    return heard.length > 0;
  }

  /** Passes a question on for the oldest open request that can; one at a time. */
  #asked({ method, id, params }: JsonObject): boolean {
    if (method !== 'elicitation/create' || !isJsonObject(params)) return false;
    if (typeof id !== 'number' && typeof id !== 'string') return false;
    const [request, waiting] =
      [...this.#waiting].find(([, { listeners }]) => listeners.onQuestions !== undefined) ?? [];
    if (request === undefined || waiting === undefined || waiting.isAsking || !isHeard(waiting)) return false;
    waiting.isAsking = true;
    const cancelled = (): JsonObject => ({ [QUESTION]: { action: 'cancel' } });
    const answered = waiting.listeners.onQuestions?.({ [QUESTION]: params }).catch(cancelled);
    void answered?.then((given) => {
      waiting.isAsking = false;
      // Boundary: what a person enters after the request has ended is not sent.
      const { [QUESTION]: result = null } = this.#waiting.has(request) ? given : cancelled();
      this.#send({ jsonrpc: '2.0', id, result });
    });
    return true;
  }

  #unasked(method: string, id: Json | undefined): void {
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
    this.#unsolicited += 1;
    // Boundary: reading unsolicited messages costs time that all calls share.
    if (this.#unsolicited > PEER_LIMITS.unsolicited)
      this.#break(`it wrote more than ${PEER_LIMITS.unsolicited} messages that answer nothing`);
  }

  #send(message: JsonObject): void {
    if (this.#gone !== null) return;
    const waiting = this.#options.write(Buffer.from(`${JSON.stringify(message)}\n`));
    if (waiting > PEER_LIMITS.waitingBytes) this.#break('it does not read what it is sent');
  }

  #break(reason: string): void {
    this.end(reason);
    this.#options.onBroken(reason);
  }
}

/** Boundary: of the messages about one request, so many are passed on; the others count as unsolicited. */
function isHeard(waiting: Waiting): boolean {
  waiting.reported += 1;
  return waiting.reported <= PEER_LIMITS.about;
}

function failure(reason: string): CodedError {
  return new CodedError('tier/upstream-failed', reason);
}

const MOST_CHARS = 500;

function peerError({ code, message, data }: JsonObject): PeerError {
  const text = typeof message === 'string' ? inert(message.slice(0, MOST_CHARS)) : 'without a message';
  const required = isJsonObject(data) ? data.requiredCapabilities : null;
  // Boundary: of what the server names, only capabilities that the protocol has are passed on.
  const names = isJsonObject(required) ? CAPABILITIES.filter((name) => Object.hasOwn(required, name)) : [];
  return new PeerError(typeof code === 'number' ? code : 0, text, code === MISSING_CAPABILITY ? names : []);
}

/**
 * A message that is JSON but not strict, read for its purpose: which request it answers, and what a list of tools
 * contains, where a bound such as 2^63 is common and means "any". Numbers beyond the range of a double become the
 * nearest one. Null where it is not JSON at all, or nested too deeply.
 */
export function looseMessage(line: Uint8Array, maxDepth: number): JsonObject | null {
  try {
    const value = clamped(JSON.parse(Buffer.from(line).toString('utf8')) as Json, maxDepth);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function clamped(value: Json, depthLeft: number): Json {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
    return value > 0 ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
  }
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value !== 'object' || value === null) return value;
  // Boundary: what is nested deeper than the strict parser permits is not walked.
  if (depthLeft === 0) throw new TypeError('Cannot read the message: it is nested too deep');
  if (Array.isArray(value)) return value.map((each: Json) => clamped(each, depthLeft - 1));
  const entries = Object.entries(value).map(
    ([key, each]) => [wellFormed(key), clamped(each, depthLeft - 1)] as const,
  );
  return Object.fromEntries(entries);
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}
