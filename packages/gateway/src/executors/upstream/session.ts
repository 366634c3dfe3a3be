/*
 * One session with one upstream server, for one principal: a run of its command by the line, like any other call, with
 * its own receipt, and the dialogue with it. The server is hostile from its first message. When the session has ended,
 * for whatever reason, nothing of it is running and every pending request has been answered.
 */
import type { UpstreamRule } from '../../config/config.ts';
import type { ToolCall } from '../../core/call.ts';
import { type Clock, makeId, type Random } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { inert } from '../../core/hostile-text.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { Tool } from '../../core/tool.ts';
import type { AllowList } from '../../egress/allowlist.ts';
import type { StdinWriter } from '../../tiers/child/child.ts';
import type { CallContext } from '../../tiers/tier.ts';
import { Peer, type RequestListeners } from './peer.ts';
import {
  compareWithPin,
  type OfferStatus,
  type PinRecords,
  type Requester,
  withAcceptedResources,
} from './pinning.ts';
import { connect, type Dialect, listAll, paramsFor } from './protocol.ts';

/** Starts the command of a server as a call of the line, and resolves with how it ended. */
type StartServer = (server: Tool, call: ToolCall, context: CallContext) => Promise<Outcome>;

/** What every session of a gateway needs. */
export type SessionDeps = PinRecords & {
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly startServer: StartServer;
  /** The digest of the policies in force. */
  readonly policySet: () => string | null;
  /** The digest of this server's accepted definitions; null where none are. */
  readonly acceptedDigest: () => string | null;
};

type SessionTerms = SessionDeps & {
  readonly rule: UpstreamRule;
  readonly requester: Requester;
  /** The server as a tool that can be started. */
  readonly server: Tool;
  readonly hosts: AllowList;
  /** Called when the server offers other tools than the accepted ones. */
  readonly onChanged: () => void;
};

/** How long a server may take to end after its input was closed. */
const END_MS = 1_000;
/** How long the handshake may take. */
const HANDSHAKE_MS = 30_000;
/** How long a server may take to answer a ping after a call was cancelled. */
const CANCEL_MS = 2_000;
/** A server that keeps changing its tools is not listed indefinitely. */
const MAX_LISTS = 16;
/** The notifications of a server whose definitions changed. */
const CHANGES: readonly string[] = ['notifications/tools/list_changed', 'notifications/prompts/list_changed'];

export class Session {
  readonly callId: string;
  readonly openedMs: number;
  /** Settles when nothing of it is running any more. */
  readonly ended: Promise<void>;
  readonly #terms: SessionTerms;
  readonly #stop = new AbortController();
  readonly #policySet: string | null;
  readonly #peer: Peer;
  /** Settles when the server runs in proved isolation, and can be written to. */
  readonly #writable: Promise<void>;
  #stdin: StdinWriter | null = null;
  #dialect: Dialect | null = null;
  #lists = 0;
  #offered: string | null = null;
  #endReason: string | null = null;
  #outcome: Outcome | null = null;

  constructor(terms: SessionTerms) {
    const { clock, random } = terms;
    this.#terms = terms;
    this.#policySet = terms.policySet();
    this.#peer = new Peer({
      write: (bytes) => this.#stdin?.write(bytes) ?? 0,
      onNotification: (method) => {
        if (CHANGES.includes(method)) void this.#listAgain();
      },
      onBroken: (reason) => this.end(reason, 0),
    });
    const receivedAtMs = clock.nowMs();
    this.callId = makeId('call', receivedAtMs, random);
    this.openedMs = clock.monotonicMs();
    let onWritable: () => void = () => undefined;
    this.#writable = new Promise((resolve) => {
      onWritable = resolve;
    });
    this.ended = this.#run(receivedAtMs, onWritable);
  }

  get protocolVersion(): string {
    return this.#dialect?.version ?? '';
  }

  /** The digest of the tools that it lists; null before the first list. */
  get offered(): string | null {
    return this.#offered;
  }

  get isOver(): boolean {
    return this.#endReason !== null;
  }

  /** Whether the policies that let it start, or the accepted set, have been replaced since. */
  get isOutdated(): boolean {
    const { policySet, acceptedDigest } = this.#terms;
    if (policySet() !== this.#policySet) return true;
    const accepted = acceptedDigest();
    return this.#offered !== null && accepted !== null && accepted !== this.#offered;
  }

  /** Performs the handshake and compares the tools of the server with the accepted ones. Throws where that fails. */
  async open(): Promise<OfferStatus> {
    const timer = setTimeout(() => this.end(`it did not answer for ${HANDSHAKE_MS} ms`, 0), HANDSHAKE_MS);
    try {
      await Promise.race([this.#writable, this.ended]);
      if (this.isOver) throw new CodedError('tier/upstream-failed', 'it ended before the handshake');
      const { version, rule } = this.#terms;
      this.#dialect = await connect(this.#peer, version, rule.elicitation === 'on');
      return await this.#list(this.#dialect);
    } catch (error) {
      // How the command ended says more than that it no longer answers.
      if (this.isOver) await this.ended;
      this.end(error instanceof Error ? error.message : 'it broke', 0);
      const remedy = this.#outcome?.status === 'refused' ? this.#outcome.remedy : undefined;
      throw new CodedError('tier/upstream-failed', this.reasonFor(error), { remedy });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request to the server; `listeners.onSent` gets the id by which it can be cancelled. */
  request(method: string, params: JsonObject, listeners: RequestListeners): Promise<JsonObject> {
    if (this.#dialect === null) throw new TypeError('Cannot send a request: there was no handshake');
    const offered = { logs: listeners.onLog !== undefined, asks: listeners.onQuestions !== undefined };
    const sent = paramsFor(this.#dialect, params, offered);
    return this.#peer.request(method, sent, listeners);
  }

  /** Cancels a request. A server that does not answer a ping after that is ended. */
  cancel(id: number, reason: string): void {
    this.#peer.forget(id);
    if (this.isOver || this.#dialect === null) return;
    this.#peer.notify('notifications/cancelled', { requestId: id, reason });
    const timer = setTimeout(() => this.end('it did not answer after a call was cancelled', 0), CANCEL_MS);
    this.#peer
      .request(this.#dialect.ping, paramsFor(this.#dialect, {}))
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  }

  /** Ends it: its input is closed, and what is left after the grace period is killed. */
  end(reason: string, graceMs = END_MS): void {
    if (this.#endReason !== null) return;
    this.#endReason = reason;
    this.#peer.end(reason);
    this.#stdin?.end();
    if (graceMs === 0 || this.#stdin === null) this.#stop.abort();
    else {
      const timer = setTimeout(() => this.#stop.abort(), graceMs);
      void this.ended.then(() => clearTimeout(timer));
    }
  }

  /** Why a request has no answer: how the command ended, if it did. */
  reasonFor(error: unknown): string {
    const outcome = this.#outcome;
    if (outcome === null) return error instanceof Error ? error.message : (this.#endReason ?? 'it broke');
    const printed = lastLine(outcome.status === 'refused' ? null : outcome.output);
    // Where we ended it, the reason for that says more than that it was cancelled.
    const ours = outcome.status === 'failed' && outcome.code === 'tier/cancelled' ? this.#endReason : null;
    const how = outcome.status === 'ok' ? 'it exited by itself' : (ours ?? outcome.message);
    const said = printed === '' ? '' : `; it printed "${printed}"`;
    const hints = hintsIn(outcome.status === 'refused' ? null : outcome.output);
    return [`${how}${said}`, ...hints].join('. ');
  }

  async #run(receivedAtMs: number, onWritable: () => void): Promise<void> {
    const { requester, server, hosts, startServer } = this.#terms;
    const call: ToolCall = {
      id: this.callId,
      principal: requester.principal,
      tenant: requester.tenant,
      source: null,
      run: null,
      door: 'upstream',
      tool: server.id,
      rawInput: '{}',
      timeoutMs: null,
      receivedAtMs,
    };
    const onStdin = (stdin: StdinWriter) => {
      this.#stdin = stdin;
      onWritable();
    };
    const outcome = await startServer(server, call, {
      signal: this.#stop.signal,
      dialogue: { onStdin, isServer: true },
      hosts,
      onOutput: (stream, chunk) => {
        if (stream === 'stdout') this.#peer.take(chunk);
      },
    });
    this.#outcome = outcome;
    this.end(outcome.status === 'ok' ? 'it exited' : outcome.message, 0);
  }

  async #list(dialect: Dialect): Promise<OfferStatus> {
    const { rule, requester } = this.#terms;
    this.#lists += 1;
    const listed = await listAll(this.#peer, dialect);
    // Boundary: a process that has seen calls may list their data; only what it had listed before them goes to others.
    const read = this.#lists === 1 ? listed : withAcceptedResources(this.#terms, rule.name, listed);
    this.#offered = read.ok ? read.value.digest : null;
    const status = await compareWithPin(this.#terms, rule, read, requester);
    if ('reason' in status) this.#terms.onChanged();
    return status;
  }

  /** The server notified us that its tools changed: they are listed again. */
  async #listAgain(): Promise<void> {
    if (this.#dialect === null || this.isOver) return;
    if (this.#lists >= MAX_LISTS) this.end('it changes its tools all the time', 0);
    else await this.#list(this.#dialect).catch(() => undefined);
  }
}

/** What kept the server from starting, where its sandbox did. */
function hintsIn(output: unknown): readonly string[] {
  const hints = typeof output === 'object' && output !== null && 'hints' in output ? output.hints : [];
  return Array.isArray(hints) ? hints.filter((each) => typeof each === 'string') : [];
}

const MAX_CHARS = 300;

/** The last line on standard error that looks like an error, else the last line. */
function lastLine(output: unknown): string {
  const text = typeof output === 'object' && output !== null && 'stderr' in output ? output.stderr : '';
  const lines = typeof text === 'string' ? text.trimEnd().split('\n') : [];
  const line = lines.findLast((each) => /error|fatal|cannot/i.test(each)) ?? lines.at(-1) ?? '';
  return inert(line.trim().slice(0, MAX_CHARS));
}
