import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { errorOf, type JsonRpcError, type MessageId, SERVER_ERROR } from './message.ts';

/*
 * What has to be known of the messages between a client and its server so that another server can go on with the client:
 * how it began, and which requests wait for an answer. Messages are only listened to; both sides check them themselves.
 */

const OPENINGS: readonly Json[] = ['initialize', 'server/discover'];

/** Tells a client that its server ended before it answered. */
const SERVER_ENDED =
  'The Palisade daemon ended before it answered. What a call did until then is in `palisade journal search --kind ended`: look there before you repeat it. Other requests can be repeated.';

export type Reopening = {
  /** The messages with which the client began, for the next server to read. */
  readonly lines: readonly Uint8Array[];
  /** The id of the first of them where the client has its answer already; null where it has not. */
  readonly answered: MessageId | null;
};

type Opening = { readonly line: Uint8Array; readonly id: MessageId };

export class Conversation {
  /** The id of the request that was answered before the server read it. */
  readonly #answered: MessageId | null;
  /** Requests of the client without an answer. */
  readonly #open = new Set<MessageId>();
  /** Questions of the server without an answer. */
  readonly #asked = new Set<MessageId>();
  #hasBegun = false;
  #opening: Opening | null = null;
  #initialized: Uint8Array | null = null;

  constructor(answered: MessageId | null) {
    this.#answered = answered;
  }

  /** Listens to a message of the client. */
  sent(line: Uint8Array): void {
    const { id, method, params } = messageIn(line);
    if (method === undefined) this.#asked.delete(id as MessageId);
    else if (method === 'notifications/initialized') this.#initialized = Uint8Array.from(line);
    else if (method === 'notifications/cancelled') this.#open.delete(cancelledIn(params));
    else if (id !== undefined) this.#open.add(id as MessageId);
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    if (id === undefined || !OPENINGS.includes(method ?? null)) return;
    this.#opening = { line: Uint8Array.from(line), id: id as MessageId };
    if (id === this.#answered) this.#open.delete(id as MessageId);
  }

  /** Listens to a message of the server. */
  received(line: Uint8Array): void {
    const { id, method, params } = messageIn(line);
    if (method === undefined) this.#open.delete(id as MessageId);
    else if (method === 'notifications/cancelled') this.#asked.delete(cancelledIn(params));
    else if (id !== undefined) this.#asked.add(id as MessageId);
  }

  /** An error for each request whose answer will not come; the opening is left to the next server. */
  unanswered(): readonly JsonRpcError[] {
    return [...this.#open]
      .filter((id) => id !== this.#opening?.id)
      .map((id) => errorOf(id, SERVER_ERROR, SERVER_ENDED));
  }

  /** How the next server goes on with the client; null where none may. */
  reopening(): Reopening | null {
    // Boundary: a late answer to a question of this server would be taken for one to a question of the next.
    if (this.#asked.size > 0) return null;
    if (this.#opening === null) return { lines: [], answered: null };
    const { line, id } = this.#opening;
    const lines = this.#initialized === null ? [line] : [line, this.#initialized];
    return { lines, answered: this.#open.has(id) ? null : id };
  }
}

/** What is not a message has no members here; the side that reads it answers that. */
function messageIn(line: Uint8Array): Partial<JsonObject> {
  try {
    const message = JSON.parse(Buffer.from(line).toString()) as Json;
    return isJsonObject(message) ? message : {};
  } catch {
    return {};
  }
}

function cancelledIn(params: Json | undefined): MessageId {
  return (isJsonObject(params) ? params.requestId : null) as MessageId;
}
