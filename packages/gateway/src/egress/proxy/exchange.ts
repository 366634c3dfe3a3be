import type { Socket } from 'node:net';
import { accept, type Result, reject, sentenceOf } from '../../core/result.ts';
import { formatAddress } from '../address.ts';
import type { Connection } from '../connect.ts';
import { denyNow, type EgressDecision, type EgressRequest, type Judge } from '../decide.ts';
import type { HttpProblem, HttpResult } from '../http1/fields.ts';
import { PROXY_BOUNDS, type ProxyLimits } from '../limits.ts';
import type { Override } from '../overrides.ts';
import type { Ledger, OpenRecord } from './ledger.ts';
import { reset } from './relay.ts';

type ExchangeTerms = {
  readonly client: Socket;
  readonly ledger: Ledger;
  readonly limits: ProxyLimits;
  /** False when anything sent to the client would look like an answer of the target. */
  readonly canAnswer: boolean;
  readonly onGone: () => void;
};

/**
 * One connection of a client, with its only request and the connection to the target. It ends in one of three ways:
 * `finish` when all was passed on, `refuse` with an answer, `cut` without one. Afterwards no byte is passed on, and
 * soon no socket and no timer is left.
 */
export class ProxyExchange {
  readonly #wire: Socket;
  readonly #terms: ExchangeTerms;
  readonly #stop = new AbortController();
  readonly #whole: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;
  #target: Connection | null = null;
  #request: EgressRequest | null = null;
  #record: OpenRecord | null = null;
  /** The connection, or the TLS stream inside it. */
  #client: Socket;
  #canAnswer: boolean;

  constructor(terms: ExchangeTerms) {
    const { client, limits } = terms;
    this.#wire = client;
    this.#client = client;
    this.#terms = terms;
    this.#canAnswer = terms.canAnswer;
    this.#whole = setTimeout(() => this.refuse(late('connection', limits.wholeMs)), limits.wholeMs);
    // A client that has finished sending may still read, and so may a target.
    client.allowHalfOpen = true;
    client.setNoDelay(true);
    client.on('error', ignore);
    client.once('close', (hadError) => this.#onClosed(hadError));
  }

  get client(): Socket {
    return this.#client;
  }

  /** Aborts when the exchange is over, for what is still in progress then. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isOver(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Whether the proxy itself can still answer the client. */
  get canAnswer(): boolean {
    return this.#canAnswer;
  }

  /** Continues inside a tunnel: everything from here on, a refusal included, is sent through it. */
  enter(inside: Socket): void {
    this.#canAnswer = true;
    // Without TLS the inside of a tunnel is the wire itself.
    if (inside === this.#client) return;
    this.#client = inside;
    inside.on('error', ignore);
    inside.once('close', (hadError) => this.#onClosed(hadError));
  }

  /** Notes what is requested, before anything is done about it. */
  decided(request: EgressRequest, record: OpenRecord): void {
    this.#request = request;
    this.#record = record;
  }

  /** Stores the decision once the addresses of the target were known. */
  revise({ verdict, rule, why }: EgressDecision): void {
    if (this.#record !== null) Object.assign(this.#record, { verdict, rule, why });
  }

  /** Takes over the connection to the target, or ends it when the exchange is over. */
  reached(target: Connection): void {
    if (this.isOver || this.#record === null) {
      target.socket.destroy();
      return;
    }
    const { limits } = this.#terms;
    this.#target = target;
    this.#record.address = formatAddress(target.address);
    this.heed(target.socket);
    this.#idle = setTimeout(() => this.refuse(late('next byte', limits.idleMs)), limits.idleMs);
  }

  /** Ends together with the channel to the target. */
  heed(channel: Socket): void {
    channel.on('error', () => this.refuse({ status: 502, why: 'Cannot go on: the target broke off' }));
  }

  /** Notes that the request goes out now, and with which secrets. */
  begin(secrets: readonly string[]): void {
    if (!this.isOver && this.#record !== null) this.#record.secrets = secrets;
  }

  /** Sends the beginning of an answer; from here on no other can be sent. */
  answer(head: Buffer): void {
    this.#canAnswer = false;
    this.client.write(head);
  }

  /** Counts bytes before they are passed on; false when they must not be, which ends the exchange. */
  pass(way: 'bytesIn' | 'bytesOut', bytes: number): boolean {
    if (this.isOver || this.#record === null) return false;
    this.#idle?.refresh();
    const over = this.#terms.ledger.pass(this.#record, way, bytes);
    if (over === null) return true;
    this.refuse({ status: way === 'bytesOut' ? 413 : 429, why: over });
    return false;
  }

  /** Boundary: what was allowed is cut as soon as the list no longer allows it. */
  recheck(judge: Judge): void {
    if (this.isOver || this.#request === null) return;
    const denial = denyNow(judge, this.#request, this.#target?.address ?? null);
    if (denial !== null) this.refuse({ status: 403, why: denial.why });
  }

  /** Decides again on a request that turns out to have a method or a path that a server may read elsewhere. */
  override(override: Override, judge: Judge): void {
    if (this.#request === null) return;
    this.#request = { ...this.#request, overrides: [...(this.#request.overrides ?? []), override] };
    this.recheck(judge);
  }

  /** Sends a refusal, or cuts when no answer is possible any more. */
  refuse(refusal: Refusal): void {
    if (this.isOver) return;
    if (!this.#canAnswer) {
      this.cut(refusal.why);
      return;
    }
    this.#note(refusal.why);
    this.answer(formatRefusal(refusal));
    this.#leave();
  }

  /** Ends everything at once, so that both sides notice. */
  cut(why: string): void {
    if (this.isOver) return;
    this.#note(why);
    this.#end();
    this.destroy();
  }

  finish(): void {
    if (this.isOver) return;
    this.#target?.socket.destroy();
    this.#leave();
  }

  /** Closes the connection of a client, even from one that is being given time to read. */
  destroy(): void {
    // A reset would leave a connection open that still sends the end of TLS.
    if (this.#client.writableEnded) this.#wire.destroy();
    else reset(this.#wire);
  }

  /** Gives the client time to read: closing with bytes unread would discard what it has not read yet. */
  #leave(): void {
    this.#end();
    this.#linger = setTimeout(() => this.destroy(), this.#terms.limits.idleMs);
    this.client.resume();
    this.client.once('finish', () => {
      clearTimeout(this.#linger);
      this.#linger = setTimeout(() => this.client.destroy(), PROXY_BOUNDS.lingerMs);
    });
    this.client.end();
  }

  #note(why: string): void {
    if (this.#record?.verdict !== 'allow') return;
    this.#record.cut = why;
    this.#terms.ledger.counts.cut += 1;
  }

  #end(): void {
    clearTimeout(this.#whole);
    clearTimeout(this.#idle);
    this.#stop.abort();
    if (this.#target !== null) reset(this.#target.socket);
  }

  #onClosed(hadError: boolean): void {
    const target = this.#target?.socket;
    const isFlushing = !this.isOver && !hadError && target !== undefined && !target.destroyed;
    // A client that has sent and received everything may be gone before the target has read everything.
    if (isFlushing) target.once('close', () => this.#onGone());
    else this.#onGone();
  }

  #onGone(): void {
    if (!this.isOver) this.#end();
    clearTimeout(this.#linger);
    this.#terms.onGone();
  }
}

function late(what: string, ms: number): Refusal {
  const why = `Cannot go on: the ${what} did not come in time, expected it within ${ms} ms`;
  return { status: 504, why };
}

function ignore(): void {}

/** The answer to a refused request: its status and its one sentence. */
export type Refusal = { readonly status: number; readonly why: string };

export type Served<T> = Result<T, Refusal>;

/** Headers that an answer of this status has to have. */
const EXTRA: Readonly<Record<number, string>> = {
  405: 'Allow: CONNECT, GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n',
  407: 'Proxy-Authenticate: Basic realm="palisade"\r\n',
};
const REASON_CHARS = 400;

export function refused(status: number, why: string) {
  return reject({ status, why });
}

/** An unusable message is answered with the sentence of its problem. */
export function served<T>(result: HttpResult<T>): Served<T> {
  return result.ok ? accept(result.value) : reject(refusalOf(result.problem));
}

export function refusalOf(problem: HttpProblem): Refusal {
  return { status: problem.status, why: sentenceOf(problem) };
}

/** The whole answer. Clients that hide the body of a refused tunnel show its first line, so the sentence is in both. */
export function formatRefusal({ status, why }: Refusal): Buffer {
  // Boundary: a sentence repeats what a client or a target sent; no byte of it may end the line.
  const reason = why.replace(/[^ -~]/g, '?').slice(0, REASON_CHARS);
  const body = `${why}\n`;
  const parts = [
    `HTTP/1.1 ${status} ${reason}\r\n`,
    'Content-Type: text/plain; charset=utf-8\r\n',
    `Content-Length: ${Buffer.byteLength(body)}\r\n`,
    `X-Palisade-Egress: ${status === 403 ? 'denied' : 'refused'}\r\n`,
    EXTRA[status] ?? '',
    'Connection: close\r\n\r\n',
    body,
  ];
  return Buffer.from(parts.join(''));
}
